//! Names that every provider takes (V10).
use std::collections::BTreeMap;

use machine_core::Text;
use machine_core::history::legal;

/// Why a tool has no name of its own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoName {
    /// It is empty.
    #[error("it has no name")]
    Empty,
    /// Another tool has it.
    #[error("`{by}` has its name here, `{name}`")]
    Taken {
        /// The name.
        name: Text,
        /// That tool, as the server names it.
        by: Text,
    },
}

/// The names of one server's tools.
pub(crate) struct Names<'p> {
    prefix: &'p str,
    taken: BTreeMap<Text, Text>,
}

impl<'p> Names<'p> {
    pub(crate) fn with(prefix: &'p str) -> Self {
        Self { prefix, taken: BTreeMap::new() }
    }

    /// The name of a tool here: the prefix and the server's name, made legal.
    pub(crate) fn take(&mut self, given: &str) -> Result<Text, NoName> {
        if given.is_empty() {
            return Err(NoName::Empty);
        }
        let name: Text = legal(&format!("{}{given}", self.prefix)).into();
        match self.taken.get(&name) {
            Some(by) => Err(NoName::Taken { name, by: by.clone() }),
            None => {
                self.taken.insert(name.clone(), given.into());
                Ok(name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_v10_names_are_made_legal_and_stay_apart() {
        let mut names = Names::with("my.");
        assert_eq!(names.take("get/x y").as_deref(), Ok("my_get_x_y"));
        let taken = NoName::Taken { name: "my_get_x_y".into(), by: "get/x y".into() };
        assert_eq!(names.take("get.x.y"), Err(taken));
        assert_eq!(names.take(""), Err(NoName::Empty));
        assert_eq!(names.take(&"a".repeat(100)).map(|name| name.len()), Ok(64));
        assert!(names.take(&"a".repeat(101)).is_err());
    }
}
