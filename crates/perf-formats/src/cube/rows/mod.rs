//! Rows of severities in the files of a profile: their order, their types and their index.

pub(super) mod cube3_rows;
pub(super) mod cubex_rows;
pub(super) mod data_type;
pub(super) mod index;
pub(super) mod row_order;
