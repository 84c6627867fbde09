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
    _above: Option<Arc<Self>>,
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
    /// Held back from ordinary turns, for the agent's last turn.
    kept: Sum,
    /// Held back from ordinary turns, for the last turn of somebody below whom no
    /// limit of their own stops.
    kept_below: Sum,
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
            kept_below: Sum::default(),
            own: Usage::default(),
            turns: 0,
            calls: 0,
        });
        Arc::new(Self { ledger, key, _above: above })
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
        let line = line(&accounts, self.key);
        let mut output = need.output;
        for (at, whose) in &line {
            let account = &mut accounts[*at];
            if need.turn == Turn::Ordinary {
                account.keep_for_last_turn(need, *whose);
            }
            output = output.min(account.affordable(need, *whose)?);
        }
        let sum = need.sum(output);
        line.iter().for_each(|(at, _)| accounts[*at].reserved.add(sum));
        drop(accounts);
        let purse = Arc::clone(self);
        Ok(Reservation { purse, need, output, sum, seen: Usage::default(), state: Stage::Held })
    }

    /// Counts one of the agent's own turns.
    pub fn take_turn(&self) -> Result<(), Exhausted> {
        self.count(Measure::Turns, |account| &mut account.turns)
    }

    /// Counts one of the agent's own tool calls.
    pub fn take_call(&self) -> Result<(), Exhausted> {
        self.count(Measure::Calls, |account| &mut account.calls)
    }

    fn count(
        &self,
        measure: Measure,
        counter: fn(&mut Account) -> &mut u64,
    ) -> Result<(), Exhausted> {
        let mut accounts = self.ledger.lock();
        let account = &mut accounts[self.key];
        if account.left(measure, Whose::Own) == Some(0) {
            return Err(account.exhausted(measure));
        }
        *counter(account) += 1;
        Ok(())
    }

    /// Tells what was spent so far.
    pub fn spending(&self) -> Spending {
        let accounts = self.ledger.lock();
        let Account { spent, reserved, own, turns, calls, .. } = accounts[self.key];
        let Sum { tokens, micros } = spent;
        Spending { own, tokens, micros, reserved: reserved.tokens, turns, calls }
    }

    /// Returns how much of something the agent and those above it have left to spend;
    /// `None` is no limit.
    pub fn left(&self, measure: Measure) -> Option<u64> {
        let accounts = self.ledger.lock();
        let line = line(&accounts, self.key);
        let left = line.iter().filter_map(|(at, whose)| accounts[*at].left(measure, *whose));
        left.min()
    }

    /// Errs when there is nothing left to give a child.
    pub fn check(&self) -> Result<(), Exhausted> {
        let accounts = self.ledger.lock();
        for (at, _) in line(&accounts, self.key) {
            for measure in [Measure::Tokens, Measure::Money] {
                if accounts[at].left(measure, Whose::Below) == Some(0) {
                    return Err(accounts[at].exhausted(measure));
                }
            }
        }
        Ok(())
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

/// Whether an account is the spender's own or stands above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Own,
    Below,
}

/// Returns an account and those above it.
fn line(accounts: &Slab<Account>, from: usize) -> Vec<(usize, Whose)> {
    let above = std::iter::successors(Some(from), |at| accounts[*at].above);
    above.map(|at| (at, if at == from { Whose::Own } else { Whose::Below })).collect()
}

impl Account {
    /// The last turn reads about what this one reads, and says a few words more. Of an
    /// allowance at most half is kept for its holder's, and a quarter for one below.
    fn keep_for_last_turn(&mut self, need: Need, whose: Whose) {
        let Allowance { tokens, micros, .. } = self.allowance;
        let words = tokens.map_or(LAST_WORDS, |limit| LAST_WORDS.min(limit.get() / 10));
        let wanted = need.sum(words);
        let share = if whose == Whose::Own { 2 } else { 4 };
        let kept = Sum {
            tokens: tokens.map_or(0, |limit| wanted.tokens.min(limit.get() / share)),
            micros: micros.map_or(0, |limit| wanted.micros.min(limit.get() / share)),
        };
        match whose {
            Whose::Own => self.kept = kept,
            Whose::Below => self.kept_below = self.kept_below.most(kept),
        }
    }

    /// Returns how much of something is neither spent nor kept for the agent itself.
    fn left(&self, measure: Measure, whose: Whose) -> Option<u64> {
        let kept = if whose == Whose::Own { Sum::default() } else { self.kept };
        let Self { allowance, spent, turns, calls, .. } = self;
        let (limit, gone) = match measure {
            Measure::Tokens => (allowance.tokens, spent.tokens.saturating_add(kept.tokens)),
            Measure::Money => (allowance.micros, spent.micros.saturating_add(kept.micros)),
            Measure::Turns => (allowance.turns, *turns),
            Measure::Calls => (allowance.calls, *calls),
        };
        limit.map(|limit| limit.get().saturating_sub(gone))
    }

    /// Returns how long an answer can be paid for.
    fn affordable(&self, need: Need, whose: Whose) -> Result<u64, Short> {
        let kept = match (need.turn, whose) {
            (Turn::Ordinary, _) => self.kept.plus(self.kept_below),
            (Turn::Last, Whose::Below) => self.kept,
            (Turn::Last, Whose::Own) => Sum::default(),
        };
        let least = SHORTEST_ANSWER.min(need.output);
        let mut output = need.output;
        if let Some(limit) = self.allowance.tokens {
            let ever = limit.get().saturating_sub(self.spent.tokens.saturating_add(kept.tokens));
            let fits = |free: u64| free.saturating_sub(need.input);
            let now = ever.saturating_sub(self.reserved.tokens);
            self.enough(Measure::Tokens, fits(ever), fits(now), least)?;
            output = output.min(fits(now));
        }
        if let (Some(limit), Some(price)) = (self.allowance.micros, need.price) {
            let ever = limit.get().saturating_sub(self.spent.micros.saturating_add(kept.micros));
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
        Err(Short::Spent(self.exhausted(measure)))
    }

    fn exhausted(&self, measure: Measure) -> Exhausted {
        let Self { allowance, spent, turns, calls, agent, .. } = self;
        let (limit, spent) = match measure {
            Measure::Tokens => (allowance.tokens, spent.tokens),
            Measure::Money => (allowance.micros, spent.micros),
            Measure::Turns => (allowance.turns, *turns),
            Measure::Calls => (allowance.calls, *calls),
        };
        let limit = limit.map_or(0, |limit| limit.get());
        Exhausted { measure, limit, spent, agent: agent.clone() }
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
    fn plus(mut self, other: Self) -> Self {
        self.add(other);
        self
    }

    fn most(self, other: Self) -> Self {
        let (tokens, micros) = (self.tokens.max(other.tokens), self.micros.max(other.micros));
        Self { tokens, micros }
    }

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
        for (at, _) in line(&accounts, purse.key) {
            accounts[at].reserved.take(*sum);
            accounts[at].spent.add(paid);
        }
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
