//! A recorded session, cut and damaged at every place.
mod blocks;
mod cut;
mod room;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use machine_adapter::Request;
use machine_core::ask::{Approval, By, Cause, Plan};
use machine_core::config::ToolSpec;
use machine_core::ids::CallId;
use machine_core::input::Command;
use machine_core::outcome::ToolResult;
use machine_core::response::{Finish, Finished, ModelError};
use machine_journal::{Record, Writer, reopen};

use super::line::encode;
use super::scan::{Reach, Scan, scan};
use super::*;
use crate::{Agent, AgentBuilder, BoxFuture as Boxed, ModelOut, Say, Tool, ToolCx, ToolError};

/// The calls that ran.
type Ran = Arc<Mutex<Vec<CallId>>>;

/// A tool that tells which calls ran.
struct Telling {
    name: &'static str,
    ran: Ran,
    takes: u64,
    detaches: bool,
}

impl Tool for Telling {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: self.name.into(), description: "".into(), parameters: "{}".into() }
    }

    fn plan(&self, _: &str) -> Result<Plan, crate::Reject> {
        let access = machine_core::access::Access::None;
        Ok(Plan { access, approval: self.name == "pay", ..Plan::default() })
    }

    fn call(&self, _: machine_core::Text, cx: ToolCx) -> Boxed<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            self.ran.lock().unwrap().push(cx.call());
            if self.detaches {
                cx.detach("in the background").await;
            }
            tokio::time::sleep(Duration::from_millis(self.takes)).await;
            cx.text("done")
        })
    }

    fn drop_on_cancel(&self) -> bool {
        true
    }
}

/// What the model says depends on history alone, so that it says the same after an opening.
async fn model(request: Request, out: ModelOut) -> Result<Finished, ModelError> {
    let last = request.history.last().map(|entry| entry.message.text()).unwrap_or_default();
    let calls: &[&str] = match &*last {
        "go" => &["read", "pay", "job"],
        "slow" => &["slow"],
        _ => &[],
    };
    tokio::time::sleep(Duration::from_millis(2)).await;
    for (index, tool) in (0..).zip(calls) {
        out.call(index, "", *tool, "{}").await;
    }
    if calls.is_empty() {
        out.text("all ").await;
        out.text("done").await;
        return Ok(Finished::new(Finish::EndTurn));
    }
    Ok(Finished::new(Finish::ToolUse))
}

fn builder(path: &Path, ran: &Ran) -> AgentBuilder {
    let tool = |name, takes, detaches| Telling { name, ran: ran.clone(), takes, detaches };
    Agent::builder()
        .branch(1)
        .model(model)
        .tool(tool("read", 3, false))
        .tool(tool("pay", 3, false))
        .tool(tool("job", 40, true))
        .tool(tool("slow", 10_000, false))
        .approve(|_| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Approval::Granted
        })
        .journal(FileJournal::at(path))
}

/// A session with batches, an approval, a steer, an abort, a background call and three turns.
async fn record(path: &Path) -> Vec<u8> {
    let ran = Arc::default();
    let agent = builder(path, &ran).open().await.unwrap();
    let steered = agent.clone();
    let steer = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(4)).await;
        steered.steer(Say::text("also this").id("also")).await.unwrap();
    });
    agent.prompt(Say::text("go").id("go")).await.unwrap();
    steer.await.unwrap();
    agent.submit(Say::text("slow").id("slow")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    agent.abort(Cause::by(By::User)).await.unwrap();
    agent.idle().await.unwrap();
    tokio::time::sleep(Duration::from_millis(60)).await;
    agent.idle().await.unwrap();
    agent.close().await.unwrap();
    std::fs::read(path).unwrap()
}

fn bytes() -> (tempfile::TempDir, PathBuf, Vec<u8>) {
    let dir = directory();
    let path = dir.path().join("session.jsonl");
    let bytes = paused().block_on(record(&path));
    (dir, path, bytes)
}

/// In memory, where there is such a place: these tests write a lot.
fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.unwrap()
}

/// A runtime whose time is paused.
fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

