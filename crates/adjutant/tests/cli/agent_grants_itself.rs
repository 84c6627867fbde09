//! What a project's agent would allow or start is nothing until the person agrees to its file, and
//! a server of one agent is nobody else's.

use std::{fs, os::unix::fs::symlink, path::Path};

use crate::support::{Done, World};

const WRITER: &str = "\
description = 'Writes.'
system_prompt = 'Write.'
[permissions]
allow = ['write_file(out/**)']
";

const WRITES: &str = "\
[[reply]]
calls = [{ tool = 'write_file', args = { path = 'out/a', content = 'x' } }]
[[reply]]
text = 'done'
";

fn place(world: &World, directory: &Path, name: &str, text: &str) {
    let directory = directory.join("agents");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(format!("{name}.toml")), text).unwrap();
    let _ = fs::remove_dir_all(world.working_directory().join("out"));
}

fn in_project(world: &World, name: &str, text: &str) {
    place(world, &world.project_directory().join(".adjutant"), name, text);
}

fn of_user(world: &World, name: &str, text: &str) {
    place(world, world.user_file().parent().unwrap(), name, text);
}

/// Runs the writer, and reports whether it wrote.
fn writes(world: &World) -> (bool, Done) {
    let file = world.working_directory().join("out/a");
    let _ = fs::remove_file(&file);
    let done = world.run(&["run", "-a", "writer", "--quiet", "go"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    (file.exists(), done)
}

#[test]
fn what_a_users_own_agent_allows_is_done_without_asking() {
    let world = World::new().script(WRITES);
    of_user(&world, "writer", WRITER);
    assert!(writes(&world).0);
    let stricter = World::new().script(WRITES).user("[permissions]\nask = ['write_file']\n");
    of_user(&stricter, "writer", WRITER);
    assert!(!writes(&stricter).0, "what the person says counts more");
    of_user(&world, "writer", &WRITER.replace("[permissions]", "mode = 'plan'\n[permissions]"));
    assert!(!writes(&world).0, "its own mode counts more");
}

#[test]
fn what_a_projects_agent_allows_holds_once_agreed_to_and_until_it_changes() {
    let world = World::new().script(WRITES);
    in_project(&world, "writer", WRITER);
    let (wrote, done) = writes(&world);
    assert!(!wrote);
    assert!(done.stderr.contains("writer.toml:3"), "{}", done.stderr);
    assert!(done.stderr.contains("does not hold until you agree"), "{}", done.stderr);
    let shown = world.run(&["trust", "--yes"]);
    assert!(shown.stdout.contains("write_file(out/**)"), "{}", shown.stdout);
    let (wrote, done) = writes(&world);
    assert!(wrote && !done.stderr.contains("until you agree"), "{}", done.stderr);
    let nothing = "there is nothing here that needs to be agreed to\n";
    assert_eq!(world.run(&["trust"]).stdout, nothing);
    in_project(&world, "writer", &WRITER.replace("out/**", "**"));
    assert!(!writes(&world).0, "another file");
    in_project(&world, "writer", WRITER);
    assert!(writes(&world).0);
    assert_eq!(world.run(&["trust", "--revoke"]).code, Some(0));
    assert!(!writes(&world).0);
}

#[test]
fn naming_a_file_in_the_project_does_not_make_it_the_persons_own() {
    let world = World::new().script(WRITES).file("tools/writer.toml", WRITER);
    let project = world.project_directory();
    // The same directory, by another name.
    let link = project.with_file_name("tools").display().to_string();
    symlink(project.join("src/deep/tools"), &link).unwrap();
    let away = project.with_file_name("away/.adjutant");
    place(&world, &away, "writer", WRITER);
    let away = away.join("agents/writer.toml").display().to_string();
    let wrote = || {
        let is_there = world.working_directory().join("out/a").exists();
        let _ = fs::remove_dir_all(world.working_directory().join("out"));
        is_there
    };
    for (flags, named) in [
        (&["-a", "tools/writer.toml"][..], "tools"),
        (&["-a", "../deep/tools/writer.toml"], "../deep/tools"),
        (&["-a", "writer", "--agents-dir", "../../../tools"], "tools"),
        (&["-a", "writer", "--agents-dir", &link], "tools"),
        (&["-a", &away], away.trim_end_matches("/writer.toml")),
    ] {
        let run = || world.run(&[&["run", "--quiet", "go"], flags].concat());
        let done = run();
        assert!(!wrote() && done.code == Some(0), "{flags:?}: {}", done.stderr);
        let hint = done.stderr.split_once("`adjutant trust --agents-dir ").unwrap().1;
        let directory = hint.split_once('`').unwrap().0;
        assert!(directory.starts_with('/') && directory.ends_with("s"), "{directory}");
        let shown = world.run(&["trust", "--yes", "--agents-dir", directory]);
        assert!(shown.stdout.contains("write_file(out/**)"), "{}", shown.stdout);
        assert!(shown.stdout.contains(&format!("--agents-dir {directory} --revoke`")));
        let done = run();
        assert!(wrote() && done.stderr.is_empty(), "{flags:?}: {}", done.stderr);
        let revoked = world.run(&["trust", "--revoke", "--agents-dir", named]);
        assert_eq!(revoked.code, Some(0), "{}", revoked.stderr);
        run();
        assert!(!wrote(), "{flags:?}");
    }
    place(&world, &project.with_file_name("own"), "writer", WRITER);
    world.run(&["run", "--quiet", "-a", "../../../own/agents/writer.toml", "go"]);
    assert!(wrote(), "outside of all projects it is the person's own");
}

#[test]
fn a_file_in_any_repository_is_not_the_persons_own_however_it_is_named() {
    let world = World::new().script(WRITES);
    let other = world.project_directory().with_file_name("other");
    fs::create_dir_all(other.join(".git")).unwrap();
    fs::create_dir_all(other.join("agents")).unwrap();
    fs::write(other.join("agents/writer.toml"), WRITER).unwrap();
    let named = other.join("agents/writer.toml").display().to_string();
    let done = world.run(&["run", "-a", &named, "--quiet", "go"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(!world.working_directory().join("out/a").exists());
    let place = other.join("agents").display().to_string();
    assert!(done.stderr.contains("until you agree"), "{}", done.stderr);
    assert_eq!(world.run(&["trust", "--yes", "--agents-dir", &place]).code, Some(0));
    world.run(&["run", "-a", &named, "--quiet", "go"]);
    assert!(world.working_directory().join("out/a").exists());
}

#[test]
fn a_child_is_not_allowed_what_its_caller_would_be_asked_about() {
    let script = "[[reply]]\nagent = 'root'\n\
                  calls = [{ tool = 'call_agent', args = { agent = 'writer', task = 'go' } }]\n\
                  [[reply]]\nagent = 'root'\ntext = 'done'\n";
    let child = WRITES.replace("[[reply]]\n", "[[reply]]\nagent = 'root.*'\n");
    let world = World::new().script(&format!("{script}{child}"));
    of_user(&world, "writer", WRITER);
    let done = world.run(&["run", "--quiet", "go"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(!world.working_directory().join("out/a").exists());
}

#[cfg(feature = "mcp")]
mod servers {
    use adjutant_core::EventKind;

    use super::*;

    /// A server in a shell that notes that it was started.
    const SERVER: &str = r#"
echo started >> "$STARTS"
while read -r line; do
    id=${line#*\"id\":}; id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*)
        result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},'
        result=$result'"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}' ;;
    *) continue ;;
    esac
    echo '{"jsonrpc":"2.0","id":'$id',"result":'$result'}'
done
"#;

    fn agent(world: &World, more: &str) -> String {
        let place = world.project_directory().join("src/deep");
        let place = place.display();
        format!(
            "description = 'd'\nsystem_prompt = 'p'\n{more}\n[[mcp_servers]]\nname = 's'\n\
             command = '/bin/sh'\nargs = ['{place}/server.sh']\n\
             env = {{ STARTS = '{place}/starts' }}\n"
        )
    }

    fn world() -> World {
        World::new().file("server.sh", SERVER).script(
            "[[reply]]\nagent = 'root'\n\
             calls = [{ tool = 'call_agent', args = { agent = 'looker', task = 'go' } },\n\
             { tool = 'sub_agent', args = { prompt = 'x' } }]\n\
             [[reply]]\ntimes = 'any'\ntext = 'done'\n",
        )
    }

    /// Returns the agents that have the server's tool, by their paths.
    fn have_it(world: &World, flags: &[&str]) -> Vec<String> {
        let done = world.run(&[&["run", "--events", "--quiet", "go"], flags].concat());
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let events = done.events().into_iter();
        let has = |tools: &[String]| tools.iter().any(|tool| tool == "mcp__s__look");
        let having = events
            .filter(|event| matches!(&event.kind, EventKind::Started { tools, .. } if has(tools)));
        having.map(|event| event.path.to_string()).collect()
    }

    fn starts(world: &World) -> usize {
        let starts = fs::read_to_string(world.working_directory().join("starts"));
        starts.unwrap_or_default().lines().count()
    }

    #[test]
    fn a_server_is_its_agents_alone_whoever_runs() {
        let world = world();
        of_user(&world, "looker", &agent(&world, ""));
        assert_eq!(have_it(&world, &[]), ["root.looker-1"]);
        of_user(&world, "looker", &agent(&world, "tools = ['read_file']"));
        assert_eq!(have_it(&world, &[]), ["root.looker-1"], "whatever else it has");
        assert_eq!(starts(&world), 2);
    }

    #[test]
    fn a_server_of_one_that_cannot_be_called_is_not_started() {
        let world = world();
        of_user(&world, "looker", &agent(&world, ""));
        of_user(&world, "alone", "description = 'd'\nsystem_prompt = 'p'\n");
        let none: [&str; 0] = [];
        assert_eq!(have_it(&world, &["-a", "alone"]), none);
        assert_eq!(starts(&world), 0);
    }

    #[test]
    fn a_server_of_a_projects_agent_is_not_started_before_somebody_agreed() {
        let world = world();
        in_project(&world, "looker", &agent(&world, ""));
        let none: [&str; 0] = [];
        assert_eq!((have_it(&world, &[]), starts(&world)), (none.map(str::to_owned).into(), 0));
        let shown = world.run(&["trust", "--yes"]);
        assert!(shown.stdout.contains("would start, outside the sandbox"), "{}", shown.stdout);
        assert_eq!(have_it(&world, &[]), ["root.looker-1"]);
    }

    #[test]
    fn a_caller_who_may_not_use_it_has_nobody_use_it_for_them() {
        let world = world();
        of_user(&world, "looker", &agent(&world, ""));
        let boss = "description = 'd'\nsystem_prompt = 'p'\nsub_agents = ['looker']\n";
        of_user(&world, "boss", &format!("{boss}tools = ['read_file', 'sub_agent']\n"));
        let done = world.run(&["run", "-a", "boss", "--quiet", "go"]);
        assert!(done.stderr.contains("`mcp__s__*` among its `tools`"), "{}", done.stderr);
        assert_eq!(starts(&world), 0);
        let listed = "tools = ['read_file', 'sub_agent', 'mcp__s__*']\n";
        of_user(&world, "boss", &format!("{boss}{listed}"));
        assert_eq!(have_it(&world, &["-a", "boss"]), ["root.looker-1"]);
    }
}
