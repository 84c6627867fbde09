//! What commands are told to be, and what a grant makes of it.

use std::time::{Duration, Instant};

use adjutant_core::{
    Access, Charter, Effect, Grant, Mode, Pattern, Rules, Target, ToolSpec, Touch, Verdict,
};

use super::{Dialect, touches};

/// Returns the touches of a command: its words, those in doubt with `? ` before them, and `!`
/// for what could not be read.
pub(super) fn told(command: &str) -> Vec<String> {
    told_by(Dialect::Bash, command)
}

fn told_by(dialect: Dialect, command: &str) -> Vec<String> {
    let told = |touch| match touch {
        Touch { effect: Effect::Execute, target: Target::Words(words) } => words,
        Touch { effect: Effect::Execute, target: Target::Unclear(words) } => format!("? {words}"),
        Touch { effect: Effect::Unread, target: Target::Unclear(words) } if words == command => {
            "!".to_owned()
        }
        other => panic!("{other:?}"),
    };
    touches(command, dialect).into_iter().map(told).collect()
}

#[track_caller]
fn assert_told(table: &[(&str, &[&str])]) {
    for (command, expected) in table {
        assert_eq!(told(command), *expected, "{command}");
    }
}

fn judge(mode: Mode, rules: &Rules, command: &str) -> Verdict {
    #[allow(clippy::disallowed_methods, reason = "the test stands in for the composition root")]
    let grant = Grant::mint(Charter {
        mode,
        rules: vec![rules.clone()],
        access: Access::Inherit,
        scope: vec!["/project".into()],
        protected: Vec::new(),
        shown: Vec::new(),
        depth: 1,
    });
    let tool = ToolSpec {
        name: "run_command".to_owned(),
        description: String::new(),
        parameters: serde_json::Value::Null,
        effect: Effect::Execute,
    };
    grant.judge(&tool, &touches(command, Dialect::Bash)).verdict
}

fn patterns(patterns: &[&str]) -> Vec<Pattern> {
    patterns.iter().map(|it| format!("run_command({it})").parse().unwrap()).collect()
}

