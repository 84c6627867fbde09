use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::*;

/// As little as an agent can be.
const AGENT: &str = "system_prompt = 'x'";

/// A home with a project in it, and nothing else.
struct Ground {
    _keep: TempDir,
    home: PathBuf,
    around: Surroundings,
}

impl Ground {
    fn new() -> Self {
        let keep = TempDir::new().unwrap();
        let home = keep.path().canonicalize().unwrap();
        let project = home.join("project");
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::create_dir_all(project.join("src")).unwrap();
        let around = Surroundings {
            home: Some(home.clone()),
            config_home: home.join("config"),
            ..Surroundings::bare(project.join("src"))
        };
        Self { _keep: keep, home, around }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn read(&self) -> Library {
        self.read_with(&[])
    }

    fn read_with(&self, named: &[&Path]) -> Library {
        let named: Vec<_> = named.iter().map(|it| it.to_path_buf()).collect();
        Library::read(&self.around, &self.around.directory, &named)
    }
}

/// Returns which file has the agent of a name.
fn file<'a>(library: &'a Library, name: &str) -> &'a Path {
    &library.find(name).unwrap().origin.file
}

fn names(library: &Library) -> Vec<&str> {
    library.iter().map(|it| it.name.as_str()).collect()
}

fn problems(library: &Library) -> Vec<String> {
    library.entries.iter().flat_map(|it| &it.problems).map(ToString::to_string).collect()
}

#[test]
fn the_nearest_agent_of_a_name_counts() {
    let ground = Ground::new();
    let users = ground.write("config/adjutant/agents/a.toml", AGENT);
    ground.write("config/adjutant/agents/mine.toml", AGENT);
    assert_eq!(file(&ground.read(), "a"), users);
    let top = ground.write("project/.adjutant/agents/a.toml", AGENT);
    assert_eq!(file(&ground.read(), "a"), top);
    let near = ground.write("project/src/.adjutant/agents/a.toml", AGENT);
    let library = ground.read();
    assert_eq!(file(&library, "a"), near);
    assert_eq!(names(&library), ["a", "mine"]);
    let shadowed: Vec<_> = library.entries.iter().filter_map(|it| it.shadowed_by.clone()).collect();
    assert_eq!(shadowed, [near.clone(), near]);
    let other = ground.write("elsewhere/a.toml", AGENT);
    assert_eq!(file(&ground.read_with(&[other.parent().unwrap()]), "a"), other);
    assert_eq!(library.find("a").unwrap().origin.owner, Owner::Project(ground.around.directory));
}

#[test]
fn of_two_in_one_place_the_second_is_refused_and_names_the_first() {
    let ground = Ground::new();
    let first = ground.write("project/.adjutant/agents/a.toml", AGENT);
    ground.write("project/.adjutant/agents/b.toml", "\nname = 'a'\nsystem_prompt = 'x'");
    ground.write("project/.adjutant/agents/c.md", "---\nname: a\ndescription: d\n---\nx");
    let library = ground.read();
    assert_eq!((names(&library), file(&library, "a")), (vec!["a"], &*first));
    let said = problems(&library);
    let names_first = format!("`a` is the name of {} too", first.display());
    assert_eq!(said.iter().filter(|it| it.contains(&names_first)).count(), 2, "{said:?}");
    assert!(said.iter().any(|it| it.contains("b.toml:2: error: ")), "{said:?}");
}

#[test]
fn a_file_that_is_refused_is_not_replaced_by_a_weaker_one() {
    let ground = Ground::new();
    ground.write("config/adjutant/agents/a.toml", AGENT);
    let strong = ground.write("project/.adjutant/agents/a.toml", "\nmod = 'plan'\nfoo = 1");
    let library = ground.read();
    let why = library.find("a").unwrap_err().to_string();
    assert!(why.contains("a.toml:3: `foo` is not known"), "{why}");
    assert!(why.contains("there are 1 more"), "{why}");
    assert!(library.get("a").is_none());
    assert!(library.entries.iter().any(|it| it.shadowed_by.as_ref() == Some(&strong)));
}

#[test]
fn what_is_no_agents_file_is_passed_over() {
    let ground = Ground::new();
    let files = ["README.md", "notes.txt", "a.toml~", "#a.toml#", ".a.toml.swp", ".b.toml", "x"];
    for name in files {
        ground.write(&format!("project/.adjutant/agents/{name}"), "# about\n");
    }
    symlink("gone", ground.home.join("project/.adjutant/agents/.#a.toml")).unwrap();
    ground.write("project/.adjutant/agents/deeper/c.toml", AGENT);
    let library = ground.read();
    assert!(library.entries.is_empty(), "{:?}", library.entries);
    ground.write("project/.adjutant/agents/readme.md", "---\nname: r\ndescription: d\n---\nx");
    ground.write("project/.adjutant/agents/D.TOML", AGENT);
    assert_eq!(names(&ground.read()), ["D", "r"]);
}

