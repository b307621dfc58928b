//! What fuzz targets do with the bytes that they get. Each is an ordinary function: a fuzzer calls it with what it
//! invents, a test with what was found before. `docs/proof.md` says how they are run.
//!
//! | function | what its bytes are |
//! |---|---|
//! | [`stream()`] | the stream of a model, and where it is split |
//! | `journal` | a journal file, or what is done to a real one (feature `tokio`) |
//! | [`scenario()`] | a scenario file |
//! | [`schedule()`] | the settings of a long run, and what happens in it |
//!
//! Where bytes run out, the first choice is taken. An error says which rule was broken.
#[cfg(feature = "tokio")]
mod journal;
mod scenario;
mod schedule;
mod stream;

#[cfg(feature = "tokio")]
pub use journal::journal;
pub use scenario::scenario;
pub use schedule::schedule;
pub use stream::stream;
