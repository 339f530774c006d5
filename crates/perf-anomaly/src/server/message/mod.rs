//! Messages between clients and a parameter server ([`Delta`], [`View`], [`Position`]), and their
//! transport ([`Exchange`]).

mod delta;
mod exchange;
mod position;
mod view;

pub use delta::Delta;
pub use exchange::{Exchange, Local};
pub use position::Position;
pub(super) use view::Shared;
pub use view::View;
