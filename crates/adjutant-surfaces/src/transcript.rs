//! What happened, a line for each thing worth one.

use adjutant_core::{
    AgentPath, Answer, Ask, Clamp, Event, EventKind, Outcome, Receipt, Span, Tree,
};

use crate::{
    columns::cut,
    figures::{count, elapsed, tokens},
    naming::beside,
    sanitize::one_line,
};

/// How much of a task, a question or a reason is told.
const LONGEST: usize = 120;

/// Tells an event, if it is worth a line. The tree has followed it already.
pub(crate) fn line(tree: &Tree, event: &Event) -> Option<String> {
    let told = match &event.kind {
        EventKind::Started { order, clamped, .. } => {
            format!("started{}: {}", cuts(clamped), short(&order.task))
        }
        EventKind::Asked { ask, .. } => asked(ask),
        EventKind::Answered { answer, .. } => answered(answer),
        EventKind::Withdrawn { .. } => "needs no answer any more".to_owned(),
        EventKind::Retrying { attempt, wait_ms, reason } => {
            format!("tries again (try {attempt}) in {}: {}", elapsed(*wait_ms), short(reason))
        }
        EventKind::Compacted { upto, .. } => {
            format!("shortened its conversation by {}", count(*upto as u64, "message"))
        }
        EventKind::Finished { outcome, receipt } => finished(outcome, receipt),
        EventKind::Said { .. }
        | EventKind::Saying { .. }
        | EventKind::Called { .. }
        | EventKind::Progressed { .. }
        | EventKind::Changed { .. }
        | EventKind::Spent { .. }
        | EventKind::Mailed { .. }
        | EventKind::Planned { .. }
        | EventKind::TaskEnded { .. }
        | EventKind::Noted { .. }
        | EventKind::Rested => return None,
    };
    let root = Some(AgentPath::root()).filter(|root| event.path == *root);
    let name = root.and_then(|root| tree.node(&root)).map(beside).unwrap_or_default();
    Some(format!("{}{name} {told}", event.path))
}

fn cuts(clamped: &[Clamp]) -> String {
    if clamped.is_empty() {
        return String::new();
    }
    let cuts: Vec<_> = clamped.iter().map(Clamp::to_string).collect();
    format!(" ({})", one_line(&cuts.join(", ")))
}

fn asked(ask: &Ask) -> String {
    match ask {
        Ask::Question { prompt, .. } => format!("asks: {}", short(prompt)),
        Ask::Permission { call, because, .. } => {
            format!("asks to call {}: {}", short(&call.name), short(because))
        }
    }
}

fn answered(answer: &Answer) -> String {
    match answer {
        Answer::Allow => "was allowed to".to_owned(),
        Answer::AllowFromNowOn { span: Span::Session, .. } => {
            "was allowed to, until the end".to_owned()
        }
        Answer::AllowFromNowOn { span: Span::Always, .. } => "was allowed to, always".to_owned(),
        Answer::Deny { reason: None } => "was not allowed to".to_owned(),
        Answer::Deny { reason: Some(reason) } => format!("was not allowed to: {}", short(reason)),
        Answer::Words { text } => format!("was answered: {}", short(text)),
        Answer::Unattended => "was not answered: nobody was there".to_owned(),
    }
}

fn finished(outcome: &Outcome, receipt: &Receipt) -> String {
    let (calls, spent) = (count(receipt.calls, "call"), tokens(receipt.tokens));
    let time = elapsed(receipt.millis);
    let mut told = format!("{} · {calls} · {spent} tokens · {time}", outcome.ending);
    if let Some(reason) = &outcome.reason {
        told += &format!(": {}", short(reason));
    }
    for artifact in &receipt.artifacts {
        // Where it is has to be known, so it is not cut.
        told += &format!("; handed back {}", one_line(&artifact.to_string()));
    }
    for left in &receipt.uncontained {
        told += &format!("; still there: {}", short(left));
    }
    for failed in &receipt.failed_hooks {
        told += &format!("; a hook failed: {}", short(failed));
    }
    if let Some(handover) = &receipt.handover {
        // Where the changes are is all there is of them, so it is not cut.
        told += &format!("; {}", one_line(&handover.to_string()));
    }
    told
}