#[test]
fn the_words_of_a_command_are_told_without_quotes() {
    assert_told(&[
        ("git status -s", &["git status -s"]),
        ("  git   status\t-s  ", &["git status -s"]),
        (r#"g"i"t 'sta'tus"#, &["git status"]),
        (r"\git st\atus", &["git status"]),
        ("gi\\\nt \\\n status", &["git status"]),
        (r"$'\x67\151\u0074' $'a\tb'", &["git a\tb"]),
        (r#"echo "a \"b\" \$c \d""#, &[r#"echo a "b" $c \d"#]),
        (r#"echo 'a $b `c`' \; \& a#b"#, &["echo a $b `c` ; & a#b"]),
        ("echo $\"a b\" $ a$", &["echo a b $ a$"]),
        ("echo '' {} a{b}c stash@{0} a=b", &["echo  {} a{b}c stash@{0} a=b"]),
        ("", &[""]),
        (" \n# rm x\n", &[""]),
        ("true # && rm x", &["true"]),
    ]);
}

/// Scripts, and what is told of them.
pub(super) const SCRIPTS: &[(&str, &[&str])] = &[
    ("a | b |& c && d || e; f & g", &["a", "b", "c", "d", "e", "f", "g"]),
    ("a\nb\n\nc", &["a", "b", "c"]),
    ("(a; b) | { c; d; }", &["a", "b", "c", "d"]),
    ("! a; ! ! b", &["a", "b"]),
    ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
    ("while a; do b; done; until c; do break; done", &["a", "b", "c", "break"]),
    ("for i in x y; do a; done; for i; do b; done", &["a", "b"]),
    ("for i in x\ndo a\ndone\nselect i in y; { b; }", &["a", "b"]),
    (
        "for ((i = 0; i < 3; i++)); do a; done",
        &["((i = 0; i < 3; i++))", "? ((i = 0; i < 3; i++))", "a"],
    ),
    ("case x in a|b) c;; (d) e;& *) f; esac", &["c", "e", "f"]),
    ("case x in esac; a", &["a"]),
    ("case esac in (esac) a; esac", &["a"]),
    ("[[ a < b && ! -d c ]] && d", &["[[ a < b && ! -d c ]]", "d"]),
    ("[[ $a =~ ^(b|c)$ ]]", &["[[ $a =~ ^(b|c)$ ]]", "? [[ $a =~ ^(b|c)$ ]]"]),
    ("[ a ] && b", &["[ a ]", "b"]),
    ("(( i += 2 ))", &["(( i += 2 ))", "? (( i += 2 ))"]),
    ("time -p a; time (b)", &["time", "a", "b"]),
    ("f() { a; }; function g { b; }; function h() (c)", &["a", "b", "c"]),
    ("{ a; } 2> /dev/null 3>&1", &["a"]),
    ("echo if then }; a", &["echo if then }", "a"]),
    ("x=1 y=2", &["x=1 y=2"]),
];

#[test]
fn every_command_of_a_script_is_told() {
    assert_told(SCRIPTS);
}

#[test]
fn substitutions_are_told_wherever_they_stand() {
    for script in [
        "echo $(rm x)",
        "echo `rm x`",
        "echo \"a $(rm x) b\"",
        "echo \"`rm x`\"",
        "echo \"`echo \\`rm x\\``\"",
        "echo <(rm x) a>(rm x)",
        "echo ${a:-$(rm x)}",
        "echo ${a#$(rm x)} ${a/b/`rm x`}",
        "echo \"${a:-\"$(rm x)\"}\"",
        "echo $((1 + $(rm x)))",
        "echo ${a[$(rm x)]}",
        "(( a[$(rm x)] ))",
        "for ((i = $(rm x); ; )); do a; done",
        "a=$(rm x)",
        "a=(b $(rm x))",
        "a[$(rm x)]=b",
        "declare -a a=([b]=$(rm x))",
        "a < <(rm x)",
        "a > $(rm x)",
        "a <<< \"$(rm x)\"",
        "cat <<E\nb $(rm x)\nE",
        "cat <<-E | b\n\t`rm x`\n\tE",
        "case $(rm x) in a) b; esac",
        "case a in $(rm x)) b; esac",
        "for i in $(rm x); do a; done",
        "[[ -n $(rm x) || a =~ b$(rm x) ]]",
        "$(rm x)",
        "echo \"$(case a in b) rm x;; esac)\"",
        "echo $(rm x; cat <<E\n)\nE\n)",
        "echo $(# )\nrm x)",
    ] {
        assert!(told(script).contains(&"rm x".to_owned()), "{script}: {:?}", told(script));
    }
}

#[test]
fn here_documents_are_data() {
    assert_told(&[
        ("cat <<'E' | a\n$(rm x)\nE\nb", &["cat", "a", "b"]),
        ("cat <<\\E && a\n`rm x`\nE", &["cat", "a"]),
        ("cat <<E; a\nrm x \\$(rm y) ; '\nE\nb", &["cat", "a", "b"]),
        ("cat <<E <<-F\nrm x\nF\nE\nrm y\n\t\tF\na", &["cat", "a"]),
        ("cat <<E\nrm x\\\nE\nE\na", &["cat", "a"]),
        ("cat <<< 'rm x'", &["cat"]),
        (
            "b=\"$(cat <<'E'\nrm x\nE\n)\"",
            &["cat", "b=\"$(cat <<'E'\nrm x\nE\n)\"", "? b=\"$(cat <<'E'\nrm x\nE\n)\""],
        ),
    ]);
}

#[test]
fn a_command_that_can_be_told_in_several_ways_is_told_in_each() {
    assert_told(&[
        ("/bin/rm x", &["/bin/rm x", "rm x"]),
        ("A=1 B='c d' git status", &["A=1 B=c d git status", "git status"]),
        ("env -i -u A B=1 rm x", &["env -i -u A B=1 rm x", "rm x"]),
        ("env - --chdir=/ rm x", &["env - --chdir=/ rm x", "rm x"]),
        ("command -p rm x; command -v rm", &["command -p rm x", "rm x", "command -v rm"]),
        (
            "env --unset A rm x; nohup -- -a b",
            &["env --unset A rm x", "rm x", "nohup -- -a b", "-a b"],
        ),
        ("nice -n5 nohup rm x", &["nice -n5 nohup rm x", "nohup rm x", "rm x"]),
        ("timeout -k 3 -s9 10 rm x", &["timeout -k 3 -s9 10 rm x", "rm x"]),
        ("sudo -u root -- rm x", &["sudo -u root -- rm x", "rm x"]),
        ("exec -a b rm x; exec 3> f", &["exec -a b rm x", "rm x", "> f", "exec"]),
        ("xargs -0 -I{} rm {}", &["xargs -0 -I{} rm {}", "rm {}", "? rm {}"]),
        (
            "find . -exec rm {} + -o -ok a \\;",
            &["find . -exec rm {} + -o -ok a ;", "rm {}", "? rm {}", "a", "? a"],
        ),
        ("bash -lc 'a; rm x' b", &["bash -lc a; rm x b", "a", "rm x"]),
        ("sh -e -o nounset -c 'rm x'", &["sh -e -o nounset -c rm x", "rm x"]),
        ("zsh -c 'rm x'", &["zsh -c rm x", "? zsh -c rm x", "rm x", "? rm x"]),
        ("bash script.sh a", &["bash script.sh a"]),
        ("eval 'rm' \"x; a\"", &["eval rm x; a", "rm x", "a"]),
        ("trap 'rm x' EXIT; trap - INT", &["trap rm x EXIT", "rm x", "trap - INT"]),
        ("watch -n 1 'rm x | a'", &["watch -n 1 rm x | a", "rm x", "a"]),
    ]);
}

#[test]
fn files_that_are_written_are_told() {
    assert_told(&[
        ("a > f", &["> f", "a"]),
        ("a >> f 2>| 'g h' &> i <> j", &["> f", "> g h", "> i", "> j", "a"]),
        ("> f a; : > f", &["> f", "a", ":"]),
        ("{fd}> f a 3>&1 >&2 2>&- <&0 < g", &["> f", "a"]),
        ("a >&-b 2<&- c", &["a b c"]),
        ("a >& f; a > $f", &["> f", "a", "> $f", "? > $f"]),
        ("a > /dev/null 2> /dev/stderr &> /dev/stdout", &["a"]),
        ("{ a; } 2> f", &["a", "> f"]),
    ]);
}

#[test]
fn what_nobody_can_tell_is_unclear() {
    assert_told(&[
        ("git $x", &["git $x", "? git $x"]),
        ("ls *.rs", &["ls *.rs", "? ls *.rs"]),
        ("ls a[b]", &["ls a[b]", "? ls a[b]"]),
        ("[[ a -eq b ]]", &["[[ a -eq b ]]", "? [[ a -eq b ]]"]),
        ("cat ~/x", &["cat ~/x", "? cat ~/x"]),
        ("$cmd x", &["? $cmd x"]),
        ("r? x", &["? r? x"]),
        ("{rm,-rf} x", &["? {rm,-rf} x"]),
        ("A=1 $cmd", &["? A=1 $cmd", "? $cmd"]),
        ("env $x", &["env $x", "? env $x"]),
        ("env -S 'rm x'", &["env -S rm x", "? env -S rm x"]),
        ("source x", &["source x", "? source x"]),
        ("a | sh", &["a", "sh", "? sh"]),
        ("eval \"$x\"", &["eval \"$x\"", "? eval \"$x\""]),
        ("bash -c \"$x\"", &["bash -c \"$x\"", "? bash -c \"$x\""]),
        ("git() { a; }; git status", &["a", "git status", "? git status"]),
        ("alias a='rm x'; b", &["alias a=rm x", "? alias a=rm x", "b", "? b"]),
        ("'git status'", &["git status", "? git status"]),
        ("PS4='$(rm x)'", &["PS4=$(rm x)", "? PS4=$(rm x)"]),
        ("read 'a[$(rm x)]'", &["read a[$(rm x)]", "? read a[$(rm x)]"]),
    ]);
}

#[test]
fn what_may_be_read_otherwise_reaches_out() {
    for script in [
        "echo 'a",
        "echo \"a",
        "echo $(a",
        "echo `a",
        "echo \\",
        "a ) b",
        "if a; then b",
        "fi",
        "cat <<E",
        "cat <<E\nb",
        "echo $(cat <<E)\nb\nE",
        "echo $(cat <<E\nb\nE)\nrm x\nE\n)",
        "coproc rm x",
        "echo $[1 + 1]",
        "echo @(a|b)",
        "((a); rm x)",
        "echo $((a); rm x)",
        "echo $(( 1 + $(case a in b) c; esac) ))",
        "echo ${ rm x; }",
        "echo $'\\xff'",
        "echo $'a\\0b'",
        "a[1;rm x]=b",
        "a=(b)c rm x",
        "time -p -p a",
        "rm &\\\n> f x",
        "echo $(a=(b \\; c)) <<E\nrm x\nE",
        "echo $(a <<E\nb\nE\nrm; x)",
        "a >& '$(rm x)'",
        "rm\u{a0}x",
        "rm\u{b}x",
        "rm x\r",
        "rm\0x",
        "a\u{85}b",
    ] {
        assert_eq!(told(script).last().unwrap(), "!", "{script}");
    }
}

#[test]
fn what_was_read_before_something_odd_is_told_too() {
    assert_told(&[("rm x; coproc a", &["rm x", "!"])]);
}

#[test]
fn a_shell_that_may_not_be_bash_is_told_only_what_all_shells_know() {
    for script in
        ["echo $'a'", "[[ a && rm x ]]", "((rm x))", "a &> f", "a <<< b", "function f { a; }"]
    {
        assert_eq!(told_by(Dialect::Posix, script).last().unwrap(), "!", "{script}");
        assert_eq!(told(&format!("sh -c \"{script}\"")).last().unwrap(), "!", "{script}");
    }
    assert_eq!(told_by(Dialect::Posix, "a && (b)"), ["a", "b"]);
}

#[test]
fn reading_takes_little_time_and_stack_whatever_the_text() {
    let many = |text: &str| text.repeat(60_000 / text.len());
    let deep = |open: &str, close: &str| [open, close].map(|it| it.repeat(8_000)).concat();
    let texts = [
        deep("( ", ")"),
        deep("$(", ")"),
        deep("\"$(", ")\""),
        deep("${a:-", "}"),
        deep("{ ", "}"),
        many("a()"),
        many("env "),
        many("eval "),
        many("if a;then "),
        many("$(("),
        many("cat <<E\n"),
        many("\"${a:-"),
        many("`\\"),
        "a".repeat(65 * 1024),
    ];
    let start = Instant::now();
    for text in &texts {
        let last = touches(text, Dialect::Bash).pop().unwrap();
        assert_eq!(last.effect, Effect::Unread, "{}", &text[..20]);
    }
    let script = (0..9_000).map(|number| format!("a{number};")).collect::<String>();
    assert_eq!(touches(&script, Dialect::Bash).len(), 9_000);
    assert!(start.elapsed() < Duration::from_secs(20), "it took {:?}", start.elapsed());
}

/// Ways to run `rm x`, or what may come to it.
pub(super) const ATTACKS: &[&str] = &[
    "rm x",
    "true && rm x",
    "false || rm x",
    "true; rm x",
    "true & rm x",
    "true\nrm x",
    "true | rm x",
    "r''m x",
    "\\rm x",
    "r\\m x",
    "r\\\nm x",
    "'rm' x",
    "$'rm' x",
    "$'\\162m' x",
    "$'\\x72m' x",
    "rm$IFS-rf$IFS.",
    "rm${IFS}x",
    "{rm,x}",
    "r[m] x",
    "/bin/r? x",
    "/bin/rm x",
    "../../bin/rm x",
    "X=1 rm x",
    "PATH=/tmp rm x",
    "x=rm; $x x",
    "x=rm eval '$x x'",
    "$(echo rm) x",
    "`echo rm` x",
    "echo $(rm x)",
    "echo \"$(rm x)\"",
    "echo \"`rm x`\"",
    "echo `echo \\`rm x\\``",
    "cat <<E\n$(rm x)\nE",
    "cat <<E\n`rm x`\nE",
    "cat <<'E'\nE\nrm x",
    "cat <<< $(rm x)",
    "cat <(rm x)",
    "echo > >(rm x)",
    "echo >& '$(rm x)'",
    "zz >&-rm x; 3>&-rm x",
    ": ${x:=$(rm x)}",
    "echo ${x#$(rm x)}",
    "a=($(rm x))",
    "echo $(( $(rm x) ))",
    "(( a[$(rm x)] ))",
    "x='a[$(rm x)]'; (( x ))",
    "x='a[$(rm x)]'; for ((x; 0; )); do :; done",
    "for ((i = $(rm x); 0; )); do :; done",
    "x='a[$(rm x)]'; [[ x -eq 1 ]]",
    "printf -v 'a[$(rm x)]' 1",
    "read 'a[$(rm x)]' < f",
    "PS4='$(rm x)'; set -x; true",
    "(rm x)",
    "{ rm x; }",
    "if rm x; then :; fi",
    "while rm x; do :; done",
    "for i in a; do rm x; done",
    "case a in a) rm x;; esac",
    "! rm x",
    "time rm x",
    "coproc rm x",
    "f() { rm x; }; f",
    "env rm x",
    "env -i nohup sh -c \"rm x\"",
    "env -S 'rm x'",
    "env --split-string='rm x'",
    "command rm x",
    "command -p rm x",
    "builtin command rm x",
    "exec rm x",
    "nice -n 3 rm x",
    "timeout 1 rm x",
    "stdbuf -oL rm x",
    "setsid -w rm x",
    "sudo -n rm x",
    "busybox rm x",
    "xargs rm < f",
    "echo x | xargs rm",
    "echo x | xargs -I{} sh -c 'rm {}'",
    "echo 'rm x' | xargs -I{} sh -c '{}'",
    "echo 'rm x' | sh",
    "sh <<< 'rm x'",
    "sh <<E\nrm x\nE",
    "find . -exec rm {} \\;",
    "find . -execdir rm {} +",
    "find . -exec sh -c 'rm \"$0\"' {} \\;",
    "sh -c 'rm x'",
    "bash -c \"rm x\"",
    "bash -ec $'rm x'",
    "sh -c \"sh -c 'rm x'\"",
    "dash -c '((rm x))'",
    "sh -c '[[ a && rm x ]]'",
    "zsh -c '=rm x'",
    "eval rm x",
    "eval 'r'm x",
    "eval \"$(echo rm x)\"",
    "trap 'rm x' EXIT",
    "trap \"$x\" EXIT",
    "source <(echo rm x)",
    ". ./x",
    "alias git='rm x'; shopt -s expand_aliases\ngit status",
    "BASH_ALIASES[git]='rm x'; shopt -s expand_aliases\ngit status",
    "hash -p /bin/rm git; git x",
    "git() { command rm x; }; git status",
    "watch 'rm x'",
    "rm\u{a0}x",
    "> f rm x",
    "{fd}> f rm x",
    "2>&1 rm x",
    "echo a#; rm x",
    "echo 'a\n#'; rm x",
    "echo $'a\\\\'; rm x; echo 'b'",
    "echo \"a\\\\\"; rm x; echo \"b\"",
    "[[ a ]] && rm x",
    "a[1;b]=c rm x",
    "HOME=rm; ~ x",
    "function rm { :; }; command rm x",
];

#[test]
fn no_way_to_a_forbidden_command_is_allowed() {
    let rules = Rules { deny: patterns(&["rm*"]), ..Rules::default() };
    for attack in ATTACKS {
        assert_ne!(judge(Mode::Auto, &rules, attack), Verdict::Allow, "{attack}");
        assert_ne!(judge(Mode::Dangerous, &rules, attack), Verdict::Allow, "{attack}");
    }
    for harmless in ["git status | head -3", "cargo test 2>&1 > out", "echo 'rm x' > rm"] {
        assert_eq!(judge(Mode::Auto, &rules, harmless), Verdict::Allow, "{harmless}");
    }
    assert_eq!(judge(Mode::Auto, &rules, "true && rm x"), Verdict::Deny);
}

#[test]
fn an_allowed_command_does_not_let_another_pass() {
    let rules = Rules { allow: patterns(&["git status*"]), ..Rules::default() };
    for attack in ATTACKS {
        for command in [
            format!("git status; {attack}"),
            format!("{attack}\ngit status"),
            format!("git status $({attack}\n)"),
        ] {
            assert_eq!(judge(Mode::Ask, &rules, &command), Verdict::Ask, "{command}");
        }
    }
    for attack in [
        "git status > f",
        "git status $x",
        "X=1 git status",
        "LD_PRELOAD=x git status",
        "/tmp/git status",
        "'git status'",
        "git status | head",
    ] {
        assert_eq!(judge(Mode::Ask, &rules, attack), Verdict::Ask, "{attack}");
    }
}

#[test]
fn commands_that_are_all_allowed_need_no_answer() {
    let rules = Rules { allow: patterns(&["git status*", "head*", "> out"]), ..Rules::default() };
    for command in
        ["git status", "git status | head -3", "(git status -s && head x) > out 2>&1", "! head x"]
    {
        assert_eq!(judge(Mode::Ask, &rules, command), Verdict::Allow, "{command}");
    }
}
