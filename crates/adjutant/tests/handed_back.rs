//! What a child hands back is there for whoever called it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, path::Path, sync::Arc};

use adjutant::{
    Adjutant, Catalogue, Pace, Scripted, Surroundings,
    core::{
        AgentPath, Delta, Message, Mode, Model, ModelError, ModelInfo, Part, Report, Request,
        StopReason, ToolCall, Usage, WireLog,
    },
    futures_util::{StreamExt as _, stream, stream::BoxStream},
    script::Script,
    serde_json::{Value, json},
};

/// A model whose root reads what its child hands back, and then tries to change it.
struct Reader {
    info: ModelInfo,
    data: String,
}

impl Model for Reader {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(
        &self,
        request: Request<'_>,
        _: &mut WireLog,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let last = match &**request.messages.last().unwrap() {
            Message::Tools { results } => results.iter().map(|it| it.text.clone() + "\n").collect(),
            said => said.text(),
        };
        let is_root = *request.agent == AgentPath::root();
        let parts = match (is_root, request.turn) {
            (true, 1) => vec![call("call_agent", json!({ "agent": "writer", "task": "write" }))],
            (true, 2) => {
                let (_, path) = last.rsplit_once("handed back ").unwrap();
                let (path, _) = path.split_once(" (").unwrap();
                let change = json!({ "path": path, "content": "changed" });
                vec![
                    call("read_file", json!({ "path": path })),
                    call("read_file", json!({ "path": format!("{}/secret", self.data) })),
                    call("write_file", change),
                ]
            }
            (false, 1) => {
                let file = json!({ "name": "report.md", "content": "seven pears" });
                vec![call("write_artifact", file)]
            }
            _ => vec![Part::Text { text: last, native: None }],
        };
        let stop = match parts.first() {
            Some(Part::Call(_)) => StopReason::Calls,
            _ => StopReason::Done,
        };
        let end = [Delta::Usage(Usage::default()), Delta::Stop(stop)];
        let deltas = parts.into_iter().map(Delta::Part).chain(end).map(Ok);
        stream::iter(deltas.collect::<Vec<_>>()).boxed()
    }
}

fn call(tool: &str, arguments: Value) -> Part {
    let id = format!("{tool} {arguments}").into();
    Part::Call(ToolCall { id, name: tool.to_owned(), arguments, native: None })
}

async fn run(home: &Path, mode: Mode) -> Report {
    let agents = home.join("config/adjutant/agents");
    fs::create_dir_all(&agents).unwrap();
    fs::create_dir_all(home.join("work")).unwrap();
    fs::create_dir_all(home.join("data/adjutant")).unwrap();
    fs::write(home.join("data/adjutant/secret"), "a secret").unwrap();
    fs::write(agents.join("lead.toml"), "system_prompt = 'x'\nsub_agents = ['writer']").unwrap();
    fs::write(agents.join("writer.toml"), "system_prompt = 'x'\n[artifacts]\nenabled = true")
        .unwrap();
    let around = Surroundings {
        config_home: home.join("config"),
        data_home: home.join("data"),
        ..Surroundings::bare(home.join("work"))
    };
    let info = Scripted::new(Script::new()).info().clone();
    let reader = Reader { info, data: home.join("data/adjutant").display().to_string() };
    let models = Catalogue::new(Pace::Prompt).with("reader", Arc::new(reader));
    let builder = Adjutant::builder().models(Arc::new(models)).model("reader").mode(mode);
    let builder = builder.surroundings(around).agent("lead").builtins(true).subagents(true);
    builder.build().unwrap().run("go").await.unwrap()
}

#[tokio::test]
async fn a_parent_reads_what_was_handed_back_and_does_not_change_it() {
    for mode in [Mode::Plan, Mode::Ask, Mode::Auto] {
        let home = tempfile::tempdir().unwrap();
        let report = run(home.path(), mode).await;
        let seen = &report.outcome.text;
        assert!(seen.contains("seven pears"), "{mode}: {report:?}");
        assert!(!seen.contains("a secret"), "{mode}: {seen}");
        let mut sessions = fs::read_dir(home.path().join("data/adjutant/artifacts")).unwrap();
        let path = sessions.next().unwrap().unwrap().path().join("root.writer-1/report.md");
        assert_eq!(fs::read_to_string(path).unwrap(), "seven pears", "{mode}: {seen}");
    }
}
