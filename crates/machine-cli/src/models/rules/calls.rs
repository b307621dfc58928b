//! The calls that are made, with their arguments.
use serde_json::Value;

use super::scope::Scope;

/// A call to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    /// The tool.
    pub(super) tool: &'static str,
    /// Its arguments, JSON text.
    pub(super) args: String,
}

pub(super) fn search(pattern: &str, scope: &Scope) -> Planned {
    Planned { tool: "search", args: object(&[("pattern", text(pattern)), path(scope), glob(scope)]) }
}

/// A search of one file.
pub(super) fn search_file(pattern: &str, path: &str) -> Planned {
    Planned { tool: "search", args: object(&[("pattern", text(pattern)), ("path", text(path))]) }
}

pub(super) fn count(scope: &Scope) -> Planned {
    Planned { tool: "count", args: object(&[path(scope), glob(scope)]) }
}

pub(super) fn list(scope: &Scope) -> Planned {
    Planned { tool: "list", args: object(&[path(scope), glob(scope)]) }
}

/// Everything below, not only what is directly there.
pub(super) fn list_all(scope: &Scope) -> Planned {
    Planned {
        tool: "list",
        args: object(&[path(scope), glob(scope), ("recursive", Some(Value::Bool(true)))]),
    }
}

pub(super) fn read(path: &str) -> Planned {
    Planned { tool: "read", args: object(&[("path", text(path))]) }
}

pub(super) fn edit_all(path: &str, old: &str, new: &str) -> Planned {
    let fields =
        [("path", text(path)), ("old", text(old)), ("new", text(new)), ("all", Some(Value::Bool(true)))];
    Planned { tool: "edit", args: object(&fields) }
}

pub(super) fn shell(command: &str) -> Planned {
    Planned { tool: "shell", args: object(&[("command", text(command))]) }
}

fn text(text: &str) -> Option<Value> {
    Some(Value::from(text))
}

fn path(scope: &Scope) -> (&'static str, Option<Value>) {
    ("path", scope.path.as_deref().map(Value::from))
}

fn glob(scope: &Scope) -> (&'static str, Option<Value>) {
    ("glob", scope.glob.as_deref().map(Value::from))
}

/// JSON text with the fields in this order, those without a value left out.
fn object(fields: &[(&str, Option<Value>)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .filter_map(|(key, value)| Some(format!("{}:{}", Value::from(*key), value.as_ref()?)))
        .collect();
    format!("{{{}}}", fields.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_json_in_a_fixed_order() {
        let args = edit_all("a \"b\".md", "x\n", "é").args;
        assert_eq!(args, r#"{"path":"a \"b\".md","old":"x\n","new":"é","all":true}"#);
        assert_eq!(count(&Scope::default()).args, "{}");
    }
}
