//! Relations between all views, and independent views that pass for related ones.

mod chance;
mod chance_bounds;
mod independent_views;
mod pairs;
mod smooth_views;
