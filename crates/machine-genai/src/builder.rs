//! From a provider's name to a model.
use std::fmt;

use genai::adapter::AdapterKind;
use genai::resolver::AuthData;

use crate::address::{endpoint, shown};
use crate::model::Genai;
use crate::name;

/// Providers whose streams have a shape of their own, which the adapter does not know.
const NOT_KNOWN: &[AdapterKind] = &[AdapterKind::BedrockApi, AdapterKind::Cohere, AdapterKind::GeminiIx];

/// A model that is being set up.
pub struct Builder {
    kind: AdapterKind,
    name: String,
    key: Option<String>,
    base_url: Option<String>,
}

/// Why a model cannot be set up. Nothing was sent, and nothing touched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// No provider has this name.
    #[error("there is no provider `{name}`; there are {}", .known.join(", "))]
    Provider {
        /// As it was given.
        name: String,
        /// All there are.
        known: Vec<&'static str>,
    },
    /// The name of the model is empty, or there is no `:` before it.
    #[error("which model of `{0}`? use PROVIDER:NAME")]
    NoName(String),
    /// The library would ask for another model, or leave out settings.
    #[error("`{name}` cannot be asked for: {why}")]
    Name {
        /// The name of the model.
        name: String,
        /// What would become of it.
        why: &'static str,
    },
    /// There is no key.
    #[error("{provider} needs a key: set {variable}")]
    NoKey {
        /// The provider.
        provider: &'static str,
        /// The environment variable that was looked for.
        variable: &'static str,
    },
    /// The address is not one of HTTP. It stands here as far as it can be shown: without a user, a password or a query.
    #[error("`{0}` is no address of HTTP, such as http://127.0.0.1:8080/v1")]
    BaseUrl(String),
    /// The library asks this provider at its own address alone.
    #[error("{0} can be asked at its own address alone")]
    OwnAddress(&'static str),
    /// The address needs TLS, which this build has not. It stands here without a user, a password or a query.
    #[error(
        "{0} needs TLS: build with TLS (feature `genai-rustls` of the facade, `rustls` of this crate), or use an address with http://"
    )]
    NoTls(String),
    /// The HTTP client cannot be built.
    #[error("no HTTP client: {0}")]
    Client(String),
}

impl Genai {
    /// A model by `PROVIDER:NAME`, such as `openai:gpt-5.5`, `openai_resp:gpt-5.5` (the Responses API),
    /// `anthropic:claude-sonnet-4-6`, `gemini:gemini-3.5-flash`, `ollama:qwen3`, `deepseek:deepseek-chat`.
    ///
    /// # Errors
    ///
    /// If there is no such provider, or no name.
    pub fn named(model: &str) -> Result<Builder, BuildError> {
        let (provider, name) = model.split_once(':').ok_or_else(|| BuildError::NoName(model.to_owned()))?;
        let kind = AdapterKind::from_lower_str(provider).filter(|kind| Self::providers().contains(kind));
        let Some(kind) = kind else {
            let known = Self::providers().iter().map(AdapterKind::as_lower_str).collect();
            return Err(BuildError::Provider { name: provider.to_owned(), known });
        };
        if name.is_empty() {
            return Err(BuildError::NoName(provider.to_owned()));
        }
        Ok(Builder { kind, name: name.to_owned(), key: None, base_url: None })
    }

    /// The environment variables that hold keys of providers, such as `OPENAI_API_KEY`. A program that starts others, such as
    /// commands of a model, may keep them from those. What more than a provider reads, such as `GITHUB_TOKEN`, is not among them.
    pub fn key_variables() -> impl Iterator<Item = &'static str> {
        let named = AdapterKind::all().iter().filter_map(|kind| kind.default_key_env_name());
        named.filter(|variable| variable.ends_with("_API_KEY"))
    }

    fn providers() -> Vec<AdapterKind> {
        AdapterKind::all().iter().copied().filter(|kind| !NOT_KNOWN.contains(kind)).collect()
    }
}

