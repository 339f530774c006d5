//! Parameter server and live page.
#[cfg(feature = "client")]
pub mod client;
mod error;
#[cfg(feature = "server")]
pub mod hub;
#[cfg(feature = "server")]
mod page;
#[cfg(feature = "simulate")]
pub mod simulate;
#[cfg(feature = "server")]
mod store;
#[cfg(feature = "server")]
pub mod web;
pub mod wire;
pub use error::{Error, Result};
