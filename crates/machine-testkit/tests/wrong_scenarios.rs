//! A scenario that is written wrong says what and where.
#![cfg(feature = "scenario")]
use std::path::Path;

use machine_testkit::scenario::Scenario;

fn wrong(text: &str, right: &str) {
    let error = Scenario::parse(Path::new("x.yaml"), text).map(drop).expect_err(text).to_string();
    assert!(error.contains(right), "{error}\nwithout: {right}");
}

#[test]
fn an_unknown_key() {
    wrong(
        "title: x\nmodl: []\nexpect: {}",
        "x.yaml:2:1: unknown field `modl`, expected one of title, proves",
    );
    wrong("title: x\nexpect:\n  ende: []", "x.yaml:3:3: unknown field `ende`");
    wrong("title: x\nconfig: {calls: {max: 1}}\nexpect: {}", "x.yaml:2:18: unknown field `max`");
}

#[test]
fn a_key_that_is_missing_or_comes_twice() {
    wrong("expect: {}", "missing field `title`");
    wrong("title: x\ntitle: y\nexpect: {}", "x.yaml:2:1: duplicate mapping key `title`");
}

#[test]
fn a_call_that_is_never_made() {
    let calls = "title: x\nmodel: [{calls: [a]}]\ncalls:\n  b: {ends: hang}\nexpect: {}";
    wrong(calls, "x.yaml:4:6: the call `b` is never made: no reply of the model has it");
    let approval = "title: x\nmodel: [{calls: [a]}]\ntimeline:\n  - {at: 1, do: {approve: b}}\nexpect: {}";
    wrong(approval, "x.yaml:4:5: the call `b` is never made; the calls are: a");
    let expected = "title: x\nmodel: [{calls: [a]}]\nexpect:\n  results:\n    b: ok";
    wrong(expected, "x.yaml:5:8: the call `b` is never made; the calls are: a");
}

#[test]
fn a_tick_in_the_past() {
    let text = "title: x\ntimeline:\n  - {at: 5, do: pause}\n  - {at: 3, do: resume}\nexpect: {}";
    wrong(text, "x.yaml:4:5: tick 3 is in the past: the moment above is at 5");
    let late = "title: x\ntimeline:\n  - {at: 18446744073709551615, do: pause}\nexpect: {}";
    wrong(late, "x.yaml:3:5: tick 18446744073709551615 is too late");
    let piece =
        "title: x\nmodel:\n  - pieces: [{at: 5, event: {text: a}}, {at: 4, event: {text: b}}]\nexpect: {}";
    wrong(piece, "x.yaml:3:5: a piece comes before the one above it");
}

#[test]
fn an_event_that_there_is_not() {
    wrong(
        "title: x\nexpect:\n  events:\n    - \"@3 turn_endet 1\"",
        "x.yaml:4:7: unknown event `turn_endet`, expected one of",
    );
    wrong("title: x\nexpect: {never: [\"@x turn_ended\"]}", "after `@` comes a tick");
    wrong("title: x\nexpect: {counts: {turns: 1}}", "unknown event `turns`");
}

#[test]
fn an_action_that_there_is_not() {
    wrong(
        "title: x\ntimeline: [{at: 0, do: {submt: go}}]\nexpect: {}",
        "x.yaml:2:25: unknown variant `submt`, expected one of submit, join",
    );
    wrong("title: x\ntimeline: [{at: 0, do: puase}]\nexpect: {}", "unknown variant `puase`");
    wrong("title: x\ntimeline: [{at: 0, do: {abort: nobody}}]\nexpect: {}", "unknown variant `nobody`");
    wrong("title: x\ntimeline: [{at: 0, agent: b, do: pause}]\nexpect: {}", "there is no agent `b`");
}

#[test]
fn a_crash_of_an_agent_that_works_in_a_call() {
    let role = "{model: [{text: done}]}";
    let text = format!(
        "title: x\nmodel: [{{calls: [p]}}]\ncalls: {{p: {{ends: {{agent: {{role: r, prompt: x}}}}}}}}\n\
         agents: {{r: {role}}}\ntimeline: [{{at: 1, agent: p, do: crash}}]\nexpect: {{}}"
    );
    wrong(&text, "x.yaml:5:12: `p` works in a call: it lives and dies with who made the call");
}

