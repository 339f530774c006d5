//! [`App`]: state of all HTTP requests, with the [`Source`] of data, limits and threads for
//! queries; checks of the requested host, and security headers.

use super::READERS;
use super::access::is_meant;
use super::answers::Answers;
use super::params::WebParams;
use crate::hub::{Finished, Hub, LostTime, Overview, Slow};
use crate::store::DatabaseReader;
use crate::{Error, Result};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use perf_anomaly::server::{FunctionName, FunctionStats};
use perf_anomaly::{CounterSummary, FunctionId, Model};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Source of the data: a running server or a finished run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Source {
    /// Running server that accepts messages.
    Live(Hub),
    /// Database of a finished run.
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

    pub(super) fn counters(&self) -> Arc<(Vec<CounterSummary>, u64)> {
        match self {
            Source::Live(hub) => hub.counters(),
            Source::Finished(finished) => finished.counters(),
        }
    }

    pub(super) fn slow(&self) -> Arc<Slow> {
        match self {
            Source::Live(hub) => hub.slow(),
            Source::Finished(finished) => finished.slow(),
        }
    }

    /// Returns the number of a function, and the model of all ranks with this function alone.
    pub(super) fn model_of(&self, name: &FunctionName) -> Option<(FunctionId, Model)> {
        match self {
            Source::Live(hub) => hub.model_of(name),
            Source::Finished(finished) => finished.model_of(name),
        }
    }

    pub(super) fn lost_time(&self) -> Arc<LostTime> {
        match self {
            Source::Live(hub) => hub.lost_time(),
            Source::Finished(finished) => finished.lost_time(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Source::Live(hub) => hub.path(),
            Source::Finished(finished) => finished.path(),
        }
    }
}

/// State shared by all requests.
#[derive(Debug)]
pub(super) struct App {
    /// Source of the data.
    pub(super) source: Source,
    /// Validated parameters of the HTTP interface.
    pub(super) params: WebParams,
    /// Permits for open pages that receive events.
    pub(super) pages: Arc<Semaphore>,
    /// Counters of requests.
    pub(super) seen: Seen,
    /// Answers that the thread with the state has produced and the connections have not yet sent.
    pub(super) answers: Arc<Answers>,
    /// Free memory for bodies, in bytes.
    bodies: Arc<Semaphore>,
    /// Free places for connections.
    connections: Arc<Semaphore>,
    /// Free places for queries, including waiting queries.
    questions: Semaphore,
    /// Free places for threads that run queries.
    readers_free: Arc<Semaphore>,
    /// Idle connections to the database.
    readers: Mutex<Vec<DatabaseReader>>,
}

/// Counters of requests.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Number of messages that were read and decoded.
    pub(super) messages: AtomicU64,
    /// Total size of these messages in bytes.
    pub(super) bytes: AtomicU64,
    /// Number of messages without the token or with a wrong token.
    pub(super) strangers: AtomicU64,
    /// Number of messages that could not be parsed.
    pub(super) malformed: AtomicU64,
    /// Number of messages that were rejected because the server was busy.
    pub(super) busy: AtomicU64,
    /// Number of messages that did not arrive in time.
    pub(super) slow: AtomicU64,
    /// Number of connections that were closed at once because too many were open.
    pub(super) connections: AtomicU64,
    /// Number of queries that were rejected because too many were waiting.
    pub(super) questions: AtomicU64,
}

/// Largest number of simultaneous queries. At most [`READERS`] of them run; the others wait.
const QUESTIONS: usize = 1024;

/// Increments a counter.
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
            questions: Semaphore::new(QUESTIONS),
            readers_free: Arc::new(Semaphore::new(READERS)),
            readers: Mutex::new(Vec::new()),
            seen: Seen::default(),
            answers: Arc::default(),
            params,
        }
    }

    /// Returns a place for a connection, or `None` if no place is free.
    pub(super) fn connection(&self) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.connections).try_acquire_owned().ok();
        if place.is_none() {
            count(&self.seen.connections);
        }
        place
    }

    /// Reserves memory for `bytes` bytes. Returns `None` if it is not available.
    pub(super) fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let bytes = u32::try_from(bytes).ok()?;
        Arc::clone(&self.bodies).try_acquire_many_owned(bytes).ok()
    }

    /// Returns the number of open connections and the number of reserved bytes.
    pub(super) fn load(&self) -> (usize, usize) {
        let connections = self.params.connections - self.connections.available_permits();
        let bytes = self.params.bodies.min(Semaphore::MAX_PERMITS);
        (connections, bytes - self.bodies.available_permits())
    }

    /// Runs a query on the database with an idle connection, or with a new one. The connection is
    /// kept if the query succeeds.
    pub(super) fn read<T>(&self, ask: impl FnOnce(&DatabaseReader) -> Result<T>) -> Result<T> {
        let free = |all: &Mutex<Vec<DatabaseReader>>| {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.pop()
        };
        let reader = match free(&self.readers) {
            Some(reader) => reader,
            None => DatabaseReader::open(self.source.path())?,
        };
        let answer = ask(&reader)?;
        let mut all = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(reader);
        Ok(answer)
    }
}

