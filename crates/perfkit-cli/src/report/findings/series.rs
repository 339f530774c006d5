//! Findings of the report about a series of traces: growth of communication and of the total computing time.

use super::{Finding, Kind, list, percent, time};
use crate::report::Part;
use crate::report::exclusive_times::{Class, Times};

/// Smallest growth of the share of communication through a series that is a finding.
const MIN_GROWTH: f64 = 0.05;

/// Largest ratio of the computing times of a thread in the last and in the first trace at which the
/// threads divide the work. With more threads and constant work for each the ratio is about 1.
const MAX_DIVIDED: f64 = 0.75;

/// Shares of the time of one trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::report) struct Shares {
    /// Number of CPU threads.
    pub(in crate::report) threads: usize,
    /// Share of computing, in `0.0..=1.0`.
    computing: f64,
    /// Computing time in nanoseconds, summed over all threads.
    computed: f64,
    /// Share of communication and synchronisation, in `0.0..=1.0`.
    waiting: f64,
}

impl Shares {
    pub(in crate::report) fn of(times: &Times) -> Self {
        let share = |class| times.share(times.class(class));
        Shares {
            threads: times.threads,
            computing: share(Class::Computing),
            computed: times.class(Class::Computing),
            waiting: share(Class::Communication) + share(Class::Synchronisation),
        }
    }
}

/// Compares the shares of the first and the last trace of a series. `command` is the next command to run.
pub(in crate::report) fn part(name: &str, series: &[(String, Shares)], command: &str) -> Part {
    let mut part = Part::default();
    let (Some((_, first)), Some((_, last))) = (series.first(), series.last()) else {
        part.skip("scaling", "no trace of the series has times by call path");
        return part;
    };
    part.findings.extend(computing(name, series, command));
    let growth = last.waiting - first.waiting;
    let each = |of: fn(&Shares) -> f64| {
        let words = series
            .iter()
            .map(|(name, shares)| format!("{} in {name}", percent(of(shares))));
        list(&words.collect::<Vec<_>>())
    };
    if growth < MIN_GROWTH {
        part.pass(format!(
            "the share of communication and synchronisation does not grow by {} or more: {}",
            percent(MIN_GROWTH),
            each(|shares| shares.waiting)
        ));
        return part;
    }
    let sentence = format!(
        "From {} to {} CPU threads, the share of communication and synchronisation in the time of all CPU threads grows: {}. \
         Computing takes {}.",
        first.threads,
        last.threads,
        each(|shares| shares.waiting),
        each(|shares| shares.computing)
    );
    let figure = ("growth of the share", growth, "1");
    let mut finding = Finding::new(
        Kind::Scaling,
        name,
        Some(growth),
        "CPU threads x duration",
        figure,
        sentence,
    );
    // The trend of the series is listed before the findings about its parts.
    finding.weight = first.waiting.max(last.waiting) + f64::EPSILON;
    part.findings.push(finding.next(command.into()));
    part
}

/// Finds growth of the computing time of all threads together. Threads that divide the work of a
/// program leave the sum as it is; it grows by work that each of them repeats and by slower
/// computing.
fn computing(name: &str, series: &[(String, Shares)], command: &str) -> Option<Finding> {
    let ((before, first), (after, last)) = (series.first()?, series.last()?);
    let each = |shares: &Shares| shares.computed / shares.threads.max(1) as f64;
    let is_divided = first.threads < last.threads && each(last) < MAX_DIVIDED * each(first);
    let growth = (last.computed - first.computed) / last.computed;
    let share = growth * last.computing;
    if !is_divided || share < MIN_GROWTH {
        return None;
    }
    let sentence = format!(
        "From {} to {} CPU threads, the computing time of all threads together grows by a factor of {:.2}: {} in {before}, \
         {} in {after}. Threads that divide all work would leave it constant; work that each thread repeats, or slower \
         computing, takes {} of the time of {after}.",
        first.threads,
        last.threads,
        last.computed / first.computed,
        time(first.computed),
        time(last.computed),
        percent(share),
    );
    let figure = ("computation scaling", first.computed / last.computed, "1");
    let finding = Finding::new(
        Kind::Scaling,
        name,
        Some(share),
        "CPU threads x duration",
        figure,
        sentence,
    );
    Some(finding.next(command.into()))
}
