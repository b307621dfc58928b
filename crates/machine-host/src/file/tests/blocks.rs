//! Blocks of a disk that were lost or came in another order: behind the last durable mark they were promised to nobody,
//! before it the file is refused and left alone (J03, J04).
use super::cut::each;
use super::*;

/// Smaller than that of any disk, so that more of them fit.
const BLOCK: usize = 64;

/// A file as it was at some moment, and how far it was durable then, as its lines say.
struct Moment {
    bytes: Vec<u8>,
    durable: usize,
}

/// Every moment at which more than a few blocks were not durable.
fn moments(bytes: &[u8]) -> Vec<Moment> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let size = |lines: &[&[u8]]| lines.iter().map(|line| line.len()).sum::<usize>();
    let moment = |end: usize| {
        let durable = usize::try_from(promised(&lines[..end])).unwrap();
        Moment { bytes: lines[..end].concat(), durable: size(&lines[..durable]) }
    };
    let moments = (1..=lines.len()).map(moment);
    moments.filter(|moment| moment.bytes.len() - moment.durable > 4 * BLOCK).collect()
}

/// Blocks within a part of a file.
fn blocks(from: usize, to: usize) -> Vec<std::ops::Range<usize>> {
    (from..to).step_by(BLOCK).filter(|at| at + BLOCK <= to).map(|at| at..at + BLOCK).collect()
}

fn zeroed(bytes: &[u8], block: std::ops::Range<usize>) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[block].fill(0);
    bytes
}

/// Two neighbours, the later one first.
fn swapped(bytes: &[u8], first: std::ops::Range<usize>) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let (one, two) = bytes[first.start..first.end + BLOCK].split_at_mut(BLOCK);
    one.swap_with_slice(two);
    bytes
}

#[test]
fn c_j03_what_is_lost_behind_the_last_durable_mark_is_a_torn_end() {
    let (_dir, _, bytes) = bytes();
    let mut tried = Vec::new();
    for (n, Moment { bytes, durable }) in (0..).zip(moments(&bytes)) {
        let behind = blocks(durable, bytes.len());
        for (block, last) in (1..).zip(&behind).map(|(next, block)| (block, next == behind.len())) {
            tried.push((format!("moment {n}, zeros at {}", block.start), zeroed(&bytes, block.clone())));
            // A file that begins otherwise than a journal is not taken for one.
            if !last && durable > 0 {
                tried.push((
                    format!("moment {n}, swapped at {}", block.start),
                    swapped(&bytes, block.clone()),
                ));
            }
        }
    }
    assert!(tried.len() > 100, "{}", tried.len());
    each(tried);
}

#[test]
fn c_j04_what_is_lost_before_it_is_refused_and_the_file_is_left_alone() {
    let (dir, path, bytes) = bytes();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let durable: usize =
        lines.iter().take(usize::try_from(promised(&lines)).unwrap()).map(|line| line.len()).sum();
    let before = blocks(0, durable);
    assert!(before.len() > 100, "{}", before.len());
    let mut damaged: Vec<Vec<u8>> = before.iter().map(|block| zeroed(&bytes, block.clone())).collect();
    let neighbours = before.iter().take(before.len() - 1);
    damaged
        .extend(neighbours.map(|block| swapped(&bytes, block.clone())).filter(|swapped| *swapped != bytes));
    for text in &damaged {
        for reach in [Reach::All, Reach::Opening] {
            let error = scan(&path, text, reach).map(drop).unwrap_err();
            assert!(matches!(error, FileError::Damaged { .. }), "{error}");
        }
    }
    let copy = dir.path().join("damaged.jsonl");
    for text in damaged.iter().step_by(20) {
        std::fs::write(&copy, text).unwrap();
        let error =
            paused().block_on(builder(&copy, &Ran::default()).open()).map(drop).unwrap_err().to_string();
        assert!(error.contains("is damaged, and later lines are not"), "{error}");
        assert_eq!(&std::fs::read(&copy).unwrap(), text);
    }
}