/// Runs blocking work in a separate thread as soon as one of [`READERS`] places is free. If the
/// request is abandoned before that, the work is not started.
pub(super) async fn aside<T: Send + 'static>(
    app: &App,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let free = Arc::clone(&app.readers_free).acquire_owned().await;
    let turn = free.map_err(|_| Error::Closed)?;
    let outcome = tokio::task::spawn_blocking(move || {
        let outcome = work();
        // The place is released only when the work has ended, even if the request was abandoned.
        drop(turn);
        outcome
    });
    outcome.await.unwrap_or(Err(Error::Closed))
}

/// Runs the work of a query [`aside`]. Returns [`Error::Busy`] if too many queries wait.
pub(super) async fn answered<T: Send + 'static>(
    app: &App,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let Ok(_place) = app.questions.try_acquire() else {
        count(&app.seen.questions);
        let again = Duration::from_secs(1);
        return Err(Error::Busy { again });
    };
    aside(app, work).await
}

/// Rejects requests that are meant for another server, and adds security headers to all other
/// answers.
pub(super) async fn guarded(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if let Some(refused) = turned_away(&app, request.headers()) {
        return refused;
    }
    mark(next.run(request).await)
}

/// Returns the answer to a request that is meant for another server, otherwise `None`.
pub(super) fn turned_away(app: &App, headers: &HeaderMap) -> Option<Response> {
    let refuse = || {
        let what = "the host name of the request is not that of the server; allow it with the option `--host`";
        refusal(StatusCode::MISDIRECTED_REQUEST, what)
    };
    (!is_meant(headers, &app.params.hosts)).then(refuse)
}

/// Adds security headers to an answer.
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

/// Adds the header `Retry-After` to an answer, in whole seconds and at least 1.
pub(super) fn come_again(response: &mut Response, after: Duration) {
    let seconds = HeaderValue::from(after.as_secs().max(1));
    response.headers_mut().insert(header::RETRY_AFTER, seconds);
}

/// Returns an error as plain text.
pub(super) fn refusal(status: StatusCode, what: impl std::fmt::Display) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
        format!("{what}\n"),
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::super::Service;
    use super::*;
    use std::future::Future;
    use std::sync::mpsc::channel;

    /// While all threads are busy, a limited number of queries wait. An abandoned query frees its
    /// place and is not executed.
    #[test]
    fn waiting_queries_are_limited() {
        let path = std::env::temp_dir().join("perf-live-questions.sqlite");
        let _ = std::fs::remove_file(&path);
        let hub = Hub::params()
            .check()
            .and_then(|params| Hub::open(&path, params));
        let hub = hub.expect("it can be made");
        let web = Service::params().token("a-token-of-a-test").check();
        let app = App::new(hub.clone().into(), web.expect("in range").0);
        let runtime = super::super::runtime().expect("there can be one");
        let done = Arc::new(AtomicU64::new(0));
        let (go, held) = channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let ask = || {
            let (held, done) = (Arc::clone(&held), Arc::clone(&done));
            Box::pin(answered(&app, move || {
                // This returns when the sender is dropped.
                let _ = held.lock().map(|held| held.recv());
                count(&done);
                Ok(())
            }))
        };
        runtime.block_on(async {
            let mut all: Vec<_> = (0..QUESTIONS).map(|_| ask()).collect();
            std::future::poll_fn(|context| {
                for one in &mut all {
                    assert!(one.as_mut().poll(context).is_pending());
                }
                std::task::Poll::Ready(())
            })
            .await;
            assert!(matches!(ask().await, Err(Error::Busy { .. })));
            assert_eq!(app.seen.questions.load(Ordering::Relaxed), 1);
            // All queries except some of the started ones are abandoned.
            all.truncate(READERS / 2);
            let last = ask();
            drop(go);
            assert!(last.await.is_ok());
            for one in all {
                assert!(one.await.is_ok());
            }
        });
        drop(runtime);
        assert_eq!(done.load(Ordering::Relaxed), READERS as u64 + 1);
        hub.close();
        for end in ["", "-wal", "-shm", ".lock"] {
            let mut name = path.clone().into_os_string();
            name.push(end);
            let _ = std::fs::remove_file(name);
        }
    }
}
