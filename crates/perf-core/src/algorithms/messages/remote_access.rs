//! Matching of remote memory accesses with their completions on the same location, as
//! [`RemoteAccess`]es.

use super::ranks::Ranks;
use super::{Endpoint, Messages, Unmatched, UnmatchedCause};
use crate::trace::RecordCounts;
use crate::{Event, LocationId, RmaCompletion, RmaOp, WindowId};
use std::collections::HashMap;

/// Remote memory access with its completion. CUDA recordings contain copies between host and device
/// as such accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RemoteAccess {
    /// Start.
    pub start: Endpoint,
    /// Completion.
    pub end: Endpoint,
    /// Operation.
    pub op: RmaOp,
    /// Window.
    pub window: WindowId,
    /// Remote location, or `None` if the definitions do not contain it.
    pub remote: Option<LocationId>,
    /// Length in bytes.
    pub bytes: u64,
}

/// Remote accesses of one location, and of all locations once they are merged.
#[derive(Debug, Default)]
pub(super) struct Remote {
    /// Completed accesses.
    accesses: Vec<RemoteAccess>,
    /// Ends without a partner.
    unmatched: Vec<Unmatched>,
    /// Accesses of this location that are not complete; their `end` is still `start`.
    open: HashMap<(WindowId, u64), RemoteAccess>,
}

impl Remote {
    /// Allocates space for all accesses.
    pub(super) fn with_capacity(counts: RecordCounts) -> Self {
        Remote {
            accesses: Vec::with_capacity(counts.accesses),
            ..Remote::default()
        }
    }

    /// Adds the accesses of another location.
    pub(super) fn append(&mut self, mut other: Remote) {
        self.accesses.append(&mut other.accesses);
        self.unmatched.append(&mut other.unmatched);
    }

    pub(super) fn event(&mut self, at: Endpoint, event: Event<'_>, ranks: &Ranks<'_>) {
        match event {
            Event::Rma {
                op,
                window,
                remote,
                bytes,
                matching,
            } => {
                let remote = ranks.remote(at.location, window, remote);
                let access = RemoteAccess {
                    start: at,
                    end: at,
                    op,
                    window,
                    remote,
                    bytes,
                };
                if let Some(earlier) = self.open.insert((window, matching), access) {
                    self.lose(
                        earlier.start,
                        UnmatchedCause::AccessNotComplete,
                        earlier.remote,
                    );
                }
            }
            Event::RmaComplete {
                by,
                window,
                matching,
            } => match by {
                RmaCompletion::Test => {}
                RmaCompletion::Blocking | RmaCompletion::NonBlocking => {
                    match self.open.remove(&(window, matching)) {
                        Some(access) => self.accesses.push(RemoteAccess { end: at, ..access }),
                        None => self.lose(at, UnmatchedCause::AccessNotStarted, None),
                    }
                }
                // This is often a second completion of an access that is already complete on this
                // side, so it is not an error if no access is open.
                RmaCompletion::Remote => {
                    if let Some(access) = self.open.remove(&(window, matching)) {
                        self.accesses.push(RemoteAccess { end: at, ..access });
                    }
                }
            },
            _ => {}
        }
    }

    pub(super) fn finish(&mut self) {
        let open = std::mem::take(&mut self.open);
        for access in open.into_values() {
            self.lose(
                access.start,
                UnmatchedCause::AccessNotComplete,
                access.remote,
            );
        }
    }

    fn lose(&mut self, end: Endpoint, cause: UnmatchedCause, peer: Option<LocationId>) {
        self.unmatched.push(Unmatched { end, cause, peer });
    }

    pub(super) fn gather(mut self, found: &mut Messages) {
        found.accesses = self.accesses;
        found.unmatched.append(&mut self.unmatched);
    }
}
