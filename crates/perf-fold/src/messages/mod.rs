//! Messages between rows: lines for drawing, matrix of row pairs, and statistics by message size.

pub(crate) mod message_lines;
pub(crate) mod message_matrix;
pub(crate) mod message_sizes;
