//! The faulty world: everything that a host gives an agent, at its worst.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use machine_adapter::Request;
use machine_core::Text;
use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::{Approval, Gated, Plan, Proceed, StopVerdict};
use machine_core::config::ToolSpec;
use machine_core::ids::CallId;
use machine_core::message::{Entry, Origin, text_content};
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, Finish, Finished, ModelError};
use machine_host::{
    Agent, ApproveQuestion, BeforeCall, BoxFuture, CallQuestion, Decision, Editor, EndedStep, EndedTurn,
    FinalizeQuestion, GateQuestion, Model, ModelLimit, ModelOut, Parked, Reject, Rule, StopQuestion, Tool,
    ToolCx, ToolError,
};
use machine_journal::MemoryJournal;
use tokio_util::sync::CancellationToken;

/// Numbers that a seed gives (SplitMix64).
#[derive(Clone)]
pub struct Random(Arc<Mutex<u64>>);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(seed)))
    }

    pub fn below(&self, n: u64) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    pub fn index(&self, n: usize) -> usize {
        usize::try_from(self.below(n as u64)).unwrap()
    }

    async fn sleep(&self) {
        let ms = [0, 1, 100, 2_000, 30_000][self.index(5)];
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

pub struct World {
    random: Random,
    healed: CancellationToken,
    pub journal: Arc<Mutex<MemoryJournal>>,
    ran: Arc<Mutex<BTreeMap<CallId, u32>>>,
    says: Arc<AtomicU32>,
    /// One place: if it is ever lost, nothing goes on (H05).
    limit: ModelLimit,
    seed: u64,
}

impl World {
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            healed: CancellationToken::new(),
            journal: Arc::default(),
            ran: Arc::default(),
            says: Arc::default(),
            limit: ModelLimit::new(1),
            seed,
        }
    }

    pub fn heal(&self) {
        self.healed.cancel();
    }

    /// The dead process lets go of its journal.
    pub async fn until_nobody_writes(&self) {
        while Arc::strong_count(&self.journal) > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    pub fn ran(&self, call: CallId) -> bool {
        self.ran.lock().unwrap().contains_key(&call)
    }

    pub fn nothing_ran_twice(&self) {
        let ran = self.ran.lock().unwrap();
        assert!(ran.values().all(|times| *times == 1), "P8: {ran:?}");
    }

    pub async fn open(&self, parked: Option<Parked>) -> Agent {
        let (random, healed) = (self.random.clone(), self.healed.clone());
        let faulty = Faulty { random: random.clone(), healed: healed.clone(), says: self.says.clone() };
        let mut builder = Agent::builder()
            .branch(1)
            .model(faulty)
            .tool(Any { random: random.clone(), healed: healed.clone(), ran: self.ran.clone() })
            .journal(self.journal.clone())
            .config(|config| {
                config.calls.max_parallel = 2;
                config.turn.stream_idle_ms = 10_000;
                config.turn.max_steps = Some(8);
                config.ask.timeout_ms = 20_000;
            });
        let hooks = self.seed;
        if hooks & 1 != 0 {
            builder =
                builder.finalize(trouble(&random, &healed, |question: FinalizeQuestion| question.result));
        }
        if hooks & 2 != 0 {
            let check = trouble(&random, &healed, |_: CallQuestion| BeforeCall::Approve);
            builder = builder.before_call(check);
        }
        if hooks & 4 != 0 {
            let (random, healed) = (random.clone(), healed.clone());
            builder = builder.gate(move |_: GateQuestion, editor: Editor| {
                let (random, healed) = (random.clone(), healed.clone());
                async move {
                    worse(&random, &healed).await?;
                    if !healed.is_cancelled() && random.below(4) == 0 {
                        compact(&editor).await?;
                    }
                    Ok(Gated::Proceed(Arc::new(Proceed::default())))
                }
            });
        }
        if hooks & 8 != 0 {
            let stop = trouble(&random, &healed, |_: StopQuestion| StopVerdict::End);
            builder = builder.stop(stop);
        }
        if hooks & 16 != 0 {
            builder = builder.model_limit(self.limit.clone());
        }
        if hooks & 32 != 0 {
            builder = builder.step_ended(trouble(&random, &healed, |_: EndedStep| ())).turn_ended(trouble(
                &random,
                &healed,
                |_: EndedTurn| (),
            ));
        }
        let (for_approval, for_maintenance) = (random.clone(), (random, healed));
        builder = builder
            .approve(move |_: ApproveQuestion| {
                let random = for_approval.clone();
                async move {
                    random.sleep().await;
                    match random.below(8) {
                        0 | 1 => Approval::Denied("no".into()).into(),
                        2 | 3 => Approval::Expired.into(),
                        4 => Rule::new("any", |question| question.call.index % 2 == 0).into(),
                        _ => Decision::Once(Approval::Granted),
                    }
                }
            })
            .maintenance(move |_, editor: Editor| {
                let (random, healed) = for_maintenance.clone();
                async move {
                    // Maintenance has no bound: it is slow here, but not for ever.
                    random.sleep().await;
                    compact(&editor).await?;
                    match random.below(4) {
                        0 if !healed.is_cancelled() => fall("maintenance fell over"),
                        1 if !healed.is_cancelled() => Err("maintenance broke".into()),
                        _ => Ok(()),
                    }
                }
            });
        if let Some(parked) = parked {
            builder = builder.parked(parked);
        }
        builder.open().await.unwrap()
    }
}

