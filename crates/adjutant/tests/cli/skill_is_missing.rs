//! A skill is not there, or not what it should be.

use crate::{support::World, told::Recorded};

const SKILL: &str = "---\nname: pdf\ndescription: Reads PDF.\n---\n\nTake care with forms.\n";

fn world() -> World {
    World::new().file(".claude/skills/pdf/SKILL.md", SKILL).script("[[reply]]\ntext = 'done'")
}

#[test]
fn an_agent_without_its_skill_is_refused_with_the_places() {
    let agent = "system_prompt = 'x'\nskill = 'pfd'\n";
    let refusal = world().file(".adjutant/agents/a.toml", agent).refused(&["run", "-a", "a", "go"]);
    assert!(
        refusal.contains("a.toml:2: there is no skill `pfd`; did you mean `pdf`?"),
        "{refusal}"
    );
    for place in ["deep/.claude/skills, ", "project/.agents/skills, ", "config/adjutant/skills, "] {
        assert!(refusal.contains(place), "{place}: {refusal}");
    }
    let agent = "system_prompt = 'x'\nskill = 'other/SKILL.md'\n";
    let refusal = world().file(".adjutant/agents/a.toml", agent).refused(&["run", "-a", "a", "go"]);
    assert!(refusal.contains("agents/other/SKILL.md, "), "{refusal}");
    assert!(refusal.contains("deep/other/SKILL.md"), "{refusal}");
}

#[test]
fn a_child_without_its_skill_is_not_started() {
    let script = "[[reply]]\nturn = 1\n\
                  calls = [{ tool = 'call_agent', args = { agent = 'b', task = 'look' } }]\n\
                  [[reply]]\ntext = 'done'\n";
    let world = world().script(script);
    let world = world.file(".adjutant/agents/a.toml", "sub_agents = ['b']\nsystem_prompt = 's'");
    let world = world.file(".adjutant/agents/b.toml", "skill = 'unheard-of'");
    let recorded = Recorded::new(&world, &["-a", "a", "go"]).everything();
    assert!(recorded.contains("there is no skill `unheard-of`;"), "{recorded}");
    assert!(!recorded.contains("root.b-1"), "{recorded}");
}

#[test]
fn a_skill_of_an_agent_is_in_its_prompt_and_its_files_are_in_reach() {
    let script = "[[reply]]\nturn = 1\n\
                  calls = [{ tool = 'skill', args = { name = 'forms', file = 'more.md' } }]\n\
                  [[reply]]\ntext = 'done'\n";
    for skill in
        ["../skills/forms", "../skills/forms/SKILL.md", "./.adjutant/skills/forms", "forms"]
    {
        let agent =
            format!("system_prompt = 'You fill.'\nskill = '{skill}'\ntools = ['list_dir']\n");
        let world = world().script(script).file(".adjutant/agents/a.toml", &agent);
        let text = "---\nname: forms\ndescription: Fills.\n---\nFill slowly.";
        let world = world.file(".adjutant/skills/forms/SKILL.md", text);
        let world = world.file(".adjutant/skills/forms/more.md", "and steadily");
        let recorded = Recorded::new(&world, &["-a", "a", "go"]);
        let system = recorded.system("root");
        let begins =
            "You fill.\n\n---\n\n## Skill\n\n[The skill `forms`, from a file of the project's, ";
        assert!(system.starts_with(begins), "{skill}: {system}");
        assert!(system.contains("\n\nFill slowly.\n\n[Its files, in "), "{skill}: {system}");
        assert_eq!(recorded.tools("root"), ["list_dir", "skill"]);
        assert!(recorded.everything().contains("and steadily"), "{skill}");
    }
}

#[test]
fn an_agent_reads_the_files_of_its_skill_whatever_its_callers_have() {
    let call = |agent: &str, turn: &str| {
        format!(
            "[[reply]]\nagent = '{agent}'\nturn = 1\n\
             calls = [{{ tool = {turn} }}]\n"
        )
    };
    let script = [
        call("root", "'call_agent', args = { agent = 'b', task = 'look' }"),
        call("root.b-1", "'call_agent', args = { agent = 'c', task = 'look' }"),
        call("root.b-1.c-1", "'skill', args = { name = 'alpha', file = 'extra.md' }"),
        "[[reply]]\ntimes = 'any'\ntext = 'done'\n".to_owned(),
    ];
    let world = world()
        .script(&script.concat())
        .file(".adjutant/skills/alpha/SKILL.md", "---\nname: alpha\ndescription: A.\n---\nx")
        .file(".adjutant/skills/alpha/extra.md", "slowly")
        .file(
            ".adjutant/agents/a.toml",
            "system_prompt = 'x'\ntools = ['read_file']\nsub_agents = ['b']",
        )
        .file(".adjutant/agents/b.toml", "system_prompt = 'x'\ntools = []\nsub_agents = ['c']")
        .file(".adjutant/agents/c.toml", "skill = 'alpha'\ntools = ['read_file', 'skill']");
    let recorded = Recorded::new(&world, &["-a", "a", "go"]);
    assert!(recorded.everything().contains("slowly"), "{}", recorded.everything());
    assert_eq!(recorded.tools("root"), ["read_file", "call_agent"]);
    assert_eq!(recorded.tools("root.b-1"), ["call_agent"]);
    assert_eq!(recorded.tools("root.b-1.c-1"), ["skill"]);
    // Nothing is said to be cut that was not asked for, and no other skill is in reach.
    let stderr = &recorded.done.stderr;
    assert!(stderr.contains("root.b-1 started: "), "{stderr}");
    assert!(stderr.contains("c-1 started (tools read_file, skill was cut to skill)"), "{stderr}");
    assert!(!recorded.everything().contains("Reads PDF."), "{}", recorded.everything());
}

