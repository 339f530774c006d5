//! Helpers that tests of several formats share.

pub(crate) mod archives;
pub(crate) mod chrome_text;
pub(crate) mod event_log;
pub(crate) mod gpu;
pub(crate) mod two_tasks;
