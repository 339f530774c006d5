//! [`Occurrence`]: distinguishes repeated tracked regions from those executed once or at start-up.

use crate::tracking::observation::Observation;
use crate::tracking::result::TrackedRegion;
use perf_core::Nanos;
use std::collections::BTreeMap;

/// Part of the run in which a tracked region occurs.
///
/// Runs of a program are compared by the computation that it repeats. A difference in a region that
/// occurs once, such as reading input, is a single measurement and not a trend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Occurrence {
    /// A thread of some experiment executes the region more than once, not only at start-up. Also
    /// used if threads are unknown, or if no region occurs more than once.
    #[default]
    Repeated,
    /// No thread executes the region more than once, while other regions are repeated.
    Once,
    /// On each thread all bursts of the region begin before the main loop, that is, before the
    /// first burst of the first repeated region. In the optimal mode this is the repeated region
    /// with the most time.
    StartUp,
}

/// Bursts of a tracked region on a thread.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Number of bursts.
    bursts: usize,
    /// Begin of the first burst.
    first: Nanos,
    /// Begin of the last burst.
    last: Nanos,
}

/// Bursts of one tracked region, by recording and thread.
type Spans = BTreeMap<((usize, usize), u32), Span>;

/// Computes the occurrence of each tracked region. The first repeated region is the main loop.
pub(in crate::tracking) fn occurrences(
    experiments: &[Observation<'_>],
    regions: &[TrackedRegion],
) -> Vec<Occurrence> {
    let unknown = || vec![Occurrence::Repeated; regions.len()];
    let Some(places) = experiments
        .iter()
        .map(Observation::places)
        .collect::<Option<Vec<_>>>()
    else {
        return unknown();
    };
    let spans: Vec<Spans> = regions
        .iter()
        .map(|region| spans(region, experiments, &places))
        .collect();
    let is_repeated = |of: &&Spans| of.values().any(|span| span.bursts > 1);
    let Some(main) = spans.iter().find(is_repeated) else {
        return unknown();
    };
    let occurrence = |of: &Spans| {
        let is_before = |(place, span): (&((usize, usize), u32), &Span)| {
            main.get(place).is_some_and(|main| span.last < main.first)
        };
        match (of.iter().all(is_before), is_repeated(&of)) {
            _ if of.is_empty() => Occurrence::Repeated,
            (true, _) => Occurrence::StartUp,
            (false, false) => Occurrence::Once,
            (false, true) => Occurrence::Repeated,
        }
    };
    spans.iter().map(occurrence).collect()
}

fn spans(
    region: &TrackedRegion,
    experiments: &[Observation<'_>],
    places: &[&[(u32, Nanos)]],
) -> Spans {
    let mut spans = Spans::new();
    for (at, ((experiment, places), members)) in experiments
        .iter()
        .zip(places)
        .zip(&region.members)
        .enumerate()
    {
        // Each window of a recording contains a part of the repetitions.
        let recording = match experiment.recording {
            Some(recording) => (0, recording),
            None => (1, at),
        };
        let bursts = experiment.labels.iter().zip(*places);
        for (_, &(thread, begin)) in bursts.filter(|(id, _)| members.contains(id)) {
            let span = spans.entry((recording, thread)).or_insert(Span {
                bursts: 0,
                first: begin,
                last: begin,
            });
            span.bursts += 1;
            span.first = span.first.min(begin);
            span.last = span.last.max(begin);
        }
    }
    spans
}
