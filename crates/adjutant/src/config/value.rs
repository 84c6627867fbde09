//! Reads one value as what its key wants, or says what that is.

use std::{
    fmt::Display, num::NonZeroU64, ops::RangeInclusive, path::PathBuf, str::FromStr, time::Duration,
};

use adjutant_models::{BaseUrl, Headers, Proxy};
use toml::Value;

/// What is wrong with a value, as the end of a sentence that begins with its key.
pub(super) type Wrong = String;

/// Longer than anyone waits, and short enough that no clock overflows.
const YEAR_SECONDS: i64 = 365 * 24 * 60 * 60;

/// More than there is, and few enough to be counted in millionths.
const MOST_DOLLARS: f64 = 1e12;

pub(super) fn text(value: &Value) -> Result<String, Wrong> {
    match value.as_str() {
        Some(text) if text.trim().is_empty() => Err("must not be empty".to_owned()),
        Some(text) => Ok(text.to_owned()),
        None => Err(not(value, "a string")),
    }
}

pub(super) fn choice<T: Copy>(value: &Value, choices: &[(&str, T)]) -> Result<T, Wrong> {
    let chosen = choices.iter().find(|(name, _)| value.as_str() == Some(name));
    let names = || choices.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>();
    chosen
        .map(|(_, choice)| *choice)
        .ok_or_else(|| format!("must be one of {}, not {}", names().join(", "), found(value)))
}

pub(super) fn absolute_path(value: &Value) -> Result<PathBuf, Wrong> {
    let path = PathBuf::from(text(value)?);
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(format!("must be an absolute path, not {}", found(value)))
    }
}

pub(super) fn base_url(value: &Value) -> Result<BaseUrl, Wrong> {
    BaseUrl::parse(&text(value)?)
}

pub(super) fn proxy(value: &Value) -> Result<Proxy, Wrong> {
    Proxy::parse(&text(value)?)
}

/// Reads headers. None of their values gets into what is wrong.
pub(super) fn headers(value: &Value) -> Result<Headers, Wrong> {
    Headers::parse(pairs(value)?)
}

/// Reads names with values. None of the values gets into what is wrong.
pub(super) fn pairs(value: &Value) -> Result<Vec<(&str, &str)>, Wrong> {
    let table = value.as_table().ok_or("must be a table of strings")?;
    let pairs = table.iter().map(|(name, value)| {
        let value = value.as_str().ok_or_else(|| format!("must have a string for `{name}`"))?;
        Ok((name.as_str(), value))
    });
    pairs.collect()
}

/// Reads yes or no.
pub(super) fn flag(value: &Value) -> Result<bool, Wrong> {
    value.as_bool().ok_or_else(|| not(value, "`true` or `false`"))
}

pub(super) fn list<T: FromStr<Err: Display>>(value: &Value) -> Result<Vec<T>, Wrong> {
    let read = |item: &Value| {
        let text = item.as_str().ok_or_else(|| not(value, "a list of strings"))?;
        text.parse().map_err(|bad| format!("has an entry that cannot be read: {bad}"))
    };
    value.as_array().ok_or_else(|| not(value, "a list of strings"))?.iter().map(read).collect()
}

pub(super) fn number<T: TryFrom<i64>>(
    value: &Value,
    range: RangeInclusive<i64>,
) -> Result<T, Wrong> {
    let number = value.as_integer().ok_or_else(|| not(value, "a whole number"))?;
    if number < *range.start() {
        return Err(match range.start() {
            1 => format!("must be positive, not {number}"),
            least => format!("must be at least {least}, not {number}"),
        });
    }
    let too_much = || format!("must be at most {}, not {number}", range.end());
    if number > *range.end() {
        return Err(too_much());
    }
    T::try_from(number).map_err(|_| too_much())
}

pub(super) fn count<T: TryFrom<i64>>(value: &Value) -> Result<T, Wrong> {
    number(value, 1..=i64::from(u32::MAX))
}

pub(super) fn seconds(value: &Value) -> Result<Duration, Wrong> {
    number(value, 1..=YEAR_SECONDS).map(Duration::from_secs)
}

pub(super) fn milliseconds(value: &Value) -> Result<Duration, Wrong> {
    number(value, 1..=YEAR_SECONDS * 1000).map(Duration::from_millis)
}

pub(super) fn budget(value: &Value) -> Result<NonZeroU64, Wrong> {
    positive(number(value, 1..=i64::MAX)?)
}

/// Reads seconds as milliseconds.
pub(super) fn budget_of_seconds(value: &Value) -> Result<NonZeroU64, Wrong> {
    let seconds: u64 = number(value, 1..=YEAR_SECONDS)?;
    positive(seconds * 1000)
}

/// Reads dollars as millionths of a dollar.
pub(super) fn budget_of_dollars(value: &Value) -> Result<NonZeroU64, Wrong> {
    let whole = value.as_integer().map(|dollars| dollars as f64);
    let dollars = whole.or(value.as_float()).ok_or_else(|| not(value, "a number of dollars"))?;
    if dollars <= 0.0 {
        return Err(format!("must be positive, not {dollars}"));
    }
    if !(0.000_001..=MOST_DOLLARS).contains(&dollars) {
        return Err(format!("must be from 0.000001 to {MOST_DOLLARS}, not {dollars}"));
    }
    positive((dollars * 1e6).round() as u64)
}

fn positive(number: u64) -> Result<NonZeroU64, Wrong> {
    NonZeroU64::new(number).ok_or_else(|| "must be positive, not 0".to_owned())
}

fn not(value: &Value, expected: &str) -> Wrong {
    format!("must be {expected}, not {}", found(value))
}

/// Names a value the way it was written.
fn found(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the string `{text}`"),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {
            format!("`{value}`")
        }
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::Pattern;

    use super::*;

    fn micros(text: &str) -> Result<u64, Wrong> {
        budget_of_dollars(&text.parse().unwrap()).map(NonZeroU64::get)
    }

    #[test]
    fn dollars_become_millionths() {
        assert_eq!(micros("2.5"), Ok(2_500_000));
        assert_eq!(micros("0.1"), Ok(100_000));
        assert_eq!(micros("3"), Ok(3_000_000));
    }

    #[test]
    fn money_that_cannot_be_counted_is_refused() {
        for text in ["0", "-1", "-0.5", "0.0000001", "inf", "nan", "1e30", "'2'"] {
            assert!(micros(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_must_fit_its_type_as_well_as_its_range() {
        assert_eq!(number::<u8>(&Value::Integer(255), 0..=1000), Ok(255));
        assert!(number::<u8>(&Value::Integer(256), 0..=1000).is_err());
        assert!(number::<u8>(&Value::Integer(1001), 0..=1000).is_err());
    }

    #[test]
    fn time_is_bounded_so_that_no_clock_overflows() {
        assert!(seconds(&Value::Integer(i64::MAX)).is_err());
        assert_eq!(budget_of_seconds(&Value::Integer(2)).unwrap().get(), 2000);
    }

    #[test]
    fn a_list_with_something_else_in_it_is_refused() {
        let rules = list::<Pattern>;
        assert_eq!(rules(&"['read_file']".parse().unwrap()).unwrap().len(), 1);
        assert!(rules(&"['read_file', 3]".parse().unwrap()).is_err());
        assert!(rules(&"'read_file'".parse().unwrap()).is_err());
    }
}
