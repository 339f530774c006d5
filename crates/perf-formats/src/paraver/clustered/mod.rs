//! Readers for two files of the established burst clustering: its parameters, [`Definition`], and
//! its table of bursts with their clusters, [`Data`].
//!
//! | file | contents |
//! |---|---|
//! | `.xml` | [`Definition`]: metrics, filters, algorithm |
//! | `.DATA.csv` | [`Data`]: the bursts with their metrics and clusters |

mod data;
mod definition;

pub use data::{Data, DataColumn, DataRow, Role};
pub use definition::{Algorithm, Axis, Definition, Source};
