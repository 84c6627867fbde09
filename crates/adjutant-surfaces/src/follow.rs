//! The one loop of all front ends.

use std::{
    fmt::Display,
    future::pending,
    io,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use adjutant_core::{
    AgentPath, Answer, Command, Detail, EventKind, Millis, QuestionId, Report, Tree, tree::Question,
};
use adjutant_engine::{Events, Seen, Session};
use futures_util::{FutureExt, StreamExt};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::{
    Ended, Person, SurfaceError, View,
    asking::{Asking, Presence},
    sanitize::one_line,
};

/// How often a view draws.
const FRAME: Duration = Duration::from_millis(80);

/// When more than this comes at once, it is better to look a moment later at more than
/// to be woken for every single event.
const CALM: usize = 8;
const BREATH: Duration = Duration::from_millis(1);
/// The most that is seen before anything else has its turn.
const RUSH: usize = 512;

/// Follows a session to its end, showing it to `view` and asking `person`. Without events it
/// waits for the end.
///
/// Ends early if nobody reads what is written ([`SurfaceError::ReaderGone`]); the
/// session goes on until its caller stops it.
pub async fn follow(
    session: &Session,
    events: Option<Events>,
    view: &mut dyn View,
    person: Option<Person>,
) -> Result<Ended, SurfaceError> {
    let mut events = match events {
        Some(events) => events,
        None => match session.report().await? {
            Some(report) => return conclude(&report, view),
            None => session.events_in(Detail::Kept, 0),
        },
    };
    let (mut presence, asking) = person.map(Person::split).unzip();
    let mut follower = Follower::new(view, asking);
    let mut ticks = interval(FRAME);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            // Lines come before a tick may ask, so that none is taken for an answer to what
            // came after it. Both are rare, so that events have their turn.
            biased;
            line = hear(&mut presence) => match line {
                Some(line) => {
                    if let Some((path, question, answer)) = follower.hear(&line)? {
                        let sent = session.send(&path, Command::Answer { question, answer }).await;
                        sent.or_else(|lost| follower.retract(&path, question, &lost))?;
                    }
                }
                None => {
                    presence = None;
                    follower.leave()?;
                }
            },
            _ = ticks.tick() => follower.tick(now())?,
            seen = events.next() => match seen {
                None => return follower.end(),
                Some(seen) => {
                    follower.see(&seen?)?;
                    let is_rush = follower.catch_up(&mut events)? > CALM;
                    let breath = follower.view.breath().or(is_rush.then_some(BREATH));
                    if let Some(breath) = breath {
                        tokio::select! {
                            () = sleep(breath) => {}
                            () = session.ended() => {}
                        }
                    }
                }
            },
        }
    }
}

/// Shows the end of a session of which nothing else is to be told.
fn conclude(report: &Report, view: &mut dyn View) -> Result<Ended, SurfaceError> {
    let (outcome, receipt) = (Arc::clone(&report.outcome), Arc::clone(&report.receipt));
    let ended = Ended { outcome, receipt, tree: Tree::default(), unanswered: Vec::new() };
    view.end(&ended)?;
    Ok(ended)
}

async fn hear(presence: &mut Option<Presence>) -> Option<String> {
    match presence {
        Some(presence) => presence.lines.recv().await,
        None => pending().await,
    }
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// What the loop knows between two steps.
pub(crate) struct Follower<'a> {
    tree: Tree,
    unanswered: Vec<Question>,
    view: &'a mut dyn View,
    asking: Option<Asking>,
}

impl<'a> Follower<'a> {
    pub(crate) fn new(view: &'a mut dyn View, asking: Option<Asking>) -> Self {
        Self { tree: Tree::default(), unanswered: Vec::new(), view, asking }
    }

    pub(crate) fn see(&mut self, seen: &Seen) -> io::Result<()> {
        if let Seen::Event(event) = seen {
            if let EventKind::Answered { question, answer: Answer::Unattended } = &event.kind {
                let open = self.tree.questions().iter().find(|open| open.id == *question);
                self.unanswered.extend(open.cloned());
            }
            self.tree.apply(event);
        }
        if let Some(asking) = &mut self.asking {
            asking.check(&self.tree)?;
        }
        self.view.show(&self.tree, seen)
    }

