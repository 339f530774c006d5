//! Rows of severities in the files of a profile: the stores that read them, their order, their data
//! types and their index.

mod batch;
pub(super) mod cube3_rows;
pub(super) mod cubex_rows;
pub(super) mod data_type;
pub(super) mod index;
pub(super) mod row_order;
