//! Makes an input that found a fault smaller.

use crate::{Finding, panics::caught};

/// The most tries.
const TRIES: usize = 2000;

/// Takes pieces out of an input, large ones first, for as long as it still finds a fault.
pub(crate) fn minimise(check: fn(&[u8]) -> u64, mut finding: Finding) -> Finding {
    let fault = |input: &[u8]| caught(|| check(input)).err();
    let (mut size, mut tries) = (finding.input.len().div_ceil(2), 0);
    while size > 0 && tries < TRIES {
        let mut at = 0;
        while at < finding.input.len() && tries < TRIES {
            let end = (at + size).min(finding.input.len());
            let smaller = [&finding.input[..at], &finding.input[end..]].concat();
            tries += 1;
            match fault(&smaller) {
                Some(fault) => finding = Finding { input: smaller, fault },
                None => at += size,
            }
        }
        size /= 2;
    }
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_both(input: &[u8]) -> u64 {
        assert!(!(input.contains(&b'a') && input.contains(&b'z')), "{} bytes", input.len());
        0
    }

    #[test]
    fn only_what_finds_the_fault_is_left() {
        let input = b"..a...........................z....".to_vec();
        let finding = minimise(has_both, Finding { input, fault: String::new() });
        assert_eq!(finding.input, b"az");
        assert!(finding.fault.ends_with("2 bytes"), "{}", finding.fault);
    }
}
