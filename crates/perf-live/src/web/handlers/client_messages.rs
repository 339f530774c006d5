//! Handlers of the messages of clients, hello and push: read the body within limits, wait for the
//! state thread, and return the answer.

use crate::hub::{Hub, HubAnswer, Message};
use crate::web::access::may_write;
use crate::web::app::{App, Source, come_again, count, refusal};
use crate::web::body::held;
use crate::wire::Answer;
use crate::{Error, Result};
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::oneshot;

/// Handles a hello, which contains the identity of a client.
pub(crate) async fn hello(State(app): State<Arc<App>>, request: Request) -> Response {
    let most = app.params.body as u64;
    match message(&app, request, Message::hello).await {
        Ok(reply) => binary(
            StatusCode::OK,
            reply.welcome(most).encode_with(&reply.positions),
        ),
        Err(refused) => refused,
    }
}

/// Handles a push, which contains new knowledge and records of a client.
pub(crate) async fn push(State(app): State<Arc<App>>, request: Request) -> Response {
    match message(&app, request, Message::push).await {
        Ok(reply) => answer(&app, reply),
        Err(refused) => refused,
    }
}

/// Reads a message, passes it to the state thread and returns the answer. Errors are returned as
/// complete responses.
async fn message(
    app: &App,
    request: Request,
    decode: fn(&[u8]) -> Result<Message>,
) -> Result<HubAnswer, Response> {
    let Source::Live(hub) = &app.source else {
        let what = "the run is over and the database is read-only; send messages to a server started with `live serve`";
        return Err(refusal(StatusCode::METHOD_NOT_ALLOWED, what));
    };
    let bytes = body(app, request).await?;
    let message = decode(&bytes).map_err(|error| {
        count(&app.seen.malformed);
        refusal(StatusCode::BAD_REQUEST, error)
    })?;
    let size = bytes.len();
    drop(bytes);
    count(&app.seen.messages);
    app.seen.bytes.fetch_add(size as u64, Ordering::Relaxed);
    let reply = wait(app, hub, message, size).await;
    reply.map_err(|error| refused(app, &error))
}

async fn wait(app: &App, hub: &Hub, message: Message, size: usize) -> Result<HubAnswer> {
    let (sender, receiver) = oneshot::channel();
    let answers = Arc::clone(&app.answers);
    hub.offer(message, size, move |reply| answers.put(sender, reply))?;
    receiver.await.unwrap_or(Err(Error::Closed))
}

/// Reads the body of a request if the request has the token of writers, a valid length, and memory
/// is available.
async fn body(app: &App, request: Request) -> Result<Bytes, Response> {
    let headers = request.headers();
    if !may_write(headers, &app.params.token) {
        count(&app.seen.strangers);
        let mut response = refusal(
            StatusCode::UNAUTHORIZED,
            "the token is missing or wrong; send it in the header `Authorization: Bearer TOKEN`",
        );
        let scheme = HeaderValue::from_static("Bearer");
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, scheme);
        return Err(close(response));
    }
    let Some(length) = length(headers) else {
        let what = "the header Content-Length is missing; state the length of the message";
        return Err(close(refusal(StatusCode::LENGTH_REQUIRED, what)));
    };
    if length > app.params.body {
        let what = format!(
            "the message has {length} bytes and the limit is {}; send fewer records in a message",
            app.params.body
        );
        return Err(close(refusal(StatusCode::PAYLOAD_TOO_LARGE, what)));
    }
    let Some(_room) = app.room(length) else {
        count(&app.seen.busy);
        return Err(close(again(Duration::from_secs(1))));
    };
    let read = axum::body::to_bytes(request.into_body(), length);
    match tokio::time::timeout(app.params.patience, read).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(close(refusal(
            StatusCode::BAD_REQUEST,
            "the connection ended before the message; send it again",
        ))),
        Err(_) => {
            count(&app.seen.slow);
            let what = "the message did not arrive in time; send it again";
            Err(close(refusal(StatusCode::REQUEST_TIMEOUT, what)))
        }
    }
}

fn length(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// Marks the response so that the connection is closed and the rest of a body is not read.
fn close(mut response: Response) -> Response {
    let value = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, value);
    response
}

/// Returns the response 503, which asks the client to send the message again after a delay.
fn again(after: Duration) -> Response {
    let mut response = refusal(
        StatusCode::SERVICE_UNAVAILABLE,
        "the server is busy; send the message again after the delay in Retry-After",
    );
    come_again(&mut response, after);
    response
}

fn refused(app: &App, error: &Error) -> Response {
    match error {
        Error::Anomaly(perf_anomaly::Error::OtherSession { session }) => {
            let answer = Answer {
                session: *session,
                ..Answer::default()
            };
            binary(StatusCode::CONFLICT, answer.encode())
        }
        Error::Busy { again: after } => {
            count(&app.seen.busy);
            again(*after)
        }
        Error::Closed => again(Duration::from_secs(1)),
        Error::TooMany(_) => refusal(StatusCode::INSUFFICIENT_STORAGE, error),
        other => refusal(StatusCode::UNPROCESSABLE_ENTITY, other),
    }
}

/// Returns an answer with the view if memory is available. Otherwise the answer has no view and
/// view number 0, so that the client requests the view again with its next message.
fn answer(app: &App, mut reply: HubAnswer) -> Response {
    let mut answer = HubAnswer {
        view: None,
        ..reply.clone()
    }
    .answer();
    let view = reply.view.take().map(|view| view.encode());
    let room = view.as_ref().and_then(|bytes| app.room(bytes.len()));
    if room.is_some() {
        answer.view = view;
    } else if view.is_some() {
        answer.number = 0;
    }
    let mut response = Response::new(held(answer.encode(), room));
    mark(&mut response);
    response
}

fn binary(status: StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = (status, bytes).into_response();
    mark(&mut response);
    response
}

fn mark(response: &mut Response) {
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
}
