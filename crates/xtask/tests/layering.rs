//! Which crate may depend on which. A new arrow is a decision, made here.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde_json::Value;

const ALLOWED: [(&str, &[&str]); 9] = [
    ("adjutant-core", &[]),
    ("adjutant-engine", &["adjutant-core"]),
    ("adjutant-models", &["adjutant-core"]),
    ("adjutant-tools", &["adjutant-core"]),
    ("adjutant-store", &["adjutant-core"]),
    ("adjutant-surfaces", &["adjutant-core", "adjutant-engine"]),
    (
        "adjutant",
        &[
            "adjutant-core",
            "adjutant-engine",
            "adjutant-models",
            "adjutant-store",
            "adjutant-surfaces",
            "adjutant-tools",
        ],
    ),
    // Not shipped.
    (
        "adjutant-fuzz",
        &["adjutant", "adjutant-core", "adjutant-engine", "adjutant-models", "adjutant-tools"],
    ),
    ("xtask", &[]),
];

#[test]
fn no_crate_reaches_past_its_neighbours() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--no-deps", "--format-version", "1", "--offline"];
    let output = Command::new(cargo).args(arguments).output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let names: BTreeSet<_> = packages.iter().map(|it| it["name"].as_str().unwrap()).collect();
    let arrows: BTreeMap<_, BTreeSet<_>> = packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            // Tests may use anything of ours.
            let shipped = dependencies.filter(|dependency| dependency["kind"] != "dev");
            let ours = shipped.filter_map(|it| names.get(it["name"].as_str()?).copied());
            (package["name"].as_str().unwrap(), ours.collect())
        })
        .collect();
    let allowed = ALLOWED.map(|(name, ours)| (name, ours.iter().copied().collect()));
    assert_eq!(arrows, BTreeMap::from(allowed));
}
