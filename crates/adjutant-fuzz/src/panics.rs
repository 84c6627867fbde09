//! Panics, caught and not shown.

use std::{
    cell::RefCell,
    panic::{self, PanicHookInfo, UnwindSafe},
    sync::Once,
};

thread_local! {
    /// What the panic said, while this thread's panics are caught.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `act`, or returns where it panicked and what the panic said.
pub(crate) fn caught<T>(act: impl FnOnce() -> T + UnwindSafe) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !is_noted(info) {
                usual(info);
            }
        }));
    });
    SAID.set(Some(String::new()));
    let end = panic::catch_unwind(act);
    let said = SAID.take();
    end.map_err(|_| said.unwrap_or_default())
}

fn is_noted(info: &PanicHookInfo<'_>) -> bool {
    SAID.with_borrow_mut(|said| {
        let is_caught = said.is_some();
        *said = is_caught.then(|| {
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            format!("{place}: {}", info.payload_as_str().unwrap_or("a panic without words"))
        });
        is_caught
    })
}
