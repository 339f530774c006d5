//! Messages between rows: lines, matrix, and statistics by size.

pub(crate) mod message_lines;
pub(crate) mod message_matrix;
pub(crate) mod message_sizes;
