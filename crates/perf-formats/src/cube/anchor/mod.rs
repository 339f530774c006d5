//! `anchor.xml`: what the document says, before anything refers to anything.

mod parse;

pub(super) use parse::parse;

use std::ops::Range;

/// A document.
#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct Anchor {
    pub(in crate::cube) version: String,
    pub(in crate::cube) attributes: Vec<(String, String)>,
    pub(in crate::cube) metrics: Vec<Metric>,
    pub(in crate::cube) regions: Vec<Region>,
    pub(in crate::cube) cnodes: Vec<Cnode>,
    pub(in crate::cube) nodes: Vec<Item>,
    pub(in crate::cube) groups: Vec<Item>,
    pub(in crate::cube) locations: Vec<Item>,
    pub(in crate::cube) carts: Vec<Cart>,
    /// Rows of a Cube3 document, as they stand.
    pub(in crate::cube) rows: Vec<TextRow>,
}

#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct Metric {
    pub(in crate::cube) id: u64,
    pub(in crate::cube) at: usize,
    pub(in crate::cube) parent: Option<usize>,
    pub(in crate::cube) kind: String,
    pub(in crate::cube) visibility: String,
    pub(in crate::cube) display: String,
    pub(in crate::cube) unique: String,
    pub(in crate::cube) data_type: String,
    pub(in crate::cube) unit: String,
    pub(in crate::cube) is_void: bool,
    pub(in crate::cube) url: String,
    pub(in crate::cube) description: String,
    pub(in crate::cube) expression: String,
    pub(in crate::cube) init: String,
    pub(in crate::cube) aggregations: Vec<(String, String)>,
    pub(in crate::cube) attributes: Vec<(String, String)>,
}

#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct Region {
    pub(in crate::cube) id: u64,
    pub(in crate::cube) at: usize,
    pub(in crate::cube) file: String,
    pub(in crate::cube) lines: (i64, i64),
    pub(in crate::cube) name: String,
    pub(in crate::cube) mangled: String,
    pub(in crate::cube) paradigm: String,
    pub(in crate::cube) role: String,
}

#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct Cnode {
    pub(in crate::cube) id: u64,
    pub(in crate::cube) at: usize,
    pub(in crate::cube) parent: Option<usize>,
    pub(in crate::cube) callee: u64,
    pub(in crate::cube) line: Option<String>,
    pub(in crate::cube) file: Option<String>,
    /// (kind:key, value).
    pub(in crate::cube) parameters: Vec<(String, String)>,
    pub(in crate::cube) attributes: Vec<(String, String)>,
}

/// Numbers of their own: Cube4 numbers all system nodes alike, Cube3 machines and nodes apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::cube) enum Space {
    #[default]
    Any,
    Machine,
    Node,
}

/// A part of the machine.
#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct Item {
    pub(in crate::cube) space: Space,
    pub(in crate::cube) id: u64,
    pub(in crate::cube) at: usize,
    /// The node of a node or group, the group of a location.
    pub(in crate::cube) parent: Option<usize>,
    pub(in crate::cube) name: String,
    pub(in crate::cube) class: String,
    pub(in crate::cube) rank: String,
    pub(in crate::cube) description: String,
    pub(in crate::cube) attributes: Vec<(String, String)>,
}

/// What has coordinates.
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
    /// Name, size, whether it is periodic.
    pub(in crate::cube) dimensions: Vec<(String, u32, bool)>,
    pub(in crate::cube) coordinates: Vec<(Whose, u64, String)>,
}

#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct TextRow {
    pub(in crate::cube) metric: u64,
    pub(in crate::cube) cnode: u64,
    pub(in crate::cube) at: Range<usize>,
}
