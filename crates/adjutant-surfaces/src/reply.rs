//! Reading what a person typed.

use adjutant_core::{Answer, Ask, Pattern, Span, ToolCall};

/// Reads an answer, or returns what to say before asking again.
pub(crate) fn read(ask: &Ask, line: &str) -> Result<Answer, String> {
    let line = line.trim();
    if line.is_empty() {
        return Err(String::new());
    }
    match ask {
        Ask::Question { choices, .. } => words(choices, line),
        Ask::Permission { call, rules, .. } => verdict(call, rules, line),
    }
}

/// Returns what stands before the number of a choice: where choices are numbers themselves, a
/// number alone could be meant as it is.
pub(crate) fn mark(choices: &[String]) -> &'static str {
    let is_number = |choice: &String| choice.trim().parse::<f64>().is_ok();
    if choices.iter().any(is_number) { "#" } else { "" }
}

fn words(choices: &[String], line: &str) -> Result<Answer, String> {
    let (mark, most) = (mark(choices), choices.len());
    let number = |text: &str| text.parse::<usize>().ok();
    let place = line.strip_prefix(mark).and_then(number);
    let chosen = place.and_then(|place| choices.get(place.checked_sub(1)?));
    // Of two meanings neither is guessed.
    let is_unclear = number(line).is_some_and(|it| mark == "#" && (1..=most).contains(&it));
    match chosen {
        _ if choices.is_empty() || choices.iter().any(|it| it == line) => {
            Ok(Answer::Words { text: line.to_owned() })
        }
        Some(choice) => Ok(Answer::Words { text: choice.clone() }),
        None if place.is_none() && !is_unclear => Ok(Answer::Words { text: line.to_owned() }),
        None => Err(format!("there are choices {mark}1 to {mark}{most}; or answer in words\n")),
    }
}

fn verdict(call: &ToolCall, rules: &[Pattern], line: &str) -> Result<Answer, String> {
    let end = line.find(|c: char| !c.is_alphanumeric()).unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    let rest = rest.trim_start_matches([' ', ',', ':']);
    match word.to_lowercase().as_str() {
        "y" | "yes" if rest.is_empty() => Ok(Answer::Allow),
        "n" | "no" => Ok(Answer::Deny { reason: (!rest.is_empty()).then(|| rest.to_owned()) }),
        "s" | "session" => standing(call, rules, rest, Span::Session),
        "a" | "always" => standing(call, rules, rest, Span::Always),
        _ if rules.is_empty() => Err("answer y or n\n".to_owned()),
        _ => Err("answer y, s, a or n\n".to_owned()),
    }
}

/// Reads a yes that stands, for what the question names or for a rule of the person's own.
fn standing(call: &ToolCall, rules: &[Pattern], rule: &str, span: Span) -> Result<Answer, String> {
    let rules = match rule {
        "" if rules.is_empty() => {
            return Err("nobody can tell what that would allow: answer y or n\n".to_owned());
        }
        "" => Vec::new(),
        rule => {
            let rule: Pattern = rule.parse().map_err(|error| format!("{error}\n"))?;
            if !rule.is_about(&call.name) {
                return Err(format!("`{rule}` is not about {}\n", call.name));
            }
            vec![rule]
        }
    };
    Ok(Answer::AllowFromNowOn { rules, span })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn answer(line: &str) -> Result<Answer, String> {
        choose(&["euro", "dollar", "yen"], line)
    }

    fn choose(choices: &[&str], line: &str) -> Result<Answer, String> {
        let choices = choices.iter().map(|choice| (*choice).to_owned()).collect();
        read(&Ask::Question { prompt: "which?".into(), choices }, line)
    }

    fn words(text: &str) -> Result<Answer, String> {
        Ok(Answer::Words { text: text.to_owned() })
    }

    fn denied(reason: Option<&str>) -> Result<Answer, String> {
        Ok(Answer::Deny { reason: reason.map(str::to_owned) })
    }

    #[test]
    fn a_number_chooses_and_anything_else_is_free_text() {
        assert_eq!(answer("2"), words("dollar"));
        assert_eq!(answer(" yen, please \n"), words("yen, please"));
        assert_eq!(answer("#2"), words("#2"));
    }

    #[test]
    fn where_choices_are_numbers_a_number_is_what_it_is() {
        let answer = |line| choose(&["2", "4", "8"], line);
        assert_eq!(answer("2"), words("2"));
        assert_eq!(answer("#2"), words("4"));
        assert_eq!(answer("16"), words("16"));
        // The first or none of them.
        assert!(answer("1").unwrap_err().contains("#1 to #3"));
        assert!(answer("#4").unwrap_err().contains("#1 to #3"));
        assert_eq!(choose(&["auto", "0.5"], "#1"), words("auto"));
    }

    #[test]
    fn a_number_that_is_no_choice_is_asked_for_again() {
        assert!(answer("0").unwrap_err().contains("1 to 3"));
        assert!(answer("4").unwrap_err().contains("1 to 3"));
    }

    #[test]
    fn without_choices_a_number_is_an_answer() {
        let ask = Ask::Question { prompt: "how many?".into(), choices: Vec::new() };
        assert_eq!(read(&ask, "4"), words("4"));
    }

    #[test]
    fn an_empty_line_is_no_answer() {
        assert!(answer("  \n").is_err());
        assert!(read(&fixture::permission(), "").is_err());
    }

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        let read = |line| read(&fixture::permission(), line);
        assert_eq!(read("y"), Ok(Answer::Allow));
        assert_eq!(read("Yes"), Ok(Answer::Allow));
        for line in ["yes but not now", "maybe", "yolo", "1", "nothing", "ok"] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_yes_may_stand_for_longer_than_the_call() {
        let call = ToolCall {
            id: "c".into(),
            name: "run_command".into(),
            arguments: serde_json::Value::Null,
            native: None,
        };
        let rule = |text: &str| -> Pattern { text.parse().unwrap() };
        let ask = |rules| Ask::Permission {
            call: call.clone(),
            effect: adjutant_core::Effect::Execute,
            because: String::new(),
            rules,
        };
        let named = ask(vec![rule("run_command(make)")]);
        let standing = |rules, span| Ok(Answer::AllowFromNowOn { rules, span });
        assert_eq!(read(&named, "s"), standing(Vec::new(), Span::Session));
        assert_eq!(read(&named, "Always"), standing(Vec::new(), Span::Always));
        let own = vec![rule("run_command(make *)")];
        assert_eq!(read(&named, "a run_command(make *)"), standing(own.clone(), Span::Always));
        assert!(read(&named, "a make *").unwrap_err().contains("is not a rule"));
        assert!(read(&named, "s write_file").unwrap_err().contains("not about run_command"));
        // What cannot be told cannot be allowed for good, unless the person says what.
        assert!(read(&ask(Vec::new()), "s").unwrap_err().contains("y or n"));
        assert_eq!(read(&ask(Vec::new()), "s run_command(make *)"), standing(own, Span::Session));
    }

    #[test]
    fn a_no_may_come_with_a_reason() {
        let read = |line| read(&fixture::permission(), line);
        assert_eq!(read("n"), denied(None));
        assert_eq!(read("NO"), denied(None));
        assert_eq!(read("n because it is late"), denied(Some("because it is late")));
        assert_eq!(read("no, ask me first"), denied(Some("ask me first")));
    }
}
