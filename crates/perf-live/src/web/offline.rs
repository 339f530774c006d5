//! [`Offline`]: a server that no network leads to.

use super::{CheckedWebParams, READERS, Source, app::App, carry, router};
use crate::{Error, Result};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use axum::response::Response;
use http_body::Body as _;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use std::pin::Pin;
use std::sync::Arc;

/// A server without a network: for tests, and for programs that have an HTTP server of their own.
///
/// ```
/// use perf_live::hub::Hub;
/// use perf_live::web::{Offline, Service};
/// # let file = std::env::temp_dir().join(format!("perf-live-offline-{}.sqlite", std::process::id()));
/// # std::fs::remove_file(&file).ok();
/// let hub = Hub::open(&file, Hub::params().check()?)?;
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
    runtime: tokio::runtime::Runtime,
    router: TowerToHyperService<Router>,
}

/// What was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// The status of HTTP.
    pub status: u16,
    /// Names and values of its head.
    pub headers: Vec<(String, Vec<u8>)>,
    /// What follows the head.
    pub body: Vec<u8>,
}

/// News have no end: so many messages of them are an answer.
const MESSAGES: usize = 2;

impl Offline {
    /// A server of a run that goes on, or of one that is over. Address and times of connections mean
    /// nothing to it.
    ///
    /// # Errors
    /// [`Error::Listen`] if the system gives it no runtime.
    pub fn new(source: impl Into<Source>, params: CheckedWebParams) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(READERS)
            .build();
        let runtime = runtime.map_err(|error| Error::Listen {
            address: "nowhere".into(),
            what: error.to_string(),
        })?;
        let app = App::new(source.into(), params.0);
        carry(&app, &runtime);
        let router = router(Arc::new(app));
        Ok(Offline {
            runtime,
            router: TowerToHyperService::new(router),
        })
    }

    /// What a request is answered with: by its method, its path with what stands behind `?`, the names
    /// and values of its head, and its body, whose length is told unless the head tells one. A head that is
    /// none of HTTP is answered with `400`. Of [news](super::Service), which have no end, the first two
    /// messages are given.
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
        let Ok(request) = request.body(Body::from(body)) else {
            return Reply {
                status: 400,
                ..Reply::default()
            };
        };
        self.runtime.block_on(async {
            match self.router.call(request).await {
                Ok(response) => reply(response).await,
                Err(never) => match never {},
            }
        })
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
