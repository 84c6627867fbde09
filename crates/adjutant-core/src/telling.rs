//! How it is told what came of an agent, whoever tells it.

use std::fmt::Write as _;

use crate::{AgentId, AgentPath, Artifact, Micros, Receipt, Report};

/// The most bytes of an agent's words that are told at one time.
const MOST_BYTES: usize = 32 * 1024;
/// How many of anything are named.
const MOST_NAMED: usize = 10;

/// How words are to be had that were left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOn {
    /// `agent_status` tells them from any byte on.
    Status,
    /// They are only in the transcript.
    Transcript,
}

/// Returns an agent's words from some byte on; if that is not all, it says how to have the rest.
pub fn words(agent: AgentId, all: &str, from: usize, read_on: ReadOn) -> String {
    if from > 0 && from >= all.len() {
        return format!(
            "[there is nothing from byte {from} on: its words are {} bytes]",
            all.len()
        );
    }
    let from = all.floor_char_boundary(from);
    let next = all.floor_char_boundary(from + MOST_BYTES);
    let text = &all[from..next];
    match (all.len() - next, read_on) {
        (0, _) => text.to_owned(),
        (left_out, ReadOn::Status) => format!(
            "{text}\n[cut: {left_out} more bytes; `agent_status` of {agent} with `offset` {next} \
             goes on]"
        ),
        (left_out, ReadOn::Transcript) => format!(
            "{text}\n[cut: {left_out} more bytes, from byte {next} on, are in the transcript of \
             agent {agent}]"
        ),
    }
}

impl Report {
    /// Returns the agent's last words from some byte on.
    pub fn words(&self, from: usize, read_on: ReadOn) -> String {
        words(self.id, &self.outcome.text, from, read_on)
    }
}

impl Receipt {
    /// Returns what the work took, such as `3 calls, 1234 tokens, $0.0045, 2.1s`.
    pub fn totals(&self) -> String {
        let Self { calls, tokens, micros, millis, .. } = self;
        let cost = cost(*micros).map(|cost| format!("{cost}, ")).unwrap_or_default();
        format!("{calls} calls, {tokens} tokens, {cost}{}.{}s", millis / 1000, millis % 1000 / 100)
    }

    /// Returns what the work cost, if it cost anything.
    pub fn cost(&self) -> Option<String> {
        cost(self.micros)
    }

    /// Returns what the work touched, and what did not go as it was meant to.
    pub fn facts(&self) -> Vec<String> {
        let files = [("read", &self.read), ("modified", &self.modified)];
        let files = files.into_iter().filter(|(_, files)| !files.is_empty());
        let files = files.map(|(what, files)| {
            format!("{what} {}", some(files.iter().map(|file| file.escape_debug().to_string())))
        });
        files.chain(self.notes()).collect()
    }

    /// Returns what was handed back, what did not go as it was meant to, and what became of
    /// changes.
    pub fn notes(&self) -> Vec<String> {
        let Self { artifacts, unfinished, uncontained, unheard, handover, .. } = self;
        let mut notes: Vec<String> = self.clamped.iter().map(ToString::to_string).collect();
        if !artifacts.is_empty() {
            notes.push(format!("handed back {}", some(artifacts.iter().map(Artifact::to_string))));
        }
        if !unfinished.is_empty() {
            notes.push(format!(
                "did not finish: {}",
                some(unfinished.iter().map(AgentPath::to_string))
            ));
        }
        if !uncontained.is_empty() {
            notes.push(format!("may still be running: {}", some(uncontained.iter().cloned())));
        }
        if !unheard.is_empty() {
            // In quotes, since others wrote it.
            let unheard = some(unheard.iter().map(|text| format!("{text:?}")));
            notes.push(format!("did not hear: {unheard}"));
        }
        notes.extend(handover.iter().map(ToString::to_string));
        notes
    }
}

fn cost(micros: Micros) -> Option<String> {
    (micros > 0).then(|| format!("${:.4}", micros as f64 / 1e6))
}

/// Names a few, and tells how many more there are.
fn some(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(MOST_NAMED);
    let mut text = names.take(MOST_NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clamp, Handed, Handover};

    #[test]
    fn everything_is_named_but_not_too_much_of_it() {
        let path = AgentPath::root().child("sub", 1);
        let receipt = Receipt {
            calls: 3,
            tokens: 1234,
            micros: 4500,
            millis: 2199,
            read: (10..22).map(|number| format!("{number}.rs")).collect(),
            modified: ["b\n.rs".to_owned()].into(),
            clamped: vec![Clamp { what: "tokens".into(), asked: "9".into(), given: "5".into() }],
            artifacts: vec![Artifact { path: "/kept/a\nb.md".into(), bytes: 7 }],
            unfinished: vec![path.child("sub", 2)],
            uncontained: vec!["sleep 9".into()],
            unheard: (0..12).map(|number| format!("{number}\n")).collect(),
            handover: Some(Handover {
                patch: Some("/kept/a.patch".into()),
                directory: "/project".into(),
                files: vec!["a".into()],
                handed: Handed::Applied,
                left_out: vec!["`sub` was left out".into()],
            }),
            ..Receipt::default()
        };
        assert_eq!(receipt.totals(), "3 calls, 1234 tokens, $0.0045, 2.1s");
        let expected = [
            "read 10.rs, 11.rs, 12.rs, 13.rs, 14.rs, 15.rs, 16.rs, 17.rs, 18.rs, 19.rs and 2 more",
            r"modified b\n.rs",
            "tokens 9 was cut to 5",
            r"handed back /kept/a\nb.md (7 bytes)",
            "did not finish: root.sub-1.sub-2",
            "may still be running: sleep 9",
            r#"did not hear: "0\n", "1\n", "2\n", "3\n", "4\n", "5\n", "6\n", "7\n", "8\n", "9\n" and 2 more"#,
            "its changes are made in `a`; `sub` was left out",
        ];
        assert_eq!(receipt.facts(), expected);
        assert_eq!(receipt.notes(), expected[2..]);
        let nothing = Receipt::default();
        assert_eq!(nothing.totals(), "0 calls, 0 tokens, 0.0s");
        assert_eq!((nothing.facts(), nothing.cost()), (vec![], None));
    }

    #[test]
    fn long_words_are_cut_and_say_how_to_go_on() {
        let agent: AgentId = "019467d9-7e3a-7000-8000-000000000000".parse().unwrap();
        let all = format!("x{}", "é".repeat(MOST_BYTES / 2 + 10));
        let first = words(agent, &all, 0, ReadOn::Status);
        let how = format!(
            "é\n[cut: 22 more bytes; `agent_status` of {agent} with `offset` 32767 goes on]"
        );
        assert!(first.ends_with(&how), "{}", &first[MOST_BYTES - 20..]);
        let first = words(agent, &all, 0, ReadOn::Transcript);
        let where_ = format!(
            "é\n[cut: 22 more bytes, from byte 32767 on, are in the transcript of agent {agent}]"
        );
        assert!(first.ends_with(&where_), "{}", &first[MOST_BYTES - 20..]);
        assert_eq!(words(agent, &all, 32767, ReadOn::Status), "é".repeat(11));
        assert_eq!(words(agent, &all, 32768, ReadOn::Status), "é".repeat(11), "not within one");
        let end = all.len();
        for past in [end, end + 1, usize::MAX] {
            let told = format!("[there is nothing from byte {past} on: its words are {end} bytes]");
            assert_eq!(words(agent, &all, past, ReadOn::Status), told);
        }
        assert_eq!(words(agent, "", 0, ReadOn::Status), "");
    }
}
