//! HTML pages: the page, its sections, the encoding of their data, and the escaping of names.

pub(crate) mod encoding;
pub(crate) mod escape;
pub(crate) mod page;
pub(crate) mod section;
