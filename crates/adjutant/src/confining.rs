//! The program as the confiner of a command: started again inside the sandbox, with words that
//! are not for people, so that help and completions do not know them.

use std::{ffi::OsString, path::Path};

use adjutant_tools::sandbox::Sandbox;

const CONFINE: &str = "__confine";

/// Returns the sandbox that works here, whose orders are carried out by a program.
pub(crate) fn sandbox(program: &Path) -> Sandbox {
    Sandbox::detect(vec![program.into(), CONFINE.into()])
}

/// Returns what a confiner is told, if that is what the program was started for.
pub fn orders(arguments: &[OsString]) -> Option<&[OsString]> {
    let [_, first, orders @ ..] = arguments else { return None };
    (first == CONFINE).then_some(orders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confiner_is_told_by_its_first_word() {
        let count = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(OsString::from).collect();
            orders(&words).map(<[_]>::len)
        };
        assert_eq!(count(&["adjutant", "__confine", "within", "off", "--", "sh"]), Some(4));
        assert_eq!(count(&["adjutant", "run", "__confine"]), None);
        assert_eq!(count(&["adjutant"]), None);
    }
}