/// How far the file was durable when its prefix of this many lines was written: what the last line says.
fn promised(lines: &[&[u8]]) -> u64 {
    lines
        .iter()
        .map(|line| {
            let synced = std::str::from_utf8(line).unwrap().split(r#""synced":"#).nth(1).unwrap();
            synced.split(',').next().unwrap().parse().unwrap()
        })
        .max()
        .unwrap_or(0)
}

#[test]
fn c_j03_cut_at_every_byte_it_opens_with_all_that_was_whole() {
    let (_dir, path, bytes) = bytes();
    let ends: Vec<_> =
        bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    assert!(ends.len() > 30, "a session of {} lines is not worth cutting", ends.len());
    let mut opened = None;
    for cut in 0..=bytes.len() {
        let Scan { records, end, torn, .. } = scan(&path, &bytes[..cut], Reach::All).unwrap();
        let whole = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!((records.len(), torn.is_some()), (whole, end < cut as u64), "cut at {cut}");
        // Between two ends of lines nothing changes but what is torn.
        if whole == 0 || opened == Some(whole) {
            continue;
        }
        opened = Some(whole);
        let again = reopen(&records).unwrap();
        assert_eq!(again.engine.history().audit(), Ok(()), "cut at {cut}");
    }
}

#[test]
fn c_j04_damage_to_what_was_durable_is_loud_and_the_rest_is_a_torn_end() {
    let (dir, path, bytes) = bytes();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut loud, mut torn, mut begins) = (0, 0, 0);
    for (n, line) in lines.iter().enumerate() {
        let durable = promised(&lines[n + 1..]) > n as u64;
        // Every byte counts: the checksum, what it is over, the end of the line.
        let (head, tail) = (0..40.min(line.len()), line.len().saturating_sub(10)..line.len());
        for at in head.chain(40..line.len() / 2).step_by(3).chain(tail) {
            let mut text = bytes.clone();
            text[begins + at] ^= 0x15;
            match scan(&path, &text, Reach::Opening) {
                Err(FileError::Damaged { line, .. }) => {
                    assert!(durable && line == n as u64 + 1, "line {line} was promised to nobody");
                    loud += 1;
                }
                Ok(Scan { lines, torn: Some(_), .. }) => {
                    assert!(!durable, "byte {at} of line {} was durable", n + 1);
                    assert_eq!(lines, n as u64);
                    torn += 1;
                }
                other => unreachable!("line {}, byte {at}: {other:?}", n + 1),
            }
        }
        begins += line.len();
    }
    assert!(loud > 1_000 && torn > 100, "{loud} {torn}");
    // Loud means: refused, and the file is as it was.
    let copy = dir.path().join("damaged.jsonl");
    let mut text = bytes.clone();
    text[30] = b'x';
    std::fs::write(&copy, &text).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let error = runtime.block_on(builder(&copy, &Arc::default()).open()).map(drop).unwrap_err().to_string();
    assert!(error.contains("line 1 (byte 0) is damaged"), "{error}");
    assert_eq!(std::fs::read(&copy).unwrap(), text);
    assert!(cfg!(not(unix)) || !crate::disk::lock_of(&copy).exists(), "nothing is left beside it");
    // A lock that was there stays: others may know it.
    std::fs::write(crate::disk::lock_of(&copy), "").unwrap();
    runtime.block_on(builder(&copy, &Arc::default()).open()).map(drop).unwrap_err();
    assert!(crate::disk::lock_of(&copy).exists());
}

/// The smallest session: its header is durable, and only one line after it says so.
#[test]
fn c_j04_a_header_whose_checksum_is_damaged_is_no_torn_end() {
    let config = Arc::default();
    let records =
        [Writer::header(1, config), Record::In { n: 0, at: 1, about: None, input: Command::Pause.into() }];
    let (mut text, mut last) = (Vec::new(), 0);
    for (lines, record) in (0..).zip(&records) {
        encode(record, lines, &mut last, &mut text).unwrap();
    }
    let end = text.iter().position(|byte| *byte == b'\n').unwrap();
    for at in [0, 3, 8, 12, 20, end / 2, end - 1, end] {
        let mut damaged = text.clone();
        damaged[at] ^= 1;
        let error = scan(Path::new("x"), &damaged, Reach::Opening).map(drop).unwrap_err();
        assert!(matches!(error, FileError::Damaged { line: 1, .. }), "byte {at}: {error}");
    }
}

