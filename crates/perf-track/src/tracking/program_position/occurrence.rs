//! [`Occurrence`]: distinguishes repeated tracked regions from those executed once, only at
//! start-up, or on too few threads.

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
    /// In some experiment at least half of the threads of the region execute it more than once, not
    /// only at start-up. Also used if threads are unknown, or if no region is repeated.
    #[default]
    Repeated,
    /// In no experiment do half of the threads of the region execute it more than once, while other
    /// regions are repeated.
    Once,
    /// On each thread all bursts of the region begin before the main loop, that is, before the
    /// first burst of the first repeated region, and there are fewer of them than of the main loop.
    /// In the optimal mode the main loop is the repeated region with the most time.
    StartUp,
    /// The region occurs on a smaller share of the threads of an experiment, less than a third, than in
    /// an experiment with more threads. The first one has most of its bursts as bursts that are too short
    /// or in noise, or executes them on few threads only; the experiments are not comparable.
    FewThreads,
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

/// Key of a recording, see [`recording`].
type Recording = (usize, usize);

/// Bursts of one tracked region, by recording and thread.
type Spans = BTreeMap<(Recording, u32), Span>;

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
    let Some(main) = spans.iter().find(|of| is_repeated(of)) else {
        return unknown();
    };
    let tasks = experiments.iter().enumerate();
    let tasks = tasks.map(|(at, experiment)| (recording(at, experiment), experiment.tasks));
    let tasks: BTreeMap<Recording, u32> = tasks.collect();
    let occurrence = |of: &Spans| {
        let is_before = |(place, span): (&(Recording, u32), &Span)| {
            let main = main.get(place);
            main.is_some_and(|main| span.last < main.first && span.bursts < main.bursts)
        };
        match (of.iter().all(is_before), is_repeated(of)) {
            _ if of.is_empty() => Occurrence::Repeated,
            (true, _) => Occurrence::StartUp,
            (false, false) => Occurrence::Once,
            (false, true) if is_on_few_threads(of, &tasks) => Occurrence::FewThreads,
            (false, true) => Occurrence::Repeated,
        }
    };
    spans.iter().map(occurrence).collect()
}

/// Returns `true` if in some recording at least half of the threads that execute a region repeat it.
fn is_repeated(of: &Spans) -> bool {
    let mut threads: BTreeMap<Recording, [usize; 2]> = BTreeMap::new();
    for ((recording, _), span) in of {
        let [all, repeating] = threads.entry(*recording).or_default();
        *all += 1;
        *repeating += usize::from(span.bursts > 1);
    }
    let mut threads = threads.values();
    threads.any(|[all, repeating]| 2 * repeating >= *all)
}

/// Ratio of shares of threads above which a region has no trend. A load that some ranks have, such as
/// 1 of 9 and 4 of 16, stays comparable.
const RATIO: f64 = 3.0;

/// Returns `true` if a region is on a much smaller share of the threads of a recording than in a recording with more
/// threads. `tasks` has the number of threads of each recording.
fn is_on_few_threads(of: &Spans, tasks: &BTreeMap<Recording, u32>) -> bool {
    let mut threads: BTreeMap<Recording, u32> = BTreeMap::new();
    for (recording, _) in of.keys() {
        *threads.entry(*recording).or_default() += 1;
    }
    let seen = threads.iter().filter_map(|(recording, threads)| {
        let all = tasks.get(recording)?;
        Some((f64::from(*threads), f64::from(*all)))
    });
    let seen: Vec<_> = seen.collect();
    seen.iter().any(|(few, of_few)| {
        let mut others = seen.iter();
        others.any(|(many, of_many)| of_many > of_few && many / of_many > RATIO * few / of_few)
    })
}

/// Returns the recording of an experiment: windows of a recording have its number, other experiments their own.
fn recording(at: usize, experiment: &Observation<'_>) -> Recording {
    match experiment.recording {
        Some(recording) => (0, recording),
        None => (1, at),
    }
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
        let recording = recording(at, experiment);
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
