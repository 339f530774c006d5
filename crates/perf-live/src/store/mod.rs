//! Database of a server: clients, models, state and all records in one SQLite file.

mod query;
mod reader;
mod schema;
mod writer;

pub(crate) use query::{Axis, Filter, Order};
pub(crate) use reader::{DatabaseReader, STACKED};
pub(crate) use writer::{Client, Stored, Total, Writer, append_block, fresh};

use crate::Error;
use std::path::Path;

fn failed(path: &Path, what: impl std::fmt::Display) -> Error {
    Error::Store {
        file: path.display().to_string(),
        what: what.to_string(),
    }
}
