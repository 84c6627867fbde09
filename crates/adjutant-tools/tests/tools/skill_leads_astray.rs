//! What can go wrong with skills.

use std::{collections::BTreeMap, fs, os::unix::fs::symlink, path::Path, sync::Arc};

use adjutant_core::{Order, Rules, Verdict};
use adjutant_tools::{
    Settings,
    skills::{Invocation, Skill, Skills, Whose},
};
use serde_json::json;

use crate::seat::Seat;

fn skill(top: &Path, name: &str, description: &str) -> Skill {
    Skill {
        name: name.to_owned(),
        description: description.to_owned(),
        compatibility: None,
        invocation: Invocation::Anybody,
        text: format!("How {name} is done."),
        file: top.join(name).join("SKILL.md"),
        whose: Whose::User,
    }
}

fn seat(top: &Path, skills: Skills) -> Seat {
    let skills = Arc::new(skills);
    let tools = adjutant_tools::all(&Settings { skills, ..Settings::default() });
    Seat { tools, ..Seat::at(top) }
}

fn offer(seat: &Seat, order: &Order) -> Option<String> {
    let tool = seat.tools.iter().find(|tool| tool.spec().name == "skill").unwrap();
    tool.offer(order, &seat.grant).map(|spec| spec.description.clone())
}

#[test]
fn without_skills_there_is_no_tool_for_them() {
    let top = tempfile::tempdir().unwrap();
    assert_eq!(offer(&seat(top.path(), Skills::default()), &Order::default()), None);
    let own = BTreeMap::from([("a".to_owned(), vec![Arc::new(skill(top.path(), "s", ""))])]);
    let seat = seat(top.path(), Skills { own, ..Skills::default() });
    assert_eq!(offer(&seat, &Order::default()), None);
    let order = Order { agent: Some("a".to_owned()), ..Order::default() };
    assert!(offer(&seat, &order).is_some());
}

#[tokio::test]
async fn many_skills_with_long_descriptions_are_listed_in_little_room() {
    let top = tempfile::tempdir().unwrap();
    let long = "words\nand words ".repeat(70);
    let named = |number| Arc::new(skill(top.path(), &format!("s-{number:03}"), &long));
    let seat = seat(top.path(), Skills { all: (0..200).map(named).collect(), ..Skills::default() });
    let told = offer(&seat, &Order::default()).unwrap();
    assert!(told.len() < 20_000, "{}", told.len());
    assert!(told.contains("\n- s-059: words and words "), "{told}");
    assert!(!told.contains("s-060"), "{told}");
    assert!(told.ends_with("…\n[and 140 more: the name `?` lists all names]"), "{told}");
    let names = seat.call("skill", json!({ "name": "?" })).await.unwrap_err();
    assert!(names.contains("s-000, s-001") && names.ends_with("s-199"), "{names}");
    let last = seat.call("skill", json!({ "name": "s-199" })).await.unwrap();
    assert!(last.contains("How s-199 is done."), "{last}");
}

#[tokio::test]
async fn what_only_people_think_of_is_not_listed() {
    let top = tempfile::tempdir().unwrap();
    let hidden = Skill { invocation: Invocation::People, ..skill(top.path(), "deploy", "Ships.") };
    let all = vec![Arc::new(hidden), Arc::new(skill(top.path(), "test", "Tests."))];
    let seat = seat(top.path(), Skills { all, ..Skills::default() });
    let told = offer(&seat, &Order::default()).unwrap();
    assert!(told.contains("\n- test: Tests.") && !told.contains("deploy"), "{told}");
    let names = seat.call("skill", json!({ "name": "?" })).await.unwrap_err();
    assert!(names.ends_with("there are: test"), "{names}");
    assert!(seat.call("skill", json!({ "name": "deploy" })).await.is_ok());
}

#[tokio::test]
async fn a_link_does_not_lead_out_of_a_skill() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir(top.path().join("s")).unwrap();
    fs::write(top.path().join("secret"), "hidden").unwrap();
    fs::write(top.path().join("s/a.md"), "shown").unwrap();
    symlink("../secret", top.path().join("s/link")).unwrap();
    let real = top.path().canonicalize().unwrap();
    let all = vec![Arc::new(skill(&real, "s", ""))];
    let seat = seat(&real, Skills { all, ..Skills::default() });
    let read = async |file: &str| seat.call("skill", json!({ "name": "s", "file": file })).await;
    assert!(read("a.md").await.unwrap().ends_with("shown"));
    for file in ["link", "../secret"] {
        let refusal = read(file).await.unwrap_err();
        assert!(refusal.contains("is not in the skill's directory"), "{refusal}");
    }
}

#[test]
fn a_rule_forbids_some_skills_or_all() {
    let top = tempfile::tempdir().unwrap();
    let verdict = |rule: &str, name: &str| {
        let deny = vec![rule.parse().unwrap()];
        let rules = Rules { deny, ..Rules::default() };
        let seat = seat(top.path(), Skills::default()).with_rules(rules);
        let touches = seat.touches("skill", &json!({ "name": name }));
        let tool = seat.tools.iter().find(|tool| tool.spec().name == "skill").unwrap();
        seat.grant.judge(&tool.spec(), &touches).verdict
    };
    assert_eq!(verdict("skill(deploy*)", "deploy-all"), Verdict::Deny);
    assert_eq!(verdict("skill(deploy*)", "test"), Verdict::Allow);
    assert_eq!(verdict("skill", "test"), Verdict::Deny);
}
