//! What a call must look like, and what the table says about it.
mod common;

use common::World;
use machine_cli::tools::shell::ShellArgs;
use machine_cli::tools::{Access, Accesses, Mode, Runner, Workspace, all, find};

#[test]
fn a_wrong_argument_is_named() {
    let world = World::with(&[("a.txt", "a\n")]);
    let check = |tool: &str, args: &str, part: &str| {
        let error = world.call(tool, args).expect_err("a wrong argument");
        assert!(error.contains(part), "{tool} {args}: {error}");
    };
    check("read", "{}", "missing field `path`");
    check("read", "", "missing field `path`");
    check("read", r#"{"path": 5}"#, "`path`: invalid type: integer `5`, expected a string");
    check("read", r#"{"path": "a.txt", "offset": "x"}"#, "`offset`: invalid type");
    check("read", r#"{"path": "a.txt", "offset": -1}"#, "`offset`: invalid value");
    check("read", r#"{"path": "a.txt", "limit": 0}"#, "argument `limit`: must be at least 1");
    check("read", r#"{"path": "a.txt", "ofset": 1}"#, "unknown field `ofset`, expected one of `path`");
    check("read", r#"{"path": "a.txt", "path": "b.txt"}"#, "duplicate field `path`");
    check("read", r#"["a.txt"]"#, "not a JSON object");
    check("read", r#"{"path": "a.txt"} {}"#, "trailing characters");
    check("read", r#"{"path": "#, "arguments: ");
    check("write", r#"{"path": "a.txt"}"#, "missing field `content`");
    check("edit", r#"{"path": "a.txt", "old": "", "new": "x"}"#, "argument `old`: is empty");
    check("edit", r#"{"path": "a.txt", "old": "a", "new": "a"}"#, "argument `new`: is the same as `old`");
    check("search", r#"{"pattern": ""}"#, "argument `pattern`: is empty");
    check("search", r#"{"pattern": "a\nb"}"#, "argument `pattern`: has more than one line");
    check("search", r#"{"pattern": "a", "glob": "["}"#, "argument `glob`: ");
    check("list", r#"{"glob": ""}"#, "argument `glob`: is empty");
    check("count", r#"{"recursive": true}"#, "unknown field `recursive`");
}

#[test]
fn a_wrong_path_is_named() {
    let world = World::with(&[("a.txt", "a\n"), ("dir/b.txt", "b\n")]);
    world.err("read", r#"{"path": ""}"#, "argument `path`: is empty");
    world.err("list", r#"{"path": ""}"#, "argument `path`: is empty");
    world.err(
        "write",
        r#"{"path": "a\u0000b", "content": ""}"#,
        r"argument `path`: contains a NUL character: a\0b",
    );
    world.err("read", r#"{"path": "dir"}"#, "is a directory: dir");
    world.err("read", r#"{"path": "."}"#, "is a directory: .");
    world.err("read", r#"{"path": "a.txt/"}"#, "not a directory: a.txt/");
    world.err("read", r#"{"path": "a.txt/x"}"#, "not a directory: a.txt/x");
    world.err("read", r#"{"path": "none.txt"}"#, "no such file or directory: none.txt");
    world.err("edit", r#"{"path": "dir", "old": "a", "new": "b"}"#, "is a directory: dir");
    world.err(
        "edit",
        r#"{"path": "none.txt", "old": "a", "new": "b"}"#,
        "no such file or directory: none.txt",
    );
    world.err("write", r#"{"path": "dir", "content": ""}"#, "is a directory: dir");
    world.err("write", r#"{"path": "new/", "content": ""}"#, "is a directory: new/");
    world.err("write", r#"{"path": "a.txt/x", "content": ""}"#, "not a directory: a.txt/x");
    world.err("list", r#"{"path": "a.txt"}"#, "not a directory: a.txt");
    world.err("list", r#"{"path": "none"}"#, "no such file or directory: none");
    world.err("search", r#"{"path": "none", "pattern": "x"}"#, "no such file or directory: none");
}

#[test]
fn the_shell_checks_its_arguments() {
    let check = |args: &str, part: &str| {
        let error = ShellArgs::parse(args).expect_err("a wrong argument").to_string();
        assert!(error.contains(part), "{args}: {error}");
    };
    check("{}", "missing field `command`");
    check(r#"{"command": " "}"#, "argument `command`: is empty");
    check(r#"{"command": "a\u0000"}"#, "argument `command`: contains a NUL character");
    check(r#"{"command": "true", "timeout_ms": 0}"#, "argument `timeout_ms`: must be at least 1");
    check(r#"{"command": "true", "timeout_ms": "1"}"#, "`timeout_ms`: invalid type");
    check(r#"{"command": "true", "cwd": "/"}"#, "unknown field `cwd`");
}

/// The schema and the struct say the same: the names in the schema are those that serde offers.
#[test]
fn schemas_fit_the_arguments() {
    let world = World::new();
    for tool in all() {
        let schema: serde_json::Value = serde_json::from_str(tool.schema).expect("JSON");
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        let mut names: Vec<&String> = schema["properties"].as_object().expect("properties").keys().collect();
        let error =
            (tool.accesses)(&world.workspace, r#"{"?": 1}"#).expect_err("an unknown field").to_string();
        let (_, offered) = error.split_once("expected ").expect("serde says what it expects");
        let mut offered: Vec<&str> = offered.split('`').skip(1).step_by(2).collect();
        names.sort();
        offered.sort_unstable();
        assert_eq!(names, offered, "{}", tool.name);
        for required in schema["required"].as_array().expect("required") {
            assert!(names.iter().any(|name| required == *name), "{}: {required}", tool.name);
        }
    }
}

#[test]
fn what_needs_approval_and_what_is_touched() {
    let world = World::with(&[("dir/a.txt", "a\n")]);
    world.link("dir", "link");
    let check = |tool: &str, args: &str, approval: bool, want: Accesses| {
        let tool = find(tool).expect("the tool");
        assert_eq!(tool.needs_approval, approval, "{}", tool.name);
        assert_eq!((tool.accesses)(&world.workspace, args).expect("accesses"), want, "{}", tool.name);
    };
    let one =
        |mode, path: &str, recursive| Accesses::Paths(vec![Access { mode, path: path.into(), recursive }]);
    check("list", "{}", false, one(Mode::Search, "", true));
    check("search", r#"{"pattern": "a", "path": "./dir/"}"#, false, one(Mode::Search, "dir", true));
    check("count", r#"{"path": "link"}"#, false, one(Mode::Search, "dir", true));
    check("read", r#"{"path": "link/a.txt"}"#, false, one(Mode::Read, "dir/a.txt", false));
    check(
        "write",
        r#"{"path": "link/new/b.txt", "content": ""}"#,
        true,
        one(Mode::Write, "dir/new/b.txt", false),
    );
    check("edit", r#"{"path": "dir/../x", "old": "a", "new": "b"}"#, true, one(Mode::ReadWrite, "x", false));
    check("shell", r#"{"command": "true"}"#, true, Accesses::All);
}

#[test]
fn names_are_unique_and_found() {
    for (index, tool) in all().iter().enumerate() {
        assert!(all()[..index].iter().all(|other| other.name != tool.name), "{}", tool.name);
        assert_eq!(find(tool.name).map(|found| found.name), Some(tool.name));
        assert_eq!(matches!(tool.runner, Runner::Shell), tool.name == "shell");
    }
    assert!(find("none").is_none());
}

#[test]
fn a_workspace_is_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Workspace>();
}
