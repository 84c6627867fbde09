//! Where the root's task comes from.

use std::io::Read;

use crate::{CliError, error::Kind};

/// What stands at the other end of stdin.
pub enum Stdin<'a> {
    /// A person, who is not kept waiting without a word.
    Terminal,
    /// A file or a program.
    Piped(&'a mut dyn Read),
}

/// Returns the task: the one that was given, or else what stdin holds, or else the usual one. `-`
/// is stdin too.
pub(crate) fn prompt(
    given: Option<String>,
    stdin: Stdin<'_>,
    usual: Option<&str>,
) -> Result<String, CliError> {
    let given = given.filter(|given| given != "-");
    let prompt = match (given, stdin) {
        (Some(given), _) => given,
        (None, Stdin::Piped(stdin)) => {
            let mut text = String::new();
            stdin.read_to_string(&mut text).map_err(|error| {
                CliError::new(Kind::Usage, format!("the task cannot be read from stdin: {error}"))
            })?;
            text
        }
        (None, Stdin::Terminal) => match usual {
            Some(usual) => usual.to_owned(),
            None => return Err(advise("there is no task")),
        },
    };
    if let (Some(usual), true) = (usual, prompt.trim().is_empty()) {
        return Ok(usual.to_owned());
    }
    if prompt.trim().is_empty() { Err(advise("the task is empty")) } else { Ok(prompt) }
}

fn advise(message: &str) -> CliError {
    CliError::new(Kind::Usage, message)
        .hint("give it as an argument, `adjutant run 'what to do'`, or pipe it into stdin")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piped(given: Option<&str>, mut stdin: &[u8]) -> Result<String, String> {
        let prompt = prompt(given.map(str::to_owned), Stdin::Piped(&mut stdin), None);
        prompt.map_err(|error| error.to_string())
    }

    #[test]
    fn an_argument_comes_before_stdin() {
        assert_eq!(piped(Some("argument"), b"stdin").unwrap(), "argument");
        assert_eq!(piped(None, b"stdin\n").unwrap(), "stdin\n");
        assert_eq!(piped(Some("-"), b"stdin").unwrap(), "stdin");
    }

    #[test]
    fn an_empty_task_is_refused_wherever_it_comes_from() {
        assert!(piped(Some(" \n"), b"stdin").unwrap_err().contains("the task is empty"));
        assert!(piped(None, b" \n").unwrap_err().contains("the task is empty"));
    }

    #[test]
    fn a_person_at_the_terminal_is_told_how_to_give_a_task() {
        let error = prompt(None, Stdin::Terminal, None).unwrap_err().to_string();
        assert!(error.contains("adjutant run 'what to do'"), "{error}");
    }

    #[test]
    fn a_task_that_is_not_text_is_refused() {
        assert!(piped(None, b"\xff").unwrap_err().contains("stdin"));
    }
}
