//! The project's own rules about its sources.
use std::fs;
use std::path::{Path, PathBuf};

const PURE: &[&str] =
    &["machine-core", "machine-tool", "machine-turn", "machine-agent", "machine-adapter", "machine-journal"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

fn files(dir: &Path, ending: &str, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().and_then(|name| name.to_str()).unwrap_or("");
        if entry.is_dir() && !["target", ".git"].contains(&name) {
            files(&entry, ending, into);
        } else if name.ends_with(ending) {
            into.push(entry);
        }
    }
}

fn sources(under: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    files(&root().join(under), ".rs", &mut all);
    all
}

/// The benchmarks are a workspace of their own, under the same rules.
fn ours() -> Vec<PathBuf> {
    ["crates", "tests", "bench"].into_iter().flat_map(sources).collect()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("a readable file")
}

#[test]
fn pure_crates_have_no_std() {
    for name in PURE {
        let lib = text(&root().join(format!("crates/{name}/src/lib.rs")));
        assert!(lib.contains("#![no_std]"), "{name} is not `no_std`");
        for path in sources(&format!("crates/{name}/src")) {
            let source = text(&path);
            for (n, line) in source.lines().enumerate() {
                let code = line.split("//").next().unwrap_or("");
                assert!(
                    !code.contains("std::") && !code.contains("extern crate std"),
                    "{}:{}: names `std`",
                    path.display(),
                    n + 1
                );
            }
        }
    }
}

#[test]
fn every_crate_forbids_unsafe_code() {
    let crates = fs::read_dir(root().join("crates")).expect("crates");
    let crates = crates.map(|entry| entry.expect("an entry").path());
    for src in crates.chain([root().join("bench")]).map(|of| of.join("src")) {
        let lib = ["lib.rs", "main.rs"].map(|name| src.join(name));
        for path in lib.iter().filter(|path| path.exists()) {
            assert!(text(path).contains("#![forbid(unsafe_code)]"), "{}", path.display());
        }
    }
}

#[test]
fn a_file_is_a_room() {
    const LINES: usize = 500;
    for path in ours() {
        let lines = text(&path).lines().count();
        assert!(lines <= LINES, "{} has {lines} lines: split it by concern", path.display());
    }
}

#[test]
fn lib_files_are_tables_of_contents() {
    for path in sources("crates").into_iter().filter(|path| path.ends_with("src/lib.rs")) {
        let source = text(&path);
        assert!(source.starts_with("//!"), "{} does not say what the crate is for", path.display());
        assert!(
            !source.lines().any(|line| line.starts_with("fn ") || line.starts_with("impl ")),
            "{} has logic",
            path.display()
        );
    }
}

#[test]
fn lints_are_relaxed_with_a_reason_only() {
    for path in ours() {
        let source = text(&path);
        for opening in ["#[allow(", "#![allow(", "#[expect(", "#![expect("] {
            for attribute in source.split(&format!("\n{opening}")).skip(1) {
                let attribute = attribute.split(")]").next().unwrap_or("");
                assert!(attribute.contains("reason"), "{}: {opening}{attribute}): say why", path.display());
            }
        }
    }
}
