//! The verbs of delegation, as a running call has them.

use std::{sync::Arc, time::Duration};

use adjutant_core::{
    AgentId, AgentPath, Delegation, Message, Order, Plan, Refusal, Report, Started, State, Status,
    TaskEnd, WaitFor, When,
};
use futures_util::future::{BoxFuture, join_all, select_all};
use tokio::time::timeout;

use crate::{host::CallHost, plan, revival, roster::Entry, start::start};

impl Delegation for CallHost {
    fn reserve(&self) -> u32 {
        self.seat.family.next()
    }

    fn start(&self, order: Order) -> BoxFuture<'_, Result<Started, Refusal>> {
        Box::pin(start(self, order))
    }

    fn wait<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<Report, Refusal>> {
        Box::pin(async {
            let child = self.below(agent)?;
            let clock = &self.seat.entry.clock;
            let report = self.waiting(async {
                tokio::select! {
                    report = child.ended() => report,
                    () = clock.follow(&child.clock) => child.ended().await,
                }
            });
            let report = report.await;
            self.claim(&child);
            Ok(report)
        })
    }

    fn wait_for<'a>(
        &'a self,
        agents: &'a [String],
        whose: WaitFor,
        patience: Option<Duration>,
    ) -> BoxFuture<'a, Result<Vec<Status>, Refusal>> {
        Box::pin(async move {
            let children = agents.iter().map(|agent| self.below(agent));
            let children: Vec<_> = children.collect::<Result<_, _>>()?;
            self.waiting(self.ends(&children, whose, patience)).await;
            Ok(children.iter().map(|child| self.look_at(child)).collect())
        })
    }

    fn recall<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Option<Report>> {
        Box::pin(self.remember(order))
    }

    fn carry_out(&self, plan: Plan) -> BoxFuture<'_, Result<Vec<TaskEnd>, Refusal>> {
        Box::pin(plan::carry_out(self, plan))
    }

    fn cancel<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<State, Refusal>> {
        Box::pin(async {
            let child = self.below(agent)?;
            let before = child.state();
            if before.is_final() {
                let path = child.identity.path.clone();
                return Err(Refusal::Ended { path, state: before });
            }
            child.cancel.cancel();
            self.waiting(child.ended()).await;
            self.claim(&child);
            Ok(before)
        })
    }

    fn status(&self, agent: &str) -> Result<Status, Refusal> {
        self.below(agent).map(|child| self.look_at(&child))
    }

    fn transcript(&self, agent: &str) -> Result<Vec<Arc<Message>>, Refusal> {
        let child = self.below(agent)?;
        let history = self.seat.shared.roster.history(child.identity.id);
        Ok(history.map(|history| history.messages().to_vec()).unwrap_or_default())
    }

    fn list(&self) -> Vec<Status> {
        let below = self.seat.shared.roster.below(self.seat.path());
        below.iter().map(|entry| entry.status()).collect()
    }

    fn send<'a>(
        &'a self,
        agent: &'a str,
        text: String,
        when: When,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async move {
            loop {
                let child = self.below(agent)?;
                let from = Some(self.seat.path().clone());
                match self.seat.shared.mail(&child, from, text.clone(), when).await {
                    Err(Refusal::Ended { .. }) => {}
                    sent => return sent,
                }
                self.waiting(child.ended()).await;
                // Another call may have made it go on meanwhile; then it hears this too.
                if Arc::ptr_eq(&child, &self.below(agent)?) {
                    return revival::revive(self, &child, text);
                }
            }
        })
    }
}

impl CallHost {
    /// Tells how a child stands, and claims its result if there is one, or what it said before
    /// it rested.
    fn look_at(&self, child: &Entry) -> Status {
        let status = child.status();
        if status.report.is_some() {
            self.claim(child);
        } else if status.state == State::Resting {
            self.seat.entry.mailbox.forget_rest(&status.path, &status.words);
        }
        status
    }

    /// Returns when those have ended whose ends are waited for, or have nothing more to do, or when
    /// there is no more patience. The clock stands still while one of them asks a person.
    async fn ends(&self, children: &[Arc<Entry>], whose: WaitFor, patience: Option<Duration>) {
        let clock = &self.seat.entry.clock;
        let ends = children.iter().map(|child| {
            Box::pin(async {
                tokio::select! {
                    () = child.settled() => {}
                    () = clock.follow(&child.clock) => child.settled().await,
                }
            })
        });
        let end = async {
            match whose {
                WaitFor::Any if !children.is_empty() => drop(select_all(ends).await),
                WaitFor::Any | WaitFor::All => drop(join_all(ends).await),
            }
        };
        match patience {
            // Whether it was in time shows in how they stand.
            Some(patience) => drop(timeout(patience, end).await),
            None => end.await,
        }
    }

    /// Claims a child's result. Whoever stands further up looks at it without taking the
    /// news from the child's parent.
    fn claim(&self, child: &Entry) {
        if child.identity.path.parent().as_ref() == Some(self.seat.path()) {
            child.claim();
        }
    }

    fn below(&self, agent: &str) -> Result<Arc<Entry>, Refusal> {
        let entry = self.seat.shared.roster.find_named(agent);
        let entry = entry.filter(|entry| entry.identity.path.is_below(self.seat.path()));
        entry.ok_or_else(|| self.unknown(agent))
    }

    /// Says that there is no such agent, or that there may have been.
    fn unknown(&self, agent: &str) -> Refusal {
        let is_path_below = |path: AgentPath| path.is_below(self.seat.path());
        let may_have_been =
            agent.parse::<AgentId>().is_ok() || agent.parse().is_ok_and(is_path_below);
        if may_have_been && self.seat.shared.roster.has_forgotten() {
            return Refusal::Forgotten(agent.to_owned());
        }
        Refusal::NotBelow(agent.to_owned())
    }
}
