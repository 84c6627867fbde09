//! What an agent may spend, and how its model is asked.

use std::{num::NonZeroU64, time::Duration};

use adjutant_core::{Allowance, Backoff, Effort, Manner, Retry};

use super::Fields;

const THOUSAND: NonZeroU64 = NonZeroU64::new(1000).unwrap();

/// More than there is, and few enough to be counted in millionths.
const MOST_DOLLARS: f64 = 1e12;
const LEAST_DOLLARS: f64 = 0.000_001;

/// The longest pause, in milliseconds: a day.
const LONGEST_PAUSE: u64 = 24 * 60 * 60 * 1000;

/// How pauses may grow.
const BACKOFFS: [(&str, Backoff); 3] =
    [("exponential", Backoff::Exponential), ("linear", Backoff::Linear), ("fixed", Backoff::Fixed)];

/// Reads what an agent may spend. Of two limits on its time, the tighter counts.
pub(super) fn allowance(fields: &mut Fields<'_>) -> Allowance {
    let timeout = fields.seconds("timeout");
    let mut table = fields.section("budget");
    let seconds = timeout.into_iter().chain(table.seconds("time")).min();
    let dollars = table.within("usd", LEAST_DOLLARS..=MOST_DOLLARS).and_then(|usd| usd.as_f64());
    let allowance = Allowance {
        tokens: table.count("max_tokens"),
        micros: dollars.and_then(|dollars| NonZeroU64::new((dollars * 1e6).round() as u64)),
        millis: seconds.map(|seconds| seconds.saturating_mul(THOUSAND)),
        turns: table.count("turns"),
        calls: table.count("calls"),
    };
    fields.end_table(table);
    allowance
}

/// Reads how an agent's model is asked.
pub(super) fn manner(fields: &mut Fields<'_>) -> Manner {
    let mut table = fields.section("params");
    let manner = Manner {
        temperature: table.within("temperature", 0.0..=2.0),
        top_p: table.within("top_p", 0.0..=1.0),
        max_output: table.count("max_tokens"),
        effort: table.choice("effort", &Effort::ALL),
        retry: None,
        ..Manner::default()
    };
    if table.take("response_format").is_some() {
        let why = "cannot be: what an answer has to be is not the model's to choose";
        table.refuse("response_format", why, "`output_schema` has the answer fit a JSON Schema");
    }
    fields.end_table(table);
    Manner { retry: retry(fields), ..manner }
}

fn retry(fields: &mut Fields<'_>) -> Option<Retry> {
    let mut table = fields.section("retry");
    let is_there = !table.is_empty();
    let usual = Retry::default();
    let retries = table.whole("max_retries").map(u32::try_from);
    if matches!(retries, Some(Err(_) | Ok(u32::MAX))) {
        table.wrong("max_retries", "is more than can be counted");
    }
    let retries = retries.and_then(Result::ok);
    let backoff = table.choice("backoff", &BACKOFFS).unwrap_or_default();
    let base = pause(&mut table, "initial_delay_ms").unwrap_or(usual.base);
    let longest = pause(&mut table, "max_delay_ms");
    if longest.is_some_and(|longest| longest < base) {
        table.wrong("max_delay_ms", "is shorter than the first pause, `retry.initial_delay_ms`");
    }
    fields.end_table(table);
    is_there.then(|| Retry {
        attempts: retries.map_or(usual.attempts, |retries| retries.saturating_add(1)),
        base,
        cap: longest.unwrap_or(usual.cap.max(base)),
        backoff,
    })
}

fn pause(table: &mut Fields<'_>, name: &'static str) -> Option<Duration> {
    let millis = table.count(name)?.get();
    if millis > LONGEST_PAUSE {
        table.wrong(name, format!("is longer than a day, which is {LONGEST_PAUSE}"));
    }
    Some(Duration::from_millis(millis))
}
