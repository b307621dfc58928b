//! The arguments of a scripted call: from YAML to JSON text.
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess};
use serde_json::Value;

/// Arguments as the stream will have them: JSON text, or whatever a script wants to be taken for it.
#[derive(Debug, PartialEq)]
pub(super) struct Args(pub(super) String);

impl Default for Args {
    fn default() -> Self {
        Self("{}".to_owned())
    }
}

impl<'de> Deserialize<'de> for Args {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Visitor)
    }
}

struct Visitor;

impl<'de> de::Visitor<'de> for Visitor {
    type Value = Args;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping, or a quoted text that is sent as it is")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Args, A::Error> {
        let value = Value::deserialize(MapAccessDeserializer::new(map))?;
        let mut json = String::new();
        write_sorted(&value, &mut json);
        Ok(Args(json))
    }

    fn visit_str<E: de::Error>(self, raw: &str) -> Result<Args, E> {
        Ok(Args(raw.to_owned()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Args, E> {
        Ok(Args::default())
    }
}

/// JSON text with the keys of each object sorted. The order in memory depends on how `serde_json` was built.
fn write_sorted(value: &Value, json: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            json.push_str(&value.to_string())
        }
        Value::Array(items) => {
            json.push('[');
            for (i, item) in items.iter().enumerate() {
                separate(i, json);
                write_sorted(item, json);
            }
            json.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            json.push('{');
            for (i, (key, value)) in fields.into_iter().enumerate() {
                separate(i, json);
                json.push_str(&Value::from(key.as_str()).to_string());
                json.push(':');
                write_sorted(value, json);
            }
            json.push('}');
        }
    }
}

fn separate(i: usize, json: &mut String) {
    if i > 0 {
        json.push(',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value: Value = serde_json::from_str(r#"{"b":[{"z":1,"a":"\"x\n"}],"a":null,"é":{}}"#).unwrap();
        let mut json = String::new();
        write_sorted(&value, &mut json);
        assert_eq!(json, r#"{"a":null,"b":[{"a":"\"x\n","z":1}],"é":{}}"#);
    }
}
