//! [`Service`]: the web of a server: messages of clients, the page, its questions and its news. [`Offline`]
//! is the same without a network.

mod answers;
mod api;
mod app;
mod body;
mod events;
mod front;
mod guard;
mod metrics;
mod offline;
mod params;
mod patient;
mod query;
mod write;

pub use app::Source;
pub use offline::{Offline, Reply};
pub use params::{CheckedWebParams, WebParams};

use crate::{Error, Result, wire};
use app::App;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use front::Front;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use patient::Patient;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;

/// A server on the network, in a thread of its own. It ends when this is dropped.
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
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Connections that wait to be accepted: many ranks start at once.
const BACKLOG: u32 = 4096;

/// Threads that ask the database.
const READERS: usize = 8;

impl Service {
    /// Who may speak to the server, to be set up and checked.
    pub fn params() -> WebParams {
        WebParams::default()
    }

    /// Listens.
    ///
    /// # Errors
    /// [`Error::Listen`] if it cannot.
    pub fn start(source: impl Into<Source>, params: CheckedWebParams) -> Result<Self> {
        let wanted = params.0.address;
        let source = source.into();
        let (stop, stopped) = oneshot::channel::<()>();
        let begin = move || {
            let listener = listen(wanted)?;
            let address = listener.local_addr()?;
            let app = Arc::new(App::new(source, params.0));
            carry(&app);
            tokio::spawn(accept(listener, app));
            // That the other end is gone means the same.
            Ok((address, async { drop(stopped.await) }))
        };
        let (address, thread) = beside("web", begin).map_err(|error| Error::Listen {
            address: wanted.to_string(),
            what: error.to_string(),
        })?;
        Ok(Service {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits as long as it runs.
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
            // Nobody is left to hear of a failure.
            let _ = thread.join();
        }
    }
}

/// Runs a server in a thread of its own, until the future that `begin` gives is ready. Who starts it may be in a runtime
/// itself, where none may be waited in or dropped: it sees nothing of this one. Gives what `begin` tells.
fn beside<T: Send + 'static, F: Future<Output = ()>>(
    name: &str,
    begin: impl FnOnce() -> std::io::Result<(T, F)> + Send + 'static,
) -> std::io::Result<(T, JoinHandle<()>)> {
    let (tell, told) = sync_channel(1);
    let run = move || {
        let begun = runtime().and_then(|runtime| {
            let inside = runtime.enter();
            let begun = begin()?;
            drop(inside);
            Ok((runtime, begun))
        });
        // Who started it waits for this.
        match begun {
            Ok((runtime, (known, until))) => {
                let _ = tell.send(Ok(known));
                runtime.block_on(until);
                runtime.shutdown_timeout(Duration::from_secs(1));
            }
            Err(error) => drop(tell.send(Err(error))),
        }
    };
    let thread = std::thread::Builder::new().name(name.into()).spawn(run)?;
    let known = told.recv().map_err(std::io::Error::other)??;
    Ok((known, thread))
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_io().enable_time();
    runtime.max_blocking_threads(READERS).build()
}

/// Brings what the keeper says to who waits for it in this runtime.
fn carry(app: &App) {
    if let Source::Live(hub) = &app.source {
        let answers = Arc::downgrade(&app.answers);
        hub.after_batch(move || answers.upgrade().map(|answers| answers.give()).is_some());
    }
    let answers = Arc::clone(&app.answers);
    tokio::spawn(async move { answers.carry().await });
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves each connection in a task of its own.
async fn accept(listener: TcpListener, app: Arc<App>) {
    let front = Front::new(Arc::clone(&app), router(Arc::clone(&app)));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Too many files are open: some will be closed.
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

/// Most bytes of the head of a request.
const HEAD: usize = 16 << 10;

fn connection(
    stream: TcpStream,
    front: Front,
    app: &App,
) -> impl Future<Output = ()> + Send + 'static {
    let (head, patience) = (app.params.head, app.params.patience);
    async move {
        // Answers are short: none should wait for another packet. Without it they are only later.
        let _ = stream.set_nodelay(true);
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(head)
            .max_buf_size(HEAD)
            .serve_connection(Patient::new(TokioIo::new(stream), patience), front);
        // What is wrong with a connection is the matter of its other side.
        let _ = served.await;
    }
}

fn router(app: Arc<App>) -> Router {
    Router::new()
        .route(wire::HELLO, post(write::hello))
        .route(wire::PUSH, post(write::push))
        .route("/", get(api::page))
        .route("/api/run", get(api::run))
        .route("/api/ranking", get(api::ranking))
        .route("/api/steps", get(api::steps))
        .route("/api/totals", get(api::totals))
        .route("/api/profile", get(api::profile))
        .route("/api/functions", get(api::functions))
        .route("/api/samples", get(api::samples))
        .route("/api/records", get(api::records))
        .route("/api/record", get(api::record))
        .route("/events", get(events::events))
        .route("/health", get(api::health))
        .route("/metrics", get(metrics::metrics))
        .fallback(api::nothing)
        .layer(from_fn_with_state(Arc::clone(&app), app::guarded))
        .with_state(app)
}
