//! What the program of benchmarks and the counts of instructions (`benches/instructions.rs`) share.
#![forbid(unsafe_code)]

pub mod loops;

/// What a benchmark gives. Errors are for people.
pub type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
