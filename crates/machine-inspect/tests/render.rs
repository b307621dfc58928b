//! A small chart in every notation: a door that can be locked, has a guard, and breaks.
use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use machine_inspect::{dot, mermaid, table, xstate};
use machine_testkit::chart::{Answer, Chart, Node, Reaction, Start};

fn door() -> Chart {
    let node = |name, parent, leaf| Node { name, parent, leaf };
    let moved = |level, to| Answer::Moved { level, to };
    let in_place = |level| Answer::InPlace { level };
    let mut reactions = BTreeSet::new();
    let mut row = |leaf, event, answers: &[Answer]| {
        reactions.extend(answers.iter().map(|answer| Reaction { leaf, event, answer: *answer }));
    };
    row("Open", "Push", &[moved("Open", "Closed")]);
    row("Open", "Knock", &[Answer::Ignored]);
    row("Open", "Kick", &[moved("Whole", "Broken"), moved("Whole", "Closed")]);
    row("Closed", "Push", &[moved("Closed", "Open"), in_place("Closed"), Answer::Ignored]);
    row("Closed", "Knock", &[in_place("Whole")]);
    row("Closed", "Kick", &[moved("Whole", "Broken")]);
    for event in ["Push", "Knock", "Kick"] {
        row("Broken", event, &[Answer::Ignored]);
    }
    Chart {
        name: "door",
        nodes: vec![
            node("Whole", None, false),
            node("Open", Some("Whole"), true),
            node("Closed", Some("Whole"), true),
            node("Broken", None, true),
        ],
        events: vec!["Push", "Knock", "Kick"],
        starts: vec![Start { by: "hang", leaf: "Closed" }, Start { by: "drop", leaf: "Broken" }],
        reactions,
        configurations: 3,
    }
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(text);
}

#[test]
fn mermaid_nests_states_and_starts_inner_arrows_at_the_leaf() {
    check(
        &mermaid::mermaid(&door()),
        expect![[r#"
        stateDiagram-v2
            state "Whole (Knock)" as Whole {
                Open
                state "Closed<br>(Push)" as Closed
            }
            Broken

            [*] --> Closed : hang
            [*] --> Broken : drop
            Broken --> [*]

            Whole --> Broken : Kick
            Open --> Closed : Push, Kick
            Closed --> Open : Push
    "#]],
    );
}

#[test]
fn dot_cuts_the_arrow_of_a_superstate_at_its_border() {
    check(
        &dot::dot(&door()),
        expect![[r#"
        digraph "door" {
          compound=true
          graph [fontname="sans-serif", style=rounded]
          node [fontname="sans-serif", shape=box, style=rounded]
          edge [fontname="sans-serif", fontsize=10]
          subgraph "cluster Whole" {
            label="Whole\n(Knock)"
            "Open" [label="Open"]
            "Closed" [label="Closed\n(Push)"]
          }
          "Broken" [label="Broken", peripheries=2]
          "start 0" [shape=point, label=""]
          "start 0" -> "Closed" [label="hang"]
          "start 1" [shape=point, label=""]
          "start 1" -> "Broken" [label="drop"]
          "Open" -> "Broken" [label="Kick", ltail="cluster Whole"]
          "Open" -> "Closed" [label="Push\nKick"]
          "Closed" -> "Open" [label="Push"]
        }
    "#]],
    );
}

#[test]
fn a_cell_lists_targets_then_in_place_then_ignored() {
    check(
        &table::table(&door()),
        expect![[r#"
        |           | Open           | Closed            | Broken |
        | --------- | -------------- | ----------------- | ------ |
        | **Push**  | Closed         | Open, in place, · | ·      |
        | **Knock** | ·              | in place          | ·      |
        | **Kick**  | Broken, Closed | Broken            | ·      |
    "#]],
    );
}

#[test]
fn xstate_names_guards_by_where_they_lead() {
    check(
        &xstate::xstate(&door()).unwrap(),
        expect![[r##"
        {
          "id": "door",
          "initial": "Whole",
          "meta": {
            "starts": [
              [
                "hang",
                "Closed"
              ],
              [
                "drop",
                "Broken"
              ]
            ]
          },
          "states": {
            "Whole": {
              "id": "Whole",
              "initial": "Closed",
              "on": {
                "Knock": [
                  {
                    "guard": "in place",
                    "actions": []
                  }
                ],
                "Kick": [
                  {
                    "target": "#Broken",
                    "guard": "to Broken",
                    "actions": []
                  },
                  {
                    "target": "#Closed",
                    "guard": "to Closed",
                    "actions": []
                  }
                ]
              },
              "states": {
                "Open": {
                  "id": "Open",
                  "on": {
                    "Push": [
                      {
                        "target": "#Closed",
                        "actions": []
                      }
                    ]
                  }
                },
                "Closed": {
                  "id": "Closed",
                  "on": {
                    "Push": [
                      {
                        "guard": "in place",
                        "actions": []
                      },
                      {
                        "target": "#Open",
                        "guard": "to Open",
                        "actions": []
                      }
                    ]
                  }
                }
              }
            },
            "Broken": {
              "id": "Broken",
              "type": "final"
            }
          }
        }
    "##]],
    );
}

#[test]
fn a_cell_says_refused_only_where_nothing_else_happens() {
    let mut chart = door();
    let refused = |leaf| Reaction { leaf, event: "Kick", answer: Answer::Refused };
    chart.reactions.remove(&Reaction { answer: Answer::Ignored, ..refused("Broken") });
    chart.reactions.extend([refused("Open"), refused("Broken")]);
    let table = table::table(&chart);
    check(
        table.lines().last().unwrap(),
        expect!["| **Kick**  | Broken, Closed | Broken            | –      |"],
    );
}
