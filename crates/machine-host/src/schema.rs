//! What arguments must look like: the schema that the model reads, and the check that names every error (C02).
use machine_core::Text;
use machine_core::canonical::canonical;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::tool::Reject;

/// The JSON Schema of a tool's arguments.
#[derive(Debug)]
pub struct Schema {
    text: Text,
    #[cfg(feature = "schema")]
    validator: jsonschema::Validator,
}

/// Why a text is no schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON Schema: {0}")]
pub struct BadSchema(Text);

impl Schema {
    /// Of a type.
    pub fn of<A: JsonSchema>() -> Result<Self, BadSchema> {
        // Not all providers follow references, and a title says nothing to a model.
        let settings = SchemaSettings::draft2020_12().with(|s| {
            s.meta_schema = None;
            s.inline_subschemas = true;
        });
        let mut schema = settings.into_generator().into_root_schema_for::<A>();
        schema.remove("title");
        Self::new(schema.as_value())
    }

    /// As it came from elsewhere, as from a tool server.
    pub fn from_json(text: &str) -> Result<Self, BadSchema> {
        let value = serde_json::from_str(text).map_err(|error| BadSchema(error.to_string().into()))?;
        Self::new(&value)
    }

    fn new(schema: &Value) -> Result<Self, BadSchema> {
        let text = ordered(&schema.to_string());
        #[cfg(feature = "schema")]
        let validator = serde_json::from_str(&text)
            .map_err(|error| error.to_string())
            .and_then(|schema| jsonschema::validator_for(&schema).map_err(|error| error.to_string()))
            .map_err(|error| BadSchema(error.into()))?;
        Ok(Self {
            text: text.into(),
            #[cfg(feature = "schema")]
            validator,
        })
    }

    /// JSON text, as it is offered to the model.
    pub fn text(&self) -> &Text {
        &self.text
    }

    /// Whether arguments fit; every error is named, with its place. Without the feature `schema` everything fits that is
    /// JSON: typed tools are held to their type then.
    pub fn check(&self, args: &str) -> Result<(), Reject> {
        let value: Value = serde_json::from_str(&ordered(args))
            .map_err(|error| Reject::Invalid(error.to_string().into()))?;
        let errors = self.errors(&value);
        if errors.is_empty() { Ok(()) } else { Err(Reject::Invalid(errors.join("\n").into())) }
    }

    #[cfg(feature = "schema")]
    fn errors(&self, args: &Value) -> Vec<String> {
        let place =
            |path: String| if path.is_empty() { "the arguments".to_owned() } else { format!("`{path}`") };
        let errors = self.validator.iter_errors(args);
        errors
            .map(|error| format!("{}: {}", place(error.instance_path().to_string()), error.masked()))
            .collect()
    }

    #[cfg(not(feature = "schema"))]
    fn errors(&self, _: &Value) -> Vec<String> {
        Vec::new()
    }
}

/// With the members of every object by key. The order of a parsed object depends on how the parser was built, and what the
/// model reads must not (J01).
fn ordered(json: &str) -> String {
    canonical(json).unwrap_or_else(|| json.to_owned())
}

/// Arguments as their type. What the schema cannot say is named with its place too.
pub(crate) fn read<A: DeserializeOwned>(args: &str) -> Result<A, Text> {
    let mut text = serde_json::Deserializer::from_str(args);
    serde_path_to_error::deserialize(&mut text).map_err(|error| match error.path().to_string() {
        path if path == "." => error.inner().to_string().into(),
        path => format!("`{path}`: {}", error.inner()).into(),
    })
}
