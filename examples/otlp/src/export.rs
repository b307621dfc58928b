//! From `tracing` to a collector.
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent_machine::host::names;
use async_trait::async_trait;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Array, InstrumentationScope, Value};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter as Otlp, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// All spans of this process go to the collector from now on. Shut down what this gives when all is done.
pub(crate) fn begin(service: &'static str) -> Result<SdkTracerProvider, Box<dyn Error>> {
    let otlp =
        Otlp::builder().with_http().with_http_client(Client::new()).with_protocol(Protocol::HttpBinary);
    let provider = SdkTracerProvider::builder()
        .with_resource(Resource::builder().with_service_name(service).build())
        .with_batch_exporter(Exporter { otlp: otlp.build()?, has_failed: AtomicBool::new(false) })
        .build();
    let scope = InstrumentationScope::builder("agent-machine").with_schema_url(names::CONVENTIONS).build();
    let spans = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer_with_scope(scope))
        // What the conventions do not ask for.
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false);
    // At `DEBUG` what happens in a turn comes along as events of its span.
    tracing_subscriber::registry().with(spans.with_filter(LevelFilter::INFO)).try_init()?;
    Ok(provider)
}

/// A small client. Batches are sent from a thread of their own, so that it may block.
#[derive(Debug)]
struct Client(ureq::Agent);

impl Client {
    fn new() -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(10)))
            .http_status_as_error(false);
        Self(config.build().into())
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = self.0.run(request.map(Vec::from))?;
        let (head, mut body) = response.into_parts();
        Ok(Response::from_parts(head, body.read_to_vec()?.into()))
    }
}

/// `tracing` has no lists, and the conventions want one. And the SDK loses spans without a word where no collector takes
/// them: here the first time is told.
#[derive(Debug)]
struct Exporter {
    otlp: Otlp,
    has_failed: AtomicBool,
}

impl SpanExporter for Exporter {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        let attributes = batch.iter_mut().flat_map(|span| &mut span.attributes);
        for attribute in attributes.filter(|attribute| attribute.key.as_str() == names::FINISH_REASONS) {
            if let Value::String(reason) = &attribute.value {
                attribute.value = Value::Array(Array::String(vec![reason.clone()]));
            }
        }
        let spans = batch.len();
        let exported = self.otlp.export(batch).await;
        if let Err(error) = &exported
            && !self.has_failed.swap(true, Ordering::Relaxed)
        {
            eprintln!("warning: {spans} spans did not reach the collector, and later ones may not: {error}");
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.otlp.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.otlp.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.otlp.set_resource(resource);
    }
}
