//! All the tests once more, as somebody who is not root.

use std::{
    env,
    fs::{self, Permissions},
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::Path,
    process::Command,
};

use tempfile::TempDir;

use crate::world::{PREPARED, Turn, keeper, own, prepared, probe};

const NOBODY: u32 = 65534;

#[test]
fn all_of_this_holds_for_an_ordinary_user_too() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let _turn = Turn::alone();
    let place = place();
    for (program, name, mode) in [
        (env::current_exe().unwrap(), "tests", 0o755),
        (keeper(), "keeper", 0o755),
        (probe().into(), "probe", 0o755),
        (probe().into(), "probe-of-root", 0o6755),
    ] {
        let copy = place.path().join(name);
        fs::copy(program, &copy).unwrap();
        fs::set_permissions(copy, Permissions::from_mode(mode)).unwrap();
    }
    for name in ["base", "home", "temporary"] {
        let directory = place.path().join(name);
        fs::create_dir(&directory).unwrap();
        chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let output = Command::new(place.path().join("tests"))
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir(place.path())
        .env(PREPARED, place.path())
        .env("HOME", place.path().join("home"))
        .env("TMPDIR", "/tmp")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(prepared(), None);
}

/// Makes a directory that everybody can reach.
fn place() -> TempDir {
    let own = own();
    let is_open = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 1 == 1;
    let base = if own.ancestors().all(is_open) { own } else { env::temp_dir() };
    let place = TempDir::new_in(base).unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    place
}
