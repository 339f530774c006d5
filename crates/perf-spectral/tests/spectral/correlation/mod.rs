//! Correlations of a reference with other views.

mod correlate;
mod equal_magnitudes;
mod rank;
mod torus;
