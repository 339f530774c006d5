//! [`Service`]: HTTP server on the network for the messages of clients, the page, and the queries
//! and events of the page. [`Offline`] answers the same requests without a network.

mod access;
mod answers;
mod app;
mod body;
mod dispatch;
mod handlers;
mod offline;
mod params;
mod send_timeout;

pub use app::Source;
pub use offline::{Offline, Reply};
pub use params::{CheckedWebParams, WebParams};

use crate::{Error, Result, wire};
use app::App;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use dispatch::Dispatcher;
use handlers::{
    chimbuko, client_messages, counters, distribution, events, lost, metrics, page_queries, slow,
};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use send_timeout::SendTimeout;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;

/// Server on the network, which runs in a separate thread and ends when this is dropped.
///
/// ```
/// use perf_live::hub::Hub;
/// use perf_live::web::Service;
/// # let file = std::env::temp_dir().join(format!("perf-live-service-{}.sqlite", std::process::id()));
/// # std::fs::remove_file(&file).ok();
/// let hub = Hub::open(&file, Default::default())?;
/// let service = Service::start(hub.clone(), Service::params().token("sixteen letters.".replace(' ', "-")).check()?)?;
/// assert!(service.address().ip().is_loopback());
/// drop(service);
/// hub.close();
/// # std::fs::remove_file(&file).ok();
/// # Ok::<(), perf_live::Error>(())
/// ```
#[derive(Debug)]
pub struct Service {
    /// Address on which the server listens.
    address: SocketAddr,
    /// The server stops when this sender is dropped.
    stop: Option<oneshot::Sender<()>>,
    /// Thread of the server.
    thread: Option<JoinHandle<()>>,
}

/// Number of connections that may wait to be accepted. It is large because many ranks start at
/// once.
const BACKLOG: u32 = 4096;

/// Largest number of threads that query the database.
const READERS: usize = 8;

impl Service {
    /// Returns the default parameters.
    pub fn params() -> WebParams {
        WebParams::default()
    }

    /// Starts a server for a running or a finished run.
    ///
    /// # Errors
    /// Returns [`Error::Listen`] if the server cannot listen on the address, or if the system
    /// cannot create a thread or runtime.
    pub fn start(source: impl Into<Source>, params: CheckedWebParams) -> Result<Self> {
        Self::start_on(bind(&params)?, source.into(), params)
    }

    /// Starts a server that listens on a [bound](bind) socket.
    pub(crate) fn start_on(
        socket: TcpSocket,
        source: Source,
        params: CheckedWebParams,
    ) -> Result<Self> {
        let wanted = params.0.address;
        let (stop, stopped) = oneshot::channel::<()>();
        let begin = move || {
            let listener = socket.listen(BACKLOG)?;
            let address = listener.local_addr()?;
            let app = Arc::new(App::new(source, params.0));
            carry(&app);
            tokio::spawn(accept(listener, app));
            // No message is sent. This waits until the sender is dropped.
            Ok((address, async { drop(stopped.await) }))
        };
        let (address, thread) = beside("web", begin).map_err(|error| unbound(wanted, &error))?;
        Ok(Service {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the address on which the server listens, with the actual port if the parameters have
    /// port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Blocks the calling thread as long as the server runs.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread cannot be reported any more.
            let _ = thread.join();
        }
    }
}

/// Runs a server in a separate thread until the future that `begin` returns is ready. Returns the
/// result of `begin` and the thread. The caller may itself be in a runtime, where another runtime
/// must not block or be dropped. Therefore the new runtime stays in the thread.
fn beside<T: Send + 'static, F: Future<Output = ()>>(
    name: &str,
    begin: impl FnOnce() -> std::io::Result<(T, F)> + Send + 'static,
) -> std::io::Result<(T, JoinHandle<()>)> {
    let (started, start) = sync_channel(1);
    let run = move || {
        let begun = runtime().and_then(|runtime| {
            let inside = runtime.enter();
            let begun = begin()?;
            drop(inside);
            Ok((runtime, begun))
        });
        // Sending cannot fail, because the caller waits for the result.
        match begun {
            Ok((runtime, (known, until))) => {
                let _ = started.send(Ok(known));
                runtime.block_on(until);
                runtime.shutdown_timeout(Duration::from_secs(1));
            }
            Err(error) => drop(started.send(Err(error))),
        }
    };
    let thread = std::thread::Builder::new().name(name.into()).spawn(run)?;
    let known = start.recv().map_err(std::io::Error::other)??;
    Ok((known, thread))
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_io().enable_time();
    runtime.max_blocking_threads(READERS).build()
}

