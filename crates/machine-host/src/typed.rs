//! A tool from a closure over its argument type.
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use machine_core::Text;
use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::Plan;
use machine_core::config::ToolSpec;
use machine_core::outcome::ToolResult;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::cx::ToolCx;
use crate::model::BoxFuture;
use crate::schema::{self, BadSchema, Schema};
use crate::tool::{Reject, Tool, ToolError};

/// A tool from a closure. Its parameters are the JSON Schema of the argument type.
///
/// Say what it touches: a tool that declares nothing is taken to touch everything, and nothing runs beside it (B01).
/// When its call is stopped the future is dropped, unless [`drop_on_cancel(false)`](TypedTool::drop_on_cancel).
pub fn tool<A, F, Fut>(name: impl Into<Text>, description: impl Into<Text>, run: F) -> TypedTool<A, F>
where
    A: DeserializeOwned + JsonSchema,
    F: Fn(A, ToolCx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolResult, ToolError>> + Send + 'static,
{
    TypedTool {
        name: name.into(),
        description: description.into(),
        schema: Schema::of::<A>(),
        run,
        touches: Vec::new(),
        access: None,
        plan: Plan::default(),
        drop_on_cancel: true,
        args: PhantomData,
    }
}

/// What [`tool`] makes.
pub struct TypedTool<A, F> {
    name: Text,
    description: Text,
    schema: Result<Schema, BadSchema>,
    run: F,
    touches: Vec<Touch>,
    access: Option<AccessOf<A>>,
    plan: Plan,
    drop_on_cancel: bool,
    args: PhantomData<fn(A)>,
}

type AccessOf<A> = Box<dyn Fn(&A) -> Access + Send + Sync>;

impl<A, F> TypedTool<A, F> {
    /// It reads this path and what is below (B01).
    pub fn reads(self, path: impl Into<Text>) -> Self {
        self.touching(Mode::Read, path)
    }

    /// It writes this path and what is below (B01).
    pub fn writes(self, path: impl Into<Text>) -> Self {
        self.touching(Mode::Write, path)
    }

    /// It touches nothing that another call could touch: it neither waits nor is waited for (B05).
    pub fn touches_nothing(self) -> Self {
        self.access(|_| Access::None)
    }

    /// What it touches depends on the arguments. Takes the place of every other declaration.
    pub fn access(self, of: impl Fn(&A) -> Access + Send + Sync + 'static) -> Self {
        Self { access: Some(Box::new(of)), ..self }
    }

    /// Whether someone must approve each call (C04).
    pub fn approval(self, approval: bool) -> Self {
        Self { plan: Plan { approval, ..self.plan }, ..self }
    }

    /// How long a call may run (C10).
    pub fn timeout(self, timeout: Duration) -> Self {
        let timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        Self { plan: Plan { timeout_ms, ..self.plan }, ..self }
    }

    /// Whether it keeps its accesses when it detaches (B07).
    pub fn keep_access(self, keep_access: bool) -> Self {
        Self { plan: Plan { keep_access, ..self.plan }, ..self }
    }

    /// Whether the future of a stopped call is dropped; see [`Tool`].
    pub fn drop_on_cancel(self, drop_on_cancel: bool) -> Self {
        Self { drop_on_cancel, ..self }
    }

    fn touching(mut self, mode: Mode, path: impl Into<Text>) -> Self {
        self.touches.push(Touch::tree(mode, path));
        self
    }

    fn access_of(&self, args: &A) -> Access {
        match &self.access {
            Some(of) => of(args),
            None if self.touches.is_empty() => Access::All,
            None => Access::Paths(Arc::from(&*self.touches)),
        }
    }
}

impl<A, F, Fut> Tool for TypedTool<A, F>
where
    A: DeserializeOwned + JsonSchema + 'static,
    F: Fn(A, ToolCx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolResult, ToolError>> + Send + 'static,
{
    fn spec(&self) -> ToolSpec {
        let parameters = self.schema.as_ref().map_or_else(|_| "{}".into(), |schema| schema.text().clone());
        ToolSpec { name: self.name.clone(), description: self.description.clone(), parameters }
    }

    fn plan(&self, args: &str) -> Result<Plan, Reject> {
        match &self.schema {
            Ok(schema) => schema.check(args)?,
            Err(error) => return Err(Reject::Invalid(format!("the tool itself is broken: {error}").into())),
        }
        let read: A = schema::read(args).map_err(Reject::Invalid)?;
        Ok(Plan { access: self.access_of(&read), ..self.plan.clone() })
    }

    fn call(&self, args: Text, cx: ToolCx) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        match schema::read(&args) {
            Ok(args) => Box::pin((self.run)(args, cx)),
            Err(error) => Box::pin(std::future::ready(Err(ToolError::failed(error)))),
        }
    }

    fn drop_on_cancel(&self) -> bool {
        self.drop_on_cancel
    }
}
