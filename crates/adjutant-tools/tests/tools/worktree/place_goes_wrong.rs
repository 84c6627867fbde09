//! A worktree is what it stands for, and neither in the way nor left behind.

use super::*;

#[tokio::test]
async fn a_worktree_is_what_the_directory_is_letter_by_letter() {
    let ground = dirty();
    // Whatever would run would leave a trace.
    let trace = ground.repo.parent().unwrap().join("trace");
    for hook in ["post-checkout", "reference-transaction", "post-index-change", "post-commit"] {
        let path = ground.repo.join(".git/hooks").join(hook);
        fs::write(&path, format!("#!/bin/sh\necho {hook} >> {}\n", trace.display())).unwrap();
        set_mode(&path, 0o755);
    }
    let filter = format!("sh -c 'echo filter >> {}; cat'", trace.display());
    for what in ["clean", "smudge"] {
        ground.git(&["config", &format!("filter.secret.{what}"), &filter]);
    }
    ground.git(&["config", "core.autocrlf", "true"]);
    let before = (everything(&ground.repo), ground.known());
    fs::remove_file(&trace).ok();
    let child = ground.open("root.a-1").await;
    let mut expected = before.0.clone();
    expected.remove(Path::new("ignored"));
    assert_eq!(everything(&child.place), expected);
    assert!(!trace.exists(), "{}", fs::read_to_string(&trace).unwrap());
    assert_eq!((everything(&ground.repo), ground.known()), before);
    // It is a worktree whose history is the repository's.
    assert_eq!(git(&child.place, &["log", "--format=%s", "-1", "HEAD^"]), "more\n");
    assert_eq!(ground.worktrees(), 1);
    fs::remove_file(&trace).ok();
    assert!(child.done().await.is_none());
    assert!(!trace.exists(), "{}", fs::read_to_string(&trace).unwrap());
    assert_eq!((everything(&ground.repo), ground.known()), before);
    assert_eq!((ground.worktrees(), ground.left().len()), (0, 0));
}

#[tokio::test]
async fn an_agent_works_where_its_parent_does() {
    let ground = Ground::new();
    ground.write("src/file", "one\n");
    ground.write(".gitignore", "build\n");
    ground.commit();
    fs::create_dir_all(ground.repo.join("build/empty")).unwrap();
    for workdir in ["src", "build/empty"] {
        let agent: AgentPath = "root.a-1".parse().unwrap();
        let bench = ground.shop.open(&agent, &ground.repo.join(workdir)).await.unwrap();
        let stand_in = bench.stand_in();
        assert_eq!(stand_in.original, ground.repo);
        assert!(stand_in.place_of(&ground.repo.join(workdir)).is_dir());
    }
}

#[tokio::test]
async fn a_worktree_of_a_worktree_hands_over_to_it() {
    let ground = Ground::new();
    ground.write("file", "1\n2\n3\n4\n5\n");
    ground.commit();
    let child = ground.open("root.a-1").await;
    child.write("file", "one\n2\n3\n4\n5\n");
    let below = ground.open_from("root.a-1.b-1", &child.place, &child.seat.grant).await;
    assert_eq!(fs::read_to_string(below.place.join("file")).unwrap(), "one\n2\n3\n4\n5\n");
    below.write("file", "one\n2\n3\n4\nfive\n");
    assert_eq!(below.done().await.unwrap().handed, Handed::Applied);
    assert_eq!(ground.read("file"), "1\n2\n3\n4\n5\n");
    assert_eq!(child.done().await.unwrap().handed, Handed::Applied);
    assert_eq!(ground.read("file"), "one\n2\n3\n4\nfive\n");
    assert_eq!((ground.worktrees(), ground.left().len()), (0, 0));
}

#[tokio::test]
async fn a_repository_without_a_commit_will_do() {
    let ground = Ground::bare_bones();
    ground.write("file", "one\n");
    let child = ground.open("root.a-1").await;
    child.write("file", "two\n");
    assert_eq!(child.done().await.unwrap().handed, Handed::Applied);
    assert_eq!(ground.read("file"), "two\n");
    assert_eq!(ground.git(&["status", "--porcelain"]), "?? file\n");
}

#[tokio::test]
async fn a_repository_that_names_things_otherwise_will_do() {
    let ground = Ground::bare_bones();
    fs::remove_dir_all(ground.repo.join(".git")).unwrap();
    ground.git(&["init", "-q", "--object-format=sha256"]);
    ground.write("file", "one\n");
    ground.commit();
    let child = ground.open("root.a-1").await;
    child.remove("file");
    assert_eq!(child.done().await.unwrap().handed, Handed::Applied);
    assert!(!ground.repo.join("file").exists());
}

async fn refusal(shop: &Worktrees, directory: &Path) -> String {
    let agent: AgentPath = "root.a-1".parse().unwrap();
    shop.open(&agent, directory).await.err().unwrap().to_string()
}

