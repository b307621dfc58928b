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
