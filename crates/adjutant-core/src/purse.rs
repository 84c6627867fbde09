//! What an agent may spend. Money is set aside before it is spent, and every
//! expense counts for the agent and for everyone above it.
//!
//! ```text
//!  reserve ──▶ Reservation ──settle(usage)──▶ spent, here and above
//!                  │ drop, nothing sent ────▶ given back whole
//!                  └ drop, after sent() ────▶ spent: what was seen, or the estimate
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slab::Slab;
use tokio::sync::Notify;

use crate::{AgentPath, Allowance, Exhausted, Measure, Micros, Price, Usage};

/// The most tokens kept back for the words of the last, toolless turn.
const LAST_WORDS: u64 = 1024;
/// An answer shorter than this is not worth a model call.
const SHORTEST_ANSWER: u64 = 16;

/// The allowance of one agent and everyone below it.
pub struct Purse {
    ledger: Arc<Ledger>,
    key: usize,
    // Keeps the accounts above open for as long as this one is.
    above: Option<Arc<Self>>,
}

/// The accounts of a whole tree, behind one lock.
#[derive(Default)]
struct Ledger {
    accounts: Mutex<Slab<Account>>,
    freed: Notify,
}

struct Account {
    agent: AgentPath,
    above: Option<usize>,
    allowance: Allowance,
    spent: Sum,
    reserved: Sum,
    /// Held back from ordinary turns and from children, for the last turn.
    kept: Sum,
    own: Usage,
    turns: u64,
    calls: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    tokens: u64,
    micros: Micros,
}

/// Which turn is to be paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// One of many. What the last turn needs is left alone.
    Ordinary,
    /// The last one, without tools. It may use what was kept back.
    Last,
}

/// What a model call is expected to take.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// Tokens to be read, by estimate.
    pub input: u64,
    /// The most tokens that are wanted in answer.
    pub output: u64,
    /// What the model charges; `None` costs nothing.
    pub price: Option<Price>,
    /// Which turn it is.
    pub turn: Turn,
}

/// What an agent and everyone below it have spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// The agent's own tokens.
    pub own: Usage,
    /// Tokens of the whole subtree.
    pub tokens: u64,
    /// Money of the whole subtree.
    pub micros: Micros,
    /// Set aside for calls in flight, in tokens.
    pub reserved: u64,
    /// The agent's own model calls.
    pub turns: u64,
    /// The agent's own tool calls.
    pub calls: u64,
}

enum Short {
    /// Calls in flight stand in the way; it may fit once they are settled.
    InFlight,
    Spent(Exhausted),
}

impl Purse {
    /// Opens the purse of a whole tree.
    pub fn open(agent: AgentPath, allowance: Allowance) -> Arc<Self> {
        Self::with(Arc::default(), agent, allowance, None)
    }

    /// Opens a child's purse. A generous allowance gives it nothing, since every
    /// purse above is asked too.
    pub fn child(self: &Arc<Self>, agent: AgentPath, allowance: Allowance) -> Arc<Self> {
        Self::with(Arc::clone(&self.ledger), agent, allowance, Some(Arc::clone(self)))
    }

    fn with(
        ledger: Arc<Ledger>,
        agent: AgentPath,
        allowance: Allowance,
        above: Option<Arc<Self>>,
    ) -> Arc<Self> {
        let key = ledger.lock().insert(Account {
            agent,
            above: above.as_ref().map(|purse| purse.key),
            allowance,
            spent: Sum::default(),
            reserved: Sum::default(),
            kept: Sum::default(),
            own: Usage::default(),
            turns: 0,
            calls: 0,
        });
        Arc::new(Self { ledger, key, above })
    }

    /// Sets money aside for a model call, here and in every purse above. Waits
    /// while only other calls in flight stand in the way; errs when what is
    /// spent does.
    pub async fn reserve(self: &Arc<Self>, need: Need) -> Result<Reservation, Exhausted> {
        loop {
            let freed = self.ledger.freed.notified();
            let mut freed = std::pin::pin!(freed);
            // Registered before looking, so that nothing freed in between is missed.
            freed.as_mut().enable();
            match self.try_reserve(need) {
                Ok(reservation) => return Ok(reservation),
                Err(Short::Spent(exhausted)) => return Err(exhausted),
                Err(Short::InFlight) => freed.await,
            }
        }
    }

