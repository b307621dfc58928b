//! Short forms of the file: one in place of a list, a text in place of a mapping.
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// One, or a list.
#[derive(Clone, Debug)]
pub struct Many<T>(pub Vec<T>);

/// A mapping, or a text that stands for one.
#[derive(Clone, Debug)]
pub struct Short<T>(pub T);

/// What a text alone stands for.
pub trait FromText: Sized {
    /// Reads it.
    fn from_text(text: &str) -> Result<Self, String>;
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct One<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for One<T> {
            type Value = Many<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one, or a list")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Many<T>, E> {
                T::deserialize(StrDeserializer::new(text)).map(|one| Many(vec![one]))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Many<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|one| Many(vec![one]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Many<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Many)
            }
        }

        from.deserialize_any(One(PhantomData))
    }
}

impl<'de, T: FromText + Deserialize<'de>> Deserialize<'de> for Short<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);

        impl<'de, T: FromText + Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Short<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a mapping")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Short<T>, E> {
                T::from_text(text).map(Short).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Short<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Short)
            }
        }

        from.deserialize_any(Either(PhantomData))
    }
}
