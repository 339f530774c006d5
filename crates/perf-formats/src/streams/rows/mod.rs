//! Lines of a stream as rows: the syntaxes (table or JSON) in which they are written, their
//! parsers, and the resulting event of each.

pub(super) mod json;
pub(super) mod row;
pub(super) mod scan;
pub(super) mod syntax;
pub(super) mod tsv;
