//! No sequence of wishes, however greedy, gives a child what its parent has not.

#![expect(clippy::disallowed_methods, reason = "tests mint authority")]

use adjutant_core::{
    Access, AgentPath, Charter, Effect, Grant, Mode, Pattern, Refusal, Rules, Target, ToolSpec,
    Touch, Verdict, Wish,
};
use proptest::{collection::vec, option, prelude::*, sample::select};

pub(crate) const TOOLS: [(&str, Effect); 5] = [
    ("read_file", Effect::Read),
    ("edit_file", Effect::Write),
    ("run_command", Effect::Execute),
    ("web_fetch", Effect::Reach),
    ("sub_agent", Effect::Delegate),
];
const RULES: [&str; 8] = [
    "*",
    "read_file",
    "edit_file(src/**)",
    "edit_file(/**)",
    "run_command(git *)",
    "run_command(*)",
    "web_fetch",
    "edit_*",
];
const SCOPES: [&str; 7] = [".", "src", "src/deep", "..", "/", "/etc", "src/../../etc"];
const PATHS: [&str; 5] =
    ["/project/a", "/project/src/b", "/project/src/deep/c", "/etc/passwd", "/"];

pub(crate) fn spec(name: &str, effect: Effect) -> ToolSpec {
    let (description, parameters) = (String::new(), serde_json::Value::Null);
    ToolSpec { name: name.to_owned(), description, parameters, effect }
}

pub(crate) fn mode() -> impl Strategy<Value = Mode> {
    select(&Mode::ALL[..])
}

pub(crate) fn rules() -> impl Strategy<Value = Rules> {
    let list = || vec(select(&RULES[..]).prop_map(|rule| rule.parse::<Pattern>().unwrap()), 0..3);
    let lists = (list(), list(), list(), list());
    lists.prop_map(|(allow, ask, deny, only)| Rules { allow, ask, deny, only })
}

fn access() -> impl Strategy<Value = Access> {
    let names = vec(select(&["read_file", "edit_file", "sub_agent", "made_up"][..]), 0..4);
    let tools = names.prop_map(|names| names.into_iter().map(str::to_owned).collect());
    prop_oneof![
        Just(Access::Inherit),
        tools.clone().prop_map(|tools| Access::AllowList { tools }),
        tools.prop_map(|tools| Access::DenyList { tools }),
        Just(Access::ReadOnly),
    ]
}

pub(crate) fn wish() -> impl Strategy<Value = Wish> {
    let scope = option::of(select(&SCOPES[..]).prop_map(Into::into));
    (option::of(mode()), rules(), access(), scope, option::of(0..9u8)).prop_map(
        |(mode, rules, access, scope, depth)| Wish {
            mode,
            rules,
            access,
            scope,
            depth,
            passes: ["run_command".to_owned()].into(),
        },
    )
}

pub(crate) fn charter() -> impl Strategy<Value = Charter> {
    (mode(), rules(), access(), 0..5u8).prop_map(|(mode, rules, access, depth)| Charter {
        protected: Vec::new(),
        mode,
        rules: vec![rules],
        access,
        scope: vec!["/project".into()],
        shown: vec!["/etc".into()],
        depth,
    })
}

fn touch() -> impl Strategy<Value = Touch> {
    let target = prop_oneof![
        select(&PATHS[..]).prop_map(|path| Target::Path(path.into())),
        select(&["git push", "rm -rf /", "git status"][..])
            .prop_map(|words| Target::Words(words.to_owned())),
        Just(Target::Nothing),
    ];
    let effect = select(&[Effect::Read, Effect::Write, Effect::Execute, Effect::Reach][..]);
    (effect, target).prop_map(|(effect, target)| Touch { effect, target })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_child_is_never_freer_than_its_parent(
        charter in charter(),
        wishes in vec(wish(), 1..6),
        acts in vec((select(&TOOLS[..]), vec(touch(), 0..3)), 1..12),
    ) {
        let mut parent = Grant::mint(charter);
        let mut path = AgentPath::root();
        for wish in &wishes {
            path = path.child("greedy", 1);
            let Ok((child, _)) = parent.narrow(path.clone(), wish) else { break };
            prop_assert!(child.depth() < parent.depth());
            prop_assert!(child.mode() <= parent.mode());
            for ((name, effect), touches) in &acts {
                let tool = spec(name, *effect);
                prop_assert!(parent.offers(&tool) || !child.offers(&tool));
                let (above, below) = (parent.judge(&tool, touches), child.judge(&tool, touches));
                prop_assert!(below.verdict <= above.verdict, "{above} but {below}");
                prop_assert!(path.is_within(&below.agent), "{} is no ancestor", below.agent);
                let verdicts = touches.iter().map(|touch| child.verdict(&tool, touch));
                let verdict = verdicts.min().unwrap_or(below.verdict);
                prop_assert_eq!(verdict, below.verdict, "{}", below);
            }
            parent = child;
        }
    }
}