#[test]
fn what_other_systems_write_is_read() {
    let ground = Ground::new();
    let text = b"\xef\xbb\xbfname = 'a'\r\ndescription = '''x\r\ny'''\r\nsystem_prompt = 'x'\r\n";
    ground.write("project/.adjutant/agents/a.toml", text);
    let library = ground.read();
    assert_eq!(library.find("a").unwrap().description, "x\ny");
    assert_eq!(problems(&library), [""; 0]);
}

#[test]
fn what_cannot_be_read_is_told_and_keeps_nobody_waiting() {
    let ground = Ground::new();
    let place = ground.home.join("project/.adjutant/agents");
    ground.write("project/.adjutant/agents/good.toml", AGENT);
    ground.write("project/.adjutant/agents/latin.toml", b"name = 'x'\n# \xe9");
    ground.write("project/.adjutant/agents/huge.toml", vec![b'#'; 2 << 20]);
    symlink("nowhere", place.join("lost.toml")).unwrap();
    symlink("loop.toml", place.join("loop.toml")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(place.join("pipe.toml")).status();
    assert!(made.unwrap().success());
    ground.write("project/.claude/agents", "a file");
    let library = ground.read();
    assert_eq!(names(&library), ["good"]);
    let said = problems(&library);
    let expected = [
        "latin.toml:2: error: is not UTF-8",
        "huge.toml: error: is longer than",
        "lost.toml: error: cannot be read",
        "loop.toml: error: cannot be read",
        "pipe.toml: error: cannot be read: it is no file",
        ".claude/agents: error: cannot be looked into",
    ];
    for expected in expected {
        assert_eq!(said.iter().filter(|it| it.contains(expected)).count(), 1, "{said:?}");
    }
    assert_eq!(said.len(), expected.len(), "{said:?}");
}

#[test]
fn links_that_lead_in_circles_and_depths_have_an_end() {
    let ground = Ground::new();
    let agent = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nx");
    ground.write("project/.claude/agents/team/a.md", agent("a"));
    symlink("..", ground.home.join("project/.claude/agents/team/up")).unwrap();
    ground.write("project/.claude/agents/1/2/3/4/5/6/7/8/b.md", agent("b"));
    ground.write("project/.claude/agents/1/2/3/4/5/6/7/8/9/c.md", agent("c"));
    let library = ground.read();
    assert_eq!(names(&library), ["a", "b"]);
    let said = problems(&library);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("8/9: error: is not looked into"), "{said:?}");
}

#[test]
fn of_too_many_files_the_rest_is_told() {
    let ground = Ground::new();
    for number in 0..1002 {
        ground.write(&format!("project/.adjutant/agents/a{number:04}.toml"), AGENT);
    }
    let library = ground.read();
    assert_eq!(library.iter().count(), 1000);
    let said = problems(&library);
    assert!(
        said[0].contains("2 are left out, from ") && said[0].contains("a1000.toml"),
        "{said:?}"
    );
    let why = library.find("a1001").unwrap_err().to_string();
    assert!(why.contains("no agent named `a1001`") && why.contains("2 are left out"), "{why}");
}

#[test]
fn a_file_that_is_named_is_found_by_its_path_with_those_beside_it() {
    let ground = Ground::new();
    ground.write("project/.adjutant/agents/reviewer.toml", AGENT);
    let named = ground.write("other/reviewer.toml", "name = 'strict'\nsystem_prompt = 'x'");
    ground.write("other/helper.toml", AGENT);
    let library = ground.read_with(&[named.parent().unwrap()]);
    assert_eq!(library.find_file(&named).unwrap().name, "strict");
    assert_eq!(names(&library), ["helper", "reviewer", "strict"]);
    let dotted = ground.home.join("project/../other/./reviewer.toml");
    assert_eq!(library.find_file(&dotted).unwrap().name, "strict");
    let why = |path: &str| library.find_file(&ground.home.join(path)).unwrap_err().to_string();
    assert!(
        why("other/gone.toml").contains("gone.toml: No such file"),
        "{}",
        why("other/gone.toml")
    );
    ground.write("other/x.txt", "");
    assert!(why("other/x.txt").contains("is no agent's file"));
}

#[test]
fn naming_a_projects_file_does_not_make_it_the_persons_own() {
    let ground = Ground::new();
    let own = ground.write("project/.adjutant/agents/a.toml", AGENT);
    let deep =
        ground.write("project/.claude/agents/team/b.md", "---\nname: b\ndescription: d\n---\n");
    let places = [own.parent().unwrap(), deep.parent().unwrap()];
    let library = ground.read_with(&places);
    let project = Owner::Project(ground.home.join("project"));
    for (file, format) in [(&own, Format::Native), (&deep, Format::Claude)] {
        let origin = &library.find_file(file).unwrap().origin;
        assert_eq!((&origin.owner, origin.format), (&project, format));
    }
    assert_eq!(library.entries.len(), 2, "no file is there twice");
}

