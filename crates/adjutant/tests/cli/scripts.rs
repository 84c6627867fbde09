//! Scripts that more than one file of tests plays.

/// A tree of four: the root has two children, one of which has one that asks. It does the same
/// each time but for the order in which the two are at work.
pub(crate) const TREE: &str = r#"
[[reply]]
agent = "root"
text = "I will ask two others."
calls = [
    { tool = "sub_agent", args = { prompt = "look around" } },
    { tool = "sub_agent", args = { prompt = "hand it on" } },
]
usage = { input = 100, output = 10 }

[[reply]]
agent = "root"
text = "Two files,  \nin euro."
usage = { input = 200, output = 20 }

[[reply]]
task = "look around"
calls = [{ tool = "list_dir" }, { tool = "find_files", args = { pattern = "*" } }]
usage = { input = 30, output = 3 }

[[reply]]
task = "look around"
text = "two files"
usage = { input = 40, output = 4 }

[[reply]]
task = "hand it on"
calls = [{ tool = "sub_agent", args = { prompt = "find out" } }]
usage = { input = 50, output = 5 }

[[reply]]
task = "hand it on"
text = "euro"
usage = { input = 60, output = 6 }

[[reply]]
task = "find out"
calls = [{ tool = "ask_user", args = { question = "Which?", choices = ["euro", "yen"] } }]
usage = { input = 70, output = 7 }

[[reply]]
task = "find out"
text = "euro, I assume"
usage = { input = 80, output = 8 }
"#;

/// A root that says something and delegates to a child that never answers.
pub(crate) const HANGING: &str = r#"
[[reply]]
agent = "root"
text = "I have begun."
calls = [{ tool = "sub_agent", args = { prompt = "take your time" } }]

[[reply]]
agent = "root.sub-1"
text = "still thinking"
hang = true
"#;
