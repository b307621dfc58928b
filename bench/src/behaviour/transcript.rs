//! What a model is sent, as far as the probes look at it.

/// A piece of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// What a person said.
    User(String),
    /// What the model said.
    Model(String),
    /// A call of the model, by its id.
    Called(String),
    /// The result of the call with this id.
    Answered(String, String),
}

/// A request, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript(pub Vec<Item>);

impl Transcript {
    /// Whether a provider takes it: the calls of a response have ids of their own, and directly after it each has exactly
    /// one result.
    pub fn is_sendable(&self) -> bool {
        let (mut open, mut answering): (Vec<&str>, bool) = (Vec::new(), false);
        for item in &self.0 {
            match item {
                Item::Called(id) => {
                    if (answering && !open.is_empty()) || open.contains(&&**id) {
                        return false;
                    }
                    answering = false;
                    open.push(id);
                }
                Item::Answered(id, _) => {
                    let Some(at) = open.iter().position(|one| one == id) else { return false };
                    open.remove(at);
                    answering = true;
                }
                Item::User(_) | Item::Model(_) if open.is_empty() => {}
                Item::User(_) | Item::Model(_) => return false,
            }
        }
        open.is_empty()
    }

    /// The results, in their order.
    pub fn results(&self) -> Vec<&str> {
        let results = self.0.iter().filter_map(|item| match item {
            Item::Answered(_, text) => Some(&**text),
            _ => None,
        });
        results.collect()
    }

    /// The result of this call.
    pub fn result_of(&self, call: &str) -> Option<&str> {
        self.0.iter().find_map(|item| match item {
            Item::Answered(id, text) if id == call => Some(&**text),
            _ => None,
        })
    }

    /// Whether a person said this in it.
    pub fn says(&self, text: &str) -> bool {
        self.0.iter().any(|item| matches!(item, Item::User(said) if said.contains(text)))
    }

    /// Whether the model made calls in it.
    pub fn has_calls(&self) -> bool {
        self.0.iter().any(|item| matches!(item, Item::Called(_)))
    }
}
