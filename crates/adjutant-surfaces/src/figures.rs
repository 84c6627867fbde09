//! Numbers as people read them.

/// Writes a number of tokens: `950`, `1.2k`, `34k`, `5.6M`.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => short(count / 100, 'k'),
        _ => short(count / 100_000, 'M'),
    }
}

fn short(tenths: u64, unit: char) -> String {
    match tenths {
        0..100 => format!("{}.{}{unit}", tenths / 10, tenths % 10),
        _ => format!("{}{unit}", tenths / 10),
    }
}

/// Writes a duration: `3.4s`, `2m05s`, `1h02m`.
pub(crate) fn elapsed(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..60 => format!("{seconds}.{}s", millis % 1000 / 100),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Writes a number of things.
pub(crate) fn count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_short_at_every_size() {
        let written = [0, 999, 1_000, 1_250, 9_999, 34_567, 999_999, 5_600_000].map(tokens);
        assert_eq!(written, ["0", "999", "1.0k", "1.2k", "9.9k", "34k", "999k", "5.6M"]);
        let written = [0, 3_450, 59_999, 60_000, 125_000, 3_720_000].map(elapsed);
        assert_eq!(written, ["0.0s", "3.4s", "59.9s", "1m00s", "2m05s", "1h02m"]);
    }
}
