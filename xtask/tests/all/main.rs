//! Tests of the workspace as a whole. `cargo test` runs them after those of all other packages.

mod architecture;
mod methods;
mod skipped;
mod tracked_files;
