//! Watches what happens and answers what is asked, from whatever depth:
//! `cargo run -p adjutant --example watch_and_answer`. The model is the rehearsal, which
//! surveys the directory it is run in.

use std::io::Write;

use adjutant::{
    Adjutant, CliError,
    core::{Answer, Ask, Command, EventKind},
    engine::Seen,
    error::Kind,
    futures_util::StreamExt,
};

#[tokio::main]
async fn main() -> Result<(), CliError> {
    let adjutant = Adjutant::builder().model("rehearsal").builtins(true).subagents(true).build()?;
    let session = adjutant.start("Look at this directory.").await?;
    // As long as this lives, somebody is there to answer.
    let attendance = session.attend();
    let mut events = session.events(0);
    let mut out = std::io::stdout();
    while let Some(seen) = events.next().await {
        let failed = |error| CliError::new(Kind::Internal, format!("{error}"));
        let Seen::Event(event) = seen.map_err(failed)? else { continue };
        match &event.kind {
            EventKind::Started { order, .. } => writeln!(out, "{}: {}", event.path, order.task)?,
            EventKind::Asked { question, ask, .. } => {
                let answer = match &**ask {
                    Ask::Question { prompt, choices } => {
                        writeln!(out, "{} asks: {prompt}", event.path)?;
                        let text = choices.first().cloned().unwrap_or_default();
                        Answer::Words { text }
                    }
                    Ask::Permission { .. } => Answer::Deny { reason: None },
                };
                let answer = Command::Answer { question: *question, answer };
                let sent = session.send(&event.path, answer).await;
                sent.map_err(|error| CliError::new(Kind::Internal, error.to_string()))?;
            }
            _ => {}
        }
    }
    drop(attendance);
    let report = session.finish().await?.report;
    writeln!(out, "{}: {}", report.outcome.ending, report.outcome.text)?;
    Ok(())
}
