//! docs/comparison.md has every rule of docs/contracts.md once, and its sums are those of its tables.
use std::fs;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The rows of a page whose first cell is the id of a rule.
fn rows(page: &str) -> Vec<Vec<String>> {
    let page = fs::read_to_string(format!("{ROOT}/docs/{page}")).expect("the page");
    let cells = |line: &str| {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    let is_id =
        |id: &str| id.len() == 3 && id.as_bytes()[0].is_ascii_uppercase() && id[1..].parse::<u32>().is_ok();
    page.lines().filter(|line| line.starts_with("| ")).map(cells).filter(|cells| is_id(&cells[0])).collect()
}

#[test]
fn every_rule_is_compared_in_the_words_of_its_page() {
    let (compared, rules) = (rows("comparison.md"), rows("contracts.md"));
    for (compared, rule) in compared.iter().zip(&rules) {
        assert_eq!(compared[..2], rule[..2], "a row of docs/comparison.md and its rule in docs/contracts.md");
    }
    assert_eq!(compared.len(), rules.len(), "docs/comparison.md lacks rules, or has more");
    assert!(rows("comparison.md").iter().all(|cells| cells.len() == 6));
}

#[test]
fn the_sums_are_those_of_the_tables() {
    let rows = rows("comparison.md");
    let kept = |column: usize| {
        rows.iter()
            .filter(|cells| cells[column].starts_with("yes") || cells[column].starts_with("partly"))
            .count()
    };
    let alone = rows.iter().filter(|cells| (2..5).all(|column| cells[column].starts_with("no"))).count();
    let ours = rows.iter().filter(|cells| cells[5].starts_with("yes")).count();
    let right = format!(
        "Of {} rules K1 keeps {} at least in their core, K2 {}, D {}; {alone} are kept by none of the three. We keep {ours};",
        rows.len(),
        kept(2),
        kept(3),
        kept(4),
    );
    let page = fs::read_to_string(format!("{ROOT}/docs/comparison.md")).expect("the page");
    assert!(page.contains(&right), "the page must say: {right}");
}