    fn try_reserve(self: &Arc<Self>, need: Need) -> Result<Reservation, Short> {
        let mut accounts = self.ledger.lock();
        if need.turn == Turn::Ordinary {
            accounts[self.key].keep_for_last_turn(need);
        }
        let mut output = need.output;
        let mut key = Some(self.key);
        while let Some(at) = key {
            let is_own = at == self.key;
            output = output.min(accounts[at].affordable(need, is_own)?);
            key = accounts[at].above;
        }
        let sum = need.sum(output);
        on_line(&mut accounts, self.key, |account| account.reserved.add(sum));
        drop(accounts);
        let purse = Arc::clone(self);
        Ok(Reservation { purse, need, output, sum, seen: Usage::default(), state: Stage::Held })
    }

    /// Counts one of the agent's own turns.
    pub fn take_turn(&self) -> Result<(), Exhausted> {
        self.count(Measure::Turns)
    }

    /// Counts one of the agent's own tool calls.
    pub fn take_call(&self) -> Result<(), Exhausted> {
        self.count(Measure::Calls)
    }

    fn count(&self, measure: Measure) -> Result<(), Exhausted> {
        let mut accounts = self.ledger.lock();
        let account = &mut accounts[self.key];
        let (counter, limit) = match measure {
            Measure::Turns => (&mut account.turns, account.allowance.turns),
            _ => (&mut account.calls, account.allowance.calls),
        };
        match limit {
            Some(limit) if *counter >= limit.get() => {
                let (limit, spent) = (limit.get(), *counter);
                Err(Exhausted { measure, limit, spent, agent: account.agent.clone() })
            }
            _ => {
                *counter += 1;
                Ok(())
            }
        }
    }

    /// Tells what was spent so far.
    pub fn spending(&self) -> Spending {
        let accounts = self.ledger.lock();
        let Account { spent, reserved, own, turns, calls, .. } = accounts[self.key];
        let Sum { tokens, micros } = spent;
        Spending { own, tokens, micros, reserved: reserved.tokens, turns, calls }
    }

    /// Returns what the agent itself may spend; the purses above may have less.
    pub fn allowance(&self) -> Allowance {
        self.ledger.lock()[self.key].allowance
    }

    /// Returns how many tokens the agent can still spend, the purses above counted
    /// in; `None` is no limit.
    pub fn tokens_left(&self) -> Option<u64> {
        let accounts = self.ledger.lock();
        let mut least: Option<u64> = None;
        let mut key = Some(self.key);
        while let Some(at) = key {
            let Account { allowance, spent, above, .. } = &accounts[at];
            let left = allowance.tokens.map(|limit| limit.get().saturating_sub(spent.tokens));
            least = [least, left].into_iter().flatten().min();
            key = *above;
        }
        least
    }

    /// Reports whether this purse or one above it limits money.
    pub fn limits_money(&self) -> bool {
        let above = self.above.as_ref().is_some_and(|above| above.limits_money());
        above || self.allowance().micros.is_some()
    }
}

