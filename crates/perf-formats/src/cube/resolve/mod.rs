//! [`Resolver`]: converts a parsed [`Anchor`] to the definitions of a profile, [`Resolved`], and
//! the layout of its rows, [`Stored`]: ids become indices, and references are checked.

mod calls;
mod ids;
mod metrics;
mod system;

use super::anchor::Anchor;
use super::data_type::DataType;
use super::row_order::{Forest, Order};
use super::rules;
use crate::Result;
use crate::read_context::ReadContext;
use perf_core::{CallTree, CartTopology, Diagnostics, Place, ProfileMetric, Region, SystemTree};
use std::sync::Arc;

/// Definitions of a profile, and the information needed to read its rows.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    /// System tree.
    pub(super) system: SystemTree,
    /// Regions by id.
    pub(super) regions: Vec<Region>,
    /// Call tree.
    pub(super) calls: CallTree,
    /// Metrics by id.
    pub(super) metrics: Vec<ProfileMetric>,
    /// Topologies over the system tree.
    pub(super) topologies: Vec<CartTopology>,
    /// Properties of the profile.
    pub(super) properties: Vec<(String, String)>,
    /// Call tree with siblings in the order of the document.
    pub(super) forest: Forest,
    /// Ids of the file, by call path.
    pub(super) cnodes: Vec<u64>,
    /// Layout, numbering and members, by metric.
    pub(super) stored: Vec<Stored>,
}

/// Storage of the rows of a metric.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// Id of the metric in the file.
    pub(super) id: u64,
    /// Data type of the values.
    pub(super) kind: DataType,
    /// Numbering order of the rows.
    pub(super) order: Order,
    /// Name of its archive members, without extension.
    pub(super) member: String,
    /// `true` if it may have rows. Derived metrics and those without values have none.
    pub(super) has_rows: bool,
}

pub(super) struct Resolver<'a> {
    /// Name of the file, for diagnostics.
    pub(super) file: &'a Arc<str>,
    /// Options of the read operation.
    pub(super) options: &'a ReadContext,
    /// Diagnostics of the resolution.
    pub(super) found: &'a mut Diagnostics,
    /// `true` if rows are text, as in Cube3; the types of metrics then have no meaning.
    pub(super) is_text: bool,
}

impl Resolver<'_> {
    pub(super) fn resolve(&mut self, anchor: Anchor) -> Result<Resolved> {
        let mut resolved = Resolved {
            properties: anchor.attributes,
            ..Resolved::default()
        };
        self.metrics(anchor.metrics, &mut resolved)?;
        let (regions, region_ids) = self.sorted(anchor.regions, "region")?;
        resolved.regions = regions;
        resolved.properties.extend(anchor.around);
        let texts = anchor.region_texts.into_iter();
        let texts = texts.map(|(place, name, text)| (region_ids.placed(place), name, text));
        let mut texts: Vec<_> = texts.collect();
        texts.sort_by_key(|(region, name, _)| (*region, *name));
        texts.dedup_by_key(|(region, name, _)| (*region, *name));
        let texts = texts.into_iter();
        let texts = texts.map(|(region, name, text)| (format!("{name}:{region}"), text));
        resolved.properties.extend(texts);
        let facts = [anchor.parameters, anchor.remarks];
        self.calls(anchor.cnodes, facts, &region_ids, &mut resolved)?;
        self.system(
            anchor.nodes,
            anchor.groups,
            anchor.locations,
            anchor.carts,
            &mut resolved,
        )?;
        let clustering = ("CLUSTERING".to_string(), "ON".to_string());
        if resolved.properties.contains(&clustering) {
            self.found.add(rules::CLUSTERING, self.place(0));
        }
        Ok(resolved)
    }

    fn place(&self, at: usize) -> Place {
        Place::file(Arc::clone(self.file)).at(at as u64)
    }

    fn unresolved(&mut self, at: usize, what: String) {
        let place = self.place(at).record(what);
        self.found.add(rules::UNRESOLVED, place);
    }
}
