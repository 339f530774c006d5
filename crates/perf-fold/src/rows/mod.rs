//! Rows of a fold: groups of streams, their hierarchy and their order.

pub(crate) mod groups;
mod row_order;
mod system_groups;

pub use row_order::{RowOrder, similar_rows};
