//! Functions that have many more slow calls than the stated rate of false alarms explains.

use crate::table::{counted, grouped, shortened};
use perfkit::anomaly::{FunctionId, Report};
use perfkit::core::fits;

/// Smallest number of slow calls of a function that recur, rather than happen.
const MIN_ALARMS: u64 = 4;
/// Smallest ratio of the slow calls of a function to those that the stated rate explains.
const MIN_EXCESS: f64 = 10.0;
/// Largest length of names.
const NAME: usize = 48;

/// Returns the stated number of false alarms in a million calls; `None` for detectors without one.
pub(super) fn rate(report: &Report) -> Option<f64> {
    let options = report.detector.options();
    let mut options = options.iter();
    let (_, rate) = options.find(|(name, _)| name == "false positives per million")?;
    rate.parse().ok()
}

/// Describes the functions, those with the most slow calls first, at most `top`, without those for which
/// the user set a threshold by a pattern. Empty for detectors without a stated rate.
pub(super) fn sentences(report: &Report, thresholds: &[String], top: usize) -> Vec<String> {
    let Some(rate) = rate(report) else {
        return Vec::new();
    };
    let has_threshold = |function: FunctionId| {
        let region = report.calls.function_region(function);
        let name = region.and_then(|region| report.calls.region_name(region));
        let is_own = |pattern: &String| name.is_some_and(|(_, name)| fits(pattern, name));
        thresholds.iter().any(is_own)
    };
    let losses = report.losses.worst_functions().into_iter();
    let mut found: Vec<_> = losses
        .filter(|(function, loss)| {
            let explained = rate * loss.calls as f64 / 1e6;
            loss.too_slow >= MIN_ALARMS
                && loss.too_slow as f64 >= MIN_EXCESS * explained
                && !has_threshold(*function)
        })
        .collect();
    found.sort_by_key(|(_, loss)| std::cmp::Reverse(loss.too_slow));
    let more = found.len().saturating_sub(top);
    let mut sentences: Vec<String> = found
        .into_iter()
        .take(top)
        .map(|(function, loss)| {
            format!(
                "{}: {} of {} calls, 1 in {}",
                shortened(&report.calls.function_name(function), NAME),
                grouped(loss.too_slow),
                grouped(loss.calls),
                grouped(loss.calls / loss.too_slow)
            )
        })
        .collect();
    if more > 0 {
        sentences.push(format!("and {}", counted(more, "function")));
    }
    if !sentences.is_empty() {
        let heading = format!(
            "slow calls that recur, far above the stated {rate} in a million: faults, interrupts, waiting for partners in \
             MPI, or rare long work that is normal for the function; the detector cannot tell these apart"
        );
        sentences.insert(0, heading);
    }
    sentences
}
