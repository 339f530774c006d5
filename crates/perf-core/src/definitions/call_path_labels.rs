//! [`CallPathLabels`]: labels that identify call paths: their names, with the number of the call
//! path if several share the names.

use crate::{CallPathId, CallTree, Region};
use std::collections::HashMap;

/// Labels of call paths that identify them.
///
/// The call trees of some files distinguish call sites, so that several call paths have the same
/// names from the root. Their labels have the number of the call path appended.
///
/// ```
/// use perf_core::{CallPath, CallPathId, CallPathLabels, CallTree, Region, RegionId};
/// let mut calls = CallTree::default();
/// let main = calls.child(None, RegionId(0))?;
/// for _ in 0..2 {
///     calls.push(CallPath { region: RegionId(1), parent: Some(main) })?;
/// }
/// let regions = [Region::named("main"), Region::named("solve")];
/// let labels = CallPathLabels::of(&calls, &regions);
/// assert_eq!(labels.label(main), "main");
/// assert_eq!(labels.label(CallPathId(2)), "main > solve (call path 2)");
/// # Ok::<(), perf_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CallPathLabels<'a> {
    /// Call paths.
    calls: &'a CallTree,
    /// Regions of the call paths.
    regions: &'a [Region],
    /// `true` for each call path whose names are those of another call path too.
    is_shared: Vec<bool>,
}

impl<'a> CallPathLabels<'a> {
    /// Finds the call paths that share their names. Takes time linear in their number.
    pub fn of(calls: &'a CallTree, regions: &'a [Region]) -> Self {
        // A call path is named by the class of its parent and its own name. Parents come first.
        let mut known: HashMap<(Option<usize>, Option<&str>), usize> = HashMap::new();
        let mut counts: Vec<usize> = Vec::new();
        let mut classes: Vec<usize> = Vec::with_capacity(calls.paths().len());
        for path in calls.paths() {
            let parent = path.parent.and_then(|id| classes.get(id.index()).copied());
            let name = regions.get(path.region.index());
            let name = name.map(|region| region.name.as_str());
            let class = *known.entry((parent, name)).or_insert(counts.len());
            match counts.get_mut(class) {
                Some(count) => *count += 1,
                None => counts.push(1),
            }
            classes.push(class);
        }
        let is_shared = |class: usize| counts.get(class).is_some_and(|count| *count > 1);
        CallPathLabels {
            calls,
            regions,
            is_shared: classes.into_iter().map(is_shared).collect(),
        }
    }

    /// Returns the label of a call path: [`CallTree::name`], with the number of the call path if
    /// another one has the same names.
    pub fn label(&self, id: CallPathId) -> String {
        let name = self.calls.name(id, self.regions);
        match self.is_shared.get(id.index()) {
            Some(true) => format!("{name} (call path {id})"),
            _ => name,
        }
    }
}
