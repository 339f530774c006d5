//! What the established burst clustering reads and writes beside traces.
//!
//! | file | what |
//! |---|---|
//! | `.xml` | [`Definition`]: metrics, filters, algorithm |
//! | `.DATA.csv` | [`Data`]: the bursts with their metrics and clusters |

mod data;
mod definition;

pub use data::{Data, DataColumn, DataRow, Role};
pub use definition::{Algorithm, Axis, Definition, Source};