fn root(mode: Mode) -> Grant {
    let (rules, access) = (Rules::default(), Access::Inherit);
    Grant::mint(Charter {
        mode,
        rules: vec![rules],
        access,
        scope: vec!["/project".into()],
        protected: Vec::new(),
        shown: Vec::new(),
        depth: 3,
    })
}

fn write(path: &str) -> Vec<Touch> {
    vec![Touch { effect: Effect::Write, target: Target::Path(path.into()) }]
}

#[test]
fn the_ancestor_that_decided_is_named() {
    let deny = Rules { deny: vec!["edit_file(src/**)".parse().unwrap()], ..Rules::default() };
    let path = AgentPath::root().child("careful", 1);
    let wish = Wish { rules: deny, ..Wish::default() };
    let (careful, _) = root(Mode::Auto).narrow(path.clone(), &wish).unwrap();
    let (leaf, _) = careful.narrow(path.child("leaf", 1), &Wish::default()).unwrap();
    let edit = spec("edit_file", Effect::Write);
    assert_eq!(
        leaf.explain(&edit, &write("/project/src/a.rs")),
        "`edit_file` is denied: rule `edit_file(src/**)` of `root.careful-1`"
    );
    assert_eq!(
        leaf.explain(&edit, &write("/etc/passwd")),
        "`edit_file` is asked: `/etc/passwd` is outside the scope of `root`, in mode `auto`"
    );
}

#[test]
fn a_rule_loosens_what_the_mode_asks_but_not_what_it_denies() {
    let edit = spec("edit_file", Effect::Write);
    for (mode, verdict) in [(Mode::Plan, Verdict::Deny), (Mode::Ask, Verdict::Allow)] {
        let rules = Rules { allow: vec!["edit_file".parse().unwrap()], ..Rules::default() };
        let (scope, access) = (vec!["/project".into()], Access::Inherit);
        let grant = Grant::mint(Charter {
            mode,
            rules: vec![rules],
            access,
            scope,
            protected: Vec::new(),
            shown: Vec::new(),
            depth: 0,
        });
        assert_eq!(grant.judge(&edit, &write("/project/a")).verdict, verdict);
        assert!(grant.judge(&edit, &write("/etc/passwd")).verdict < Verdict::Allow);
    }
}

#[test]
fn a_greedy_wish_is_cut_down_and_said_so() {
    let wish = Wish { mode: Some(Mode::Dangerous), depth: Some(9), ..Wish::default() };
    let (child, clamps) = root(Mode::Ask).narrow(AgentPath::root().child("a", 1), &wish).unwrap();
    assert_eq!(child.mode(), Mode::Ask);
    let said: Vec<_> = clamps.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["mode dangerous was cut to ask", "depth 9 was cut to 2"]);
}

#[test]
fn a_scope_outside_the_parents_is_refused() {
    for scope in ["/etc", "..", "src/../../x", "/"] {
        let wish = Wish { scope: Some(scope.into()), ..Wish::default() };
        let narrowed = root(Mode::Auto).narrow(AgentPath::root().child("a", 1), &wish);
        assert!(matches!(narrowed, Err(Refusal::OutsideScope { .. })), "{scope}");
    }
}

#[test]
fn the_bottom_has_no_children() {
    let charter = Charter { depth: 0, ..bottomless() };
    let bottom = Grant::mint(charter);
    let child = bottom.narrow(AgentPath::root().child("a", 1), &Wish::default());
    assert_eq!(child.map(|_| ()), Err(Refusal::TooDeep { limit: 0 }));
    let tool = spec("sub_agent", Effect::Delegate);
    assert!(!bottom.offers(&tool));
    assert_eq!(bottom.judge(&tool, &[]).verdict, Verdict::Deny);
}

fn bottomless() -> Charter {
    let (rules, access) = (Rules::default(), Access::Inherit);
    Charter {
        mode: Mode::Auto,
        rules: vec![rules],
        access,
        scope: vec!["/project".into()],
        protected: Vec::new(),
        shown: Vec::new(),
        depth: 3,
    }
}

