//! The checks of vaults.

use std::sync::Arc;

use adjutant_core::{Digest, Vault};
use futures_util::future;

fn content(bytes: impl AsRef<[u8]>) -> Arc<[u8]> {
    Arc::from(bytes.as_ref())
}

/// Keeps a content and looks at what is there then.
async fn check(vault: &dyn Vault, given: Arc<[u8]>) {
    let name = vault.keep(Arc::clone(&given)).await.unwrap();
    assert_eq!(name, Digest::of(&given));
    assert!(vault.fetch(&name).await.unwrap() == Some(given), "{name} is not what was kept");
}

pub(super) async fn what_is_kept_comes_back_as_it_went(vault: &dyn Vault) {
    let every_byte: Vec<u8> = (0..=u8::MAX).collect();
    // Larger than whatever somebody would write in passing.
    let big = every_byte.repeat(4096);
    for given in [&b""[..], b"text\r\n", b"\0\xff\xfe", &every_byte, &big] {
        // The second time there is nothing new.
        check(vault, content(given)).await;
        check(vault, content(given)).await;
    }
}

pub(super) async fn what_is_not_kept_is_not_there(vault: &dyn Vault) {
    assert_eq!(vault.fetch(&Digest::of(b"never")).await, Ok(None));
    vault.keep(content("something")).await.unwrap();
    assert_eq!(vault.fetch(&Digest::of(b"never")).await, Ok(None));
}

pub(super) async fn what_is_kept_at_once_is_all_there(vault: &dyn Vault) {
    // Several of the same, and some that are too big to be written with the others.
    let given: Vec<_> = (0..40)
        .map(|number: u8| content(vec![number % 20; usize::from(number) * 20_000]))
        .collect();
    let names = future::join_all(given.iter().map(|given| vault.keep(Arc::clone(given)))).await;
    for (given, name) in given.iter().zip(names) {
        assert!(vault.fetch(&name.unwrap()).await.unwrap().as_ref() == Some(given));
    }
}

pub(super) async fn a_dropped_content_is_kept(vault: &dyn Vault) {
    drop(vault.keep(content("dropped")));
    let name = Digest::of(b"dropped");
    // Nothing else is kept that could take it along.
    for _ in 0..100_000 {
        if vault.fetch(&name).await.unwrap().is_some() {
            break;
        }
    }
    assert_eq!(vault.fetch(&name).await, Ok(Some(content("dropped"))));
}
