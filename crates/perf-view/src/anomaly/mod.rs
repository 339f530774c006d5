//! Pictures and page sections of abnormal ranks, steps, functions and calls; here the script
//! [`PARTS`] and [`STYLE`] sheet with which other pages draw the same charts.
//!
//! | | |
//! |---|---|
//! | [`Anomalies`] | the data of all charts, also as JSON |
//! | [`Picture`] | ranking, counts by step, distributions and call stacks as PNG or SVG |
//! | [`View`] | a section of a page: from rank to step to function to call stack |
//!
//! A page with data from another source, such as a running program, can draw the same charts.
//! [`PARTS`] is a script with one function for each chart. These functions take parts of
//! [`Anomalies::json`], and [`RunTimes`].

mod anomalies;
mod counter_table;
mod counts;
mod distribution;
mod json;
mod picture;
mod stack_layout;
mod stack_picture;
mod view;

pub use anomalies::Anomalies;
pub use distribution::RunTimes;
pub use picture::Picture;
pub use view::View;

/// Script that contains only the drawing functions, without the part that controls a page. It
/// defines `perfkitAnomaly` with `heat`, `stacked`, `ranking`, `steps`, `executions`, `distribution`
/// and `stack`, and needs [`Page::SCRIPT`](crate::Page::SCRIPT). Data whose steps are summed in
/// groups set `group`, the number of steps in each.
pub const PARTS: &str = include_str!("../../assets/anomaly/parts.js");

/// Style sheet of the charts that [`PARTS`] draws and of the section around them.
pub const STYLE: &str = include_str!("../../assets/anomaly/view.css");

/// Returns the display text of a label.
fn label_name(label: perf_anomaly::Label) -> &'static str {
    match label {
        perf_anomaly::Label::TooSlow => "too slow",
        perf_anomaly::Label::BeyondExperience => "beyond experience",
        perf_anomaly::Label::TooFast => "too fast",
        perf_anomaly::Label::NotEnoughData => "of a function with too few calls",
        _ => "normal",
    }
}
