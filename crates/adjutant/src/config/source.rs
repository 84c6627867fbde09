//! Where a value came from.

use std::fmt;

use serde::Serialize;

/// Where a value came from, the weakest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "layer", rename_all = "snake_case")]
pub enum Source {
    /// The program itself.
    Default,
    /// A preset that comes with the program.
    Preset {
        /// Which one.
        name: &'static str,
    },
    /// The user's own file.
    User {
        /// Which file.
        file: String,
        /// Where in it, from 1.
        line: usize,
    },
    /// The file of the project the command runs in.
    Project {
        /// Which file.
        file: String,
        /// Where in it, from 1.
        line: usize,
    },
    /// A variable.
    Environment {
        /// Its name.
        name: String,
    },
    /// The program that has agents work for it.
    Builder,
    /// The command line.
    Flag {
        /// Which flag.
        flag: &'static str,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Preset { name } => write!(f, "preset {name}"),
            Self::User { file, line } | Self::Project { file, line } => write!(f, "{file}:{line}"),
            Self::Environment { name } => write!(f, "environment {name}"),
            Self::Builder => f.write_str("builder"),
            Self::Flag { flag } => write!(f, "flag {flag}"),
        }
    }
}
