//! One attempt.
use std::fmt;
use std::sync::Arc;

use genai::adapter::AdapterKind;
use machine_adapter::Request;
use machine_core::response::{Failure, Finished, ModelError};
use machine_host::{BoxFuture, Model, ModelIdentity, ModelOut};

use crate::frames::Frames;
use crate::{failure, name, request, settings, stream};

/// A model of a provider. [`Genai::named`] makes one.
///
/// The name in the request's settings counts, if there is one; its provider stays the same. `settings.extra` may hold
/// `temperature`, `top_p`, `max_tokens`, `stop`, `seed`, `reasoning_effort`, and `body`, which is put into what is sent as it is.
#[derive(Clone)]
pub struct Genai {
    client: genai::Client,
    kind: AdapterKind,
    name: String,
    key: Option<String>,
}

/// Characters of what is said of an error.
const MOST_SAID: usize = 500;

/// A shorter key, such as `none` for a server that wants just any, may be a word of what is said.
const LEAST_SECRET: usize = 8;

impl Genai {
    pub(crate) fn new(client: genai::Client, kind: AdapterKind, name: String, key: Option<String>) -> Self {
        Self { client, kind, name, key: key.filter(|key| key.len() >= LEAST_SECRET) }
    }

    /// What a provider says may be long and may have the key in it, and an error stands in journals and logs.
    fn shown(&self, error: ModelError) -> ModelError {
        let message = self.key.as_deref().map(|key| error.message.replace(key, "…"));
        let message = message.as_deref().unwrap_or(&error.message);
        ModelError { message: message.chars().take(MOST_SAID).collect::<String>().into(), ..error }
    }

    /// The name in the settings, else its own.
    fn name_in<'a>(&'a self, request: &'a Request) -> &'a str {
        match &*request.settings.model {
            "" => &self.name,
            name => name,
        }
    }

    async fn attempt(&self, request: Request, out: ModelOut) -> Result<Finished, ModelError> {
        let frames = Arc::new(Frames::new(self.kind));
        let name = self.name_in(&request);
        if let Some(why) = name::refusal(self.kind, name) {
            let why = format!("`{name}` cannot be asked for: {why}");
            return Err(ModelError::new(Failure::InvalidRequest, why));
        }
        let mut options =
            settings::options(&request.settings, self.kind)?.with_raw_frame_sink_arc(frames.clone());
        let chat = request::chat(&request, self.kind)?;
        let model = name::target(self.kind, name, &mut options);
        let response = self.client.exec_chat_stream(model, chat, Some(&options)).await;
        match response {
            Ok(response) => stream::read(response.stream, &frames, self.kind, &out).await,
            Err(error) => {
                let other = ModelError::new(Failure::Unknown, error.to_string());
                Err(failure::of(error).unwrap_or(other))
            }
        }
    }
}

impl fmt::Debug for Genai {
    /// Without the key, and the client: an address may have a password in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client: _, kind, name, key: _ } = self;
        f.debug_struct("Genai").field("kind", kind).field("name", name).finish_non_exhaustive()
    }
}

impl Model for Genai {
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>> {
        Box::pin(async move { self.attempt(request, out).await.map_err(|error| self.shown(error)) })
    }

    fn identity(&self, request: &Request) -> ModelIdentity {
        ModelIdentity {
            provider: Some(provider(self.kind).into()),
            model: Some(self.name_in(request).into()),
        }
    }
}

/// As the semantic conventions spell it, which list some; the library's own word for the others.
fn provider(kind: AdapterKind) -> &'static str {
    match kind {
        AdapterKind::OpenAI | AdapterKind::OpenAIResp => "openai",
        AdapterKind::Gemini => "gcp.gemini",
        AdapterKind::Vertex => "gcp.vertex_ai",
        AdapterKind::Mistral => "mistral_ai",
        AdapterKind::Xai => "x_ai",
        other => other.as_lower_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_a_model_is_stands_as_the_conventions_spell_it() {
        let cases = [
            ("openai:a", "openai"),
            ("openai_resp:a", "openai"),
            ("anthropic:a", "anthropic"),
            ("gemini:a", "gcp.gemini"),
            ("deepseek:a", "deepseek"),
            ("groq:a", "groq"),
            ("mistral:a", "mistral_ai"),
            ("xai:a", "x_ai"),
        ];
        for (name, told) in cases {
            let built =
                Genai::named(name).and_then(|model| model.key("none").base_url("http://127.0.0.1:1").build());
            assert_eq!(provider(built.expect("a model").kind), told);
        }
    }
}
