//! What a client may leave out of what it sends (A02, A03).
use machine_core::input::{Lane, Submit};
use machine_core::message::text_content;

#[test]
fn c_a03_a_prompt_wakes_and_waits_for_a_turn_unless_it_says_otherwise() {
    let part = serde_json::to_string(&text_content("go")).expect("a content is JSON");
    let read = |more: &str| {
        let text = format!(r#"{{"id": "a", "message": {part}{more}}}"#);
        serde_json::from_str::<Submit>(&text).expect("a prompt")
    };
    assert_eq!(read(""), *Submit::text("a", "go"));
    let (lane, wake) = (Lane::NextStep, false);
    assert_eq!(
        read(r#", "lane": "next_step", "wake": false"#),
        Submit { lane, wake, ..(*Submit::text("a", "go")).clone() }
    );
}
