//! Files that agents hand back: where they go, and what must not become of others.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use adjutant_core::{Artifact, Fact, Mode, Order, Verdict};
use adjutant_tools::{ArtifactPlace, ArtifactSettings, ChosenBy};
use serde_json::{Value, json};

use crate::{
    ground::Ground,
    seat::{Seat, settings},
};

/// Returns a ground with a directory for all agents, which is not there yet.
fn for_everyone() -> (Ground, PathBuf) {
    let mut ground = Ground::with(&[("data.bin", "x")]);
    let directory = ground.at("../kept/here");
    let artifacts =
        ArtifactSettings { everyone: Some(directory.clone()), ..ArtifactSettings::default() };
    ground.seat.tools = adjutant_tools::all(&adjutant_tools::Settings { artifacts, ..settings() });
    let directory = directory.parent().unwrap().parent().unwrap().canonicalize().unwrap();
    (ground, directory.join("kept/here"))
}

/// Returns a ground with a directory for the agent `writer` alone, and its seat as that agent.
fn for_one(directory: &str, chosen: ChosenBy) -> Ground {
    let mut ground = Ground::with(&[]);
    let place = ArtifactPlace { directory: ground.at(directory), chosen };
    let artifacts =
        ArtifactSettings { named: [("writer".to_owned(), place)].into(), everyone: None };
    ground.seat.tools = adjutant_tools::all(&adjutant_tools::Settings { artifacts, ..settings() });
    ground.seat.order = Order { agent: Some("writer".into()), ..Order::default() };
    ground
}

async fn hand_back(seat: &Seat, arguments: Value) -> Result<String, String> {
    seat.call("write_artifact", arguments).await
}

async fn write(seat: &Seat, name: &str, content: &str) -> Result<String, String> {
    hand_back(seat, json!({ "name": name, "content": content })).await
}

fn is_offered(seat: &Seat) -> bool {
    let tool = seat.tools.iter().find(|tool| tool.spec().name == "write_artifact").unwrap();
    tool.offer(&seat.order, &seat.grant).is_some()
}

#[tokio::test]
async fn what_is_handed_back_is_there_and_noted_even_in_mode_plan() {
    let (ground, kept) = for_everyone();
    let said = write(&ground.seat, "charts/a.svg", "<svg/>").await.unwrap();
    assert_eq!(said, "handed back `charts/a.svg`: 6 bytes");
    let file = kept.join("charts/a.svg");
    assert_eq!(fs::read_to_string(&file).unwrap(), "<svg/>");
    let artifact = Artifact { path: file.display().to_string(), bytes: 6 };
    assert_eq!(*ground.seat.facts.lock().unwrap(), [Fact::Kept(artifact)]);
    let tool = ground.seat.tools.iter().find(|tool| tool.spec().name == "write_artifact").unwrap();
    assert_eq!(ground.seat.grant.judge(&tool.spec(), &[]).verdict, Verdict::Allow);
    assert_eq!(ground.names("."), ["data.bin"], "nothing is left where it works");
}

#[tokio::test]
async fn a_copy_is_of_a_file_the_agent_may_read() {
    let (ground, kept) = for_everyone();
    let copy = json!({ "name": "copy", "path": "data.bin" });
    hand_back(&ground.seat, copy.clone()).await.unwrap();
    assert_eq!(fs::read_to_string(kept.join("copy")).unwrap(), "x");
    let read = Fact::Read { path: ground.at("data.bin").display().to_string() };
    assert!(ground.seat.facts.lock().unwrap().contains(&read));
    let outside = json!({ "name": "copy", "path": "/etc/passwd" });
    let tool = ground.seat.tools.iter().find(|tool| tool.spec().name == "write_artifact").unwrap();
    let verdict = |arguments| {
        let touches = ground.seat.touches("write_artifact", arguments);
        ground.seat.grant.judge(&tool.spec(), &touches).verdict
    };
    assert_eq!((verdict(&copy), verdict(&outside)), (Verdict::Allow, Verdict::Deny));
    let moved = ground.seat.call_after("write_artifact", copy, || {
        fs::remove_file(ground.at("data.bin")).unwrap();
        symlink("/etc/passwd", ground.at("data.bin")).unwrap();
    });
    assert!(moved.await.unwrap_err().contains("data.bin"));
}

