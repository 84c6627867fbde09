//! Files that were written for other products.
//!
//! ```text
//! claude ──tools──────────┐
//! opencode ──permission───┼──specifier (what is left of a tool)──▶ definition
//! codex ──────────────────┘
//! ```
//!
//! What they have in common is in [`shared`]: what cannot be honoured is dropped and said, but for
//! what would make an agent less free, which is honoured or has the file refused.

pub(super) mod claude;
pub(super) mod codex;
pub(super) mod opencode;
mod shared;
mod specifier;
#[cfg(test)]
mod testing;