#[tokio::test]
async fn where_there_can_be_no_worktree_it_is_said_why_and_what_to_do() {
    let ground = Ground::new();
    let outside = ground.repo.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    let bare = ground.repo.parent().unwrap().join("bare");
    git(&outside, &["init", "-q", "--bare", bare.to_str().unwrap()]);
    for directory in [&outside, &bare] {
        let why = refusal(&ground.shop, directory).await;
        let expected = format!("`{}` is in no working tree of git", directory.display());
        assert!(why.contains(&expected) && why.contains("leave `isolation` out"), "{why}");
    }
    let files = Arc::new(Files::default());
    let shop = Worktrees { directory: ground.repo.join(".data"), files };
    let why = refusal(&shop, &ground.repo).await;
    assert!(why.contains("where it would be, is inside"), "{why}");
    assert!(!ground.repo.join(".data").exists());
    assert_eq!(ground.left().len(), 0);
}

#[tokio::test]
async fn one_that_is_not_waited_for_leaves_nothing() {
    let ground = Ground::new();
    for number in 0..100 {
        ground.write(&format!("dir-{number}/file"), vec![b'x'; 10_000]);
    }
    let agent: AgentPath = "root.a-1".parse().unwrap();
    let moments = std::iter::successors(Some(0), |moment| Some(moment + 1 + moment / 2));
    for moment in moments {
        let mut steps = 0;
        let mut open = ground.shop.open(&agent, &ground.repo);
        let polled = std::future::poll_fn(|context| {
            steps += 1;
            if steps > moment {
                return std::task::Poll::Ready(None);
            }
            open.as_mut().poll(context).map(Some)
        });
        if polled.await.is_some() {
            assert!(moment > 10, "{moment}");
            break;
        }
        drop(open);
        // The copying stops by itself, at the next file.
        let gone = until(|| ground.left().is_empty() && ground.worktrees() == 0);
        tokio::time::timeout(Duration::from_secs(10), gone).await.unwrap();
    }
}

#[tokio::test]
async fn the_same_agent_gets_another_place_when_one_is_left_from_before() {
    let ground = Ground::new();
    let first = ground.open("root.a-1").await;
    first.write("file", "first");
    let kept = first.failed().await;
    let second = ground.open("root.a-1").await;
    second.write("file", "second");
    let again = second.failed().await;
    assert_ne!(kept.patch, again.patch);
    let places = ground.left();
    let contents = places.iter().filter_map(|place| fs::read_to_string(place.join("file")).ok());
    let mut contents: Vec<_> = contents.collect();
    contents.sort();
    assert_eq!(contents, ["first", "second"]);
}

#[tokio::test]
async fn one_that_nobody_works_in_leaves_nothing() {
    let ground = Ground::new();
    ground.open("root.a-1").await.bench.discard().await;
    assert_eq!((ground.worktrees(), ground.left().len()), (0, 0));
}

#[tokio::test]
async fn one_whose_session_was_killed_is_found_and_in_nobodys_way() {
    let ground = Ground::new();
    let killed = ground.open("root.a-1").await;
    killed.write("file", "half done");
    let place = killed.place.clone();
    std::mem::forget(killed.bench);
    let listed = ground.git(&["worktree", "list"]);
    assert!(listed.contains(place.to_str().unwrap()), "{listed}");
    for is_there in [true, false] {
        let next = ground.open("root.a-1").await;
        assert_eq!(next.place == place, !is_there);
        next.write("new", format!("{is_there}"));
        assert_eq!(next.done().await.unwrap().handed, Handed::Applied);
        if is_there {
            assert_eq!(fs::read_to_string(place.join("file")).unwrap(), "half done");
            // A person has seen it and takes it away, without a word to git.
            fs::remove_dir_all(&place).unwrap();
        }
    }
}

/// Makes a repository that has git run a program when it looks into it, and makes it known to
/// the one around it. Returns what is there if it did.
fn trap(repo: &Path) -> PathBuf {
    let (inner, trace) = (repo.join("inner"), repo.parent().unwrap().join("sprung"));
    write(&inner, "file", "x");
    git(&inner, &["init", "-q"]);
    git(&inner, &["add", "-A"]);
    git(&inner, &["commit", "-q", "-m", "inner"]);
    git(repo, &["add", "inner"]);
    let run = format!("sh -c 'echo >> {}; cat'", trace.display());
    git(&inner, &["config", "core.fsmonitor", &run]);
    git(&inner, &["config", "filter.trap.clean", &run]);
    write(&inner, ".gitattributes", "* filter=trap\n");
    write(&inner, "file", "y");
    trace
}

#[tokio::test]
async fn a_repository_inside_has_git_run_nothing() {
    let ground = Ground::new();
    let trace = trap(&ground.repo);
    // It is one indeed.
    ground.git(&["status"]);
    fs::remove_file(&trace).unwrap();
    let child = ground.open("root.a-1").await;
    child.write("new", "x");
    assert_eq!(child.done().await.unwrap().handed, Handed::Applied);
    assert!(!trace.exists());
    let child = ground.open("root.a-2").await;
    let trace = trap(&child.place);
    fs::remove_file(&trace).ok();
    assert!(kept(&child.done().await.unwrap()).0.contains("repository of its own"));
    assert!(!trace.exists());
}
