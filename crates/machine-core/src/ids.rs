//! Ids. Each is a row of small numbers, written as text (`branch.turn.step.index`), so that it can be a key
//! in a JSON map and be read in a log.
//!
//! `branch` is new for each session, fork and import, and stands in every id: nothing of a parent fits its
//! fork (V02).
use alloc::string::String;
use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Text;

/// Why a text is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {what} id: expected {fields} numbers joined by dots")]
pub struct BadId {
    /// What was read, as it was.
    pub text: String,
    /// The kind of id that was expected.
    pub what: &'static str,
    /// How many numbers it has.
    pub fields: usize,
}

/// A number in its one spelling: no sign, no leading zero.
fn number(text: &str) -> Option<u32> {
    let plain = text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
    if plain { text.parse().ok() } else { None }
}

/// Numbers joined by dots, on the stack: ids are spelled at every commit.
struct Spelled {
    bytes: [u8; Self::MOST],
    from: usize,
}

impl Spelled {
    /// Four numbers of ten digits, and the dots.
    const MOST: usize = 43;

    /// From the last digit to the first.
    fn of(numbers: &[u32]) -> Self {
        let mut spelled = Self { bytes: [0; Self::MOST], from: Self::MOST };
        for (at, number) in numbers.iter().enumerate().rev() {
            let mut rest = *number;
            loop {
                spelled.put(b"0123456789"[rest as usize % 10]);
                rest /= 10;
                if rest == 0 {
                    break;
                }
            }
            if at > 0 {
                spelled.put(b'.');
            }
        }
        spelled
    }

    fn put(&mut self, byte: u8) {
        self.from -= 1;
        self.bytes[self.from] = byte;
    }

    fn as_str(&self) -> &str {
        // Digits and dots are ASCII.
        core::str::from_utf8(&self.bytes[self.from..]).unwrap_or_default()
    }
}

macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$field_doc:meta])* $field:ident),+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name { $($(#[$field_doc])* pub $field: u32),+ }

        impl $name {
            /// All numbers in one, the first of them on top: four at most.
            #[inline]
            fn packed(self) -> u128 {
                const { assert!([$(stringify!($field)),+].len() <= 4, "more do not fit") };
                let mut packed = 0;
                $(packed = packed << u32::BITS | u128::from(self.$field);)+
                packed
            }
        }

        // Ids are keys of every table: two are compared at once, not number by number.
        impl Ord for $name {
            #[inline]
            fn cmp(&self, other: &Self) -> Ordering { self.packed().cmp(&other.packed()) }
        }

        impl PartialOrd for $name {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> { Some(self.cmp(other)) }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Spelled::of(&[$(self.$field),+]).as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::Display::fmt(self, f) }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                let bad = || BadId { text: text.into(), what: $what, fields: [$(stringify!($field)),+].len() };
                let mut numbers = text.split('.').map(|n| number(n).ok_or_else(bad));
                let id = Self { $($field: numbers.next().ok_or_else(bad)??),+ };
                if numbers.next().is_some() { return Err(bad()); }
                Ok(id)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(Spelled::of(&[$(self.$field),+]).as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("a ", $what, " id"))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                from.deserialize_str(Visitor)
            }
        }
    };
}

numbers! {
    /// One turn: from taking a prompt until the agent hands back. Increases by one (A21).
    TurnId, "turn" {
        /// Session, fork or import.
        branch,
        /// From 1.
        turn
    }
}
numbers! {
    /// One step: a model response and the calls it asked for.
    StepId, "step" {
        /// Session, fork or import.
        branch,
        /// The turn it belongs to.
        turn,
        /// From 1.
        step
    }
}
numbers! {
    /// One request for a step's response. A serial is never used again, retries or not (M02).
    AttemptId, "attempt" {
        /// Session, fork or import.
        branch,
        /// The turn it belongs to.
        turn,
        /// The step it belongs to.
        step,
        /// From 1 in each step.
        serial
    }
}
numbers! {
    /// One tool call, minted when its response is assembled (V02). Ordered by call order.
    CallId, "call" {
        /// Session, fork or import.
        branch,
        /// The turn it belongs to.
        turn,
        /// The step it belongs to.
        step,
        /// Position in the response, from 0.
        index
    }
}
numbers! {
    /// One ask. A serial is never used again in a session.
    AskId, "ask" {
        /// Session, fork or import.
        branch,
        /// From 1.
        serial
    }
}

impl TurnId {
    /// The id of its n-th step.
    pub fn step(self, step: u32) -> StepId {
        StepId { branch: self.branch, turn: self.turn, step }
    }
}

impl StepId {
    /// The turn it belongs to.
    pub fn turn(self) -> TurnId {
        TurnId { branch: self.branch, turn: self.turn }
    }
    /// The id of an attempt of this step.
    pub fn attempt(self, serial: u32) -> AttemptId {
        AttemptId { branch: self.branch, turn: self.turn, step: self.step, serial }
    }
    /// The id of a call of this step's response.
    pub fn call(self, index: u32) -> CallId {
        CallId { branch: self.branch, turn: self.turn, step: self.step, index }
    }
}

impl AttemptId {
    /// The step it belongs to.
    pub fn step(self) -> StepId {
        StepId { branch: self.branch, turn: self.turn, step: self.step }
    }
}

impl CallId {
    /// The step it belongs to.
    pub fn step(self) -> StepId {
        StepId { branch: self.branch, turn: self.turn, step: self.step }
    }
}

/// The id of a prompt, notification, injection or reminder, chosen by the client that sends it, so that
/// repeating it is harmless (A10).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputId(pub Text);

impl From<&str> for InputId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl From<String> for InputId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl core::borrow::Borrow<str> for InputId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InputId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
