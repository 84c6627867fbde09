//! A tool of one's own: `cargo run -p adjutant --example custom_tool`.

use std::{io::Write, sync::Arc};

use adjutant::{
    Adjutant, Catalogue, CliError, Pace, Scripted, TypedTool,
    core::{Effect, Host, ToolError},
    erase,
    schemars::JsonSchema,
    script::{Reply, Script, call},
    serde::Deserialize,
    serde_json::json,
};

/// Knows how many pieces of fruit are in the cellar.
struct Stock;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, crate = "adjutant::serde")]
#[schemars(crate = "adjutant::schemars")]
struct Args {
    /// Which fruit: apples or pears.
    fruit: String,
}

impl TypedTool for Stock {
    type Args = Args;
    const NAME: &'static str = "stock";
    const EFFECT: Effect = Effect::Read;

    fn description(&self) -> String {
        "Tells how many pieces of a fruit are in the cellar.".to_owned()
    }

    fn summary(&self, args: &Args) -> String {
        args.fruit.clone()
    }

    async fn run(&self, args: Args, _: &dyn Host) -> Result<String, ToolError> {
        match &*args.fruit {
            "apples" => Ok("3".to_owned()),
            "pears" => Ok("4".to_owned()),
            other => Err(ToolError(format!("there are no {other} here"))),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), CliError> {
    let asks = Reply::calls([call("c1", "stock", json!({ "fruit": "pears" }))]);
    let script = Script::new().on("root", [asks, Reply::text("There are 4 pears.")]);
    let models = Catalogue::new(Pace::Prompt).with("fruit", Arc::new(Scripted::new(script)));
    let adjutant = Adjutant::builder().models(Arc::new(models)).model("fruit").tool(erase(Stock));
    let report = adjutant.build()?.run("How many pears?").await?;
    writeln!(std::io::stdout(), "{}", report.outcome.text)?;
    Ok(())
}
