//! All tests in one program, which is linked only once.

mod common;
mod correlate;
mod equal_magnitudes;
mod filters;
mod profile;
mod rank;
mod relations;
mod smooth_views;
mod store;
mod tables;
mod torus;
mod transform;
