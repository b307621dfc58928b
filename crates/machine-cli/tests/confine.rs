//! No path leads out of the workspace.
mod common;

use std::fs;

use common::World;

/// Every tool that takes a path, with that path.
fn calls(path: &str) -> [(&'static str, String); 6] {
    [
        ("list", format!(r#"{{"path": "{path}"}}"#)),
        ("read", format!(r#"{{"path": "{path}"}}"#)),
        ("search", format!(r#"{{"path": "{path}", "pattern": "secret"}}"#)),
        ("count", format!(r#"{{"path": "{path}"}}"#)),
        ("write", format!(r#"{{"path": "{path}", "content": "x"}}"#)),
        ("edit", format!(r#"{{"path": "{path}", "old": "secret", "new": "x"}}"#)),
    ]
}

#[track_caller]
fn all_refuse(world: &World, path: &str) {
    for (tool, args) in calls(path) {
        let want = format!("path leaves the workspace: {path}");
        world.err(tool, &args, &want);
        let def = machine_cli::tools::find(tool).expect("the tool");
        let accesses = (def.accesses)(&world.workspace, &args).expect_err("no access outside");
        assert_eq!(accesses.to_string(), want, "the access is refused like the call");
    }
    assert_eq!(fs::read_to_string(world.outside().join("secret.txt")).expect("the secret"), "secret\n");
    assert_eq!(fs::read_dir(world.outside()).expect("the outside").count(), 1, "nothing was made outside");
}

#[test]
fn by_dots() {
    let world = World::with(&[("a/b.txt", "b\n")]);
    all_refuse(&world, "..");
    all_refuse(&world, "../outside");
    all_refuse(&world, "../outside/secret.txt");
    all_refuse(&world, "../outside/new.txt");
    all_refuse(&world, "a/../../outside/secret.txt");
    all_refuse(&world, "missing/../../outside/secret.txt");
}

#[test]
fn by_an_absolute_path() {
    let world = World::new();
    all_refuse(&world, "/etc/passwd");
    all_refuse(&world, "/");
    all_refuse(&world, &world.outside().join("secret.txt").to_string_lossy());
    all_refuse(&world, &world.root().join("../outside/secret.txt").to_string_lossy());
    let sibling = format!("{}x/secret.txt", world.root().display());
    all_refuse(&world, &sibling);
}

#[test]
fn by_a_link_to_a_file() {
    let world = World::new();
    world.link("../outside/secret.txt", "relative");
    world.link(world.outside().join("secret.txt"), "absolute");
    world.link("relative", "twice");
    world.link("../outside/new.txt", "dangling");
    for path in ["relative", "absolute", "twice", "dangling"] {
        all_refuse(&world, path);
    }
}

#[test]
fn by_a_link_to_a_directory() {
    let world = World::new();
    world.link("../outside", "relative");
    world.link(world.outside(), "absolute");
    world.link("..", "up");
    for path in [
        "relative",
        "absolute/secret.txt",
        "relative/new.txt",
        "relative/new/new.txt",
        "up/outside/secret.txt",
    ] {
        all_refuse(&world, path);
    }
}

#[test]
fn walks_do_not_follow_links() {
    let world = World::with(&[("a.md", "secret in\n")]);
    world.link("../outside", "out");
    world.link("../outside/secret.txt", "out.md");
    world.link(".", "circle");
    world.ok(
        "search",
        r#"{"pattern": "secret"}"#,
        "a.md:1: secret in\nskipped: circle (symbolic link)\nskipped: out (symbolic link)\nskipped: out.md (symbolic link)",
    );
    world.ok(
        "list",
        r#"{"recursive": true}"#,
        "a.md\ncircle -> .\nout -> ../outside\nout.md -> ../outside/secret.txt",
    );
}

#[test]
fn inside_every_spelling_works() {
    let world = World::with(&[("a/b.txt", "b\n"), ("c.txt", "c\n")]);
    world.link("a", "link");
    world.link("../a", "a/again");
    world.link(world.root().join("a"), "absolute");
    for path in
        ["a/b.txt", "./a//b.txt", "a/../a/b.txt", "link/b.txt", "a/again/again/b.txt", "absolute/b.txt"]
    {
        world.ok("read", &format!(r#"{{"path": "{path}"}}"#), "b\n");
    }
    // `..` after a link is above where the link leads, as everywhere on the system.
    world.ok("read", r#"{"path": "link/../c.txt"}"#, "c\n");
    let absolute = world.root().join("a/b.txt");
    world.ok("read", &format!(r#"{{"path": "{}"}}"#, absolute.display()), "b\n");
}

#[test]
fn a_root_that_is_a_link_counts_in_both_spellings() {
    let world = World::with(&[("a.txt", "a\n")]);
    let link = world.outside().join("root-link");
    std::os::unix::fs::symlink(world.root(), &link).expect("a link");
    let workspace = machine_cli::tools::Workspace::open(&link).expect("the workspace opens");
    let machine_cli::tools::Runner::Blocking(read) = machine_cli::tools::find("read").expect("read").runner
    else {
        panic!("read blocks")
    };
    for root in [link, world.root()] {
        let args = format!(r#"{{"path": "{}"}}"#, root.join("a.txt").display());
        assert_eq!(read(&workspace, &args).expect("inside"), "a\n");
    }
}

#[test]
fn links_in_a_circle_end() {
    let world = World::new();
    world.link("b", "a");
    world.link("a", "b");
    for (tool, args) in calls("a") {
        world.err(tool, &args, "too many symbolic links: a");
    }
}
