//! Whoever works in a copy of a directory may do there no more than in the directory itself.

use std::path::Path;

use adjutant_core::{
    Access, AgentPath, Charter, Effect, Grant, Mode, Refusal, Rules, StandIn, Target, ToolSpec,
    Touch, Verdict, Wish,
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::authority_widens::{TOOLS, charter, spec, wish};

/// Places inside and outside the project, the runtime's own among them.
const PLACES: [&str; 8] = [
    "a",
    "src/b",
    "src/deep/c",
    ".git/hooks/post-commit",
    "src/.adjutant/config.toml",
    "kept/journal.db",
    "/etc/passwd",
    "/data/sessions/1/other",
];

const EFFECTS: [Effect; 4] = [Effect::Read, Effect::Write, Effect::Execute, Effect::Reach];

fn copy(number: usize) -> String {
    format!("/data/sessions/1/{number}")
}

#[expect(clippy::disallowed_methods, reason = "tests mint authority")]
fn mint(charter: Charter) -> Grant {
    let protected = vec!["/data".into(), "/project/kept".into()];
    Grant::mint(Charter { protected, ..charter })
}

fn touch(effect: Effect, directory: &str, place: &str) -> [Touch; 1] {
    [Touch { effect, target: Target::Path(Path::new(directory).join(place)) }]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_copy_is_judged_no_more_freely_than_its_original(
        charter in charter(),
        wishes in vec((wish(), any::<bool>()), 1..5),
        acts in vec((select(&TOOLS[..]), select(&EFFECTS[..]), select(&PLACES[..])), 1..12),
    ) {
        let mut parent = mint(charter);
        let (mut path, mut directory) = (AgentPath::root(), "/project".to_owned());
        for (number, (wish, has_copy)) in wishes.iter().enumerate() {
            path = path.child("greedy", 1);
            let place = if *has_copy { copy(number) } else { directory.clone() };
            let narrowed = if *has_copy {
                let stand_in = StandIn { place: (&place).into(), original: (&directory).into() };
                parent.narrow_into(path.clone(), wish, stand_in)
            } else {
                parent.narrow(path.clone(), wish)
            };
            let Ok((child, _)) = narrowed else { break };
            for ((name, effect), touched, file) in &acts {
                let tool = spec(name, *effect);
                let above = parent.judge(&tool, &touch(*touched, &directory, file));
                let below = child.judge(&tool, &touch(*touched, &place, file));
                prop_assert!(below.verdict <= above.verdict, "{above} but {below}");
                let outside = child.judge(&tool, &touch(*touched, &directory, file));
                prop_assert!(outside.verdict <= above.verdict, "{above} but {outside}");
            }
            (parent, directory) = (child, place);
        }
    }
}

fn root(mode: Mode, rules: Rules, scope: &str) -> Grant {
    let (rules, scope) = (vec![rules], vec![scope.into()]);
    mint(Charter {
        mode,
        rules,
        access: Access::Inherit,
        scope,
        protected: Vec::new(),
        shown: Vec::new(),
        depth: 3,
    })
}

fn into_copy(grant: &Grant, wish: &Wish, place: &str, original: &str) -> Result<Grant, Refusal> {
    let stand_in = StandIn { place: place.into(), original: original.into() };
    let child = grant.narrow_into(AgentPath::root().child("a", 1), wish, stand_in);
    child.map(|(child, _)| child)
}

fn edit() -> ToolSpec {
    spec("edit_file", Effect::Write)
}

fn writes(grant: &Grant, path: &str) -> Verdict {
    grant.judge(&edit(), &touch(Effect::Write, "/", path)).verdict
}

#[test]
fn a_copy_is_worked_in_and_its_original_is_outside() {
    let parent = root(Mode::Auto, Rules::default(), "/project");
    let child = into_copy(&parent, &Wish::default(), "/data/copy", "/project").unwrap();
    assert_eq!(child.scope(), [Path::new("/data/copy")]);
    assert_eq!(writes(&child, "/data/copy/src/a.rs"), Verdict::Allow);
    assert_eq!(writes(&child, "/project/src/a.rs"), Verdict::Ask);
    assert_eq!(writes(&child, "/data/copy/.git"), Verdict::Ask);
    assert_eq!(writes(&child, "/data/copy/kept/x"), Verdict::Ask);
    assert_eq!(writes(&child, "/data/other/src/a.rs"), Verdict::Ask);
    assert_eq!(child.protected().last().unwrap(), Path::new("/data/copy/kept"));
    let (below, _) = child.narrow(AgentPath::root().child("b", 1), &Wish::default()).unwrap();
    assert_eq!(writes(&below, "/data/copy/src/a.rs"), Verdict::Allow);
    assert_eq!(writes(&below, "/project/src/a.rs"), Verdict::Ask);
}

#[test]
fn a_rule_about_the_original_holds_for_its_copy() {
    for pattern in ["edit_file(secret/**)", "edit_file(/project/secret/**)"] {
        let rules = Rules { deny: vec![pattern.parse().unwrap()], ..Rules::default() };
        let parent = root(Mode::Auto, rules, "/project");
        let child = into_copy(&parent, &Wish::default(), "/data/copy", "/project").unwrap();
        let judgement = child.judge(&edit(), &touch(Effect::Write, "/data/copy", "secret/x"));
        let expected = format!("`edit_file` is denied: rule `{pattern}` of `root`");
        assert_eq!(judgement.to_string(), expected);
        assert_eq!(writes(&child, "/data/copy/open/x"), Verdict::Allow);
    }
}

#[test]
fn a_scope_that_is_wished_for_is_that_of_the_copy() {
    let parent = root(Mode::Auto, Rules::default(), "/project");
    for scope in ["src", "/project/src", "./other/../src"] {
        let wish = Wish { scope: Some(scope.into()), ..Wish::default() };
        let child = into_copy(&parent, &wish, "/data/copy", "/project").unwrap();
        assert_eq!(child.scope(), [Path::new("/data/copy/src")]);
        let below = Wish { scope: Some("deep".into()), ..Wish::default() };
        let (below, _) = child.narrow(AgentPath::root().child("b", 1), &below).unwrap();
        assert_eq!(below.scope(), [Path::new("/data/copy/src/deep")]);
        let original = Wish { scope: Some("/project/src".into()), ..Wish::default() };
        let refused = child.narrow(AgentPath::root().child("b", 1), &original);
        assert!(matches!(refused, Err(Refusal::OutsideScope { .. })));
    }
}

#[test]
fn a_parent_that_works_in_a_part_of_the_original_gives_that_part() {
    let parent = root(Mode::Auto, Rules::default(), "/project/src");
    let child = into_copy(&parent, &Wish::default(), "/data/copy", "/project").unwrap();
    assert_eq!(child.scope(), [Path::new("/data/copy/src")]);
    assert_eq!(writes(&child, "/data/copy/src/a"), Verdict::Allow);
    assert_eq!(writes(&child, "/data/copy/a"), Verdict::Ask);
}

#[test]
fn a_copy_of_a_copy_is_judged_by_what_all_of_it_stands_for() {
    let rules = Rules { deny: vec!["edit_file(secret/**)".parse().unwrap()], ..Rules::default() };
    let parent = root(Mode::Auto, rules, "/project");
    let child = into_copy(&parent, &Wish::default(), "/data/one", "/project").unwrap();
    let below = into_copy(&child, &Wish::default(), "/data/two", "/data/one").unwrap();
    assert_eq!(writes(&below, "/data/two/a"), Verdict::Allow);
    assert_eq!(writes(&below, "/data/two/secret/a"), Verdict::Deny);
    assert_eq!(writes(&below, "/data/one/a"), Verdict::Ask);
    let original = below.original("/data/two/a".as_ref()).into_owned();
    assert_eq!(original, Path::new("/project/a"));
}

#[test]
fn what_is_not_apart_stands_for_nothing() {
    let parent = root(Mode::Auto, Rules::default(), "/project");
    for place in ["/", "/project", "/project/copy"] {
        let refused = into_copy(&parent, &Wish::default(), place, "/project").unwrap_err();
        assert!(matches!(refused, Refusal::NoWorktree(_)), "{place}: {refused}");
    }
}

#[test]
fn what_is_left_of_a_tool_in_the_original_is_left_in_its_copy() {
    let only = vec!["edit_file(src/**)".parse().unwrap(), "edit_file(/project/b)".parse().unwrap()];
    let rules = Rules { only, ..Rules::default() };
    let parent = root(Mode::Auto, Rules::default(), "/project");
    let wish = Wish { rules, ..Wish::default() };
    let child = into_copy(&parent, &wish, "/data/copy", "/project").unwrap();
    for (place, verdict) in [("src/a", Verdict::Allow), ("b", Verdict::Allow), ("a", Verdict::Deny)]
    {
        assert_eq!(writes(&child, &format!("/data/copy/{place}")), verdict, "{place}");
    }
}

#[test]
fn a_path_of_the_top_is_found_in_the_last_copy() {
    let parent = root(Mode::Auto, Rules::default(), "/project");
    let child = into_copy(&parent, &Wish::default(), "/data/one", "/project").unwrap();
    let below = into_copy(&child, &Wish::default(), "/data/two", "/data/one").unwrap();
    let found = |grant: &Grant| grant.place_of("/project/src".as_ref());
    assert_eq!(found(&parent), Path::new("/project/src"));
    assert_eq!(found(&child), Path::new("/data/one/src"));
    assert_eq!(found(&below), Path::new("/data/two/src"));
    assert_eq!(below.place_of("/etc".as_ref()), Path::new("/etc"));
}
