//! Tools that come and go while an agent is open, and the table in which a step finds them (T04).
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use machine_core::Text;
use machine_core::ask::Prepared;
use machine_core::config::ToolSpec;
use tokio::task::JoinSet;

use crate::error::OpenError;
use crate::model::BoxFuture;
use crate::tool::Tool;
use crate::unwind::caught;

/// Where tools come from that are not always the same, such as a server of tools. A clone of an `Arc` means the same
/// source, so several agents may share one.
pub trait ToolSource: Send + Sync + 'static {
    /// The tools that there are now, in the order of the offer. Asked when the agent is opened and before each step, all
    /// sources at once: the tools of a step stay as they are until the next one (T04). Within a step it has the time of a
    /// gate, and if that is up the step fails (H02); so a source that has to ask elsewhere should give what it had when
    /// that takes long.
    ///
    /// When the agent is opened, a panic and a name that is there already are errors. Later a source that panics has no
    /// tools in this step, and a tool of such a name is left out; the log says so (a `tracing` warning).
    fn tools(&self) -> BoxFuture<'_, Vec<Arc<dyn Tool>>>;

    /// What it is called in messages, with its article.
    fn name(&self) -> Text {
        "a source of tools".into()
    }
}

impl<S: ToolSource> ToolSource for Arc<S> {
    fn tools(&self) -> BoxFuture<'_, Vec<Arc<dyn Tool>>> {
        (**self).tools()
    }

    fn name(&self) -> Text {
        (**self).name()
    }
}

type ByName = BTreeMap<Text, Arc<dyn Tool>>;

/// The tools of an agent: what is behind a name in the running step, and what is offered.
pub(crate) struct Table {
    /// Those that stay.
    fixed: ByName,
    /// Those of them that are offered.
    offered: Vec<ToolSpec>,
    sources: Vec<Arc<dyn ToolSource>>,
    /// Those of the running step.
    now: RwLock<Arc<ByName>>,
}

/// What there is at one moment.
struct Looked {
    tools: ByName,
    offered: Arc<[ToolSpec]>,
    /// Sources that panicked, and tools whose names were there already.
    panics: Vec<Text>,
    twice: Vec<Twice>,
}

/// A tool of a name that is there already.
struct Twice {
    tool: Text,
    first: Text,
    second: Text,
}

impl Table {
    /// Of the tools that stay, each with whether it is offered, and of the sources; and what is offered now.
    pub(crate) async fn open(
        tools: Vec<(Arc<dyn Tool>, bool)>,
        sources: Vec<Arc<dyn ToolSource>>,
    ) -> Result<(Self, Arc<[ToolSpec]>), OpenError> {
        let (mut fixed, mut offered) = (ByName::new(), Vec::new());
        for (tool, offer) in tools {
            let spec = tool.spec();
            if fixed.insert(spec.name.clone(), tool).is_some() {
                return Err(OpenError::SameTool(spec.name));
            }
            if offer {
                offered.push(spec);
            }
        }
        let mut table = Self { fixed, offered, sources, now: RwLock::default() };
        let Looked { tools, offered, panics, twice } = table.look().await;
        match (panics.into_iter().next(), twice.into_iter().next()) {
            (Some(panic), _) => Err(OpenError::ToolSource(panic)),
            (None, Some(Twice { tool, first, second })) => {
                Err(OpenError::SameToolFrom { tool, first, second })
            }
            (None, None) => {
                table.now = RwLock::new(Arc::new(tools));
                Ok((table, offered))
            }
        }
    }

    /// Whether it may change.
    pub(crate) fn changes(&self) -> bool {
        !self.sources.is_empty()
    }

    /// The tools of the next step. None: they are those that the turn offers anyway.
    pub(crate) async fn begin_step(&self, usual: &[ToolSpec]) -> Option<Arc<[ToolSpec]>> {
        if !self.changes() {
            return None;
        }
        let Looked { tools, offered, panics, twice } = self.look().await;
        for panic in panics {
            tracing::warn!(%panic, "a source of tools panicked: it has none in this step");
        }
        for Twice { tool, first, second } in twice {
            tracing::warn!(%tool, %first, %second, "two tools have this name; the second is left out");
        }
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tools);
        (*offered != *usual).then_some(offered)
    }

    /// The tool of this name.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.now().get(name).cloned()
    }

    /// For one who named a tool that there is not.
    pub(crate) fn unknown(&self) -> Prepared {
        Prepared::unknown_tool(self.now().keys().map(|name| &**name))
    }

    fn now(&self) -> Arc<ByName> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn look(&self) -> Looked {
        let (mut tools, mut offered) = (self.fixed.clone(), self.offered.clone());
        let (mut panics, mut twice) = (Vec::new(), Vec::new());
        let mut owners = BTreeMap::<Text, Text>::new();
        for brought in self.brought().await {
            let (source, brought) = brought.unwrap_or_else(|panic| {
                panics.push(panic);
                Brought::default()
            });
            for (spec, tool) in brought {
                if tools.contains_key(&spec.name) {
                    let first = owners.get(&spec.name).cloned().unwrap_or_else(|| "the agent itself".into());
                    twice.push(Twice { tool: spec.name, first, second: source.clone() });
                    continue;
                }
                owners.insert(spec.name.clone(), source.clone());
                tools.insert(spec.name.clone(), tool);
                offered.push(spec);
            }
        }
        Looked { tools, offered: offered.into(), panics, twice }
    }

    /// What each source has, or with what it panicked (H03), in the order of the sources. They are asked at once.
    async fn brought(&self) -> Vec<Result<Brought, Text>> {
        let mut asked = JoinSet::new();
        for (n, source) in self.sources.iter().cloned().enumerate() {
            asked.spawn(async move {
                let all = caught(async {
                    let tools = source.tools().await.into_iter().map(with_spec).collect();
                    (source.name(), tools)
                });
                (n, all.await)
            });
        }
        let mut brought = asked.join_all().await;
        brought.sort_unstable_by_key(|(n, _)| *n);
        brought.into_iter().map(|(_, brought)| brought).collect()
    }
}

/// A source's name, and its tools.
type Brought = (Text, Vec<(ToolSpec, Arc<dyn Tool>)>);

fn with_spec(tool: Arc<dyn Tool>) -> (ToolSpec, Arc<dyn Tool>) {
    (tool.spec(), tool)
}
