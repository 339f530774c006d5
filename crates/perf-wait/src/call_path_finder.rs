//! [`CallPathFinder`]: call path of a function below its caller's path in a call tree; recent ones
//! are found without a search.

use perf_core::{CallPathId, CallTree, RegionId};

/// Number of recent call paths, a power of 2.
const RECENT: usize = 64;

/// Call paths by parent and function. Those that were found last are kept apart, because programs repeat few of them.
#[derive(Clone, Debug)]
pub(crate) struct CallPathFinder {
    recent: [Option<(Option<CallPathId>, RegionId, CallPathId)>; RECENT],
}

impl CallPathFinder {
    /// Creates a finder that has found nothing yet.
    pub(crate) fn new() -> Self {
        CallPathFinder {
            recent: [None; RECENT],
        }
    }

    /// Returns the call path of a function below a parent in a tree, which must be the same for all calls.
    pub(crate) fn find(
        &mut self,
        paths: &CallTree,
        parent: Option<CallPathId>,
        function: RegionId,
    ) -> Option<CallPathId> {
        let above = parent.map_or(0, |parent| parent.index() + 1);
        let at = above.wrapping_mul(7).wrapping_add(function.index()) % RECENT;
        if let Some((known, region, path)) = self.recent[at]
            && (known, region) == (parent, function)
        {
            return Some(path);
        }
        let path = paths.find(parent, function)?;
        self.recent[at] = Some((parent, function, path));
        Some(path)
    }
}
