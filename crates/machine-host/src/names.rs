//! The names under which spans and events stand in a log or trace.
//!
//! Those that begin with `gen_ai.` or `error.` are of the semantic conventions for generative AI of OpenTelemetry, as of
//! [`CONVENTIONS`]. They are in development there, so they may change with a later version. Those that begin with `otel.` are
//! read by `tracing-opentelemetry`. Those that begin with `agent_machine.` are ours.
//!
//! | span | is | kind | ends when |
//! |---|---|---|---|
//! | [`INVOKE_AGENT`] | the work of an agent on one turn, as far as this process does it | internal | the turn ends, or the agent goes to rest |
//! | [`CHAT`] | one attempt: one request to the model | client | the model's future ends |
//! | [`EXECUTE_TOOL`] | one call that runs | internal | the tool's future ends |
//!
//! The second and third stand below the first. It stands below the span in which [`prompt`](crate::Agent::prompt) was called, so the work of
//! an agent in a call of another one stands below that call. What is played again from a journal makes no spans. Prompts, answers,
//! arguments, results and messages of errors are in none of them. Events at `WARN` tell in words why a hook or the journal failed.

/// Where the names of the conventions come from: the last version of the semantic conventions that lists them. Since then they
/// are kept in a repository of their own, `semantic-conventions-genai`.
pub const CONVENTIONS: &str = "https://opentelemetry.io/schemas/1.42.0";

/// Span, and operation: the work of an agent on one turn.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// Span, and operation: one request to the model.
pub const CHAT: &str = "chat";
/// Span, and operation: one call that runs.
pub const EXECUTE_TOOL: &str = "execute_tool";

/// Target of the events that tell each transition of the three machines, at the level `TRACE` (E02). They cost nothing where
/// nobody looks.
pub const TRANSITIONS: &str = "agent_machine::transitions";

/// The span's name as it is exported: the operation, and whose.
pub const OTEL_NAME: &str = "otel.name";
/// The span's kind: `client` of a request to the model; internal otherwise.
pub const OTEL_KIND: &str = "otel.kind";
/// `ERROR` if the operation failed.
pub const OTEL_STATUS_CODE: &str = "otel.status_code";

/// What kind of failure, from a short list: kinds of [`Failure`](machine_core::response::Failure) and
/// [`ErrorCode`](machine_core::outcome::ErrorCode) in snake case; `timeout`; `lost`; `_OTHER`. That somebody stopped it, denied it or
/// limited it is no failure.
pub const ERROR_TYPE: &str = "error.type";

/// Which operation.
pub const OPERATION: &str = "gen_ai.operation.name";
/// Whose model is asked, where the model tells ([`Model::identity`](crate::Model::identity)); of a turn, in its first request here.
pub const PROVIDER: &str = "gen_ai.provider.name";
/// The session: its branch. A fork is another one.
pub const CONVERSATION_ID: &str = "gen_ai.conversation.id";
/// The agent's name, where it has one ([`AgentBuilder::name`](crate::AgentBuilder::name)).
pub const AGENT_NAME: &str = "gen_ai.agent.name";
/// The model that is asked for, where the settings name one or the model tells; of a turn, that of its first request here.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// The provider's id of the response, where it told one.
pub const RESPONSE_ID: &str = "gen_ai.response.id";
/// Why the response ended: the provider's own word, else ours. The conventions want a list; `tracing` has none, so that it is
/// a text here, and an exporter has to make it a list of one.
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Time to the first token, in seconds, where the model told.
pub const FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
/// Tokens of the request, cached ones included; of a turn, the sum of what its attempts reported.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens of the response, thinking included; of a turn, the sum.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Tokens that were read from the provider's cache; of a turn, the sum.
pub const CACHED_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// The tool.
pub const TOOL_NAME: &str = "gen_ai.tool.name";
/// The call's id on the wire.
pub const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
/// `function`: a tool that the host runs.
pub const TOOL_TYPE: &str = "gen_ai.tool.type";

/// Id of the turn.
pub const TURN: &str = "agent_machine.turn";
/// Id of the step.
pub const STEP: &str = "agent_machine.step";
/// Id of the attempt.
pub const ATTEMPT: &str = "agent_machine.attempt";
/// Id of the call.
pub const CALL: &str = "agent_machine.call";
/// How it ended: a turn's [`EndReason`](machine_core::event::EndReason), an attempt's
/// [`AttemptEnd`](machine_core::event::AttemptEnd), a call's [`Outcome`](machine_core::outcome::Outcome), by name.
pub const END: &str = "agent_machine.end";
/// Steps that a turn took.
pub const STEPS: &str = "agent_machine.steps";
/// The provider's id of the request, for support cases.
pub const REQUEST_ID: &str = "agent_machine.request_id";
