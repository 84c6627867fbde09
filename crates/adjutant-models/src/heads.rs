//! What comes before the messages of a request, encoded once for all who say the same there.

use std::sync::Arc;

use adjutant_core::{Request, ToolSpec};
use bytes::Bytes;

/// How many are kept. A tree has few kinds of agents.
const KEPT: usize = 8;

/// The latest beginnings of requests, that used last first.
#[derive(Default)]
pub(crate) struct Heads(Vec<Head>);

/// What holds for as long as the tools and the system prompt stay the same.
struct Head {
    tools: Vec<Arc<ToolSpec>>,
    system: String,
    bytes: Bytes,
}

impl Heads {
    /// Returns the beginning of a request, encoded now if it is not kept.
    pub(crate) fn of(&mut self, request: &Request<'_>, encode: impl FnOnce() -> Vec<u8>) -> Bytes {
        let kept = self.0.iter().position(|head| head.is_of(request));
        let place = kept.unwrap_or_else(|| {
            self.0.truncate(KEPT - 1);
            self.0.push(Head {
                tools: request.tools.to_vec(),
                system: request.system.to_owned(),
                bytes: encode().into(),
            });
            self.0.len() - 1
        });
        self.0[..=place].rotate_right(1);
        self.0[0].bytes.clone()
    }
}

impl Head {
    fn is_of(&self, request: &Request<'_>) -> bool {
        let same = |(one, other): (&Arc<ToolSpec>, &Arc<ToolSpec>)| Arc::ptr_eq(one, other);
        self.tools.len() == request.tools.len()
            && self.tools.iter().zip(request.tools).all(same)
            && self.system == request.system
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::{AgentPath, Effect, ToolChoice};
    use serde_json::Value;

    use super::*;

    fn tool() -> Arc<ToolSpec> {
        let (name, description) = ("look".to_owned(), String::new());
        Arc::new(ToolSpec { name, description, parameters: Value::Null, effect: Effect::Read })
    }

    #[test]
    fn agents_of_different_kinds_do_not_evict_each_other() {
        let (mut heads, mut encoded) = (Heads::default(), Vec::new());
        let tools = [tool(), tool()];
        let agent = AgentPath::root();
        let mut ask = |system: &str, tools: &[Arc<ToolSpec>]| {
            let request = Request {
                agent: &agent,
                turn: 1,
                system,
                messages: &[],
                tools,
                choice: ToolChoice::Free,
                schema: None,
                max_output: 9,
                manner: &adjutant_core::Manner::default(),
            };
            let name = format!("{system}/{}", tools.len());
            let bytes = heads.of(&request, || {
                encoded.push(name.clone());
                name.clone().into_bytes()
            });
            assert_eq!(bytes, name);
            encoded.len()
        };
        for _ in 0..2 {
            assert_eq!(
                [ask("a", &tools[..1]), ask("a", &tools), ask("b", &tools)].last(),
                Some(&3)
            );
        }
        // Equal is not the same: it is another tool.
        assert_eq!(ask("a", &tools[1..]), 4);
        // That of `b` is used last, and so stays while others come.
        assert_eq!(ask("b", &tools), 4);
        for (count, system) in (5..).zip(["1", "2", "3", "4", "5", "6", "7"]) {
            assert_eq!(ask(system, &tools), count);
        }
        assert_eq!(ask("b", &tools), 11);
        assert_eq!(ask("a", &tools), 12);
    }
}
