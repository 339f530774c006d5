//! [`SendTimeout`]: connection whose writes fail if the peer accepts no data for some time.

use hyper::rt::{Read, ReadBufCursor, Write};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Sleep;

/// Connection whose writes fail if the peer accepts no data for the duration of the timeout.
#[derive(Debug)]
pub(super) struct SendTimeout<T> {
    /// Underlying connection.
    inner: T,
    /// Timeout.
    patience: Duration,
    /// Timer that runs while data waits to be sent; `None` at other times.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<T> SendTimeout<T> {
    pub(super) fn new(inner: T, patience: Duration) -> Self {
        SendTimeout {
            inner,
            patience,
            waiting: None,
        }
    }

    /// Returns the result of an attempt to send, or the error `TimedOut` if attempts have waited
    /// for too long.
    fn watch<R>(
        &mut self,
        context: &mut Context<'_>,
        attempt: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if attempt.is_ready() {
            self.waiting = None;
            return attempt;
        }
        let patience = self.patience;
        let make = || Box::pin(tokio::time::sleep(patience));
        match self.waiting.get_or_insert_with(make).as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: Read + Unpin> Read for SendTimeout<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, to)
    }
}

impl<T: Write + Unpin> Write for SendTimeout<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.inner).poll_write(context, from);
        self.watch(context, attempt)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.inner).poll_flush(context);
        self.watch(context, attempt)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.inner).poll_shutdown(context);
        self.watch(context, attempt)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.inner).poll_write_vectored(context, from);
        self.watch(context, attempt)
    }
}
