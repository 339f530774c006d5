//! Rows of a stream: their syntaxes, and the event of each line.

pub(super) mod json;
pub(super) mod row;
pub(super) mod scan;
pub(super) mod syntax;
pub(super) mod tsv;
