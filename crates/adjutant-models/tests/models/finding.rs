//! Finding a model by its name.

use std::{fs, sync::Arc};

use adjutant_core::{Models, Trouble};
use adjutant_models::{
    Catalogue, PROVIDERS, Pace, Scripted, Unused,
    script::{Reply, Script, Severity},
};

use crate::support::Asking;

#[test]
fn a_name_nobody_has_is_answered_with_those_there_are() {
    let mine = Arc::new(Scripted::new(Script::new().on("*", [Reply::text("x")])));
    let catalogue = Catalogue::new(Pace::Prompt).with("mine/one", mine);
    for name in ["gpt", "rehearsal/opera", "scripted", "scripted/", ""] {
        let error = catalogue.find(name).err().unwrap();
        let expected = format!(
            "there is no model `{name}`; there are: `mine/one`, `rehearsal` (surveys the \
             directory, needs no key), `scripted/PATH` (replies from a TOML or JSON file) and \
             `PROVIDER/MODEL` of {}",
            PROVIDERS.iter().map(|provider| provider.name).collect::<Vec<_>>().join(", ")
        );
        assert_eq!((error.trouble, error.message), (Trouble::NotFound, expected));
    }
}

#[test]
fn a_rehearsal_is_found_by_its_short_and_its_full_name() {
    let catalogue = Catalogue::new(Pace::Prompt);
    for name in ["rehearsal", "rehearsal/survey"] {
        assert_eq!(&*catalogue.find(name).unwrap().info().name, "rehearsal/survey");
    }
}

#[test]
fn a_model_of_your_own_comes_first() {
    let mine = Arc::new(Scripted::new(Script::new().named("mine")));
    let catalogue = Catalogue::new(Pace::Prompt).with("rehearsal", mine);
    assert_eq!(&*catalogue.find("rehearsal").unwrap().info().name, "scripted/mine");
}

#[test]
fn a_script_that_cannot_be_read_is_told_in_a_line() {
    let error = Catalogue::new(Pace::Prompt).find("scripted/no/such.toml").err().unwrap();
    let start = "no/such.toml: cannot be read: ";
    assert!(error.message.starts_with(start), "{error}");
    assert_eq!(error.message.lines().count(), 1);
}

#[tokio::test]
async fn all_who_use_a_script_share_what_is_used_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.toml");
    let replies = "unused = 'fail'\n[[reply]]\ntext = '1'\n[[reply]]\ntext = '2'\n\
                   [[reply]]\ntext = '3'";
    fs::write(&path, replies).unwrap();
    let name = format!("scripted/{}", path.display());
    let catalogue = Catalogue::new(Pace::Prompt);
    assert!(catalogue.unused().is_empty());
    for expected in ["1", "2"] {
        let model = catalogue.find(&name).unwrap();
        assert_eq!(&*model.info().name, name);
        assert_eq!(Asking::new("root", "go").text(&*model).await, expected);
    }
    let replies = vec!["reply 3 for `*`: “3”".to_owned()];
    let unused = Unused { model: name.into(), severity: Severity::Fail, replies };
    assert_eq!(catalogue.unused(), [unused]);
}