impl Drop for Purse {
    fn drop(&mut self) {
        self.ledger.lock().try_remove(self.key);
    }
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Slab<Account>> {
        // Each change below leaves the accounts whole, so a panic elsewhere is no reason to stop.
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn on_line(accounts: &mut Slab<Account>, from: usize, mut change: impl FnMut(&mut Account)) {
    let mut key = Some(from);
    while let Some(at) = key {
        change(&mut accounts[at]);
        key = accounts[at].above;
    }
}

impl Account {
    /// The last turn reads about what this one reads, and says a few words more.
    fn keep_for_last_turn(&mut self, need: Need) {
        let Allowance { tokens, micros, .. } = self.allowance;
        let words = tokens.map_or(LAST_WORDS, |limit| LAST_WORDS.min(limit.get() / 10));
        let wanted = need.sum(words);
        self.kept = Sum {
            tokens: tokens.map_or(0, |limit| wanted.tokens.min(limit.get() / 2)),
            micros: micros.map_or(0, |limit| wanted.micros.min(limit.get() / 2)),
        };
    }

    /// Returns how long an answer can be paid for.
    fn affordable(&self, need: Need, is_own: bool) -> Result<u64, Short> {
        let kept = if is_own && need.turn == Turn::Last { Sum::default() } else { self.kept };
        let least = SHORTEST_ANSWER.min(need.output);
        let mut output = need.output;
        if let Some(limit) = self.allowance.tokens {
            let ever = limit.get().saturating_sub(self.spent.tokens + kept.tokens);
            let fits = |free: u64| free.saturating_sub(need.input);
            let now = ever.saturating_sub(self.reserved.tokens);
            self.enough(Measure::Tokens, fits(ever), fits(now), least)?;
            output = output.min(fits(now));
        }
        if let (Some(limit), Some(price)) = (self.allowance.micros, need.price) {
            let ever = limit.get().saturating_sub(self.spent.micros + kept.micros);
            let input = price.cost(Usage { input: need.input, ..Usage::default() });
            let fits = |free: Micros| match free.checked_sub(input) {
                Some(rest) => price.affordable_output(rest),
                None => 0,
            };
            let now = ever.saturating_sub(self.reserved.micros);
            self.enough(Measure::Money, fits(ever), fits(now), least)?;
            output = output.min(fits(now));
        }
        Ok(output)
    }

    fn enough(&self, measure: Measure, ever: u64, now: u64, least: u64) -> Result<(), Short> {
        if now >= least.max(1) {
            return Ok(());
        }
        if ever >= least.max(1) {
            return Err(Short::InFlight);
        }
        let (limit, spent) = match measure {
            Measure::Money => (self.allowance.micros, self.spent.micros),
            _ => (self.allowance.tokens, self.spent.tokens),
        };
        let limit = limit.map_or(0, |limit| limit.get());
        Err(Short::Spent(Exhausted { measure, limit, spent, agent: self.agent.clone() }))
    }
}

impl Need {
    fn sum(self, output: u64) -> Sum {
        let usage = Usage { input: self.input, output, ..Usage::default() };
        Sum { tokens: usage.total(), micros: self.cost(usage) }
    }

    fn cost(self, usage: Usage) -> Micros {
        self.price.map_or(0, |price| price.cost(usage))
    }
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.micros = self.micros.saturating_add(other.micros);
    }

    fn take(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_sub(other.tokens);
        self.micros = self.micros.saturating_sub(other.micros);
    }
}

/// Money set aside for one model call. It is settled or given back, whatever
/// becomes of the call.
#[must_use = "dropping a reservation gives the money back"]
pub struct Reservation {
    purse: Arc<Purse>,
    need: Need,
    output: u64,
    sum: Sum,
    seen: Usage,
    state: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Held,
    Sent,
    Settled,
}

impl Reservation {
    /// Returns how many tokens the answer may have.
    pub fn output(&self) -> u64 {
        self.output
    }

    /// Notes that the request left. From here on the provider may charge for it.
    pub fn sent(&mut self) {
        self.state = Stage::Sent;
    }

    /// Notes what the provider has reported or delivered so far.
    pub fn saw(&mut self, usage: Usage) {
        self.seen = usage;
    }

    /// Pays what the call used, as the provider reported it.
    pub fn settle(mut self, usage: Usage) -> (Usage, Micros) {
        self.pay(usage)
    }

    /// Pays for a call that did not end well: what was seen, or the estimate
    /// where nothing was; nothing if it was never sent.
    pub fn settle_broken(mut self) -> (Usage, Micros) {
        self.pay_broken()
    }

    /// Gives everything back: the provider turned the request away unread.
    pub fn refund(mut self) {
        self.pay(Usage::default());
    }

    fn pay_broken(&mut self) -> (Usage, Micros) {
        let mut usage = Usage::default();
        if self.state == Stage::Sent {
            usage = self.seen;
            if usage.input == 0 {
                usage.input = self.need.input;
            }
        }
        self.pay(usage)
    }

    fn pay(&mut self, usage: Usage) -> (Usage, Micros) {
        let Self { purse, sum, .. } = self;
        let paid = Sum { tokens: usage.total(), micros: self.need.cost(usage) };
        let mut accounts = purse.ledger.lock();
        accounts[purse.key].own += usage;
        on_line(&mut accounts, purse.key, |account| {
            account.reserved.take(*sum);
            account.spent.add(paid);
        });
        drop(accounts);
        purse.ledger.freed.notify_waiters();
        self.state = Stage::Settled;
        (usage, paid.micros)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.state != Stage::Settled {
            self.pay_broken();
        }
    }
}