#[test]
fn a_file_that_is_no_journal_is_refused_and_left_alone() {
    let dir = directory();
    for (n, text) in
        ["my notes\n", "{\"crc\":\"no\"}\n", "{\"a\": 1}\n{\"b\": 2}\n", "x", " "].iter().enumerate()
    {
        let path = dir.path().join(format!("{n}.txt"));
        std::fs::write(&path, text).unwrap();
        let error =
            paused().block_on(builder(&path, &Ran::default()).open()).map(drop).unwrap_err().to_string();
        assert!(error.contains("this is no journal"), "{text:?}: {error}");
        assert_eq!(&std::fs::read_to_string(&path).unwrap(), text);
        assert!(
            cfg!(not(unix)) || dir.path().read_dir().unwrap().count() == n + 1,
            "{text:?}: nothing is left beside it"
        );
    }
}

#[test]
fn c_j04_a_journal_with_other_line_ends_is_refused_and_left_alone() {
    let (dir, _, bytes) = bytes();
    let text = String::from_utf8(bytes).unwrap();
    for (n, other) in [text.replace('\n', "\r\n"), format!("\u{feff}{text}")].iter().enumerate() {
        let path = dir.path().join(format!("{n}.jsonl"));
        std::fs::write(&path, other).unwrap();
        paused().block_on(builder(&path, &Ran::default()).open()).map(drop).unwrap_err();
        assert_eq!(&std::fs::read_to_string(&path).unwrap(), other);
    }
}

#[cfg(unix)]
#[test]
fn c_j11_what_is_no_file_keeps_its_mode() {
    let dir = directory();
    let socket = dir.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let null = Path::new("/dev/null");
    let before = std::fs::metadata(null).unwrap().permissions();
    for place in [null, &socket, dir.path()] {
        paused().block_on(builder(place, &Ran::default()).open()).map(drop).unwrap_err();
    }
    assert_eq!(std::fs::metadata(null).unwrap().permissions(), before);
    assert!(!dir.path().join("socket.lock").exists());
}

#[cfg(unix)]
#[test]
fn c_j10_what_is_gone_from_the_file_is_not_gone_on_from() {
    type Harm = fn(&Path);
    let removed: Harm = |path| std::fs::remove_file(path).unwrap();
    let replaced: Harm = |path| {
        let copy = path.with_extension("copy");
        std::fs::copy(path, &copy).unwrap();
        std::fs::rename(copy, path).unwrap();
    };
    let shorter: Harm = |path| {
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    };
    for harm in [removed, replaced, shorter] {
        let dir = directory();
        let path = dir.path().join("session.jsonl");
        paused().block_on(async {
            let agent = builder(&path, &Ran::default()).open().await.unwrap();
            agent.prompt(Say::text("hi").id("hi")).await.unwrap();
            harm(&path);
            let refused = agent.submit(Say::text("more").id("more")).await.unwrap_err().to_string();
            assert!(refused.contains("while it was open"), "{refused}");
        });
    }
}

#[test]
fn c_j09_a_journal_is_opened_once() {
    let dir = directory();
    let mut journal = FileJournal::at(dir.path().join("session.jsonl"));
    paused().block_on(async {
        journal.open().await.unwrap();
        let error = journal.open().await.unwrap_err().to_string();
        assert!(error.contains("is open in this agent"), "{error}");
        assert_eq!(journal.read().await.unwrap(), [], "it goes on as it was");
        journal.sync().await.unwrap();
    });
}