#[test]
fn agents_that_open_themselves() {
    let role = "{model: [{calls: [p]}], calls: {p: {ends: {agent: {role: r, prompt: x}}}}}";
    let text = format!(
        "title: x\nmodel: [{{calls: [p]}}]\ncalls: {{p: {{ends: {{agent: {{role: r, prompt: x}}}}}}}}\n\
         agents: {{r: {role}}}\ntimeline: [{{at: 0, do: {{submit: go}}}}]\nexpect: {{}}"
    );
    let fault = Scenario::parse(Path::new("x.yaml"), &text)
        .expect("it is sound")
        .simulate()
        .expect_err("it never ends");
    assert!(fault.to_string().contains("does a role open itself?"), "{fault}");
}

#[test]
fn what_would_come_after_the_end_of_time() {
    let late = "315360000001";
    for text in [
        format!("title: x\nmodel: [{{text: a, takes: {late}}}]\nexpect: {{}}"),
        format!("title: x\nmodel: [{{pieces: [{{at: {late}, event: {{text: a}}}}]}}]\nexpect: {{}}"),
        format!("title: x\nhooks: {{stop: [{{says: end, takes: {late}}}]}}\nexpect: {{}}"),
        format!("title: x\nmodel: [{{calls: [a]}}]\ncalls: {{a: {{takes: {late}}}}}\nexpect: {{}}"),
        format!("title: x\nmodel: [{{calls: [a]}}]\ncalls: {{a: {{prepare_takes: {late}}}}}\nexpect: {{}}"),
        format!(
            "title: x\nmodel: [{{calls: [a]}}]\ncalls: {{a: {{detach: {{at: {late}, text: b}}}}}}\nexpect: {{}}"
        ),
        format!("title: x\nexpect: {{states: [{{at: {late}, agent: Ready}}]}}"),
    ] {
        wrong(&text, "tick 315360000001 is too late: time ends at 315360000000, ten years");
    }
}

#[test]
fn what_is_refused_and_not_expected_is_a_failure() {
    let text =
        "title: x\nmodel: [{text: a}]\ntimeline: [{at: 0, do: [{submit: go}, {withdraw: x}]}]\nexpect: {}";
    let verdict =
        Scenario::parse(Path::new("x.yaml"), text).expect("it is sound").simulate().expect("it ends");
    assert_eq!(verdict.missed.len(), 1, "{verdict}");
    assert!(verdict.to_string().contains("withdraw x: no pending input has the id `x`"), "{verdict}");
}

#[test]
fn things_that_do_not_go_together() {
    let two_ends = "title: x\nmodel: [{text: a, finish: end_turn, silent: true}]\nexpect: {}";
    wrong(two_ends, "x.yaml:2:9: a reply ends once, but here are `finish` and `silent`");
    let two_texts = "title: x\nmodel: [{text: a, pieces: [{at: 1, event: {text: b}}]}]\nexpect: {}";
    wrong(two_texts, "a reply says its text once");
    let role =
        "title: x\nmodel: [{calls: [a]}]\ncalls: {a: {ends: {agent: {role: b, prompt: x}}}}\nexpect: {}";
    wrong(role, "there is no role `b`");
    for key in ["detach: {at: 1, text: x}", "output: [{at: 1, text: x}]", "progress: [{at: 1, text: x}]"] {
        let call = format!("{{ends: {{agent: {{role: b, prompt: x}}}}, {key}}}");
        let text = format!(
            "title: x\nmodel: [{{calls: [a]}}]\ncalls:\n  a: {call}\nagents: {{b: {{}}}}\nexpect: {{}}"
        );
        wrong(&text, "x.yaml:4:6: `a` runs an agent: `detach`, `output` and `progress` are for others");
    }
    let hook = "title: x\nhooks: {stop: [{says: end, fails: no}]}\nexpect: {}";
    wrong(hook, "a hook does one thing, but here are `says` and `fails`");
}

#[test]
fn a_configuration_that_is_nonsense() {
    let text = "title: x\nconfig:\n  calls: {max_parallel: 0}\nexpect: {}";
    wrong(text, "x.yaml:3:3: config.calls.max_parallel = 0: no call could ever run (B11)");
}
