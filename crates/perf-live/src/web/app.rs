//! [`App`]: what all requests share.

use super::answers::Answers;
use super::guard::is_meant;
use super::params::WebParams;
use crate::hub::{Finished, Hub, Overview};
use crate::store::Reader;
use crate::{Error, Result};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use perf_anomaly::server::{FunctionName, FunctionStats};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What is shown: a run that goes on, or one that is over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Source {
    /// A server that takes messages.
    Live(Hub),
    /// A database.
    Finished(Finished),
}

impl From<Hub> for Source {
    fn from(hub: Hub) -> Self {
        Source::Live(hub)
    }
}

impl From<Finished> for Source {
    fn from(finished: Finished) -> Self {
        Source::Finished(finished)
    }
}

impl Source {
    pub(super) fn overview(&self) -> Arc<Overview> {
        match self {
            Source::Live(hub) => hub.overview(),
            Source::Finished(finished) => finished.overview(),
        }
    }

    pub(super) fn functions(&self) -> Arc<Vec<(FunctionName, FunctionStats)>> {
        match self {
            Source::Live(hub) => hub.functions(),
            Source::Finished(finished) => finished.functions(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Source::Live(hub) => hub.path(),
            Source::Finished(finished) => finished.path(),
        }
    }
}

/// What all requests share.
#[derive(Debug)]
pub(super) struct App {
    pub(super) source: Source,
    pub(super) params: WebParams,
    pub(super) pages: Arc<Semaphore>,
    pub(super) seen: Seen,
    pub(super) answers: Arc<Answers>,
    bodies: Arc<Semaphore>,
    connections: Arc<Semaphore>,
    /// Connections to the database that nobody uses just now.
    readers: Mutex<Vec<Reader>>,
}

/// What was counted of requests.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Messages, and their bytes.
    pub(super) messages: AtomicU64,
    pub(super) bytes: AtomicU64,
    /// Messages without the token, that cannot be read, that were too much, and that came too slowly.
    pub(super) strangers: AtomicU64,
    pub(super) malformed: AtomicU64,
    pub(super) busy: AtomicU64,
    pub(super) slow: AtomicU64,
    /// Connections that were too many.
    pub(super) connections: AtomicU64,
}

/// Counts one.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl App {
    pub(super) fn new(source: Source, params: WebParams) -> Self {
        App {
            source,
            pages: Arc::new(Semaphore::new(params.pages)),
            bodies: Arc::new(Semaphore::new(params.bodies.min(Semaphore::MAX_PERMITS))),
            connections: Arc::new(Semaphore::new(params.connections)),
            readers: Mutex::new(Vec::new()),
            seen: Seen::default(),
            answers: Arc::default(),
            params,
        }
    }

    /// A place for a connection, if one is free.
    pub(super) fn connection(&self) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.connections).try_acquire_owned().ok();
        if place.is_none() {
            count(&self.seen.connections);
        }
        place
    }

    /// Room in memory for so many bytes, if there is some.
    pub(super) fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let bytes = u32::try_from(bytes).ok()?;
        Arc::clone(&self.bodies).try_acquire_many_owned(bytes).ok()
    }

    /// Connections that are open, and bytes that are on their way.
    pub(super) fn load(&self) -> (usize, usize) {
        let connections = self.params.connections - self.connections.available_permits();
        let bytes = self.params.bodies.min(Semaphore::MAX_PERMITS);
        (connections, bytes - self.bodies.available_permits())
    }

    /// Asks the database.
    pub(super) fn read<T>(&self, ask: impl FnOnce(&Reader) -> Result<T>) -> Result<T> {
        let free = |all: &Mutex<Vec<Reader>>| {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.pop()
        };
        let reader = match free(&self.readers) {
            Some(reader) => reader,
            None => Reader::open(self.source.path())?,
        };
        let answer = ask(&reader)?;
        let mut all = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(reader);
        Ok(answer)
    }
}

/// Runs what takes a while beside the connections.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let outcome = tokio::task::spawn_blocking(work).await;
    outcome.unwrap_or(Err(Error::Closed))
}

/// Turns away what was not meant for this server, and marks what is given.
pub(super) async fn guarded(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if let Some(refused) = turned_away(&app, request.headers()) {
        return refused;
    }
    mark(next.run(request).await)
}

/// The answer to what was meant for another server.
pub(super) fn turned_away(app: &App, headers: &HeaderMap) -> Option<Response> {
    let refuse = || {
        let what = "no server of this name is here";
        refusal(StatusCode::MISDIRECTED_REQUEST, what)
    };
    (!is_meant(headers, &app.params.hosts)).then(refuse)
}

/// Marks what is given.
fn mark(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A refusal in plain words.
pub(super) fn refusal(status: StatusCode, what: impl std::fmt::Display) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
        format!("{what}\n"),
    )
        .into_response()
}
