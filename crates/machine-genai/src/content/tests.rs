use machine_core::message::text_content;

use super::*;

const PNG: &str = "data:image/png;base64,AAAA";
const AWAY: &str = "https://example.org/a";

fn media(kind: &str, at: &str) -> Part {
    Body::Media { kind: kind.into(), at: at.into() }.into()
}

fn sent(kind: AdapterKind, media_kind: &str, at: &str) -> Result<(), String> {
    match said(&[media(media_kind, at)], kind) {
        Ok(content) if content.contains_binary() => Ok(()),
        Ok(content) => panic!("it was left out: {content:?}"),
        Err(error) => {
            assert_eq!(error.kind, Failure::InvalidRequest);
            Err(error.message.to_string())
        }
    }
}

#[test]
fn media_that_the_library_would_leave_out_are_refused() {
    use AdapterKind::{Anthropic, Gemini, Ollama, OpenAI, OpenAIResp};
    let away = |media: &str, to: &str| Err(format!("{media} cannot be sent to {to} by its address"));
    for kind in [Anthropic, Gemini, Ollama, OpenAI, OpenAIResp] {
        assert_eq!(sent(kind, "image/png", PNG), Ok(()), "{kind}");
        assert!(sent(kind, "image/png", "sha256:abc").is_err_and(|why| why.contains("neither an address")));
    }
    for kind in [Gemini, OpenAI, OpenAIResp] {
        assert_eq!(sent(kind, "image/png", AWAY), Ok(()), "{kind}");
    }
    assert_eq!(sent(Anthropic, "image/png", AWAY), away("image/png", "Anthropic"));
    assert_eq!(sent(Ollama, "image/png", AWAY), away("image/png", "Ollama"));
    assert_eq!(sent(Anthropic, "application/pdf", AWAY), Ok(()));
    assert_eq!(sent(OpenAIResp, "application/pdf", AWAY), Ok(()));
    assert_eq!(sent(OpenAI, "application/pdf", AWAY), away("application/pdf", "OpenAI"));
    assert_eq!(sent(OpenAI, "audio/wav", AWAY), away("audio/wav", "OpenAI"));
    assert_eq!(sent(OpenAI, "audio/wav", "data:audio/wav;base64,AAAA"), Ok(()));
    assert_eq!(sent(OpenAIResp, "audio/wav", AWAY), away("audio/wav", "OpenAIResp"));
    assert_eq!(sent(OpenAIResp, "audio/wav", "data:audio/wav;base64,AAAA"), Ok(()));
    assert!(sent(Ollama, "application/pdf", "data:application/pdf;base64,AAAA").is_err());
}

#[test]
fn media_in_a_result_are_named_in_its_text() {
    let content = [Part::text("two"), media("image/png", AWAY), media("image/png", PNG)];
    let texts: Vec<String> = content.iter().filter_map(result_text).collect();
    let wanted = [
        "two",
        "[image/png, not shown here: https://example.org/a]",
        "[image/png, not shown here: inline data]",
    ];
    assert_eq!(texts, wanted);
}

fn thinking(kind: AdapterKind, text: &str, signature: Option<&str>) -> MessageContent {
    let signature = signature.map(Into::into);
    let parts = [Body::Thinking { text: text.into(), signature }.into(), Part::text("so")];
    answered(&parts, kind).expect("it can be sent")
}

#[test]
fn a_proof_is_sent_to_nobody_but_who_gave_it() {
    use AdapterKind::{Anthropic, DeepSeek, Gemini, OpenAI, OpenAIResp};
    for (kind, proofs, thoughts) in
        [(Anthropic, 1, 1), (Gemini, 0, 1), (OpenAI, 0, 0), (OpenAIResp, 0, 0), (DeepSeek, 0, 1)]
    {
        let content = thinking(kind, "hm", Some("anthropic:S"));
        assert_eq!(content.thought_signatures().len(), proofs, "{kind}");
        assert_eq!(content.reasoning_contents().len(), thoughts, "{kind}");
        assert_eq!(content.texts(), ["so"], "{kind}");
    }
    assert_eq!(thinking(Anthropic, "hm", Some("anthropic:S")).thought_signatures(), ["S"]);
    // Without a proof Anthropic takes none, and a proof of unknown origin is none.
    for signature in [None, Some("S"), Some("gemini:S")] {
        let content = thinking(Anthropic, "hm", signature);
        assert_eq!((content.thought_signatures().len(), content.reasoning_contents().len()), (0, 0));
    }
    // One kind's name is the beginning of another's.
    assert_eq!(thinking(OpenAI, "hm", Some("openai_resp:S")).thought_signatures().len(), 0);
}

#[test]
fn text_stays_what_it_is() {
    let content = said(&text_content("a\n b "), AdapterKind::OpenAI).expect("it can be sent");
    assert_eq!(content.texts(), ["a\n b "]);
}
