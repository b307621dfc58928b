//! `write` and `edit`: all or nothing, and never against the permissions.
mod common;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use common::World;

#[test]
fn write_makes_files_and_directories() {
    let world = World::new();
    world.ok("write", r#"{"path": "a/b/c.txt", "content": "héllo\n"}"#, "created a/b/c.txt (7 bytes)");
    assert_eq!(world.text("a/b/c.txt"), "héllo\n");
    assert_eq!(world.names("a/b"), ["c.txt"]);
    world.ok("write", r#"{"path": "a/b/c.txt", "content": ""}"#, "replaced a/b/c.txt (0 bytes)");
    assert_eq!(world.text("a/b/c.txt"), "");
    assert_eq!(world.names("a/b"), ["c.txt"], "no draft is left");
}

#[test]
fn write_replaces_the_file_as_a_whole() {
    let world = World::with(&[("a.txt", "old")]);
    let before = fs::File::open(world.root().join("a.txt")).expect("the old file");
    world.ok("write", r#"{"path": "a.txt", "content": "new"}"#, "replaced a.txt (3 bytes)");
    assert_eq!(
        std::io::read_to_string(before).expect("text"),
        "old",
        "who had it open keeps the old content"
    );
    assert_eq!(world.text("a.txt"), "new");
}

#[test]
fn write_keeps_the_permissions() {
    let world = World::with(&[("a.sh", "old")]);
    for mode in [0o755, 0o600, 0o640, 0o777, 0o200] {
        world.chmod("a.sh", mode);
        world.ok("write", r#"{"path": "a.sh", "content": "new"}"#, "replaced a.sh (3 bytes)");
        assert_eq!(world.mode("a.sh"), mode);
    }
    world.chmod("a.sh", 0o4755);
    world.ok("write", r#"{"path": "a.sh", "content": "new"}"#, "replaced a.sh (3 bytes)");
    assert_eq!(world.mode("a.sh"), 0o755, "a new content does not inherit the owner's rights");
}

#[test]
fn write_keeps_the_owner() {
    let world = World::with(&[("a.txt", "old")]);
    let path = world.root().join("a.txt");
    // Only root can set this up; for others the file is theirs already.
    let _ = std::os::unix::fs::chown(&path, Some(12_345), Some(12_345));
    let before = fs::metadata(&path).expect("metadata");
    world.ok("write", r#"{"path": "a.txt", "content": "new"}"#, "replaced a.txt (3 bytes)");
    let after = fs::metadata(&path).expect("metadata");
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
}

#[test]
fn a_file_without_write_bits_stays_even_for_root() {
    let world = World::with(&[("a.txt", "old\n")]);
    world.chmod("a.txt", 0o444);
    world.link("a.txt", "link");
    for path in ["a.txt", "link"] {
        let want = format!("no write permission: {path}");
        world.err("write", &format!(r#"{{"path": "{path}", "content": "new"}}"#), &want);
        world.err("edit", &format!(r#"{{"path": "{path}", "old": "old", "new": "new"}}"#), &want);
    }
    assert_eq!(world.text("a.txt"), "old\n");
    assert_eq!(world.mode("a.txt"), 0o444);
    assert_eq!(world.names(""), ["a.txt", "link"]);
}

#[test]
fn a_directory_without_write_bits_stays_even_for_root() {
    let world = World::with(&[("d/a.txt", "old\n")]);
    world.chmod("d", 0o555);
    let refused = |path: &str| {
        let want = format!("no write permission in its directory: {path}");
        world.err("write", &format!(r#"{{"path": "{path}", "content": "new"}}"#), &want);
    };
    refused("d/new.txt");
    refused("d/e/f/new.txt");
    refused("d/a.txt");
    assert_eq!(world.names("d"), ["a.txt"]);
    assert_eq!(world.text("d/a.txt"), "old\n");
    world.chmod("d", 0o755);
}

#[test]
fn a_failed_write_leaves_nothing() {
    let world = World::new();
    let name = "x".repeat(300);
    let error =
        world.call("write", &format!(r#"{{"path": "a/b/{name}", "content": "new"}}"#)).expect_err("too long");
    assert!(error.contains("too long"), "{error}");
    assert_eq!(world.names(""), Vec::<String>::new());
    let error =
        world.call("write", &format!(r#"{{"path": "c/{name}/d", "content": "new"}}"#)).expect_err("too long");
    assert!(error.contains("too long"), "{error}");
    assert_eq!(world.names(""), Vec::<String>::new());
}

#[test]
fn write_refuses_what_is_not_a_file() {
    let world = World::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, world.root().join("pipe"), rustix::fs::Mode::RWXU).expect("a pipe");
    world.err("write", r#"{"path": "pipe", "content": ""}"#, "not a regular file: pipe");
    world.err("edit", r#"{"path": "pipe", "old": "a", "new": "b"}"#, "not a regular file: pipe");
}

#[test]
fn a_link_inside_stays_and_its_target_is_written() {
    let world = World::with(&[("d/a.txt", "old\n")]);
    world.link("d/a.txt", "link");
    world.link("d/new.txt", "dangling");
    world.ok("write", r#"{"path": "link", "content": "new\n"}"#, "replaced link (4 bytes)");
    world.ok("edit", r#"{"path": "link", "old": "new", "new": "newer"}"#, "replaced 1 time in link");
    world.ok("write", r#"{"path": "dangling", "content": "made"}"#, "created dangling (4 bytes)");
    assert_eq!(world.text("d/a.txt"), "newer\n");
    assert_eq!(world.text("d/new.txt"), "made");
    assert_eq!(world.names(""), ["d", "dangling", "link"]);
    for link in ["link", "dangling"] {
        assert!(fs::symlink_metadata(world.root().join(link)).expect("metadata").is_symlink(), "{link}");
    }
}

#[test]
fn edit_replaces_exact_text() {
    let check = |before: &str, old: &str, new: &str, all: bool, want: Result<&str, &str>| {
        let world = World::with(&[("a.txt", before)]);
        world.chmod("a.txt", 0o750);
        let args = serde_json::json!({"path": "a.txt", "old": old, "new": new, "all": all}).to_string();
        let answer = world.call("edit", &args);
        match want {
            Ok(text) => {
                assert!(answer.as_ref().is_ok_and(|a| a.starts_with("replaced ")), "{args}: {answer:?}");
                assert_eq!(world.text("a.txt"), text, "{args}");
            }
            Err(error) => {
                assert_eq!(answer.as_deref().map_err(|e| &**e), Err(error), "{args}");
                assert_eq!(world.text("a.txt"), before, "{args}");
            }
        }
        assert_eq!(world.mode("a.txt"), 0o750);
        assert_eq!(world.names(""), ["a.txt"]);
    };
    let many =
        |n: usize| format!("`old` was found {n} times, give more of the text around it or set `all`: a.txt");
    check("one two\n", "two", "2", false, Ok("one 2\n"));
    check("one two", "two", "2", false, Ok("one 2"));
    check("one two\n", " two\n", "", false, Ok("one"));
    check("a\nb\na\n", "a\nb", "x\ny", false, Ok("x\ny\na\n"));
    check("a b a\n", "a", "x", true, Ok("x b x\n"));
    check("a b\n", "a", "x", true, Ok("x b\n"));
    check("a b a\n", "a", "x", false, Err(&many(2)));
    check("aaa\n", "aa", "x", false, Err(&many(2)));
    check("a b a\n", "A", "x", false, Err("`old` was not found: a.txt"));
    check("a b a\n", "A", "x", true, Err("`old` was not found: a.txt"));
    check("$1 \\1\n", "$1", "$0\\0", false, Ok("$0\\0 \\1\n"));
}

#[test]
fn edit_keeps_line_ends() {
    let check = |before: &str, old: &str, new: &str, want: &str| {
        let world = World::with(&[("a.txt", before)]);
        let args = serde_json::json!({"path": "a.txt", "old": old, "new": new, "all": true}).to_string();
        world.call("edit", &args).expect("an edit");
        assert_eq!(world.text("a.txt"), want, "{args}");
    };
    check("a\r\nb\r\nc", "b", "x", "a\r\nx\r\nc");
    check("a\r\nb\r\nc", "a\nb\n", "x\ny\n", "x\r\ny\r\nc");
    check("a\r\nb\r\nc", "b", "x\ny", "a\r\nx\r\ny\r\nc");
    // Said on purpose.
    check("a\r\nb\r\n", "\r\n", "\n", "a\nb\n");
    // Mixed: nothing is taken for anything else.
    check("a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n");
    // No line end at all.
    check("a b", "b", "x\ny", "a x\ny");
}

#[test]
fn edit_refuses_what_is_not_text() {
    let world = World::new();
    world.put("a.bin", b"old \xff");
    world.err("edit", r#"{"path": "a.bin", "old": "old", "new": "new"}"#, "not UTF-8: a.bin");
    assert_eq!(fs::read(world.root().join("a.bin")).expect("bytes"), b"old \xff");
}

/// Two calls that read, change and put back one file by two names lose nothing.
#[test]
fn edits_of_one_file_at_the_same_time_all_count() {
    let world = Arc::new(World::with(&[("a.txt", "0 1 2 3 4 5 6 7 \n")]));
    world.link("a.txt", "b.txt");
    let threads: Vec<_> = (0..8)
        .map(|i| {
            let world = Arc::clone(&world);
            std::thread::spawn(move || {
                let path = if i % 2 == 0 { "a.txt" } else { "b.txt" };
                world.call("edit", &format!(r#"{{"path": "{path}", "old": "{i} ", "new": "x "}}"#))
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic").expect("an edit");
    }
    assert_eq!(world.text("a.txt"), "x x x x x x x x \n");
}
