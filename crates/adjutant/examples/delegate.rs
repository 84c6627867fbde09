//! A root that gives two tasks to children and adds up what they found. The model is a script,
//! so no key is needed: `cargo run -p adjutant --example delegate`.

use std::{io::Write, sync::Arc};

use adjutant::{
    Adjutant, Catalogue, CliError, Pace, Scripted,
    script::{Reply, Script, call},
    serde_json::json,
};

#[tokio::main]
async fn main() -> Result<(), CliError> {
    let script = Script::new()
        .on(
            "root",
            [
                Reply::calls([
                    call("c1", "sub_agent", json!({ "prompt": "count the apples" })),
                    call("c2", "sub_agent", json!({ "prompt": "count the pears" })),
                ]),
                Reply::text("7 pieces of fruit."),
            ],
        )
        .on_task("apples", [Reply::text("There are 3 apples.")])
        .on_task("pears", [Reply::text("There are 4 pears.")]);
    let models = Catalogue::new(Pace::Prompt).with("fruit", Arc::new(Scripted::new(script)));

    let adjutant = Adjutant::builder()
        .models(Arc::new(models))
        .model("fruit")
        .subagents(true)
        .set("limits.max_depth", 1)
        .set("budget.tokens", 100_000)
        .build()?;
    let report = adjutant.run("Count the fruit.").await?;

    let (outcome, receipt) = (&report.outcome, &report.receipt);
    let calls = receipt.calls;
    writeln!(std::io::stdout(), "{}: {} ({calls} calls)", outcome.ending, outcome.text)?;
    Ok(())
}
