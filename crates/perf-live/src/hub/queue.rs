//! [`Queue`]: queue of messages for the state thread, bounded by their number and their size in
//! bytes.

use crate::{Error, Result};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Delay after which a message that does not fit should be sent again.
const AGAIN: Duration = Duration::from_secs(1);

/// Queue of elements with their sizes in bytes.
#[derive(Debug)]
pub(super) struct Queue<T> {
    /// Elements and state.
    inner: Mutex<Inner<T>>,
    /// Signals new elements.
    news: Condvar,
    /// Largest number of elements.
    most: usize,
    /// Largest total size in bytes.
    most_bytes: usize,
}

#[derive(Debug)]
struct Inner<T> {
    /// Elements with their sizes.
    waiting: VecDeque<(T, usize)>,
    /// Total size in bytes.
    bytes: usize,
    /// `true` once the queue is closed.
    is_closed: bool,
}

impl<T> Queue<T> {
    pub(super) fn new(most: usize, most_bytes: usize) -> Self {
        Queue {
            inner: Mutex::new(Inner {
                waiting: VecDeque::new(),
                bytes: 0,
                is_closed: false,
            }),
            news: Condvar::new(),
            most,
            most_bytes,
        }
    }

    /// Locks the queue. A poisoned lock is harmless, because no holder of the lock can panic.
    fn inner(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an element at the end. An element of any size fits in an empty queue.
    pub(super) fn push(&self, one: T, bytes: usize) -> Result<()> {
        let mut inner = self.inner();
        if inner.is_closed {
            return Err(Error::Closed);
        }
        let is_full =
            inner.waiting.len() >= self.most || inner.bytes.saturating_add(bytes) > self.most_bytes;
        if is_full && !inner.waiting.is_empty() {
            return Err(Error::Busy { again: AGAIN });
        }
        inner.bytes += bytes;
        inner.waiting.push_back((one, bytes));
        // The consumer only waits if the queue is empty.
        if inner.waiting.len() == 1 {
            self.news.notify_one();
        }
        Ok(())
    }

    /// Takes at most `most` elements from the front, and waits if the queue is empty. Returns
    /// `None` if the queue is closed and empty.
    pub(super) fn take(&self, most: usize) -> Option<Vec<T>> {
        let mut inner = self.inner();
        while inner.waiting.is_empty() {
            if inner.is_closed {
                return None;
            }
            let woken = self.news.wait(inner);
            inner = woken.unwrap_or_else(PoisonError::into_inner);
        }
        let count = inner.waiting.len().min(most);
        let mut taken = Vec::with_capacity(count);
        for (one, bytes) in inner.waiting.drain(..count) {
            taken.push((one, bytes));
        }
        inner.bytes -= taken.iter().map(|(_, bytes)| bytes).sum::<usize>();
        Some(taken.into_iter().map(|(one, _)| one).collect())
    }

    /// Returns the number of elements and their total size in bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        let inner = self.inner();
        (inner.waiting.len(), inner.bytes)
    }

    /// Rejects further elements. Waiting elements can still be taken.
    pub(super) fn close(&self) {
        self.inner().is_closed = true;
        self.news.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_do_not_fit_are_deferred() {
        let queue = Queue::new(3, 100);
        assert!(queue.push('a', 60).is_ok());
        assert!(matches!(queue.push('b', 60), Err(Error::Busy { .. })));
        assert!(queue.push('c', 40).is_ok());
        assert!(queue.push('d', 0).is_ok());
        assert!(matches!(queue.push('e', 0), Err(Error::Busy { .. })));
        assert_eq!(queue.size(), (3, 100));
        assert_eq!(queue.take(2), Some(vec!['a', 'c']));
        assert_eq!(queue.size(), (1, 0));
        assert_eq!(queue.take(2), Some(vec!['d']));
        assert!(queue.push('f', 1000).is_ok(), "alone it may pass");
        queue.close();
        assert!(matches!(queue.push('g', 0), Err(Error::Closed)));
        assert_eq!((queue.take(9), queue.take(9)), (Some(vec!['f']), None));
    }
}