#[test]
fn a_projects_agent_does_not_read_a_skill_outside_the_project() {
    let world = world().file("../../../outside/SKILL.md", "hidden words");
    let agent = "skill = '../../../../../outside/SKILL.md'";
    let refusal = world.file(".adjutant/agents/a.toml", agent).refused(&["run", "-a", "a", "go"]);
    assert!(refusal.contains("leads out of the project"), "{refusal}");
}

#[test]
fn a_skill_is_read_on_demand_unless_a_rule_forbids_it() {
    let script = "[[reply]]\nturn = 1\ncalls = [{ tool = 'skill', args = { name = 'pdf' } }]\n\
                  [[reply]]\ntext = 'done'\n";
    let recorded = Recorded::new(&world().script(script), &["go"]);
    assert!(recorded.everything().contains("Take care with forms."));
    assert!(!recorded.system("root").contains("Take care with forms."));
    let denied = world().script(script).user("permissions.deny = ['skill(pd*)']");
    assert!(!Recorded::new(&denied, &["go"]).everything().contains("Take care with forms."));
}

#[test]
fn a_file_that_is_no_skill_is_warned_of() {
    let world = world().file(".claude/skills/odd/SKILL.md", "---\nname: odd\n---\n");
    let recorded = Recorded::new(&world, &["go"]);
    let stderr = &recorded.done.stderr;
    assert!(stderr.contains("odd/SKILL.md: `description` is missing"), "{stderr}");
    assert!(recorded.tools("root").iter().any(|name| name == "skill"));
}

#[test]
fn what_is_wrong_with_skills_is_told_by_the_check_and_for_their_agents() {
    let text = "---\nname: forms\ndescription: Fills.\nmodel: opus\n---\nFill.";
    let world = World::new()
        .file(".claude/skills/odd/SKILL.md", "---\nname: odd\n---\n")
        .file(".claude/skills/forms/SKILL.md", text)
        .file("own/SKILL.md", "---\nname: own\ndescription: Own.\neffort: high\n---\nx")
        .file(".adjutant/agents/a.toml", "description = 'd'\nskill = 'forms'")
        .file(".adjutant/agents/b.toml", "description = 'd'\nskill = './own'")
        .file(".adjutant/agents/c.toml", "description = 'd'");
    let forms = "forms/SKILL.md:4: dropped: `model`";
    let (own, odd) = ("own/SKILL.md:4: dropped: `effort`", "odd/SKILL.md: error: `description`");
    let says = |arguments: &[&str], expected: [bool; 3]| {
        let done = world.run(&[&["agents"], arguments].concat());
        let said = [forms, own, odd].map(|it| done.stdout.contains(it));
        assert_eq!(said, expected, "{arguments:?}: {done:?}");
        done.code
    };
    assert_eq!(says(&["check"], [true, true, true]), Some(2));
    assert_eq!(says(&["check", "a"], [true, false, false]), Some(0));
    says(&["show", "a"], [true, false, false]);
    says(&["show", "b"], [false, true, false]);
    says(&["show", "c"], [false, false, false]);
    let shown = world.run(&["agents", "show", "a", "--json"]).stdout;
    assert!(shown.contains("forms/SKILL.md"), "{shown}");
}

#[test]
fn a_skill_whose_file_is_broken_is_told_to_be_that() {
    let world = world()
        .file(".claude/skills/odd/SKILL.md", "---\nname: odd\nb: [c\n---\n")
        .file(".claude/skills/other/SKILL.md", "---\nname: else\ndescription: d\n---\n")
        .file(".claude/skills/small/skill.md", "---\nname: small\ndescription: d\n---\n")
        .file(".adjutant/agents/a.toml", "description = 'd'\nskill = 'odd'");
    let refused = "`skill`: the skill `odd` is refused: ";
    let said = world.run(&["agents", "check", "a"]).stdout;
    assert!(said.contains(&format!("a.toml:2: error: {refused}")), "{said}");
    assert!(said.contains("odd/SKILL.md:3: is not YAML: "), "{said}");
    assert!(!said.contains("did you mean"), "{said}");
    assert!(world.refused(&["run", "-a", "a", "go"]).contains("odd/SKILL.md:3: is not YAML: "));
    let said = world.run(&["agents", "check"]).stdout;
    for expected in [
        "odd/SKILL.md:3: error: is not YAML",
        "other/SKILL.md:2: warning: `name` is `else`, and the directory is `other`",
        "small/skill.md: warning: is not read: a skill is written in `SKILL.md`",
    ] {
        assert!(said.contains(expected), "{said}");
    }
}
