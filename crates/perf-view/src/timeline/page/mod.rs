//! Section of a page: data, script, and the answers to its requests.

mod calls;
mod data;
mod local;
mod markup;
mod operations;
mod overlays;
mod pyramid;
mod section;
mod served;
mod view;

pub use served::{Part, Served};
pub use view::View;
