//! Requests of non-blocking calls: the records that start and complete each.

use crate::Result;
use perf_core::{Event, Job, LocationView};
use std::collections::HashMap;

/// Records of one location that belong together by their request.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Numbers of a completed receive and of its post, ascending.
    posts: Vec<(usize, usize)>,
    /// Numbers of a send and of its completion, ascending.
    completions: Vec<(usize, usize)>,
}

impl Requests {
    /// Finds the posts and completions of a location.
    pub(super) fn of(location: LocationView<'_>, job: &Job) -> Result<Self> {
        let mut found = Requests::default();
        let (mut posted, mut started) = (HashMap::new(), HashMap::new());
        let mut checks = job.checks();
        for (index, (_, event)) in location.range().zip(location.iter()) {
            checks.next(1)?;
            match event {
                Event::RecvPost { request } => {
                    posted.insert(request, index);
                }
                Event::Recv(transfer) => {
                    let post = transfer.request.and_then(|request| posted.remove(&request));
                    found.posts.extend(post.map(|post| (index, post)));
                }
                Event::Send(transfer) => {
                    if let Some(request) = transfer.request {
                        started.insert(request, index);
                    }
                }
                Event::SendComplete { request } => {
                    let start = started.remove(&request);
                    found.completions.extend(start.map(|start| (start, index)));
                }
                Event::RequestCancelled { request } => {
                    posted.remove(&request);
                    started.remove(&request);
                }
                _ => {}
            }
        }
        // Sends complete in any order.
        found.completions.sort_unstable();
        Ok(found)
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
