//! Asking a model.

use std::sync::Arc;

use adjutant_core::{
    AgentPath, Delta, Effect, Message, Model, ModelError, Origin, Part, Request, ToolCall,
    ToolChoice, ToolSpec, WireLog,
};
use futures_util::{StreamExt, stream::BoxStream};

/// A request under construction.
pub(crate) struct Asking {
    agent: AgentPath,
    turn: u64,
    messages: Vec<Arc<Message>>,
    tools: Vec<Arc<ToolSpec>>,
    choice: ToolChoice,
}

impl Asking {
    /// The first turn of an agent with a task.
    pub(crate) fn new(agent: &str, task: &str) -> Self {
        Self {
            agent: agent.parse().unwrap(),
            turn: 1,
            messages: vec![Arc::new(Message::user(Origin::Person, task))],
            tools: Vec::new(),
            choice: ToolChoice::Free,
        }
    }

    pub(crate) fn turn(self, turn: u64) -> Self {
        Self { turn, ..self }
    }

    pub(crate) fn without_calls(self) -> Self {
        Self { choice: ToolChoice::None, ..self }
    }

    pub(crate) fn offering(self, tools: &[&str]) -> Self {
        let spec = |name: &&str| {
            Arc::new(ToolSpec {
                name: (*name).to_owned(),
                description: String::new(),
                parameters: serde_json::json!({}),
                effect: Effect::Read,
            })
        };
        Self { tools: tools.iter().map(spec).collect(), ..self }
    }

    /// Adds a message and goes on to the next turn.
    pub(crate) fn push(&mut self, message: Message) {
        self.messages.push(Arc::new(message));
        if let Some(Message::Assistant { .. }) = self.messages.last().map(|last| &**last) {
            self.turn += 1;
        }
    }

    pub(crate) fn stream(
        &self,
        model: &dyn Model,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let request = Request {
            agent: &self.agent,
            turn: self.turn,
            system: "",
            messages: &self.messages,
            tools: &self.tools,
            choice: self.choice,
            schema: None,
            max_output: 1000,
            manner: &adjutant_core::Manner::default(),
        };
        model.stream(request, &mut WireLog::default())
    }

    /// All that is streamed.
    pub(crate) async fn hear(&self, model: &dyn Model) -> Vec<Result<Delta, ModelError>> {
        self.stream(model).collect().await
    }

    /// The parts of a whole answer.
    pub(crate) async fn parts(&self, model: &dyn Model) -> Vec<Part> {
        let heard = self.hear(model).await;
        assert!(matches!(heard.last(), Some(Ok(Delta::Stop(_)))), "{heard:?}");
        let parts = heard.into_iter().filter_map(|delta| match delta {
            Ok(Delta::Part(part)) => Some(part),
            _ => None,
        });
        parts.collect()
    }

    /// The words of a whole answer.
    pub(crate) async fn text(&self, model: &dyn Model) -> String {
        Message::Assistant { parts: self.parts(model).await }.text()
    }

    /// The calls of a whole answer.
    pub(crate) async fn calls(&self, model: &dyn Model) -> Vec<ToolCall> {
        Message::Assistant { parts: self.parts(model).await }.calls().cloned().collect()
    }

    /// The failure of an answer.
    pub(crate) async fn error(&self, model: &dyn Model) -> ModelError {
        self.hear(model).await.pop().unwrap().unwrap_err()
    }
}