fn short(text: &str) -> String {
    cut(&one_line(text), LONGEST)
}

#[cfg(test)]
mod tests {
    use adjutant_core::{Artifact, Ending};

    use super::*;
    use crate::fixture::{Story, currency, permission, said};

    #[test]
    fn a_run_in_lines() {
        let reason = "busy\u{1b}[2J\nvery".to_owned();
        let left = Receipt {
            uncontained: vec!["process 7".into()],
            artifacts: vec![Artifact { path: "/kept/a.md".into(), bytes: 7 }],
            failed_hooks: ["`log`: no".into()].into(),
            ..Receipt::default()
        };
        let story = Story::default()
            .start("root", "audit\nthe repository")
            .then("root", said("I will look."))
            .call("root", "read_file", "a.txt")
            .then("root", EventKind::Retrying { attempt: 2, wait_ms: 1500, reason })
            .start("root.a-1", "count")
            .ask("root.a-1", 1, currency())
            .answer("root.a-1", 1, Answer::Words { text: "euro".into() })
            .ask("root.a-1", 2, permission())
            .answer("root.a-1", 2, Answer::Deny { reason: Some("not now".into()) })
            .ask("root.a-1", 3, currency())
            .answer("root.a-1", 3, Answer::Unattended)
            .finish("root.a-1", Outcome::short(Ending::Timeout, "", "60 s were up"), left)
            .then("root", EventKind::Compacted { upto: 1, with: Vec::new() })
            .complete("root", "done");
        let tree = story.tree();
        let lines: Vec<_> = story.events.iter().filter_map(|event| line(&tree, event)).collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        root started: audit the repository
        root tries again (try 2) in 1.5s: busy very
        root.a-1 started: count
        root.a-1 asks: Which currency?
        root.a-1 was answered: euro
        root.a-1 asks to call run_command: of a rule
        root.a-1 was not allowed to: not now
        root.a-1 asks: Which currency?
        root.a-1 was not answered: nobody was there
        root.a-1 timeout · 0 calls · 0 tokens · 0.0s: 60 s were up; handed back /kept/a.md (7 bytes); still there: process 7; a hook failed: `log`: no
        root shortened its conversation by 1 message
        root completed · 2 calls · 1.2k tokens · 3.4s
        ");
    }

    #[test]
    fn what_was_cut_down_is_said() {
        let mut started = crate::fixture::started("x");
        if let EventKind::Started { clamped, .. } = &mut started {
            let (what, asked, given) = ("mode".into(), "auto".into(), "ask".into());
            clamped.push(Clamp { what, asked, given });
        }
        let story = Story::default().then("root.a-1", started);
        let told = line(&story.tree(), &story.events[0]).unwrap();
        assert_eq!(told, "root.a-1 started (mode auto was cut to ask): x");
    }

    #[test]
    fn a_root_that_is_a_named_agent_is_told_by_its_name_too() {
        let story = Story::default()
            .start_named("root", "reviewer\u{202e}")
            .start_named("root.scout-1", "scout")
            .complete("root.scout-1", "x")
            .complete("root", "x");
        let tree = story.tree();
        let lines: Vec<_> = story.events.iter().filter_map(|event| line(&tree, event)).collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        root (reviewer) started: x
        root.scout-1 started: x
        root.scout-1 completed · 2 calls · 1.2k tokens · 3.4s
        root (reviewer) completed · 2 calls · 1.2k tokens · 3.4s
        ");
    }

    #[test]
    fn a_long_task_is_cut() {
        let story = Story::default().start("root", &"word ".repeat(100));
        assert_eq!(
            line(&story.tree(), &story.events[0]).unwrap().chars().count(),
            "root started: ".len() + LONGEST
        );
    }
}
