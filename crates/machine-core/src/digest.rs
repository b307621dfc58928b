//! Stable digests: over encoded bytes, the same on every platform and in every release of a schema, so that
//! they may be stored (J06). `core::hash` is for maps only.
use core::fmt;
use core::hash::Hasher as _;

use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use siphasher::sip128::{Hasher128 as _, SipHasher13};

/// A 128-bit digest. Written as 32 hexadecimal digits.
///
/// It tells apart what was recorded from what was swapped or edited by mistake. It is not meant to withstand
/// somebody who builds collisions.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub u128);

impl Digest {
    /// The digest of one value. Every field of it must be encoded always: one that is skipped when it is empty would
    /// let two values share a digest.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Self {
        Self::default().then(value)
    }

    /// The digest of everything before, followed by `value`.
    pub fn then(self, value: &(impl Serialize + ?Sized)) -> Self {
        let mut feed = Feed { hasher: SipHasher13::new(), waiting: [0; WAITING], filled: 0 };
        feed.write(&self.0.to_le_bytes());
        match postcard::serialize_with_flavor(value, feed) {
            Ok(hash) => Self(hash),
            // The types that are digested are ours: no map of unknown length, no failing `Serialize`.
            Err(error) => unreachable!("J06: a value that cannot be encoded reached a digest: {error}"),
        }
    }
}

/// Encoded bytes go to the hasher many at a time: it is slow with single ones. Nothing is allocated.
struct Feed {
    hasher: SipHasher13,
    waiting: [u8; WAITING],
    filled: usize,
}

const WAITING: usize = 128;

impl Feed {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        if let Some(room) = self.waiting.get_mut(self.filled..self.filled + bytes.len()) {
            room.copy_from_slice(bytes);
            self.filled += bytes.len();
        } else {
            self.flush();
            self.hasher.write(bytes);
        }
    }

    fn flush(&mut self) {
        self.hasher.write(&self.waiting[..self.filled]);
        self.filled = 0;
    }
}

impl Flavor for Feed {
    type Output = u128;

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.write(&[byte]);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.write(bytes);
        Ok(())
    }

    fn finalize(mut self) -> postcard::Result<u128> {
        self.flush();
        Ok(self.hasher.finish128().as_u128())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Digest;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("32 hexadecimal digits")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Digest, E> {
                let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                if !digits {
                    return Err(E::invalid_value(de::Unexpected::Str(text), &self));
                }
                u128::from_str_radix(text, 16).map(Digest).map_err(E::custom)
            }
        }
        from.deserialize_str(Visitor)
    }
}