impl Builder {
    /// The key. Without it: from the provider's usual environment variable, such as `OPENAI_API_KEY`.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Where the provider is, such as `http://127.0.0.1:8080/v1`: up to what stands before `chat/completions` (`OpenAI` and all that
    /// speak like it), `responses` (`openai_resp`), `messages` (Anthropic), `models/…` (Gemini) or `api/chat` (Ollama, such as
    /// `http://127.0.0.1:11434`). Without it: the provider's own address. It has no query and no fragment.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The model.
    ///
    /// # Errors
    ///
    /// If there is no key where one is needed, the address cannot be used or would not be, or a model of this name cannot be asked for.
    pub fn build(self) -> Result<Genai, BuildError> {
        if let Some(why) = name::refusal(self.kind, &self.name) {
            return Err(BuildError::Name { name: self.name, why });
        }
        // The library would send the key there all the same.
        if self.base_url.is_some() && matches!(self.kind, AdapterKind::Baidu | AdapterKind::Zai) {
            return Err(BuildError::OwnAddress(self.kind.as_str()));
        }
        let key = self.found_key()?;
        let endpoint = self.base_url.as_deref().map(endpoint).transpose()?;
        let is_local = matches!(self.kind, AdapterKind::Ollama | AdapterKind::Omlx);
        let plain = endpoint.as_ref().map_or(is_local, |endpoint| endpoint.base_url().starts_with("http://"));
        if !plain && !cfg!(feature = "rustls") {
            let to = endpoint.map_or(self.kind.as_str().to_owned(), |it| shown(it.base_url()));
            return Err(BuildError::NoTls(to));
        }
        let auth = key.as_deref().map_or(AuthData::None, AuthData::from_single);
        let mut client = genai::Client::builder()
            .with_reqwest(http()?)
            .with_adapter_kind(self.kind)
            .append_provider_config(self.kind, auth);
        if let Some(endpoint) = endpoint {
            client = client.append_provider_config(self.kind, endpoint);
        }
        let client = client.build().map_err(|error| BuildError::Client(error.to_string()))?;
        Ok(Genai::new(client, self.kind, self.name, key))
    }

    /// None where none is needed.
    fn found_key(&self) -> Result<Option<String>, BuildError> {
        let Some(variable) = self.kind.default_key_env_name() else { return Ok(self.key.clone()) };
        let key = self.key.clone().or_else(|| std::env::var(variable).ok());
        let key = key.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
        let none = || BuildError::NoKey { provider: self.kind.as_str(), variable };
        key.ok_or_else(none).map(Some)
    }
}

impl fmt::Debug for Builder {
    /// Without the key, and without what else is secret in the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, key: _, base_url } = self;
        f.debug_struct("Builder")
            .field("kind", kind)
            .field("name", name)
            .field("base_url", &base_url.as_deref().map(shown))
            .finish_non_exhaustive()
    }
}

