//! `list`, `read`, `search` and `count`: what is there, in order, and what could not be read.
mod common;

use common::World;

#[test]
fn list_shows_one_level_or_all() {
    let world = World::with(&[("b/c/d.txt", ""), ("b.txt", ""), ("a.md", ""), (".git/config", "")]);
    world.ok("list", "{}", ".git/\na.md\nb.txt\nb/");
    world.ok("list", r#"{"recursive": true}"#, ".git/\na.md\nb.txt\nb/\nb/c/\nb/c/d.txt");
    world.ok("list", r#"{"path": "b"}"#, "b/c/");
    world.ok("list", r#"{"path": ".git"}"#, ".git/config");
    world.ok("list", r#"{"path": "b/c", "glob": "*.md"}"#, "[no entries]");
}

#[test]
fn list_takes_a_glob_at_any_depth() {
    let world = World::with(&[("a.md", ""), ("b/c.md", ""), ("b/d/e.md", ""), ("b/d/f.txt", "")]);
    world.ok("list", r#"{"glob": "*.md"}"#, "a.md\nb/c.md\nb/d/e.md");
    world.ok("list", r#"{"glob": "*.md", "recursive": false}"#, "a.md");
    world.ok("list", r#"{"glob": "b/*.md"}"#, "b/c.md");
    world.ok("list", r#"{"glob": "b/**/*.{md,txt}"}"#, "b/c.md\nb/d/e.md\nb/d/f.txt");
    world.ok("list", r#"{"glob": "**/*.md"}"#, "a.md\nb/c.md\nb/d/e.md");
    world.ok("list", r#"{"path": "b", "glob": "d/*.md"}"#, "b/d/e.md");
    world.ok("list", r#"{"path": "b", "glob": "./b/d/*"}"#, "b/d/e.md\nb/d/f.txt");
}

#[test]
fn list_is_bounded_and_says_so() {
    let world = World::new();
    for i in 0..1_005 {
        world.put(&format!("f{i:04}"), "");
    }
    let text = world.call("list", "{}").expect("a list");
    assert!(text.starts_with("f0000\nf0001\n"));
    assert!(text.ends_with("f0999\n[cut: 1000 of 1005 entries shown]"), "{}", &text[text.len() - 80..]);
}

#[test]
fn a_name_with_a_line_end_stays_on_one_line() {
    let world = World::with(&[("a\nb", "x\n")]);
    world.ok("list", "{}", r"a\nb");
    world.ok("count", "{}", "a\\nb: 1\ntotal: 1 lines, 1 files");
}

#[test]
fn read_gives_the_text_as_it_is() {
    let world = World::with(&[("a.txt", "one\r\ntwo\n\nfour"), ("empty", "")]);
    world.ok("read", r#"{"path": "a.txt"}"#, "one\r\ntwo\n\nfour");
    world.ok("read", r#"{"path": "a.txt", "offset": null, "limit": null}"#, "one\r\ntwo\n\nfour");
    world.ok("read", r#"{"path": "empty"}"#, "");
    world.ok("read", r#"{"path": "a.txt", "offset": 3}"#, "\nfour");
    world.ok("read", r#"{"path": "a.txt", "limit": 1}"#, "one\r\n[lines 1 to 1 of 4; go on with offset 2]");
    world.ok(
        "read",
        r#"{"path": "a.txt", "offset": 2, "limit": 2}"#,
        "two\n\n[lines 2 to 3 of 4; go on with offset 4]",
    );
    world.ok("read", r#"{"path": "a.txt", "offset": 4, "limit": 1}"#, "four");
    world.err(
        "read",
        r#"{"path": "a.txt", "offset": 5}"#,
        "argument `offset`: 5 is past the end of a.txt, which has 4 lines",
    );
}

#[test]
fn read_is_bounded_and_says_where_to_go_on() {
    let world = World::new();
    world.put("many", "x\n".repeat(2_001));
    let text = world.call("read", r#"{"path": "many"}"#).expect("text");
    assert!(text.ends_with("x\n[lines 1 to 2000 of 2001; go on with offset 2001]"));
    world.ok("read", r#"{"path": "many", "offset": 2001}"#, "x\n");

    world.put("wide", format!("{}\nshort\n", "é".repeat(100_000)));
    let text = world.call("read", r#"{"path": "wide"}"#).expect("text");
    assert!(text.ends_with("é\n[line 1 is cut: 131072 of its 200001 bytes shown; go on with offset 2]"));
    world.ok("read", r#"{"path": "wide", "offset": 2}"#, "short\n");

    world.put("huge", vec![b'x'; 16 * 1024 * 1024 + 1]);
    world.err(
        "read",
        r#"{"path": "huge"}"#,
        "larger than 16777216 bytes, use the shell for parts of it: huge",
    );
}

#[test]
fn what_is_not_text_is_an_error() {
    let world = World::new();
    world.put("a.bin", b"\xff\xfe");
    world.put("closed.txt", "x\n");
    world.chmod("closed.txt", 0o000);
    rustix::fs::mkfifoat(rustix::fs::CWD, world.root().join("pipe"), rustix::fs::Mode::RUSR).expect("a pipe");
    for tool in ["read", "count"] {
        world.err(tool, r#"{"path": "a.bin"}"#, "not UTF-8: a.bin");
        world.err(tool, r#"{"path": "closed.txt"}"#, "no read permission: closed.txt");
        world.err(tool, r#"{"path": "pipe"}"#, "not a regular file: pipe");
    }
}

#[test]
fn search_finds_literal_text_at_any_depth() {
    let world = World::with(&[
        ("z.md", "nothing\na.b (x)\n"),
        ("a/deep/er/x.md", "a.b\r\n"),
        ("a/x.txt", "a.b\n"),
        (".git/x.md", "a.b\n"),
        ("sub/.git", "a.b\n"),
        ("axb.md", "axb\n"),
    ]);
    world.ok("search", r#"{"pattern": "a.b", "glob": "*.md"}"#, "a/deep/er/x.md:1: a.b\nz.md:2: a.b (x)");
    world.ok("search", r#"{"pattern": "a.b"}"#, "a/deep/er/x.md:1: a.b\na/x.txt:1: a.b\nz.md:2: a.b (x)");
    world.ok("search", r#"{"pattern": "a.b", "path": "a", "glob": "*.txt"}"#, "a/x.txt:1: a.b");
    world.ok("search", r#"{"pattern": "a.b", "path": "z.md"}"#, "z.md:2: a.b (x)");
    world.ok("search", r#"{"pattern": "A.B", "path": "a"}"#, "[no matches, files searched: 2]");
    world.ok("search", r#"{"pattern": "a.b", "glob": "*.rs"}"#, "[no matches, files searched: 0]");
}

#[test]
fn search_can_ignore_case() {
    let world = World::with(&[("a.txt", "GRÜẞE\ngrüße\nGruesse\nİx\n")]);
    world.ok("search", r#"{"pattern": "GrÜSse", "ignore_case": true}"#, "[no matches, files searched: 1]");
    world.ok("search", r#"{"pattern": "GrÜß", "ignore_case": true}"#, "a.txt:1: GRÜẞE\na.txt:2: grüße");
    world.ok("search", r#"{"pattern": "X", "ignore_case": true}"#, "a.txt:4: İx");
}

#[test]
fn search_names_what_it_could_not_read() {
    let world = World::with(&[("a.md", "hit\n"), ("closed.md", "hit\n"), ("shut/b.md", "hit\n")]);
    world.put("x.md", b"hit \xff\n");
    world.put("x.bin", b"hit \xff\n");
    world.chmod("closed.md", 0o200);
    world.chmod("shut", 0o000);
    let text = world.call("search", r#"{"pattern": "hit", "glob": "*.md"}"#);
    world.chmod("shut", 0o700);
    assert_eq!(
        text.as_deref(),
        Ok("a.md:1: hit\nskipped: closed.md (no read permission)\nskipped: shut (no read permission)\n\
            skipped: x.md (not UTF-8)")
    );
}

#[test]
fn search_bounds_lines_and_their_length() {
    let world = World::new();
    world.put("a.txt", "hit\n".repeat(503));
    let text = world.call("search", r#"{"pattern": "hit"}"#).expect("matches");
    assert!(text.ends_with("a.txt:500: hit\n[cut: 500 of 503 matching lines shown]"));
    world.put("a.txt", format!("{}hit{}", "é".repeat(1_000), "z".repeat(1_000)));
    for ignore_case in [true, false] {
        let want = format!("a.txt:1: …{}hit{}…", "é".repeat(80), "z".repeat(217));
        world.ok("search", &format!(r#"{{"pattern": "hit", "ignore_case": {ignore_case}}}"#), &want);
    }
}

#[test]
fn search_goes_through_thousands_of_files() {
    let world = World::new();
    for i in 0..3_000 {
        world.put(&format!("d{}/f{i}.md", i % 40), format!("line\nnumber {i}\n"));
    }
    world.ok("search", r#"{"pattern": "number 2999", "glob": "*.md"}"#, "d39/f2999.md:2: number 2999");
    let count = world.call("count", r#"{"glob": "*.md"}"#).expect("a count");
    assert!(count.ends_with("[cut: 1000 of 3000 files shown]\ntotal: 6000 lines, 3000 files"));
}

#[test]
fn count_counts_lines() {
    let world =
        World::with(&[("a.txt", "1\n2\n"), ("b/c.txt", "1\n2"), ("b/empty.txt", ""), ("d.md", "1\n")]);
    world.put("x.txt", b"\xff");
    world.ok(
        "count",
        r#"{"glob": "*.txt"}"#,
        "a.txt: 2\nb/c.txt: 2\nb/empty.txt: 0\ntotal: 4 lines, 3 files\nskipped: x.txt (not UTF-8)",
    );
    world.ok("count", r#"{"path": "d.md"}"#, "d.md: 1\ntotal: 1 lines, 1 files");
}
