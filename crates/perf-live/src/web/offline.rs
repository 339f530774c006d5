//! [`Offline`]: HTTP interface of a server without a network, for tests, which answers a request
//! given as values with a [`Reply`].

use super::{CheckedWebParams, Source, app::App, beside, carry, router};
use crate::{Error, Result};
use axum::body::Body;
use axum::http::{Request, header};
use axum::response::Response;
use http_body::Body as _;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Server without a network, which runs in a separate thread. It is meant for tests and for
/// programs that have their own HTTP server. [`answer`](Self::answer) blocks the calling thread
/// until the answer is complete, so asynchronous programs must treat it like file access.
///
/// ```
/// use perf_live::hub::Hub;
/// use perf_live::web::{Offline, Service};
/// # let file = std::env::temp_dir().join(format!("perf-live-offline-{}.sqlite", std::process::id()));
/// # std::fs::remove_file(&file).ok();
/// let hub = Hub::open(&file, Default::default())?;
/// let offline = Offline::new(hub.clone(), Service::params().token("sixteen-letters.").check()?)?;
/// let reply = offline.answer("GET", "/api/run", &[("host", b"localhost")], Vec::new());
/// assert_eq!(reply.status, 200);
/// assert!(reply.body.starts_with(b"{"));
/// let reply = offline.answer("POST", "/v1/hello", &[("host", b"localhost")], Vec::new());
/// assert_eq!(reply.status, 401);
/// hub.close();
/// # std::fs::remove_file(&file).ok();
/// # Ok::<(), perf_live::Error>(())
/// ```
#[derive(Debug)]
pub struct Offline {
    /// Sender of requests. It is dropped before the thread is joined, so that the thread ends.
    requests: Option<UnboundedSender<PendingRequest>>,
    /// Thread of the server.
    thread: Option<JoinHandle<()>>,
}

/// Request, and the channel for the answer.
type PendingRequest = (Request<Body>, SyncSender<Reply>);

/// Answer to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// HTTP status code.
    pub status: u16,
    /// Names and values of the headers.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Complete body.
    pub body: Vec<u8>,
}

/// Number of messages in an answer to a request for events, which have no end.
const MESSAGES: usize = 2;

impl Offline {
    /// Creates a server for a running or a finished run. The address, the limit on connections and
    /// the timeouts of connections are ignored.
    ///
    /// # Errors
    /// Returns [`Error::Listen`] if the system cannot create a thread or runtime.
    pub fn new(source: impl Into<Source>, params: CheckedWebParams) -> Result<Self> {
        let source = source.into();
        let (requests, mut pending) = unbounded_channel::<PendingRequest>();
        let begin = move || {
            let app = App::new(source, params.0);
            carry(&app);
            let router = TowerToHyperService::new(router(Arc::new(app)));
            let answers = async move {
                while let Some((request, to)) = pending.recv().await {
                    let response = router.call(request);
                    tokio::spawn(async move {
                        let reply = match response.await {
                            Ok(response) => reply(response).await,
                            Err(never) => match never {},
                        };
                        // Sending cannot fail, because the caller waits for the reply.
                        let _ = to.send(reply);
                    });
                }
            };
            Ok(((), answers))
        };
        let ((), thread) = beside("offline", begin).map_err(|error| Error::Listen {
            address: "nowhere".into(),
            what: error.to_string(),
        })?;
        Ok(Offline {
            requests: Some(requests),
            thread: Some(thread),
        })
    }

    /// Answers a request, which is given by its method, its path with the query string, its headers
    /// and its body. The header `Content-Length` is added if it is missing and the body is not
    /// empty. The status is `400` for invalid HTTP and `503` if the thread has failed. Events have
    /// no end, so only the first two messages of `/events` are returned.
    pub fn answer(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &[u8])],
        body: Vec<u8>,
    ) -> Reply {
        let length = body.len();
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let has_length = |head: &axum::http::HeaderMap| head.contains_key(header::CONTENT_LENGTH);
        if length > 0 && !request.headers_ref().is_some_and(has_length) {
            request = request.header(header::CONTENT_LENGTH, length);
        }
        let refused = |status| Reply {
            status,
            ..Reply::default()
        };
        let Ok(request) = request.body(Body::from(body)) else {
            return refused(400);
        };
        let (to, reply) = sync_channel(1);
        if let Some(requests) = &self.requests {
            // If the thread has ended, `recv` below fails.
            let _ = requests.send((request, to));
        }
        reply.recv().unwrap_or_else(|_| refused(503))
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        self.requests.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread cannot be reported any more.
            let _ = thread.join();
        }
    }
}

async fn reply(response: Response) -> Reply {
    let (head, mut body) = response.into_parts();
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    let mut reply = Reply {
        status: head.status.as_u16(),
        headers: headers.collect(),
        body: Vec::new(),
    };
    let has_end = body.size_hint().exact().is_some();
    let mut messages = 0;
    while has_end || messages < MESSAGES {
        let next = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        let Some(Ok(frame)) = next.await else {
            break;
        };
        if let Ok(data) = frame.into_data() {
            reply.body.extend_from_slice(&data);
            messages += 1;
        }
    }
    reply
}