/// Without what would send a request twice: it retries nothing, and follows no redirect, which would also carry a key to
/// another host. Nothing is waited for by a clock of its own (M13).
fn http() -> Result<reqwest::Client, BuildError> {
    #[cfg(feature = "rustls")]
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Fails only if another thread was quicker, and then there is one.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    reqwest::Client::builder()
        .retry(reqwest::retry::never())
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .build()
        .map_err(|error| BuildError::Client(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(model: &str) -> String {
        Genai::named(model).map(|_| ()).expect_err("it is refused").to_string()
    }

    #[test]
    fn a_model_has_a_provider_and_a_name() {
        assert_eq!(refused("gpt-5"), "which model of `gpt-5`? use PROVIDER:NAME");
        assert_eq!(refused("openai:"), "which model of `openai`? use PROVIDER:NAME");
        let unknown = refused("nobody:x");
        assert!(
            unknown.starts_with("there is no provider `nobody`; there are openai, openai_resp, gemini, ")
        );
        assert_eq!(refused("cohere:x"), unknown.replace("nobody", "cohere"));
        assert!(Genai::named("ollama:qwen3:8b").is_ok_and(|it| it.name == "qwen3:8b"));
    }

    #[test]
    fn what_is_secret_in_an_address_is_not_shown() {
        for (url, wanted) in [
            ("http://h/v1", "http://h/v1"),
            ("https://hush:hush@h:8/v1@2", "https://h:8/v1@2"),
            ("http://hush:hush@h/v1", "http://h/v1"),
            ("https://hush@h/v1", "https://h/v1"),
            ("ftp://hush:hush@h/?key=hush", "ftp://h/"),
            ("http://h/v1?key=hush#hush", "http://h/v1"),
            // What is no address may hold one all the same.
            ("hush:hush@h/v1", "…"),
            ("h/v1?key=hush", "…"),
            ("http://hush:p/hush@h:x/", "…"),
        ] {
            let builder = Genai::named("openai:x").expect("a provider").key("hush").base_url(url);
            let debug = format!("{builder:?}");
            assert!(debug.contains(wanted), "{debug}");
            let built = builder.build();
            let said = match &built {
                Ok(model) => format!("{model:?}"),
                Err(error) => format!("{error:?} {error}"),
            };
            assert!(!debug.contains("hush") && !said.contains("hush"), "{debug} {said}");
        }
    }

    #[test]
    fn an_address_that_would_not_be_used_is_refused() {
        for (model, name) in [("zai:x", "Zai"), ("baidu:x", "Baidu")] {
            let built = Genai::named(model).expect("a provider").key("k").base_url("http://h").build();
            let error = built.map(|_| ()).expect_err("it is refused").to_string();
            assert_eq!(error, format!("{name} can be asked at its own address alone"));
        }
    }

    #[test]
    fn a_name_that_would_be_read_for_more_is_refused() {
        let built = |model| Genai::named(model).and_then(|it| it.key("k").base_url("http://h").build());
        for (model, why) in [
            (
                "gemini:x-high",
                "`x-high` cannot be asked for: its end would be taken for an effort of reasoning",
            ),
            (
                "vertex:gemini-none",
                "`gemini-none` cannot be asked for: its end would be taken for an effort of reasoning",
            ),
            ("gemini:a::b", "`a::b` cannot be asked for: what stands before `::` would be left out"),
            ("vertex:claude-x", "`claude-x` cannot be asked for: its settings would not be sent"),
            ("opencode_go:MiniMax-M2", "`MiniMax-M2` cannot be asked for: its settings would not be sent"),
        ] {
            assert_eq!(built(model).map(|_| ()).expect_err("it is refused").to_string(), why);
        }
        for model in ["gemini:gemini-3-pro", "vertex:gemini-x", "opencode_go:glm", "aliyun:qwen3-max"] {
            assert!(built(model).is_ok(), "{model}");
        }
    }

    #[test]
    fn a_blank_key_is_none() {
        let built = Genai::named("openai:x").expect("a provider").key(" ").build();
        let error = built.map(|_| ()).expect_err("there is no key");
        assert_eq!(error.to_string(), "OpenAI needs a key: set OPENAI_API_KEY");
    }

    #[test]
    fn tls_is_needed_by_what_is_not_local() {
        let far = Genai::named("openai:x").expect("a provider").key("k").build().map(|_| ());
        let near = Genai::named("openai:x").expect("a provider").key("k").base_url("http://127.0.0.1:1");
        assert_eq!(far.is_ok(), cfg!(feature = "rustls"));
        assert!(near.build().is_ok());
        assert!(Genai::named("ollama:x").expect("a provider").build().is_ok());
    }

    #[test]
    fn variables_of_keys_are_those_of_providers_alone() {
        let variables: Vec<_> = Genai::key_variables().collect();
        for variable in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY"] {
            assert!(variables.contains(&variable), "{variables:?}");
        }
        assert!(!variables.contains(&"GITHUB_TOKEN"));
    }

    #[test]
    fn a_key_is_not_shown() {
        let builder = Genai::named("openai:x").expect("a provider").key("hush-hush");
        let shown = format!("{builder:?}");
        let built = builder.base_url("http://h").build();
        assert!(!format!("{shown} {built:?}").contains("hush"));
    }
}
