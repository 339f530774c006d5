//! All tests in one program: what is generic over the element type is compiled once, which takes
//! over a minute of processor time each time.

mod common;
mod correlate;
mod profile;
mod rank;
mod store;
mod torus;
mod transform;
