//! Relations between all views.

mod pairs;
mod smooth_views;