/// Delivers answers of the state thread to the tasks of this runtime.
fn carry(app: &App) {
    if let Source::Live(hub) = &app.source {
        let answers = Arc::downgrade(&app.answers);
        hub.after_batch(move || answers.upgrade().map(|answers| answers.give()).is_some());
    }
    let answers = Arc::clone(&app.answers);
    tokio::spawn(async move { answers.carry().await });
}

/// Binds a socket to the address of a server, so that it is known to be free before anything else is made.
///
/// # Errors
/// Returns [`Error::Listen`] if the address is taken or not one of this machine.
pub(crate) fn bind(params: &CheckedWebParams) -> Result<TcpSocket> {
    let address = params.0.address;
    let bound = || {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(socket)
    };
    bound().map_err(|error| unbound(address, &error))
}

fn unbound(address: SocketAddr, error: &std::io::Error) -> Error {
    Error::Listen {
        address: address.to_string(),
        what: error.to_string(),
    }
}

/// Accepts connections and serves each of them in a separate task.
async fn accept(listener: TcpListener, app: Arc<App>) {
    let front = Dispatcher::new(Arc::clone(&app), router(Arc::clone(&app)));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The usual reason is too many open files, some of which will be closed soon.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Some(place) = app.connection() else {
            continue;
        };
        let connection = connection(stream, front.clone(), &app);
        tokio::spawn(async move {
            connection.await;
            drop(place);
        });
    }
}

/// Largest head of a request in bytes.
const HEAD: usize = 16 << 10;

fn connection(
    stream: TcpStream,
    front: Dispatcher,
    app: &App,
) -> impl Future<Output = ()> + Send + 'static {
    let (head, patience) = (app.params.head, app.params.patience);
    async move {
        // Answers are short and should not wait for another packet. A failure only delays them.
        let _ = stream.set_nodelay(true);
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(head)
            .max_buf_size(HEAD)
            .serve_connection(SendTimeout::new(TokioIo::new(stream), patience), front);
        // A connection error concerns only the peer.
        let _ = served.await;
    }
}

fn router(app: Arc<App>) -> Router {
    Router::new()
        .route(wire::HELLO, post(client_messages::hello))
        .route(wire::PUSH, post(client_messages::push))
        .route("/", get(page_queries::page))
        .route("/api/run", get(page_queries::run))
        .route("/api/ranking", get(page_queries::ranking))
        .route("/api/steps", get(page_queries::steps))
        .route("/api/totals", get(page_queries::totals))
        .route("/api/profile", get(page_queries::profile))
        .route("/api/counters", get(counters::counters))
        .route("/api/distribution", get(distribution::distribution))
        .route("/api/slow", get(slow::slow))
        .route("/api/causes", get(slow::causes))
        .route("/api/changes", get(slow::changes))
        .route("/api/lost", get(lost::lost))
        .route("/api/stacked", get(lost::stacked))
        .route("/api/functions", get(page_queries::functions))
        .route("/api/samples", get(page_queries::samples))
        .route("/api/records", get(page_queries::records))
        .route("/api/record", get(page_queries::record))
        .route("/api/get_anomalystats", get(chimbuko::anomaly_stats))
        .route("/api/get_anomalydata", get(chimbuko::anomaly_data))
        .route("/api/get_funcstats", get(chimbuko::function_stats))
        .route("/events", get(events::events))
        .route("/health", get(page_queries::health))
        .route("/metrics", get(metrics::metrics))
        .fallback(page_queries::nothing)
        .layer(from_fn_with_state(Arc::clone(&app), app::guarded))
        .with_state(app)
}
