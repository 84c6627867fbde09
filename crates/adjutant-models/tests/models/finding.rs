//! Finding a model by its name.

use std::{collections::BTreeMap, fs, sync::Arc};

use adjutant_core::{Models, Price, Trouble};
use adjutant_models::{
    BaseUrl, Catalogue, PROVIDERS, Pace, ProviderSettings, Providers, Scripted, Unused, Variables,
    script::{Reply, Script, Severity},
};

use crate::support::Asking;

#[test]
fn a_name_nobody_has_is_answered_with_those_there_are() {
    let mine = Arc::new(Scripted::new(Script::new().on("*", [Reply::text("x")])));
    let catalogue = Catalogue::new(Pace::Prompt).with("mine/one", mine);
    for name in ["gpt", "rehearsal/opera", "scripted", ""] {
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
fn a_provider_alone_is_told_from_one_there_is_not() {
    let mine = Arc::new(Scripted::new(Script::new()));
    let catalogue = Catalogue::new(Pace::Prompt).with("mine/one", mine);
    let complaint = |name: &str| catalogue.find(name).err().unwrap().message;
    for provider in ["mine", "scripted", "ollama"] {
        let expected = format!("say which model of `{provider}` it is to be");
        assert_eq!(complaint(&format!("{provider}/")), expected);
    }
    let unknown = complaint("zzz/");
    assert!(unknown.starts_with("there is no provider `zzz`; there are: anthropic, "), "{unknown}");
    assert!(unknown.contains(", mine, "), "{unknown}");
}

#[test]
fn a_model_of_another_provider_is_not_asked_for_where_it_cannot_be() {
    let find = |name: &str, base_url: Option<&str>| {
        let keys = ["OPENAI_API_KEY", "OPENROUTER_API_KEY"].map(|it| (it.to_owned(), "k".into()));
        let base_url = base_url.map(|url| BaseUrl::parse(url).unwrap());
        let settings = ProviderSettings { base_url, ..ProviderSettings::default() };
        let settings = BTreeMap::from([("openai".to_owned(), settings)]);
        let providers = Providers::new(settings, &Variables::new(keys)).unwrap();
        let catalogue = Catalogue::new(Pace::Prompt).providers(Arc::new(providers));
        catalogue.find(name).map(|model| model.info().name.to_string()).map_err(|it| it.message)
    };
    let refusal = "`openai` has no model `anthropic/x`: name `anthropic` as its provider, or none";
    assert_eq!(find("openai/anthropic/x", None), Err(refusal.to_owned()));
    for (name, base_url) in [
        ("openai/ft:x/y", None),
        ("openrouter/anthropic/x", None),
        ("openai/anthropic/x", Some("https://proxy.example/v1")),
    ] {
        assert_eq!(find(name, base_url).as_deref(), Ok(name));
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

#[test]
fn what_is_known_of_a_model_comes_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("models.toml");
    fs::write(&file, "[providers.openai.models.mine]\nwindow = 7\nmax_output = 5").unwrap();
    let key = ("OPENAI_API_KEY".to_owned(), "k".to_owned());
    let providers = Providers::new(BTreeMap::new(), &Variables::new([key])).unwrap();
    let providers = Arc::new(providers.figures_in(file));
    let catalogue = Catalogue::new(Pace::Prompt).providers(providers);
    let info = |name: &str| catalogue.find(name).unwrap().info().clone();
    let mine = info("openai/mine-2026-01-01");
    assert_eq!((mine.window, mine.max_output, mine.price), (7, 5, None));
    let unknown = info("openai/nobody's");
    assert_eq!((unknown.window, unknown.max_output, unknown.price), (128_000, 8192, None));
    assert_eq!(info("ollama/any").price, Some(Price::default()));
    assert!(info("openai/gpt-5-mini").price.unwrap().output > 0);
}

#[test]
fn figures_that_cannot_be_read_are_told_when_a_served_model_is_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("models.toml");
    fs::write(&file, "\nnonsense").unwrap();
    let providers = Arc::new(Providers::default().figures_in(file.clone()));
    let catalogue = Catalogue::new(Pace::Prompt).providers(providers);
    assert!(catalogue.find("rehearsal").is_ok());
    let error = catalogue.find("ollama/any").err().unwrap();
    assert!(error.message.starts_with(&format!("{}:2: ", file.display())), "{error}");
}
