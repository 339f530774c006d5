//! Timeline section of a page: [`View`] with the data, cells and HTML that the page holds, and
//! [`Served`], the server side that answers its requests.

mod calls;
mod data;
mod local;
mod markup;
mod operations;
mod overlays;
mod pyramid;
mod section;
mod served;
mod unusual_rows;
mod view;

pub use served::{Part, Served};
pub use view::View;
