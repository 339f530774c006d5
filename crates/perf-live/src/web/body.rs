//! Bodies of HTTP answers: one that holds reserved memory until it is sent, and one that is sent in parts.

use axum::body::{Body, Bytes};
use http_body::Frame;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::Receiver;

/// Bytes whose reserved memory is released once they are sent or dropped.
#[derive(Debug)]
pub(super) struct Held {
    /// Bytes to send.
    bytes: Option<Bytes>,
    /// Reserved memory; `None` if nothing was reserved.
    _room: Option<OwnedSemaphorePermit>,
}

/// Returns a body that holds reserved memory.
pub(super) fn held(bytes: Vec<u8>, room: Option<OwnedSemaphorePermit>) -> Body {
    Body::new(Held {
        bytes: Some(bytes.into()),
        _room: room,
    })
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        let length = self.bytes.as_ref().map_or(0, Bytes::len);
        http_body::SizeHint::with_exact(length as u64)
    }
}

/// Body whose parts are sent by another task.
#[derive(Debug)]
pub(super) struct Streamed(pub(super) Receiver<Bytes>);

impl http_body::Body for Streamed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.0.poll_recv(context);
        next.map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
    }
}