#[tokio::test]
async fn each_agent_has_its_own_directory_and_none_replaces_another_s_file() {
    let (ground, kept) = for_everyone();
    let child = ground.seat.other("root.scout-1");
    write(&ground.seat, "a.md", "root's").await.unwrap();
    write(&child, "a.md", "scout's").await.unwrap();
    assert_eq!(fs::read_to_string(kept.join("a.md")).unwrap(), "root's");
    assert_eq!(fs::read_to_string(kept.join("root.scout-1/a.md")).unwrap(), "scout's");
    let error = write(&ground.seat, "root.scout-1/a.md", "root's").await.unwrap_err();
    assert!(error.contains("was handed back by root.scout-1"), "{error}");
    assert_eq!(fs::read_to_string(kept.join("root.scout-1/a.md")).unwrap(), "scout's");
}

#[tokio::test]
async fn a_file_from_before_is_replaced_only_where_a_person_said_so() {
    let (ground, kept) = for_everyone();
    fs::create_dir_all(&kept).unwrap();
    fs::write(kept.join("a.md"), "old").unwrap();
    write(&ground.seat, "a.md", "new").await.unwrap();
    assert_eq!(fs::read_to_string(kept.join("a.md")).unwrap(), "new");
    let ground = for_one("out", ChosenBy::Person);
    ground.write("out/a.md", "old");
    let error = write(&ground.seat, "a.md", "new").await.unwrap_err();
    assert!(error.contains("was there before this run"), "{error}");
    assert_eq!(ground.read("out/a.md"), "old");
    write(&ground.seat, "b.md", "one").await.unwrap();
    write(&ground.seat, "b.md", "two").await.unwrap();
    assert_eq!((ground.read("out/b.md"), ground.names("out").len()), ("two".into(), 2));
}

#[tokio::test]
async fn only_who_has_a_place_is_offered_the_tool() {
    let ground = for_one("out", ChosenBy::Person);
    assert!(is_offered(&ground.seat));
    let other = ground.seat.other("root.fork-1");
    assert!(!is_offered(&other));
    assert!(write(&other, "a", "x").await.unwrap_err().contains("no place"));
    assert!(!is_offered(&Ground::with(&[]).seat));
    let (ground, _) = for_everyone();
    assert!(is_offered(&ground.seat) && is_offered(&ground.seat.other("root.scout-1")));
}

#[tokio::test]
async fn no_name_leads_out_and_no_link_is_followed() {
    let (ground, kept) = for_everyone();
    let outside = ground.at("../outside");
    fs::create_dir_all(&kept).unwrap();
    fs::create_dir(&outside).unwrap();
    symlink(&outside, kept.join("link")).unwrap();
    for name in ["", ".", "..", "../a", "/etc/a", "a/../../b", "a/", "./a/.."] {
        let error = write(&ground.seat, name, "x").await.unwrap_err();
        assert!(error.contains("`name` has to be"), "{name}: {error}");
    }
    let error = write(&ground.seat, "link/a", "x").await.unwrap_err();
    assert!(error.contains("link on the way"), "{error}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[tokio::test]
async fn either_a_content_or_a_path_is_said() {
    let (ground, _) = for_everyone();
    for arguments in
        [json!({ "name": "a" }), json!({ "name": "a", "content": "x", "path": "data.bin" })]
    {
        let error = hand_back(&ground.seat, arguments).await.unwrap_err();
        assert!(error.contains("either `content` or `path`"), "{error}");
    }
}

#[tokio::test]
async fn a_file_that_is_too_long_is_refused_whole() {
    let (ground, kept) = for_everyone();
    let long = fs::File::create(ground.at("long")).unwrap();
    long.set_len(64 * 1024 * 1024 + 1).unwrap();
    let copy = json!({ "name": "long", "path": "long" });
    let error = hand_back(&ground.seat, copy.clone()).await.unwrap_err();
    assert!(error.contains("the most are 64 MiB"), "{error}");
    assert!(!kept.join("long").exists());
    long.set_len(64 * 1024 * 1024).unwrap();
    hand_back(&ground.seat, copy).await.unwrap();
    assert_eq!(fs::metadata(kept.join("long")).unwrap().len(), 64 * 1024 * 1024);
}

#[tokio::test]
async fn where_a_project_s_file_chose_the_place_only_who_may_write_there_does() {
    let ground = for_one("out", ChosenBy::Project);
    let error = write(&ground.seat, "conftest.py", "x").await.unwrap_err();
    assert!(error.contains("in mode `plan`"), "{error}");
    assert!(!ground.at("out").exists());
    let seat = ground.seat.in_mode(Mode::Auto);
    write(&seat, "a.md", "x").await.unwrap();
    assert_eq!(fs::read_to_string(seat.workdir.join("out/a.md")).unwrap(), "x");
    let error = write(&seat, ".git/hooks/a", "x").await.unwrap_err();
    assert!(error.contains("reads orders from"), "{error}");
}