async fn compact(editor: &Editor) -> Result<(), machine_host::BoxError> {
    let history = editor.history();
    // A cut inside a batch is refused; then there is nothing to do.
    let summary = Entry::user(Origin::Summary, None, text_content("before"));
    let _ = editor.fold(history.len() / 2, vec![summary]).await;
    Ok(())
}

/// Panics without a word on the screen.
fn fall(message: &str) -> ! {
    std::panic::resume_unwind(Box::new(message.to_owned()))
}

/// Slow, failing, panicking, never done.
async fn worse(random: &Random, healed: &CancellationToken) -> Result<(), machine_host::BoxError> {
    if healed.is_cancelled() {
        return Ok(());
    }
    match random.below(8) {
        0 => return Err("it broke".into()),
        1 => fall("it fell over"),
        2 => std::future::pending().await,
        3 => random.sleep().await,
        _ => {}
    }
    Ok(())
}

/// A hook that answers well when it answers.
fn trouble<Q: Send + 'static, A: Send + 'static>(
    random: &Random,
    healed: &CancellationToken,
    answer: fn(Q) -> A,
) -> impl Fn(Q) -> BoxFuture<'static, Result<A, machine_host::BoxError>> + Send + Sync + use<Q, A> {
    let (random, healed) = (random.clone(), healed.clone());
    move |question| {
        let (random, healed) = (random.clone(), healed.clone());
        Box::pin(async move {
            worse(&random, &healed).await?;
            Ok(answer(question))
        })
    }
}

struct Faulty {
    random: Random,
    healed: CancellationToken,
    says: Arc<AtomicU32>,
}

impl Model for Faulty {
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>> {
        Box::pin(async move {
            request.history.audit().unwrap();
            request.history.ready().unwrap();
            let said = self.says.fetch_add(1, Ordering::SeqCst);
            if self.healed.is_cancelled() || said > 60 {
                out.text("fine").await;
                return Ok(Finished::new(Finish::EndTurn));
            }
            self.random.sleep().await;
            match self.random.below(12) {
                0 => Err(ModelError::new(Failure::Overloaded, "busy")),
                1 => Err(ModelError::new(Failure::Auth, "who are you?")),
                2 => fall("the model fell over"),
                3 => {
                    out.text("well").await;
                    std::future::pending().await
                }
                4 => Ok(Finished::new(Finish::EndTurn)),
                5 => {
                    out.call(0, "c", "any", "{}").await;
                    Ok(Finished::new(Finish::MaxTokens))
                }
                6 => {
                    out.text("I am done.").await;
                    Ok(Finished::new(Finish::EndTurn))
                }
                _ => {
                    for index in 0..=u32::try_from(self.random.below(4)).unwrap() {
                        let tool = if self.random.below(10) == 0 { "nosuch" } else { "any" };
                        out.call(index, "same id", tool, "{}").await;
                    }
                    Ok(Finished::new(Finish::ToolUse))
                }
            }
        })
    }
}

struct Any {
    random: Random,
    healed: CancellationToken,
    ran: Arc<Mutex<BTreeMap<CallId, u32>>>,
}

impl Tool for Any {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: "any".into(), description: "does anything".into(), parameters: "{}".into() }
    }

    fn plan(&self, _: &str) -> Result<Plan, Reject> {
        let access = match self.random.below(4) {
            0 => Access::All,
            1 => Access::None,
            n => Touch::tree(if n == 2 { Mode::Read } else { Mode::Write }, "/a").into(),
        };
        let timeout_ms = (self.random.below(3) == 0).then_some(5_000);
        match self.random.below(10) {
            0 => Err(Reject::Invalid("no".into())),
            1 => fall("the plan fell over"),
            n => Ok(Plan { access, approval: n == 2, timeout_ms, ..Plan::default() }),
        }
    }

    fn call(&self, _: Text, cx: ToolCx) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        *self.ran.lock().unwrap().entry(cx.call()).or_default() += 1;
        Box::pin(async move {
            if self.random.below(3) == 0 {
                cx.progress("working");
                cx.output("so far").await;
            }
            if self.random.below(6) == 0 {
                cx.detach("it runs").await;
            }
            self.random.sleep().await;
            match self.random.below(7) {
                0 => cx.fail("it failed"),
                1 => fall("the tool fell over"),
                2 => {
                    // Never done, but obeys.
                    tokio::select! {
                        _ = cx.cancelled() => cx.text("stopped"),
                        () = self.healed.cancelled() => cx.text("done at last"),
                    }
                }
                3 => {
                    // Deaf for long, but not for ever.
                    tokio::time::sleep(Duration::from_secs(500)).await;
                    cx.text("late")
                }
                4 if !self.healed.is_cancelled() => {
                    let stop = ToolResult { stop_turn: Some("enough".into()), ..ToolResult::text("done") };
                    Ok(ToolResult { deliver: Some(text_content("a message")), ..stop })
                }
                _ => cx.text("done"),
            }
        })
    }

    fn drop_on_cancel(&self) -> bool {
        self.random.below(2) == 0
    }
}
