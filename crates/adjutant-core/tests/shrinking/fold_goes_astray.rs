//! The tree that is folded from the events is the tree that was.

use std::sync::Arc;

use adjutant_core::{
    AgentId, AgentPath, Answer, Ask, Chosen, Event, EventKind, Message, Mode, Order, Origin,
    Outcome, QuestionId, Receipt, State, ToolResult, Tree,
};
use uuid::Uuid;

fn started() -> EventKind {
    EventKind::Started {
        order: Arc::new(Order { task: "go".to_owned(), ..Order::default() }),
        model: "a/model".into(),
        chosen: Chosen::Inherited,
        mode: Mode::Auto,
        tools: Vec::new(),
        clamped: Vec::new(),
        inherited: 0,
        workdir: None,
    }
}

fn said(message: Message) -> EventKind {
    EventKind::Said { message: Arc::new(message) }
}

fn asked(question: QuestionId) -> EventKind {
    let ask = Ask::Question { prompt: "?".to_owned(), choices: Vec::new() };
    EventKind::Asked { question, call_id: "q".into(), ask: Arc::new(ask) }
}

fn answered(question: QuestionId) -> EventKind {
    EventKind::Answered { question, answer: Answer::Allow }
}

fn called(call: &str) -> EventKind {
    let (tool, summary) = ("look".to_owned(), "around".to_owned());
    EventKind::Called { call_id: call.into(), tool, summary }
}

fn finished() -> EventKind {
    let (outcome, receipt) = (Outcome::completed("done"), Receipt::default());
    EventKind::Finished { outcome: Arc::new(outcome), receipt: Arc::new(receipt) }
}

/// Follows the events of one agent, and returns what `look` sees after each.
fn after_each<T>(kinds: Vec<EventKind>, look: impl Fn(&Tree) -> T) -> Vec<T> {
    let (path, id) = (AgentPath::root(), AgentId::from(Uuid::nil()));
    let mut tree = Tree::default();
    let steps = kinds.into_iter().zip(1..).map(|(kind, seq)| {
        tree.apply(&Event { seq, at: 0, path: path.clone(), id, call: None, kind });
        look(&tree)
    });
    steps.collect()
}

fn state(tree: &Tree) -> State {
    tree.nodes()[0].state
}

#[test]
fn one_that_asks_waits_until_its_last_question_is_closed() {
    let [one, two] = [1, 2].map(|n| QuestionId::from(Uuid::from_u128(n)));
    let withdrawn = EventKind::Withdrawn { question: two };
    let kinds = vec![started(), asked(one), asked(two), answered(one), withdrawn, finished()];
    let expected = [
        State::Running,
        State::Waiting,
        State::Waiting,
        State::Waiting,
        State::Running,
        State::Completed,
    ];
    assert_eq!(after_each(kinds.clone(), state), expected);
    assert_eq!(after_each(kinds, |tree| tree.questions().len()), [0, 1, 2, 1, 0, 0]);
}

#[test]
fn one_that_rests_goes_on_when_it_is_told_more() {
    let more = said(Message::user(Origin::Person, "more"));
    let states = after_each(vec![started(), EventKind::Rested, more], state);
    assert_eq!(states, [State::Running, State::Resting, State::Running]);
}

#[test]
fn calls_run_until_their_results_are_there() {
    let results =
        vec![ToolResult::failure("a".into(), "no"), ToolResult::failure("b".into(), "no")];
    let results = said(Message::Tools { results });
    let heard = said(Message::user(Origin::Person, "how is it going?"));
    let kinds = vec![started(), called("a"), called("b"), heard, results, called("c"), finished()];
    let running = after_each(kinds.clone(), |tree| tree.nodes()[0].running.len());
    assert_eq!(running, [0, 1, 2, 2, 0, 1, 0]);
    assert_eq!(after_each(kinds, |tree| tree.nodes()[0].calls), [0, 1, 2, 2, 2, 3, 3]);
}
