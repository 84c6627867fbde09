//! The documents that describe how agents delegate, walked from top to bottom: each promise
//! is tried with the real program.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod axe;
mod axe_files;
mod meerkat;
mod opal;
mod opta;
#[path = "../cli/running.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod running;
#[path = "../cli/support.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod support;
#[path = "../cli"]
#[allow(dead_code, unused_imports, unused_macros, reason = "other tests use the rest")]
mod shared {
    pub(crate) mod server;
}
mod tree;
mod usual;
