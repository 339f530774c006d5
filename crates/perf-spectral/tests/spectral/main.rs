//! All tests in one program, which is linked only once.

mod common;
mod correlation;
mod filters;
mod grids;
mod profile;
mod relations;
mod store;
mod tables;
mod transform;
