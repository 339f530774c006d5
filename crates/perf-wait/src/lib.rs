//! Wait states, critical path, efficiencies and what-if replay of parallel programs.
#![doc(html_root_url = "../")]

pub mod activity;
pub mod clocks;
pub mod critical;
pub mod delay;
pub mod efficiency;
mod error;
pub mod graph;
pub mod stragglers;
mod timeline;
pub mod training;
pub mod waits;
pub mod whatif;

pub use error::{CallPlace, Error, Result};
