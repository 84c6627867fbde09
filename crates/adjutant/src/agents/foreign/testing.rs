//! What tests of other products' formats share.

use std::path::{Path, PathBuf};

use adjutant_core::{Access, AgentPath, Charter, Grant, Mode, Verdict};
use serde_json::Value;

use crate::agents::{
    definition::{Definition, Owner},
    format::Format,
    problem::{Problem, Severity},
    text::{self, Written},
};

/// A file that was read.
pub(crate) struct Loaded {
    pub(crate) definition: Option<Definition>,
    pub(crate) problems: Vec<Problem>,
}

/// Reads a file as a program of that format would have it.
pub(crate) fn load(format: Format, content: &str) -> Loaded {
    load_named(format, "tester", content)
}

/// Reads a file of a name.
pub(crate) fn load_named(format: Format, name: &str, content: &str) -> Loaded {
    let written = Written {
        file: format!("{name}.x").into(),
        owner: Owner::User,
        name: name.to_owned(),
        text: text::decode(content.as_bytes()).unwrap(),
    };
    let (definition, problems) = format.read(&written);
    Loaded { definition, problems }
}

impl Loaded {
    /// Returns the agent, of which nothing may be wrong.
    pub(crate) fn clean(self) -> Definition {
        assert_eq!(self.told(), [""; 0]);
        self.definition.unwrap()
    }

    /// Returns the agent, whatever was said of its file.
    pub(crate) fn agent(self) -> Definition {
        let told = self.told();
        self.definition.unwrap_or_else(|| panic!("{told:?}"))
    }

    /// Returns what was said, as `line severity message`.
    pub(crate) fn told(&self) -> Vec<String> {
        let told = |problem: &Problem| {
            let line = problem.line.map_or("-".to_owned(), |line| line.to_string());
            format!("{line} {} {}", problem.severity.name(), problem.message)
        };
        self.problems.iter().map(told).collect()
    }

    /// Returns what the file is refused for.
    pub(crate) fn refusal(&self) -> String {
        assert!(self.definition.is_none(), "it is not refused");
        let errors = self.problems.iter().filter(|it| it.severity == Severity::Error);
        errors
            .map(|it| format!("{}: {}", it.line.unwrap_or(0), it.message))
            .collect::<Vec<_>>()
            .join("; ")
    }
}

/// What becomes of a call that an agent makes as the child of one who may do anything.
pub(crate) fn verdict(agent: &Definition, scope: &Path, tool: &str, arguments: &Value) -> Verdict {
    let grant = grant(agent, scope);
    let tools = adjutant_tools::all(&adjutant_tools::Settings::default());
    let tool = tools.iter().find(|it| it.spec().name == tool).unwrap();
    grant.judge(&tool.spec(), &tool.touches(arguments, scope)).verdict
}

/// What an agent may do as the child of one who may do anything.
pub(crate) fn grant(agent: &Definition, scope: &Path) -> Grant {
    #[expect(clippy::disallowed_methods, reason = "there is no composition root here")]
    let root = Grant::mint(Charter {
        mode: Mode::Dangerous,
        rules: Vec::new(),
        access: Access::Inherit,
        scope: vec![PathBuf::from(scope)],
        protected: Vec::new(),
        shown: Vec::new(),
        depth: 3,
    });
    root.narrow(AgentPath::root().child("x", 1), &agent.wish()).unwrap().0
}

/// What becomes of a command.
pub(crate) fn command(agent: &Definition, command: &str) -> Verdict {
    let arguments = serde_json::json!({ "command": command });
    verdict(agent, Path::new("/"), "run_command", &arguments)
}