#[test]
fn c_j04_lines_in_another_order_are_no_session() {
    let (_dir, path, bytes) = bytes();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for first in 1..lines.len() - 1 {
        let mut swapped = lines.clone();
        swapped.swap(first, first + 1);
        for reach in [Reach::All, Reach::Opening] {
            match scan(&path, &swapped.concat(), reach) {
                Err(error) => assert!(matches!(error, FileError::Damaged { .. }), "{error}"),
                // Nobody was promised them.
                Ok(scan) => assert!(scan.torn.is_some() && first + 4 > lines.len(), "line {first}"),
            }
        }
    }
}

#[test]
fn c_j09_a_second_opener_is_refused_with_who_holds_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session.jsonl");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let ran = Arc::default();
        let first = builder(&path, &ran).open().await.unwrap();
        let second = builder(&path, &ran).open().await.map(drop).unwrap_err().to_string();
        assert!(second.contains(&format!("is open in process {}", std::process::id())), "{second}");
        first.close().await.unwrap();
        builder(&path, &ran).open().await.unwrap();
    });
}

#[cfg(unix)]
#[test]
fn c_j09_a_second_opener_is_refused_also_when_the_lock_file_was_removed() {
    let dir = directory();
    let path = dir.path().join("session.jsonl");
    paused().block_on(async {
        let first = builder(&path, &Ran::default()).open().await.unwrap();
        std::fs::remove_file(dir.path().join("session.jsonl.lock")).unwrap();
        let second = builder(&path, &Ran::default()).open().await.map(drop).unwrap_err().to_string();
        assert!(second.contains("is open in another process"), "{second}");
        first.prompt(Say::text("hi").id("hi")).await.unwrap();
    });
}

/// The file that is written anew is another one.
#[cfg(unix)]
#[test]
fn c_j09_a_second_opener_is_refused_also_when_the_past_was_dropped() {
    let (dir, path, bytes) = bytes();
    paused().block_on(async {
        let journal = FileJournal::at(&path).drop_past_above(0);
        let _first = builder(&path, &Ran::default()).journal(journal).open().await.unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() < bytes.len() as u64, "the past was dropped");
        std::fs::remove_file(dir.path().join("session.jsonl.lock")).unwrap();
        let second = builder(&path, &Ran::default()).open().await.map(drop).unwrap_err().to_string();
        assert!(second.contains("is open in another process"), "{second}");
    });
}

#[cfg(unix)]
#[test]
fn c_j11_the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, path, bytes) = bytes();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    let open = dir.path().join("open.jsonl");
    std::fs::write(&open, bytes).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { drop(builder(&open, &Arc::default()).open().await.unwrap()) });
    assert_eq!(mode(&open), 0o600);
}

/// Who says a lot is no reason to stop.
#[test]
fn what_has_some_megabytes_is_written() {
    let dir = directory();
    let path = dir.path().join("session.jsonl");
    paused().block_on(async {
        let agent = builder(&path, &Ran::default()).open().await.unwrap();
        let end = agent.prompt(Say::text("x".repeat(3 << 20)).id("long")).await.unwrap();
        assert!(matches!(end.reason, machine_core::event::EndReason::Completed { .. }));
        let history = agent.history().await.unwrap();
        agent.park().await.unwrap();
        let again = builder(&path, &Ran::default()).open().await.unwrap();
        assert_eq!(again.history().await.unwrap(), history);
    });
}

#[test]
fn a_record_that_is_too_large_is_refused_and_says_what_to_do() {
    let input = Command::Submit(machine_core::input::Submit::text("x", "y".repeat(line::MOST)));
    let error =
        encode(&Record::In { n: 0, at: 0, about: None, input: input.into() }, 0, &mut 0, &mut Vec::new())
            .unwrap_err();
    assert!(error.to_string().contains("`spill`"), "{error}");
}

#[test]
fn a_line_of_a_later_version_is_no_damage() {
    let rest = r#""synced":0,"record":{"future":{}}}"#;
    let crc = crc32fast::hash(&[&0_u32.to_le_bytes(), rest.as_bytes()].concat());
    let text = format!("{{\"crc\":\"{crc:08x}\",{rest}\n");
    let error = scan(Path::new("x"), text.as_bytes(), Reach::All).unwrap_err().to_string();
    assert!(error.contains("line 1: unknown variant `future`"), "{error}");
}
