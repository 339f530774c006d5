//! Messages between clients and a server, and their transport.

mod delta;
mod exchange;
mod position;
mod view;

pub use delta::Delta;
pub use exchange::{Exchange, Local};
pub use position::Position;
pub(super) use view::Shared;
pub use view::View;
