//! [`Server`]: HTTP server on the loopback interface for the page of timelines, which ends some
//! seconds after the last page is closed.

use super::pages::{Answer, Pages, Request};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use perfkit::core::Job;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{Interval, interval, sleep};

/// Time without an open page after which the server ends. A page that is loaded again takes less.
const GRACE: Duration = Duration::from_secs(10);

/// Number of requests that are computed at a time. Each of them uses all threads.
const AT_ONCE: usize = 2;

/// Largest number of connections at a time. Browsers open six.
const CONNECTIONS: usize = 64;

/// Timeout for the head of a request.
const HEAD: Duration = Duration::from_secs(15);

/// Server in a thread of its own. It ends some seconds after the last page is closed.
#[derive(Debug)]
pub struct Server {
    /// Address on which the server listens.
    address: SocketAddr,
    /// Path of the page.
    path: String,
    /// Thread of the server.
    thread: JoinHandle<()>,
}

/// State that all connections share.
#[derive(Debug)]
struct App {
    pages: Pages,
    /// Permits of computations.
    computing: Semaphore,
    /// Number of open pages.
    open: AtomicUsize,
    /// `true` once a page was open.
    was_open: AtomicBool,
}

impl Server {
    /// Starts a server on a port of 127.0.0.1; port 0 is a free one. With `keep` it does not end.
    ///
    /// # Errors
    /// Returns the error of the system if the port is taken, or a thread cannot be created.
    pub fn start(pages: Pages, port: u16, keep: bool) -> std::io::Result<Self> {
        let path = pages.path();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(AT_ONCE)
            .build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, port)))?;
        let address = listener.local_addr()?;
        let app = Arc::new(App {
            pages,
            computing: Semaphore::new(AT_ONCE),
            open: AtomicUsize::new(0),
            was_open: AtomicBool::new(false),
        });
        let run = move || {
            runtime.block_on(async {
                let accepting = tokio::spawn(accept(listener, Arc::clone(&app)));
                if keep {
                    // Accepting does not end.
                    let _ = accepting.await;
                } else {
                    closed(&app).await;
                }
            });
            runtime.shutdown_timeout(Duration::from_secs(1));
        };
        let thread = std::thread::Builder::new()
            .name("serve".into())
            .spawn(run)?;
        Ok(Server {
            address,
            path,
            thread,
        })
    }

    /// Returns the address of the page.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    /// Blocks the calling thread as long as the server runs.
    pub fn wait(self) {
        // A panic of the thread has been printed.
        let _ = self.thread.join();
    }
}

/// Returns once no page has been open for some time, after the first one was opened.
async fn closed(app: &App) {
    let mut left = GRACE;
    const STEP: Duration = Duration::from_millis(500);
    while !left.is_zero() {
        sleep(STEP).await;
        let is_open = app.open.load(Ordering::Relaxed) > 0;
        left = if is_open || !app.was_open.load(Ordering::Relaxed) {
            GRACE
        } else {
            left.saturating_sub(STEP)
        };
    }
}

async fn accept(listener: TcpListener, app: Arc<App>) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // The permits are never closed.
        let Ok(place) = Arc::clone(&connections).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            // The usual reason is too many open files, some of which will be closed soon.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let app = Arc::clone(&app);
        tokio::spawn(async move {
            let service = service_fn(|request| respond(Arc::clone(&app), request));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .serve_connection(TokioIo::new(stream), service);
            // A connection error concerns only the peer.
            let _ = connection.await;
            drop(place);
        });
    }
}

/// Cancels a job when it is dropped: when the page has cancelled its request.
struct Cancelling(Job);

impl Drop for Cancelling {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

async fn respond(
    app: Arc<App>,
    request: hyper::Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let job = Job::default();
    let cancelling = Cancelling(job.clone());
    // Requests that are cancelled while they wait are never computed.
    let permit = app.computing.acquire().await;
    let shared = Arc::clone(&app);
    let computed = tokio::task::spawn_blocking(move || {
        let host = request.headers().get(header::HOST);
        let request = Request {
            method: request.method().as_str(),
            host: host.and_then(|host| host.to_str().ok()),
            path: request.uri().path(),
            query: request.uri().query().unwrap_or_default(),
        };
        shared.pages.answer(request, &job)
    });
    let answer = computed.await;
    drop((permit, cancelling));
    let (status, kind, body) = match answer {
        Ok(Answer::Page(text)) => (200, "text/html; charset=utf-8", Body::from(text)),
        Ok(Answer::Json(text)) => (200, "application/json", Body::from(text)),
        Ok(Answer::Open) => (200, "text/event-stream", Body::new(Open::new(app))),
        Ok(Answer::Refused(code, what)) => (code, "text/plain; charset=utf-8", Body::from(what)),
        Err(_) => (
            500,
            "text/plain; charset=utf-8",
            Body::from("an error in perfkit; the terminal of perfkit serve shows it"),
        ),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    let headers: &mut HeaderMap = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Body of the stream of an open page: an empty comment each second, so that a closed page is noticed.
struct Open {
    app: Arc<App>,
    ticks: Interval,
}

impl Open {
    fn new(app: Arc<App>) -> Self {
        app.open.fetch_add(1, Ordering::Relaxed);
        app.was_open.store(true, Ordering::Relaxed);
        let ticks = interval(Duration::from_secs(1));
        Open { app, ticks }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.app.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl http_body::Body for Open {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let ready = self.ticks.poll_tick(context);
        ready.map(|_| Some(Ok(Frame::data(Bytes::from_static(b":\n\n")))))
    }
}
