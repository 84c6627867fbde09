//! With `--output-schema` stdout is JSON that fits, or the exit code says otherwise.

use serde_json::{Value, json};

use crate::support::{Done, World};

const SCHEMA: &str = r#"{ "type": "object", "required": ["files"] }"#;
const RUN: [&str; 4] = ["run", "go", "--output-schema", "schema.json"];

fn world(answers: &[&str]) -> World {
    let reply = |answer: &&str| format!("[[reply]]\nagent = 'root'\ntext = '''{answer}'''\n");
    let script: String = answers.iter().map(reply).collect();
    World::new().script(&script).file("schema.json", SCHEMA)
}

fn refused(schema: &str) -> String {
    let world = world(&["{}"]).file("schema.json", schema);
    world.refused(&RUN)
}

#[test]
fn stdout_is_the_json_and_nothing_else() {
    let world = world(&["Two files.", "```json\n{ \"files\": 2 }\n```"]);
    let done = world.run(&RUN);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "{ \"files\": 2 }\n"));
    let done = world.run(&[&RUN[..], &["--json"]].concat());
    let result: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&result["text"], &result["turns"]), (&json!("{ \"files\": 2 }"), &json!(2)));
}

#[test]
fn an_answer_that_never_fits_is_a_failure() {
    let Done { code, stdout, stderr } =
        world(&["{}", "{}", "[]"]).run(&[&RUN[..], &["--quiet"]].concat());
    // Who reads stdout is promised what fits.
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    let expected =
        "[]\nfailed: its answer does not fit the schema: at '': want object, but got array\n";
    assert_eq!(stderr, expected);
    let shown = world(&["{}", "{}", "[]"]).run(&RUN);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(1), ""));
    assert!(shown.stderr.ends_with("\n[]\n"), "{}", shown.stderr);
    let result = world(&["{}", "{}", "[]"]).run(&[&RUN[..], &["--json"]].concat()).stdout;
    assert_eq!(serde_json::from_str::<Value>(&result).unwrap()["text"], "[]");
}

#[test]
fn a_file_that_is_no_schema_is_refused_with_the_place() {
    let stderr = refused("{\n  \"type\": object }");
    assert!(
        stderr.starts_with("error: schema.json:2:11: is not JSON: expected value\n"),
        "{stderr}"
    );
    let stderr = refused(r#"{ "properties": { "a": { "type": "text" } } }"#);
    let expected = "error: schema.json: is no valid JSON Schema: at '/properties/a/type': ";
    assert!(stderr.starts_with(expected), "{stderr}");
    let stderr = refused(r#"{ "$ref": "file:///etc/passwd" }"#);
    assert!(stderr.contains("may refer only to what is in it"), "{stderr}");
    let stderr = world(&["{}"]).refused(&["run", "go", "--output-schema", "missing.json"]);
    assert!(stderr.starts_with("error: missing.json: cannot be read: "), "{stderr}");
}

#[test]
fn the_task_is_not_read_before_the_schema() {
    let world = world(&["{}"]).stdin(b"look at \xff");
    let stderr = world.refused(&["run", "--output-schema", "missing.json"]);
    assert!(stderr.contains("missing.json"), "{stderr}");
}