    /// Sees what is there already, and returns how much that was.
    fn catch_up(&mut self, events: &mut Events) -> Result<usize, SurfaceError> {
        for seen in 0..RUSH {
            let Some(Some(next)) = events.next().now_or_never() else { return Ok(seen) };
            self.see(&next?)?;
        }
        Ok(RUSH)
    }

    /// Asks what is to be asked, or lets the view draw. Never both: what a person
    /// types must not be drawn over.
    fn tick(&mut self, now: Millis) -> io::Result<()> {
        let Some(asking) = &mut self.asking else { return self.view.tick(&self.tree, now) };
        if asking.is_open() {
            return Ok(());
        }
        match asking.next(&self.tree) {
            None => self.view.tick(&self.tree, now),
            Some(question) => {
                self.view.step_aside()?;
                asking.ask(question)
            }
        }
    }

    fn hear(&mut self, line: &str) -> io::Result<Option<(AgentPath, QuestionId, Answer)>> {
        match &mut self.asking {
            Some(asking) if asking.is_open() => asking.hear(line),
            _ => {
                self.view.pushed_down();
                Ok(None)
            }
        }
    }

    /// Tells why an answer was not taken. As long as the question is there, it is asked again.
    fn retract(
        &mut self,
        path: &AgentPath,
        question: QuestionId,
        why: &dyn Display,
    ) -> io::Result<()> {
        let Some(asking) = &mut self.asking else { return Ok(()) };
        asking.reopen(question);
        asking.tell(&format!("{path} is not told: {}", one_line(&why.to_string())))
    }

    fn leave(&mut self) -> io::Result<()> {
        self.asking.take().map_or(Ok(()), Asking::leave)
    }

