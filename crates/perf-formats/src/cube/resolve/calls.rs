//! Resolution of the call paths of an anchor: orders them, replaces the ids of regions by indices,
//! and adds parameters and attributes as properties.

use super::ids::Ids;
use super::{Resolved, Resolver};
use crate::cube::anchor::{Cnode, Numbered};
use crate::cube::row_order::Forest;
use crate::{Error, Result};
use perf_core::{CallPath, CallPathId, Region, RegionId};

/// Number of call paths between two cancellation checks.
const PATHS_PER_CHECK: usize = 1 << 14;

/// Index of a call path, name and value of a property.
type Fact = (u32, String, String);

impl Resolver<'_> {
    pub(super) fn calls(
        &mut self,
        cnodes: Numbered<Cnode>,
        facts: [Vec<Fact>; 2],
        regions: &Ids,
        resolved: &mut Resolved,
    ) -> Result<()> {
        // Call paths are ordered by the ids of the file if that puts parents before children.
        // Otherwise the order of the document is used.
        let id_of = |place: u32| cnodes.ids.get(place as usize).map(|(id, _)| *id);
        let mut all = cnodes.things.iter().zip(&cnodes.ids);
        let is_sorted = all.all(|(cnode, (id, _))| {
            let parent = cnode.parent.and_then(id_of);
            parent.is_none_or(|parent| parent < *id)
        });
        let (cnodes, ids) = if is_sorted {
            self.sorted(cnodes, "call path")?
        } else {
            let ids = self.unsorted(&cnodes, "call path")?;
            (cnodes.things, ids)
        };
        let mut parents = Vec::with_capacity(cnodes.len());
        for (number, cnode) in cnodes.iter().enumerate() {
            if number.is_multiple_of(PATHS_PER_CHECK) {
                self.options.job.check()?;
            }
            let region = match regions.get(&cnode.callee) {
                Some(region) => RegionId(region),
                None => {
                    let what = format!("call path {}, region {}", cnode.id, cnode.callee);
                    self.unresolved(cnode.at, what);
                    self.placeholder(resolved)?
                }
            };
            let parent = cnode.parent.map(|place| CallPathId(ids.placed(place)));
            resolved.calls.push(CallPath { region, parent })?;
            parents.push(parent);
        }
        for (place, name, value) in facts.into_iter().flatten() {
            let path = CallPathId(ids.placed(place));
            resolved.calls.annotate(path, name, value);
        }
        resolved.cnodes = cnodes.iter().map(|cnode| cnode.id).collect();
        resolved.forest = Forest::new(&parents, ids.in_document());
        Ok(())
    }

    /// Returns a placeholder for undefined regions.
    fn placeholder(&self, resolved: &mut Resolved) -> Result<RegionId> {
        const NAME: &str = "undefined region";
        if resolved.regions.last().is_none_or(|last| last.name != NAME) {
            resolved.regions.push(Region::named(NAME));
        }
        let id = RegionId::from_index(resolved.regions.len() - 1);
        id.ok_or_else(|| Error::Usage {
            what: "more than 2^32 regions".into(),
        })
    }
}
