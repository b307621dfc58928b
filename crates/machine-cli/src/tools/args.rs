//! From the JSON text of a call to typed arguments.
use serde::de::DeserializeOwned;

use super::error::ToolError;

/// Reads the arguments of a call. Blank text counts as no arguments: some providers send that.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ToolError> {
    let text = match text.trim() {
        "" => "{}",
        text => text,
    };
    // A derived struct would also be read from an array, by position.
    if !text.starts_with('{') {
        return Err(ToolError::Arguments("not a JSON object".into()));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let args = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner().to_string();
        // A missing or an unknown field is named in the message, a wrong type is not.
        let named = path == "." || problem.contains(&format!("`{path}`"));
        ToolError::Arguments(if named { problem } else { format!("`{path}`: {problem}") })
    })?;
    json.end().map_err(|error| ToolError::Arguments(error.to_string()))?;
    Ok(args)
}

/// An argument of the right type that cannot be used.
pub(super) fn wrong(field: &'static str, problem: impl Into<String>) -> ToolError {
    ToolError::Field { field, problem: problem.into() }
}
