//! [`Anchor`]: parsed contents of `anchor.xml` or of a Cube3 document, with unresolved references
//! between its elements; the submodules are its parser.

mod element_text;
mod elements;
mod parse;
mod repeated_fields;
mod stack;

pub(super) use parse::{parse, parse_parts, parse_specification};

use perf_core::{Location, LocationGroup, Region, SystemNode};
use std::ops::Range;

/// A parsed document. Its types are complete except for references: those of the system tree are
/// indices into these tables.
#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct Anchor {
    /// Version of the format.
    pub(in crate::cube) version: String,
    /// Attributes of the file.
    pub(in crate::cube) attributes: Vec<(String, String)>,
    /// Mirrors and titles.
    pub(in crate::cube) around: Vec<(String, String)>,
    /// Metrics of the document.
    pub(in crate::cube) metrics: Numbered<Metric>,
    /// Regions of the document.
    pub(in crate::cube) regions: Numbered<Region>,
    /// Index of a region, name of a property, and its text.
    pub(in crate::cube) region_texts: Vec<(u32, &'static str, String)>,
    /// Call paths of the document.
    pub(in crate::cube) cnodes: Numbered<Cnode>,
    /// Call sites and parameters of call paths, by index.
    pub(in crate::cube) parameters: Vec<(u32, String, String)>,
    /// Attributes of call paths, by index.
    pub(in crate::cube) remarks: Vec<(u32, String, String)>,
    /// System tree nodes of the document.
    pub(in crate::cube) nodes: Numbered<SystemNode, (Space, u64)>,
    /// Processes of the document.
    pub(in crate::cube) groups: Numbered<LocationGroup>,
    /// Locations of the document.
    pub(in crate::cube) locations: Numbered<Location>,
    /// Topologies of the document.
    pub(in crate::cube) carts: Vec<Cart>,
    /// Raw rows of a Cube3 document.
    pub(in crate::cube) rows: Vec<TextRow>,
}

/// Elements in the order of the document, with their ids.
#[derive(Clone, Debug)]
pub(in crate::cube) struct Numbered<T, K = u64> {
    /// Id, and offset of the element.
    pub(in crate::cube) ids: Vec<(K, usize)>,
    /// Elements in the order of the document.
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
    #[inline]
    fn push(&mut self, id: K, at: usize, thing: T) {
        self.ids.push((id, at));
        self.things.push(thing);
    }
}

#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct Metric {
    /// Index of the parent metric.
    pub(in crate::cube) parent: Option<u32>,
    /// Type of the metric, such as `INCLUSIVE`.
    pub(in crate::cube) kind: String,
    /// Visibility of the metric.
    pub(in crate::cube) visibility: String,
    /// Display name.
    pub(in crate::cube) display: String,
    /// Unique name.
    pub(in crate::cube) unique: String,
    /// Name of the data type.
    pub(in crate::cube) data_type: String,
    /// Unit of measurement.
    pub(in crate::cube) unit: String,
    /// Kind of values.
    pub(in crate::cube) values: String,
    /// Attributes of its element and of its expression.
    pub(in crate::cube) flags: Vec<(String, String)>,
    /// Address of the description.
    pub(in crate::cube) url: String,
    /// Description of the metric.
    pub(in crate::cube) description: String,
    /// CubePL expression of a derived metric.
    pub(in crate::cube) expression: String,
    /// CubePL expression that initialises the evaluation.
    pub(in crate::cube) init: String,
    /// CubePL expressions for aggregation, by operator.
    pub(in crate::cube) aggregations: Vec<(String, String)>,
    /// Attributes of the metric.
    pub(in crate::cube) attributes: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cube) struct Cnode {
    /// Id of the call path in the file.
    pub(in crate::cube) id: u64,
    /// Offset of the element in the document.
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
    /// Name of the topology.
    pub(in crate::cube) name: String,
    /// Offset of the element in the document.
    pub(in crate::cube) at: usize,
    /// Name, size, and `true` if the dimension is periodic.
    pub(in crate::cube) dimensions: Vec<(String, u32, bool)>,
    /// Kind of element, its id, and one number for each axis; `None` for an invalid list of
    /// numbers.
    pub(in crate::cube) coordinates: Vec<(Whose, u64, Option<Vec<u32>>)>,
}

#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct TextRow {
    /// Id of the metric.
    pub(in crate::cube) metric: u64,
    /// Id of the call path.
    pub(in crate::cube) cnode: u64,
    /// Range of the numbers in the document.
    pub(in crate::cube) at: Range<usize>,
}
