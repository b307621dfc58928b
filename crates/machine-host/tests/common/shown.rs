//! A log that remembers what it was shown.
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

type Fields = BTreeMap<&'static str, String>;

/// A span.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// As it is exported.
    pub name: String,
    /// Its number.
    pub parent: Option<usize>,
    pub fields: Fields,
    pub closed: bool,
}

/// All of them, in the order in which they began; and events: target and fields.
#[derive(Clone, Default)]
pub struct Log {
    pub spans: Arc<Mutex<Vec<Shown>>>,
    pub events: Arc<Mutex<Vec<(String, Fields)>>>,
}

impl Log {
    /// What is shown from now on to this thread, with these events.
    pub fn listen(events: fn(&Metadata<'_>) -> bool) -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let wanted = move |metadata: &Metadata<'_>| metadata.is_span() || events(metadata);
        let layer = log.clone().with_filter(filter_fn(wanted));
        (log, tracing::subscriber::set_default(Registry::default().with(layer)))
    }

    pub fn spans(&self) -> Vec<Shown> {
        self.spans.lock().unwrap().clone()
    }

    /// A line a span, each below the one that it stands in. Ids of sessions are not shown.
    pub fn tree(&self) -> String {
        let (spans, mut tree) = (self.spans(), String::new());
        lines(&spans, None, 0, &mut tree);
        tree
    }
}

fn lines(spans: &[Shown], parent: Option<usize>, depth: usize, tree: &mut String) {
    for (n, span) in spans.iter().enumerate().filter(|(_, span)| span.parent == parent) {
        let open = if span.closed { "" } else { " (open)" };
        *tree += &format!("{:depth$}{}{open}\n", "", span.name, depth = depth * 4);
        for (name, value) in &span.fields {
            *tree += &format!("{:depth$}| {name} = {value}\n", "", depth = depth * 4);
        }
        lines(spans, Some(n), depth + 1, tree);
    }
}

struct Number(usize);

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Log {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let span = ctx.span(id).unwrap();
        let parent = span.parent().map(|parent| parent.extensions().get::<Number>().unwrap().0);
        let mut spans = self.spans.lock().unwrap();
        span.extensions_mut().insert(Number(spans.len()));
        let mut shown = Shown { name: span.name().to_owned(), parent, ..Shown::default() };
        attributes.record(&mut shown);
        spans.push(shown);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        let number = ctx.span(id).unwrap().extensions().get::<Number>().unwrap().0;
        values.record(&mut self.spans.lock().unwrap()[number]);
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut shown = Shown::default();
        event.record(&mut shown);
        self.events.lock().unwrap().push((event.metadata().target().to_owned(), shown.fields));
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        let number = ctx.span(&id).unwrap().extensions().get::<Number>().unwrap().0;
        self.spans.lock().unwrap()[number].closed = true;
    }
}

impl Visit for Shown {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value = format!("{value:?}");
        if field.name() == "otel.name" {
            self.name = value;
            return;
        }
        let before = self.fields.insert(field.name(), value);
        assert!(before.is_none(), "{} is said twice: an exporter would have both", field.name());
    }
}