    pub(crate) fn end(self) -> Result<Ended, SurfaceError> {
        let root = self.tree.node(&AgentPath::root());
        let facts = root.and_then(|root| root.outcome.clone().zip(root.receipt.clone()));
        let (outcome, receipt) = facts.ok_or(SurfaceError::Unfinished)?;
        let ended = Ended { outcome, receipt, tree: self.tree, unanswered: self.unanswered };
        self.view.end(&ended)?;
        Ok(ended)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::{
        Output, Plain, Reader,
        fixture::{Paper, Story, currency, permission, question},
    };

    /// A view that tells when it draws, is pushed down or steps aside.
    #[derive(Default)]
    struct Watched(Vec<&'static str>);

    impl View for Watched {
        fn show(&mut self, _: &Tree, _: &Seen) -> io::Result<()> {
            Ok(())
        }

        fn tick(&mut self, _: &Tree, _: Millis) -> io::Result<()> {
            self.0.push("drawn");
            Ok(())
        }

        fn pushed_down(&mut self) {
            self.0.push("pushed down");
        }

        fn step_aside(&mut self) -> io::Result<()> {
            self.0.push("stepped aside");
            Ok(())
        }

        fn end(&mut self, _: &Ended) -> io::Result<()> {
            Ok(())
        }
    }

    fn words(path: &str, number: u128, text: &str) -> Option<(AgentPath, QuestionId, Answer)> {
        let answer = Answer::Words { text: text.to_owned() };
        Some((path.parse().unwrap(), question(number), answer))
    }

    fn see(follower: &mut Follower<'_>, story: &Story) {
        story.seen().for_each(|seen| follower.see(&seen).unwrap());
    }

    /// Asks on paper, and notes there when what was typed is thrown away.
    fn asking(paper: &Paper) -> Asking {
        let note = paper.clone();
        let forget = move || note.clone().write_all(b"[forgotten] ").unwrap();
        Asking::new(Box::new(paper.clone()), Box::new(forget))
    }

    fn two_questions() -> Story {
        Story::default()
            .start("root", "x")
            .start("root.a-1", "x")
            .ask("root.a-1", 1, currency())
            .ask("root", 2, permission())
    }

    #[test]
    fn questions_are_asked_in_turn_and_nothing_is_drawn_meanwhile() {
        let (paper, mut view) = (Paper::default(), Watched::default());
        let mut follower = Follower::new(&mut view, Some(asking(&paper)));
        follower.tick(0).unwrap();
        see(&mut follower, &two_questions());
        assert_eq!(follower.hear("typed too early").unwrap(), None);
        follower.tick(1).unwrap();
        follower.tick(2).unwrap();
        assert_eq!(follower.hear("").unwrap(), None);
        assert_eq!(follower.hear("3").unwrap(), None);
        assert_eq!(follower.hear("2").unwrap(), words("root.a-1", 1, "dollar"));
        follower.tick(3).unwrap();
        let allowed = Some((AgentPath::root(), question(2), Answer::Allow));
        assert_eq!(follower.hear("y").unwrap(), allowed);
        follower.tick(4).unwrap();
        assert_eq!(view.0, ["drawn", "pushed down", "stepped aside", "stepped aside", "drawn"]);
        insta::assert_snapshot!(paper.text(), @r"
        [forgotten] root.a-1 asks: Which currency?
          1) euro
          2) dollar
        > > there are choices 1 to 2; or answer in words
        > [forgotten] root wants to call run_command (running commands)
          command: make \u{1b}[8minstall
          timeout: 5
          of a rule
        allow? [y = once, n = no, or n and why not]
        ");
    }

    #[test]
    fn an_answer_that_is_not_taken_is_asked_for_again() {
        let (paper, mut view) = (Paper::default(), Watched::default());
        let mut follower = Follower::new(&mut view, Some(asking(&paper)));
        see(&mut follower, &two_questions());
        follower.tick(0).unwrap();
        let (path, id, _) = follower.hear("2").unwrap().unwrap();
        follower.retract(&path, id, &"it is too late").unwrap();
        assert!(paper.text().ends_with("> root.a-1 is not told: it is too late\n"));
        follower.tick(1).unwrap();
        assert_eq!(follower.hear("1").unwrap(), words("root.a-1", 1, "euro"));
    }

    #[test]
    fn a_withdrawn_question_makes_way_for_the_next() {
        let (paper, mut view) = (Paper::default(), Watched::default());
        let mut follower = Follower::new(&mut view, Some(asking(&paper)));
        let story = two_questions();
        see(&mut follower, &story);
        follower.tick(0).unwrap();
        let withdrawn = EventKind::Withdrawn { question: question(1) };
        let story = Story::default().then("root.a-1", withdrawn);
        see(&mut follower, &story);
        assert!(paper.text().ends_with("> \nroot.a-1 needs no answer any more\n"));
        assert_eq!(follower.hear("y").unwrap(), None);
        follower.tick(1).unwrap();
        let denied = Answer::Deny { reason: None };
        assert_eq!(follower.hear("n").unwrap(), Some((AgentPath::root(), question(2), denied)));
    }

    #[test]
    fn a_person_who_leaves_is_asked_nothing_more() {
        let (paper, mut view) = (Paper::default(), Watched::default());
        let mut follower = Follower::new(&mut view, Some(asking(&paper)));
        see(&mut follower, &two_questions());
        follower.tick(0).unwrap();
        follower.leave().unwrap();
        follower.tick(1).unwrap();
        assert!(paper.text().ends_with("> \nnobody is there to answer root.a-1\n"));
        assert_eq!(view.0, ["stepped aside", "drawn"]);
    }

    #[test]
    fn an_end_comes_with_what_was_not_answered() {
        let (log, out) = (Paper::default(), Paper::default());
        let answer = Output::new(Box::new(out.clone()), Reader::Program);
        let mut view = Plain::new(Box::new(log.clone()), answer);
        let mut follower = Follower::new(&mut view, None);
        let story = two_questions()
            .answer("root.a-1", 1, Answer::Unattended)
            .answer("root", 2, Answer::Allow)
            .complete("root", "four");
        see(&mut follower, &story);
        let ended = follower.end().unwrap();
        assert_eq!(ended.outcome.text, "four");
        let unanswered: Vec<_> = ended.unanswered.iter().map(|it| it.id).collect();
        assert_eq!(unanswered, [question(1)]);
        assert_eq!(out.text(), "four\n");
        assert_eq!(log.text().lines().count(), 7);
    }

    #[test]
    fn events_that_end_before_the_root_are_an_error() {
        let mut view = Watched::default();
        let mut follower = Follower::new(&mut view, None);
        see(&mut follower, &Story::default().start("root", "x"));
        assert!(matches!(follower.end(), Err(SurfaceError::Unfinished)));
    }

    #[test]
    fn a_reader_that_went_away_is_told_from_other_trouble() {
        let gone = SurfaceError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(matches!(gone, SurfaceError::ReaderGone));
        let full = SurfaceError::from(io::Error::from(io::ErrorKind::StorageFull));
        assert!(matches!(full, SurfaceError::Write(_)));
    }
}
