//! [`Requests`]: pairs of records of a location that start and complete each non-blocking send and
//! receive.

use perf_core::{Event, Transfer};
use std::collections::HashMap;

/// Records of one location that belong together by their request.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Numbers of a completed receive and of its post, ascending.
    posts: Vec<(usize, usize)>,
    /// Numbers of a send and of its completion, ascending once all events were added.
    completions: Vec<(usize, usize)>,
    /// Posts of receives that are not complete yet, by request.
    posted: HashMap<u64, usize>,
    /// Sends that are not complete yet, by request.
    started: HashMap<u64, usize>,
}

impl Requests {
    /// Adds the next event of the location.
    pub(super) fn event(&mut self, event: Event<'_>, index: usize) {
        match event {
            Event::RecvPost { request } => {
                self.posted.insert(request, index);
            }
            Event::Recv(Transfer {
                request: Some(request),
                ..
            }) => {
                let post = self.posted.remove(&request);
                self.posts.extend(post.map(|post| (index, post)));
            }
            Event::Send(Transfer {
                request: Some(request),
                ..
            }) => {
                self.started.insert(request, index);
            }
            Event::SendComplete { request } => {
                let start = self.started.remove(&request);
                self.completions.extend(start.map(|start| (start, index)));
            }
            Event::RequestCancelled { request } => {
                self.posted.remove(&request);
                self.started.remove(&request);
            }
            _ => {}
        }
    }

    /// Completes the location.
    pub(super) fn finish(&mut self) {
        (self.posted, self.started) = (HashMap::new(), HashMap::new());
        // Sends complete in any order.
        self.completions.sort_unstable();
    }

    /// Returns the record that posted a completed receive; `None` for a blocking receive.
    pub(super) fn post(&self, receive: usize) -> Option<usize> {
        partner(&self.posts, receive)
    }

    /// Returns the record of the completion of a send; `None` for a blocking send.
    pub(super) fn completion(&self, send: usize) -> Option<usize> {
        partner(&self.completions, send)
    }
}

fn partner(pairs: &[(usize, usize)], first: usize) -> Option<usize> {
    let at = pairs.binary_search_by_key(&first, |pair| pair.0).ok()?;
    pairs.get(at).map(|pair| pair.1)
}
