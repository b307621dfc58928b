//! It is a map: held against a tree, over any keys in any order.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Op {
    /// The next of the row, or after a gap.
    Next(u32),
    /// A new row begins.
    Row,
    /// Any key that was there, or is not.
    Put(u32, u32),
    Take(prop::sample::Index),
    TakeFirst,
    TakeLast,
    Look(u32, u32),
    Change(prop::sample::Index),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        12 => prop_oneof![5 => Just(0), 1 => 0..100u32].prop_map(Op::Next),
        1 => Just(Op::Row),
        1 => (0..4u32, 0..60u32).prop_map(|(row, number)| Op::Put(row, number)),
        4 => any::<prop::sample::Index>().prop_map(Op::Take),
        4 => Just(Op::TakeFirst),
        2 => Just(Op::TakeLast),
        2 => (0..4u32, 0..60u32).prop_map(|(row, number)| Op::Look(row, number)),
        1 => any::<prop::sample::Index>().prop_map(Op::Change),
    ];
    prop::collection::vec(op, 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_is_a_map(ops in ops()) {
        let (mut map, mut recent) = (BTreeMap::new(), Recent::new());
        let (mut row, mut number, mut value) = (1, 0, 0);
        for op in ops {
            value += 1;
            let any = |index: prop::sample::Index| map.keys().nth(index.index(map.len().max(1))).copied();
            let key = match op {
                Op::Next(gap) => {
                    number += gap + 1;
                    Some(AskId { branch: row, serial: number })
                }
                Op::Row => {
                    (row, number) = (row + 1, 0);
                    None
                }
                Op::Put(row, number) | Op::Look(row, number) => Some(AskId { branch: row, serial: number }),
                Op::Take(index) | Op::Change(index) => any(index),
                Op::TakeFirst => map.keys().next().copied(),
                Op::TakeLast => map.keys().next_back().copied(),
            };
            let Some(key) = key else { continue };
            match op {
                Op::Next(_) | Op::Put(..) => prop_assert_eq!(recent.insert(key, value), map.insert(key, value)),
                Op::Take(_) | Op::TakeFirst | Op::TakeLast => prop_assert_eq!(recent.remove(key), map.remove(&key)),
                Op::Change(_) => {
                    let (one, other) = (recent.get_mut(key), map.get_mut(&key));
                    prop_assert_eq!(&one, &other);
                    if let (Some(one), Some(other)) = (one, other) {
                        (*one, *other) = (value, value);
                    }
                }
                Op::Row | Op::Look(..) => {}
            }
            prop_assert_eq!(recent.get(key), map.get(&key));
            prop_assert_eq!(recent.contains(key), map.contains_key(&key));
            prop_assert_eq!((recent.len(), recent.is_empty()), (map.len(), map.is_empty()));
            prop_assert!(recent.iter().eq(map.iter().map(|(key, value)| (*key, value))));
            prop_assert!(recent.keys().eq(map.keys().copied()) && recent.values().eq(map.values()));
            // Neither memory nor the way to a value grows with what was there once.
            prop_assert!(recent.newest.len() <= (HOLES + 1) * (recent.alive + 1), "{} holes", recent.newest.len());
        }
        let again: Recent<AskId, u32> = map.iter().map(|(key, value)| (*key, *value)).collect();
        prop_assert_eq!(&again, &recent, "where a value stands makes no difference");
        let written = serde_json::to_string(&recent).expect("a map of text");
        prop_assert_eq!(&written, &serde_json::to_string(&map).expect("a map of text"));
        prop_assert_eq!(&serde_json::from_str::<Recent<AskId, u32>>(&written).expect("as written"), &recent);
        prop_assert_eq!(hash(&again), hash(&recent));
    }
}

/// All that is given to a hasher.
#[derive(Default)]
struct Given(Vec<u8>);

impl Hasher for Given {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

fn hash(of: &impl Hash) -> Vec<u8> {
    let mut given = Given::default();
    of.hash(&mut given);
    given.0
}
