//! Which tools a child has.

use serde_json::{Value, json};

use super::{FIVE, calls, ends, fork, says, spawn, walk};

/// Returns the tools of a child with this access.
fn tools(access: &Value) -> Vec<String> {
    let call = spawn(json!({ "tool_access": access }));
    let walk = walk(&[calls("root", &[call]), says("root.agent-1", "ok"), ends()], &[]);
    walk.tools("root.agent-1")
}

#[test]
fn a_policy_is_an_object_or_text_and_holds() {
    let all = tools(&json!({ "policy": "inherit" }));
    assert!(
        ["read_file", "write_file", "run_command"].iter().all(|it| all.contains(&(*it).into()))
    );
    let without = |names: &[&str]| -> Vec<String> {
        all.iter().filter(|it| !names.contains(&it.as_str())).cloned().collect()
    };
    let table = [
        (json!({ "policy": "inherit" }), all.clone()),
        (
            json!({ "policy": "allow_list", "tools": ["read_file", "list_dir"] }),
            all.iter()
                .filter(|it| ["read_file", "list_dir"].contains(&it.as_str()))
                .cloned()
                .collect(),
        ),
        (json!({ "policy": "deny_list", "tools": ["run_command"] }), without(&["run_command"])),
    ];
    for (access, expected) in table {
        for access in [Value::String(access.to_string()), access] {
            assert_eq!(tools(&access), expected, "{access}");
        }
    }
    assert_eq!(tools(&json!("inherit")), all);
    let written =
        [json!({ "policy": "read_only" }), json!(r#"{"policy":"read_only"}"#), json!("read_only")];
    for access in written {
        let tools = tools(&access);
        assert!(tools.contains(&"read_file".to_owned()), "{tools:?}");
        for change in ["write_file", "edit_file", "run_command", "web_fetch"] {
            assert!(!tools.contains(&change.to_owned()), "{tools:?}");
        }
    }
}

#[test]
fn without_a_policy_a_child_has_its_parents_tools_but_for_the_five() {
    let walk = walk(&[calls("root", &[spawn(json!({}))]), says("root.agent-1", "ok"), ends()], &[]);
    let mut expected = walk.tools("root");
    assert!(FIVE.iter().all(|name| expected.contains(&(*name).to_owned())));
    expected.retain(|name| !FIVE.contains(&name.as_str()));
    assert_eq!(walk.tools("root.agent-1"), expected);
}

#[test]
fn a_policy_that_cannot_be_kept_is_refused() {
    let policies = [
        (json!({ "policy": "allow_list", "tools": ["grep_it"] }), "no tool named `grep_it`"),
        (json!({ "policy": "deny_list", "tools": ["grep_it"] }), "no tool named `grep_it`"),
        (json!({ "policy": "all" }), "unknown variant `all`"),
        (json!({ "policy": "read_only", "tools": ["read_file"] }), "unknown field `tools`"),
        (json!({ "policy": "allow_list" }), "missing field `tools`"),
        (json!({ "tools": ["read_file"] }), "policy"),
        (json!("everything"), "`tool_access`: unknown variant `everything`"),
        (json!(5), "`tool_access`: expected an object such as"),
    ];
    let wanted = policies.iter().flat_map(|(access, _)| {
        let args = json!({ "tool_access": access });
        [spawn(args.clone()), fork(args)]
    });
    let walk = walk(&[calls("root", &wanted.collect::<Vec<_>>()), ends()], &[]);
    for (place, (_, expected)) in policies.iter().flat_map(|it| [it, it]).enumerate() {
        let error = walk.error(place);
        assert!(error.contains(expected), "{error}");
    }
    assert!(walk.events.iter().all(|event| event.path.depth() == 0));
}

#[test]
fn a_fork_sees_its_parents_tools_and_is_refused_those_it_may_not_use() {
    let table = [
        json!({ "policy": "deny_list", "tools": ["list_dir"] }),
        json!({ "policy": "allow_list", "tools": ["read_file"] }),
        json!("{\"policy\":\"deny_list\",\"tools\":[\"list_dir\"]}"),
    ];
    for access in table {
        let replies = [
            calls("root", &[fork(json!({ "tool_access": access }))]),
            calls("root.fork-1", &[("list_dir", json!({})), spawn(json!({}))]),
            says("root.fork-1", "ok"),
            ends(),
        ];
        let walk = walk(&replies, &[]);
        assert_eq!(walk.tools("root.fork-1"), walk.tools("root"), "for the provider's cache");
        let results = walk.results("root.fork-1");
        assert!(results.iter().all(|it| it.failed), "{results:?}");
        assert!(results[0].text.contains("not allowed"), "{results:?}");
        assert!(walk.events.iter().all(|event| event.path.depth() < 2));
    }
}

#[test]
fn a_read_only_fork_changes_nothing() {
    let write = ("write_file", json!({ "path": "a.txt", "content": "x" }));
    let replies = [
        calls("root", &[fork(json!({ "tool_access": { "policy": "read_only" } }))]),
        calls("root.fork-1", &[write]),
        says("root.fork-1", "ok"),
        ends(),
    ];
    let walk = walk(&replies, &["-c", "mode=auto"]);
    let results = walk.results("root.fork-1");
    assert!(results[0].failed && results[0].text.contains("not allowed"), "{results:?}");
}
