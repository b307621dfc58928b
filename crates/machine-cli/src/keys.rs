//! Keys of providers are for the program itself, not for what it starts: commands of the model, servers of tools.
use std::process::Command;

/// Keeps them out of the environment of a command.
#[cfg(feature = "providers")]
pub fn keep_from(command: &mut Command) {
    for variable in machine_genai::Genai::key_variables() {
        command.env_remove(variable);
    }
}

/// This build takes none.
#[cfg(not(feature = "providers"))]
pub fn keep_from(_: &mut Command) {}
