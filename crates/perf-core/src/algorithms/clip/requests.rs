//! [`Requests`]: events of non-blocking operations that a window moves to its edges or leaves out.

use super::Edges;
use crate::{Event, Job, LocationView, Result};
use std::collections::{HashMap, HashSet};

/// Events of a location that are moved to an edge of the window or left out, so that requests are whole.
pub(super) struct Requests {
    /// Indices of the events before the window that are moved to its start.
    pub(super) early: Vec<usize>,
    /// Indices of the events after the window that are moved to its end.
    pub(super) late: Vec<usize>,
    /// Indices of the events in the window that are left out.
    pub(super) dropped: HashSet<usize>,
}

/// Request of a non-blocking operation.
struct Request {
    /// Index of its start.
    start: usize,
    /// `true` for the post of a receive.
    is_receive: bool,
    /// Indices of tests, and of the completion of a send.
    others: Vec<usize>,
    /// Index of the receive, or of the event that cancelled the request.
    end: Option<usize>,
}

impl Requests {
    /// Finds the events that belong to requests. `moved` are the ends of communication that are moved to an edge, and
    /// `never_ends` tells whether the recording contains no completion of a posted receive.
    pub(super) fn of(
        location: LocationView<'_>,
        edges: &Edges,
        moved: &[usize],
        never_ends: &dyn Fn(usize) -> bool,
        job: &Job,
    ) -> Result<Self> {
        let is_kept =
            |index: &usize| edges.inside.contains(index) || moved.binary_search(index).is_ok();
        let mut moved_too = Vec::new();
        let mut dropped = HashSet::new();
        let mut close = |request: Request| {
            let is_whole = match request.end {
                _ if !request.is_receive => is_kept(&request.start),
                Some(end) => is_kept(&end),
                None => never_ends(request.start) && is_kept(&request.start),
            };
            if is_whole && !is_kept(&request.start) {
                moved_too.push(request.start);
            }
            if !is_whole {
                dropped.extend([request.start].into_iter().filter(|_| request.is_receive));
                dropped.extend(request.others);
            }
        };
        let (all, mut open) = (location.all(), HashMap::<u64, Request>::new());
        let mut checks = job.checks();
        for index in 0..all.len() {
            checks.next(1)?;
            let (id, is_receive) = match all.event(index) {
                Some(Event::Send(transfer)) => (transfer.request, Some(false)),
                Some(Event::CollectivePost { request }) => (Some(request), Some(false)),
                Some(Event::RecvPost { request }) => (Some(request), Some(true)),
                Some(Event::Recv(transfer)) => (transfer.request, None),
                Some(
                    Event::SendComplete { request }
                    | Event::RequestTest { request }
                    | Event::RequestCancelled { request },
                ) => (Some(request), None),
                _ => continue,
            };
            let Some(id) = id else {
                continue;
            };
            if let Some(is_receive) = is_receive {
                let request = Request {
                    start: index,
                    is_receive,
                    others: Vec::new(),
                    end: None,
                };
                open.insert(id, request).into_iter().for_each(&mut close);
                continue;
            }
            let Some(request) = open.get_mut(&id) else {
                continue;
            };
            match all.event(index) {
                Some(Event::RequestTest { .. }) => request.others.push(index),
                Some(Event::SendComplete { .. }) => {
                    request.others.push(index);
                    open.remove(&id).into_iter().for_each(&mut close);
                }
                _ => {
                    request.end = Some(index);
                    open.remove(&id).into_iter().for_each(&mut close);
                }
            }
        }
        open.into_values().for_each(&mut close);
        moved_too.extend_from_slice(moved);
        moved_too.sort_unstable();
        moved_too.dedup();
        let late =
            moved_too.split_off(moved_too.partition_point(|index| *index < edges.inside.start));
        Ok(Requests {
            early: moved_too,
            late,
            dropped,
        })
    }
}
