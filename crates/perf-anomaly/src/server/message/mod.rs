//! Messages between clients and a parameter server ([`Delta`], [`View`], [`Position`]), and their
//! transport ([`Exchange`]).

mod changes;
mod delta;
mod exchange;
mod position;
mod view;

pub use changes::ReportedChange;
pub(super) use changes::{
    ReportedChanges, are_below, of_client, read_changes, renumbered, write_changes,
};
pub use delta::Delta;
pub use exchange::{Exchange, Local};
pub use position::Position;
pub(super) use position::Resumed;
pub(super) use view::Shared;
pub use view::View;
