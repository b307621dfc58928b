//! What providers speak. Most speak as `OpenAI` did first.
use genai::adapter::AdapterKind;

/// The shape of requests and of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// `OpenAI`'s chat completions.
    Chat,
    /// `OpenAI`'s responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// Gemini's contents.
    Gemini,
    /// Ollama's chat.
    Ollama,
}

impl Wire {
    /// That of a provider.
    pub fn of(kind: AdapterKind) -> Self {
        match kind {
            AdapterKind::OpenAIResp => Self::Responses,
            AdapterKind::Anthropic | AdapterKind::MiniMax => Self::Messages,
            AdapterKind::Gemini | AdapterKind::Vertex => Self::Gemini,
            AdapterKind::Ollama | AdapterKind::OllamaCloud => Self::Ollama,
            _ => Self::Chat,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_speak_as_openai_did() {
        for kind in AdapterKind::all().iter().copied() {
            let wanted = match kind.as_lower_str() {
                "openai_resp" => Wire::Responses,
                "anthropic" | "minimax" => Wire::Messages,
                "gemini" | "vertex" => Wire::Gemini,
                "ollama" | "ollama_cloud" => Wire::Ollama,
                _ => Wire::Chat,
            };
            assert_eq!(Wire::of(kind), wanted, "{kind}");
        }
    }
}