#[test]
fn read_only_leaves_what_changes_nothing() {
    let wish = Wish { access: Access::ReadOnly, ..Wish::default() };
    let (child, _) = root(Mode::Auto).narrow(AgentPath::root().child("a", 1), &wish).unwrap();
    let offered = TOOLS.iter().filter(|(name, effect)| child.offers(&spec(name, *effect)));
    let names: Vec<_> = offered.map(|(name, _)| *name).collect();
    assert_eq!(names, ["read_file", "sub_agent"]);
}

#[test]
fn what_is_shown_is_read_by_all_below_and_changed_by_none() {
    let (shown, protected) = (vec!["/handed".into()], vec!["/handed".into()]);
    let allow = vec!["edit_file(**)".parse().unwrap()];
    let rules = vec![Rules { allow, ..Rules::default() }];
    let charter = Charter { mode: Mode::Plan, rules, shown, protected, ..bottomless() };
    let wish = Wish { scope: Some("src".into()), ..Wish::default() };
    for mode in [Mode::Plan, Mode::Ask, Mode::Auto] {
        let root = Grant::mint(Charter { mode, ..charter.clone() });
        let (child, _) = root.narrow(AgentPath::root().child("a", 1), &wish).unwrap();
        for grant in [&root, &child] {
            let act = |tool: &str, effect: Effect, path: &str| {
                let touch = Touch { effect, target: Target::Path(path.into()) };
                grant.verdict(&spec(tool, effect), &touch)
            };
            assert_eq!(act("read_file", Effect::Read, "/handed/a"), Verdict::Allow);
            assert_ne!(act("read_file", Effect::Read, "/handedover"), Verdict::Allow);
            assert_ne!(act("edit_file", Effect::Write, "/handed/a"), Verdict::Allow);
            assert_ne!(act("run_command", Effect::Execute, "/handed/a"), Verdict::Allow);
        }
    }
    let refusal = Grant::mint(charter).narrow(
        AgentPath::root().child("a", 1),
        &Wish { scope: Some("/handed".into()), ..Wish::default() },
    );
    assert!(matches!(refusal, Err(Refusal::OutsideScope { .. })));
}

fn run(words: Target) -> Vec<Touch> {
    vec![Touch { effect: Effect::Execute, target: words }]
}

#[test]
fn of_a_tool_only_such_calls_are_left_as_are_named() {
    let only = ["run_command(git *)", "run_command(ls)"].map(|rule| rule.parse().unwrap());
    let rules = Rules { only: only.into(), ..Rules::default() };
    let path = AgentPath::root().child("a", 1);
    let wish = Wish { rules, ..Wish::default() };
    let (child, _) = root(Mode::Dangerous).narrow(path, &wish).unwrap();
    let command = spec("run_command", Effect::Execute);
    let verdict = |target| child.judge(&command, &run(target)).verdict;
    let words = |words: &str| Target::Words(words.to_owned());
    assert_eq!(verdict(words("git status")), Verdict::Allow);
    assert_eq!(verdict(words("ls")), Verdict::Allow);
    for other in ["rm x", "git", "ls -l"] {
        assert_eq!(verdict(words(other)), Verdict::Deny, "{other}");
    }
    // What nobody can tell, and what is no words at all, is none of those.
    assert_eq!(verdict(Target::Unclear("git $X".to_owned())), Verdict::Deny);
    assert_eq!(verdict(Target::Path("/project/a".into())), Verdict::Deny);
    assert_eq!(child.judge(&command, &[]).verdict, Verdict::Deny);
    let both = [run(words("git status")), run(words("rm x"))].concat();
    assert_eq!(
        child.explain(&command, &both),
        "`run_command` is denied: only such as `run_command(git *)`, `run_command(ls)` is left \
         to `root.a-1`"
    );
    let edit = spec("edit_file", Effect::Write);
    assert_eq!(child.judge(&edit, &write("/project/a")).verdict, Verdict::Allow);
}

#[test]
fn a_star_at_the_end_of_a_tools_name_is_any_ending() {
    let tools = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let offers = |access: Access, name: &str| {
        let wish = Wish { access, ..Wish::default() };
        let child = root(Mode::Auto).narrow(AgentPath::root().child("a", 1), &wish).unwrap().0;
        child.offers(&spec(name, Effect::Read))
    };
    let allowed = || Access::AllowList { tools: tools(&["mcp__docs__*"]) };
    let denied = || Access::DenyList { tools: tools(&["mcp__docs__*"]) };
    for (name, is_meant) in [("mcp__docs__find", true), ("mcp__doc", false), ("read_file", false)] {
        assert_eq!(offers(allowed(), name), is_meant, "{name}");
        assert_eq!(offers(denied(), name), !is_meant, "{name}");
    }
}
