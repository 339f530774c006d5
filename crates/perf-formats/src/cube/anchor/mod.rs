//! Contents of `anchor.xml`, with unresolved references.

mod elements;
mod fields;
mod parse;
mod runs;
mod stack;

pub(super) use parse::{parse, parse_parts};

use perf_core::{Location, LocationGroup, Region, SystemNode};
use std::ops::Range;

/// A parsed document. Its types are complete except for references: those of the system tree are
/// indices into these tables.
#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct Anchor {
    pub(in crate::cube) version: String,
    pub(in crate::cube) attributes: Vec<(String, String)>,
    /// Mirrors and titles.
    pub(in crate::cube) around: Vec<(String, String)>,
    pub(in crate::cube) metrics: Numbered<Metric>,
    pub(in crate::cube) regions: Numbered<Region>,
    /// Index of a region, name of a property, and its text.
    pub(in crate::cube) region_texts: Vec<(u32, &'static str, String)>,
    pub(in crate::cube) cnodes: Numbered<Cnode>,
    /// Call sites and parameters of call paths, by index.
    pub(in crate::cube) parameters: Vec<(u32, String, String)>,
    /// Attributes of call paths, by index.
    pub(in crate::cube) remarks: Vec<(u32, String, String)>,
    pub(in crate::cube) nodes: Numbered<SystemNode, (Space, u64)>,
    pub(in crate::cube) groups: Numbered<LocationGroup>,
    pub(in crate::cube) locations: Numbered<Location>,
    pub(in crate::cube) carts: Vec<Cart>,
    /// Raw rows of a Cube3 document.
    pub(in crate::cube) rows: Vec<TextRow>,
}

/// Elements in the order of the document, with their ids.
#[derive(Clone, Debug)]
pub(in crate::cube) struct Numbered<T, K = u64> {
    /// Id, and offset of the element.
    pub(in crate::cube) ids: Vec<(K, usize)>,
    pub(in crate::cube) things: Vec<T>,
}

impl<T, K> Default for Numbered<T, K> {
    fn default() -> Self {
        Numbered {
            ids: Vec::new(),
            things: Vec::new(),
        }
    }
}

impl<T, K> Numbered<T, K> {
    fn push(&mut self, id: K, at: usize, thing: T) {
        self.ids.push((id, at));
        self.things.push(thing);
    }
}

#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct Metric {
    /// Index of the parent metric.
    pub(in crate::cube) parent: Option<u32>,
    pub(in crate::cube) kind: String,
    pub(in crate::cube) visibility: String,
    pub(in crate::cube) display: String,
    pub(in crate::cube) unique: String,
    pub(in crate::cube) data_type: String,
    pub(in crate::cube) unit: String,
    pub(in crate::cube) values: String,
    /// Attributes of its element and of its expression.
    pub(in crate::cube) flags: Vec<(String, String)>,
    pub(in crate::cube) url: String,
    pub(in crate::cube) description: String,
    pub(in crate::cube) expression: String,
    pub(in crate::cube) init: String,
    pub(in crate::cube) aggregations: Vec<(String, String)>,
    pub(in crate::cube) attributes: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cube) struct Cnode {
    pub(in crate::cube) id: u64,
    pub(in crate::cube) at: usize,
    /// Index of the parent call path.
    pub(in crate::cube) parent: Option<u32>,
    /// Id of the called region.
    pub(in crate::cube) callee: u64,
}

/// Namespaces of ids: Cube4 numbers all system nodes together, Cube3 numbers machines and nodes
/// separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::cube) enum Space {
    #[default]
    Any,
    Machine,
    Node,
}

/// Kinds of elements with coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cube) enum Whose {
    #[default]
    Location,
    Group,
    Node(Space),
}

#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct Cart {
    pub(in crate::cube) name: String,
    pub(in crate::cube) at: usize,
    /// Name, size, and `true` if the dimension is periodic.
    pub(in crate::cube) dimensions: Vec<(String, u32, bool)>,
    /// Kind of element, its id, and one number for each axis; `None` for an invalid list of
    /// numbers.
    pub(in crate::cube) coordinates: Vec<(Whose, u64, Option<Vec<u32>>)>,
}

#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct TextRow {
    pub(in crate::cube) metric: u64,
    pub(in crate::cube) cnode: u64,
    pub(in crate::cube) at: Range<usize>,
}