#[test]
fn what_is_in_the_work_or_among_a_projects_agents_is_not_the_persons_own() {
    let ground = Ground::new();
    let home = &ground.home;
    fs::create_dir_all(home.join("project/linked")).unwrap();
    fs::create_dir_all(home.join("kept")).unwrap();
    symlink(home.join("project/linked"), home.join("link")).unwrap();
    symlink(home.join("kept"), home.join("project/kept")).unwrap();
    let project = |path: &str| Owner::Project(home.join(path));
    let owner = |path: &str, file: &str| {
        let file = ground.write(file, AGENT);
        let library = ground.read_with(&[&home.join(path)]);
        let entry = library.entry(&file).unwrap();
        (entry.owner.clone(), entry.definition.is_some())
    };
    assert_eq!(owner("project", "project/a.toml"), (project("project"), true));
    assert_eq!(owner("project/x", "project/x/a.toml"), (project("project"), true));
    assert_eq!(owner("project/src/../x", "project/x/a.toml"), (project("project"), true));
    assert_eq!(owner("link", "project/linked/a.toml"), (project("project"), true));
    assert_eq!(owner("project/src/../../own", "own/a.toml"), (Owner::User, true));
    assert_eq!(owner("kept", "kept/a.toml"), (Owner::User, true));
    let library = ground.read_with(&[&home.join("project/kept")]);
    assert_eq!((library.iter().count(), library.entries[0].definition.is_some()), (0, false));
    let other = "other/.adjutant/agents";
    assert_eq!(owner(other, &format!("{other}/a.toml")), (project("other"), true));
    let deep = "other/.codex/agents/team";
    assert_eq!(owner(deep, &format!("{deep}/a.toml")).0, project("other"));
    assert_eq!(owner(".adjutant/agents", ".adjutant/agents/a.toml"), (Owner::User, true));
    let usual = "config/adjutant/agents";
    assert_eq!(owner(usual, &format!("{usual}/a.toml")), (Owner::User, true));
}

#[test]
fn who_works_in_their_home_is_in_no_project() {
    let ground = Ground::new();
    let named = ground.write("mine/a.toml", AGENT);
    let library =
        Library::read(&ground.around, &ground.home, &[named.parent().unwrap().to_owned()]);
    assert_eq!(library.find("a").unwrap().origin.owner, Owner::User);
}

#[test]
fn a_link_is_followed_but_not_out_of_the_project() {
    let ground = Ground::new();
    let at = |path: &str| ground.home.join(path);
    let agent = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nx");
    ground.write("project/shared/in.md", agent("in"));
    ground.write("kept/out.md", agent("out"));
    ground.write("config/adjutant/agents/out.toml", AGENT);
    fs::create_dir_all(at("project/.claude/agents")).unwrap();
    symlink("../../shared/in.md", at("project/.claude/agents/in.md")).unwrap();
    symlink(at("kept/out.md"), at("project/.claude/agents/out.md")).unwrap();
    symlink("/", at("project/.claude/agents/root")).unwrap();
    symlink("/", at("project/.opencode")).unwrap();
    fs::create_dir_all(at("project/src/.claude")).unwrap();
    symlink(at("kept"), at("project/src/.claude/agents")).unwrap();
    let library = ground.read();
    assert_eq!(names(&library), ["in"], "not even a weaker one of that name");
    let said = problems(&library);
    for expected in [
        "project/.claude/agents/out.md: error: leads out of the project, to ",
        "project/.claude/agents/root: error: leads out of the project, to /",
        "src/.claude/agents: error: leads out of the project, to ",
    ] {
        assert_eq!(said.iter().filter(|it| it.contains(expected)).count(), 1, "{said:?}");
    }
    assert_eq!(said.len(), 3, "{said:?}");
}

#[test]
fn links_of_the_persons_own_are_followed_but_not_for_ever() {
    let ground = Ground::new();
    let agent = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nx");
    ground.write("kept/a.md", agent("a"));
    for number in 0..1100 {
        fs::create_dir_all(ground.home.join(format!("many/{number}"))).unwrap();
    }
    fs::create_dir_all(ground.home.join(".claude/agents")).unwrap();
    symlink(ground.home.join("kept"), ground.home.join(".claude/agents/kept")).unwrap();
    let library = ground.read();
    assert_eq!((names(&library), problems(&library)), (vec!["a"], Vec::new()));
    symlink(ground.home.join("many"), ground.home.join(".claude/agents/many")).unwrap();
    let said = problems(&ground.read());
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("has more than 1000 directories"), "{said:?}");
}

#[test]
fn agents_in_a_home_are_the_persons_own_even_where_they_work_there() {
    let ground = Ground::new();
    ground.write(".claude/agents/a.md", "---\nname: a\ndescription: d\n---\nx");
    let library = Library::read(&ground.around, &ground.home, &[]);
    assert_eq!(library.find("a").unwrap().origin.owner, Owner::User);
}

#[test]
fn a_name_that_is_nearly_right_is_hinted_at() {
    let ground = Ground::new();
    let why = |name: &str| ground.read().find(name).unwrap_err().to_string();
    assert!(why("reviewer").contains("`adjutant agents new NAME` makes one"));
    ground.write("project/.adjutant/agents/reviewer.toml", AGENT);
    assert!(why("reviwer").contains("did you mean `reviewer`?"));
}
