//! Sessions with a journal, driven by hand: what is written, what comes back, what is refused.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
#![expect(clippy::panic, reason = "a test may also fail in a helper")]
mod damage;
mod deltas;
mod fork;
mod points;
mod reopen;
mod rules;
mod session;
mod walk;
