//! Where choices come from: the bytes of a fuzzer, or the picks of a property test.
use machine_core::Text;

/// A source of choices.
pub trait Draw {
    /// One of `n` choices, from 0; 0 if there is none.
    fn below(&mut self, n: usize) -> usize;

    /// Whether; no comes first.
    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    /// One of these; the first where nothing is left to draw from.
    fn one_of<T: Clone>(&mut self, choices: &[T]) -> T
    where
        Self: Sized,
    {
        choices[self.below(choices.len())].clone()
    }

    /// A number below a bound.
    fn number(&mut self, bound: u32) -> u32 {
        u32::try_from(self.below(bound as usize)).unwrap_or(u32::MAX)
    }
}

impl<F: FnMut(usize) -> usize> Draw for F {
    fn below(&mut self, n: usize) -> usize {
        if n < 2 { 0 } else { self(n) }
    }
}

/// Choices from bytes: a byte each, two where there are more than 256 of them.
#[derive(Clone, Debug)]
pub struct Bytes<'b>(pub &'b [u8]);

impl Bytes<'_> {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// A text of at most so many bytes, which come after their number. What is no text is replaced.
    pub fn text(&mut self, most: usize) -> Text {
        let length = self.below(most + 1).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into()
    }
}

impl Draw for Bytes<'_> {
    fn below(&mut self, n: usize) -> usize {
        match n {
            0 | 1 => 0,
            2..=256 => usize::from(self.byte()) % n,
            _ => (usize::from(self.byte()) << 8 | usize::from(self.byte())) % n,
        }
    }
}
