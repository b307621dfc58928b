//! The cut between crates, read from `cargo metadata`: what each may depend on, and what the pure ones must not have
//! anywhere below them.
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

/// For each crate of ours, the crates of ours that it may name.
const MAY: &[(&str, &[&str])] = &[
    ("machine-core", &[]),
    ("machine-tool", &["machine-core"]),
    ("machine-turn", &["machine-core"]),
    ("machine-agent", &["machine-core"]),
    ("machine-adapter", &["machine-core", "machine-tool", "machine-turn", "machine-agent"]),
    ("machine-journal", &["machine-core", "machine-adapter"]),
    ("machine-host", &["machine-core", "machine-adapter", "machine-journal"]),
    ("machine-mcp", &["machine-core", "machine-host"]),
    ("machine-genai", &["machine-core", "machine-adapter", "machine-host"]),
    (
        "machine-testkit",
        &[
            "machine-core",
            "machine-tool",
            "machine-turn",
            "machine-agent",
            "machine-adapter",
            "machine-journal",
            // Feature `tokio`: scenarios on the real host.
            "machine-host",
        ],
    ),
    (
        "machine-inspect",
        &[
            "machine-core",
            "machine-tool",
            "machine-turn",
            "machine-agent",
            "machine-adapter",
            "machine-testkit",
        ],
    ),
    (
        "agent-machine",
        &[
            "machine-core",
            "machine-adapter",
            "machine-journal",
            "machine-host",
            "machine-testkit",
            "machine-inspect",
            // Features of their own: tools of MCP servers, models of providers.
            "machine-mcp",
            "machine-genai",
        ],
    ),
];

const PURE: &[&str] =
    &["machine-core", "machine-tool", "machine-turn", "machine-agent", "machine-adapter", "machine-journal"];

/// Clocks, random numbers and runtimes: none of them below a pure crate.
const IMPURE: &[&str] = &[
    "tokio",
    "mio",
    "rand",
    "rand_core",
    "getrandom",
    "fastrand",
    "chrono",
    "time",
    "ahash",
    "libc",
    "rustix",
];

fn metadata() -> Metadata {
    MetadataCommand::new().exec().expect("cargo metadata")
}

fn normal(package: &Package) -> impl Iterator<Item = &str> {
    package.dependencies.iter().filter(|dep| dep.kind == DependencyKind::Normal).map(|dep| dep.name.as_str())
}

#[test]
fn crates_know_only_what_they_may() {
    let metadata = metadata();
    let may: BTreeMap<&str, BTreeSet<&str>> =
        MAY.iter().map(|(name, deps)| (*name, deps.iter().copied().collect())).collect();
    let ours: BTreeSet<&str> =
        metadata.workspace_packages().iter().map(|package| package.name.as_str()).collect();
    for package in metadata.workspace_packages() {
        let Some(allowed) = may.get(package.name.as_str()) else {
            assert!(
                [
                    "machine-cli",
                    "machine-example-otlp",
                    "machine-example-provider",
                    "machine-examples",
                    "machine-servers",
                    "machine-tests"
                ]
                .contains(&package.name.as_str()),
                "{} has no rule",
                package.name
            );
            continue;
        };
        for dep in normal(package).filter(|dep| ours.contains(dep)) {
            assert!(allowed.contains(dep), "{} must not depend on {dep}", package.name);
        }
    }
}

#[test]
fn nothing_impure_lies_below_a_pure_crate() {
    let metadata = metadata();
    let resolve = metadata.resolve.as_ref().expect("a resolved graph");
    let by_id: BTreeMap<&PackageId, &Package> =
        metadata.packages.iter().map(|package| (&package.id, package)).collect();
    let nodes: BTreeMap<&PackageId, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    for name in PURE {
        let package =
            metadata.packages.iter().find(|package| package.name.as_str() == *name).expect("a crate of ours");
        let (mut open, mut seen) = (vec![&package.id], BTreeSet::new());
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            // What is built for the compiler (derive macros) does not end up in the crate.
            let kinds = |dep: &cargo_metadata::NodeDep| {
                dep.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
            };
            open.extend(
                nodes[id]
                    .deps
                    .iter()
                    .filter(|dep| kinds(dep))
                    .map(|dep| &dep.pkg)
                    .filter(|id| !is_macro(by_id[*id])),
            );
        }
        let below: BTreeSet<&str> = seen.iter().map(|id| by_id[*id].name.as_str()).collect();
        let impure: Vec<_> = IMPURE.iter().filter(|name| below.contains(**name)).collect();
        assert!(impure.is_empty(), "{name} has {impure:?} below it");
    }
}

fn is_macro(package: &Package) -> bool {
    package.targets.iter().any(|target| target.is_proc_macro())
}

#[test]
fn versions_are_declared_once_and_licences_are_open() {
    let metadata = metadata();
    // The last is for data: the root certificates that TLS trusts where a system has none of its own.
    let open = [
        "MIT",
        "Apache-2.0",
        "BSD",
        "Unlicense",
        "Zlib",
        "Unicode-3.0",
        "ISC",
        "0BSD",
        "CC0-1.0",
        "BSL-1.0",
        "CDLA-Permissive-2.0",
    ];
    for package in &metadata.packages {
        let licence = package.license.as_deref().unwrap_or("");
        let any = licence.split(" OR ").flat_map(|part| part.split('/')).any(|part| {
            let part = part.trim_matches(['(', ')', ' ']);
            part.split(" AND ")
                .all(|one| open.iter().any(|good| one.trim_matches(['(', ')', ' ']).starts_with(good)))
        });
        assert!(any, "{} has the licence `{licence}`", package.name);
    }
    for package in metadata.workspace_packages() {
        let manifest = std::fs::read_to_string(&package.manifest_path).expect("a manifest");
        let own = |line: &&str| {
            line.contains("version = \"")
                || line
                    .split_once(" = \"")
                    .is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let declared: Vec<&str> = manifest.lines().filter(own).collect();
        assert!(declared.is_empty(), "{} declares versions of its own: {declared:?}", package.name);
    }
}

/// What a host takes in: crates that are linked, and all, with those that run in the compiler. Optional parts cost those who
/// do not use them nothing.
#[test]
fn a_host_builds_few_crates() {
    for (package, linked, all) in [("machine-adapter", 20, 26), ("agent-machine", 37, 45)] {
        for (edges, most) in [("no-proc-macro,normal", linked), ("normal", all)] {
            let there = tree(package, edges);
            assert!(
                there.len() <= most,
                "{package} builds {} crates, at most {most}: {there:#?}",
                there.len()
            );
        }
    }
}

fn tree(package: &str, edges: &str) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--prefix", "none", "--package", package, "--edges", edges])
        .output()
        .expect("cargo tree");
    let said = String::from_utf8_lossy(&tree.stdout);
    let names = said.lines().filter_map(|line| line.split(" (").next()).filter(|line| !line.is_empty());
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    assert!(names.len() > 1, "{}", String::from_utf8_lossy(&tree.stderr));
    names
}
