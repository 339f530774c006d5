//! Abnormal ranks, steps, functions and calls.
//!
//! | | |
//! |---|---|
//! | [`Anomalies`] | what is shown, and as JSON; without any drawing |
//! | [`Picture`] | ranking, counts by step, distributions and call stacks as PNG or SVG |
//! | [`View`] | a section of a page: from rank to step to function to call stack |
//!
//! A page that gets its data otherwise, such as from a running program, has the same drawing: [`PARTS`]
//! is a script with a function a chart, each of which takes parts of [`Anomalies::json`].

mod counts;
mod distribution;
mod model;
mod picture;
mod stack;
mod stacked;
mod values;
mod view;

pub use model::Anomalies;
pub use picture::Picture;
pub use view::View;

/// The script that draws, without one that runs a page: it defines `perfkitAnomaly` with `ranking`,
/// `steps`, `executions`, `distribution` and `stack`, on top of [`Page::SCRIPT`](crate::Page::SCRIPT).
pub const PARTS: &str = include_str!("../../assets/anomaly-parts.js");

/// The style of what [`PARTS`] draws and of the section around it.
pub const STYLE: &str = include_str!("../../assets/anomaly.css");

/// What is said of a label.
fn label_name(label: perf_anomaly::Label) -> &'static str {
    match label {
        perf_anomaly::Label::TooSlow => "too slow",
        perf_anomaly::Label::BeyondExperience => "beyond experience",
        perf_anomaly::Label::TooFast => "too fast",
        perf_anomaly::Label::NotEnoughData => "of a function with too few calls",
        _ => "normal",
    }
}
