//! [`CodePosition`]: place of a cluster or tracked region in the program, where most of its time
//! is: containing functions, and the calls before and after.

use crate::bursts::{Bursts, ChainId};
use crate::tracking::observation::Observation;
use crate::tracking::result::TrackedRegion;
use crate::{Error, Labels, Result};
use std::collections::BTreeMap;

/// Place of a tracked region in the program, in one experiment: that of most of its time.
///
/// ```
/// use perf_track::tracking::CodePosition;
/// let position = CodePosition {
///     call_before: Some("MPI_Wait < halo halo.f90:30 < main app.f90:9".into()),
///     call_after: Some("MPI_Allreduce < norm norm.f90:12 < main app.f90:9".into()),
///     within: None,
/// };
/// assert_eq!(position.to_string(), "halo halo.f90:30, from MPI_Wait to MPI_Allreduce (norm norm.f90:12)");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CodePosition {
    /// Communication call before the bursts and its callers, innermost first, separated by ` < `.
    pub call_before: Option<String>,
    /// Communication call after the bursts and its callers.
    pub call_after: Option<String>,
    /// Functions that contain the bursts, innermost first.
    pub within: Option<String>,
}

/// Returns the call and the innermost caller of a chain.
fn call_and_caller(chain: &str) -> (&str, Option<&str>) {
    let mut functions = chain.split(" < ");
    (functions.next().unwrap_or_default(), functions.next())
}

impl CodePosition {
    /// Returns the innermost known function with its file and line: the function that contains the
    /// bursts, otherwise the caller of the call before or of the call after.
    pub fn function(&self) -> Option<&str> {
        let within = self
            .within
            .as_deref()
            .and_then(|chain| chain.split(" < ").next());
        let calls = [&self.call_before, &self.call_after].into_iter().flatten();
        within.or_else(|| {
            calls
                .map(|chain| call_and_caller(chain).1)
                .find_map(|caller| caller)
        })
    }
}

impl CodePosition {
    /// Returns the main position of each cluster, `[0]` of cluster 1, with its share of the time of the cluster in
    /// `0.0..=1.0`. `None` for a cluster whose bursts have no known position in most of their time.
    ///
    /// ```
    /// use perf_core::Nanos;
    /// use perf_track::tracking::CodePosition;
    /// use perf_track::{Burst, Bursts, ClusterId, Labels, Position, Thread};
    /// let mut bursts = Bursts::new([]);
    /// let thread = bursts.add_thread(Thread::default())?;
    /// for (begin, end, function) in [(0, 90, "solve"), (100, 110, "norm")] {
    ///     let within = Some(bursts.add_chain(&[function])?);
    ///     let position = Position { within, ..Position::default() };
    ///     let (begin, end) = (Nanos(begin), Nanos(end));
    ///     bursts.push(Burst { thread, begin, end, position, ..Burst::default() }, &[])?;
    /// }
    /// let labels = Labels::new(vec![ClusterId(1); 2]);
    /// let (position, share) = CodePosition::of_clusters(&bursts, &labels)?[0].clone().expect("known");
    /// assert_eq!((position.function(), share), (Some("solve"), 0.9));
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Length`] if there is not one label for each burst.
    pub fn of_clusters(bursts: &Bursts, labels: &Labels) -> Result<Vec<Option<(Self, f64)>>> {
        let (expected, got) = (bursts.len(), labels.as_slice().len());
        if expected != got {
            return Err(Error::Length {
                what: "labels of bursts",
                expected,
                got,
            });
        }
        let mut times: BTreeMap<(usize, [Option<ChainId>; 3]), f64> = BTreeMap::new();
        let mut sums = vec![0.0; labels.clusters()];
        let durations = bursts.durations();
        for ((burst, id), time) in bursts.rows().iter().zip(labels.as_slice()).zip(durations) {
            let Some(sum) = id.index().and_then(|index| sums.get_mut(index)) else {
                continue;
            };
            *sum += time;
            let of = burst.position;
            let chains = [of.call_before, of.call_after, of.within];
            *times.entry((id.0 as usize - 1, chains)).or_default() += time;
        }
        let mut main: Vec<Option<([Option<ChainId>; 3], f64)>> = vec![None; sums.len()];
        for ((cluster, chains), time) in times {
            if main[cluster].is_none_or(|known| time > known.1) {
                main[cluster] = Some((chains, time));
            }
        }
        let text = |chain: Option<ChainId>| Some(bursts.chain(chain?).join(" < "));
        let known = main.into_iter().zip(sums).map(|(main, sum)| {
            let (chains, time) = main?;
            let position = CodePosition {
                call_before: text(chains[0]),
                call_after: text(chains[1]),
                within: text(chains[2]),
            };
            (position != CodePosition::default())
                .then(|| (position, time / sum.max(f64::MIN_POSITIVE)))
        });
        Ok(known.collect())
    }
}

/// Formats the function, the call before and the call after, each with its innermost caller if that is a
/// different one.
impl std::fmt::Display for CodePosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let function = self.function();
        let call = |chain: &Option<String>, end: &str| {
            let Some(chain) = chain else {
                return end.to_owned();
            };
            match call_and_caller(chain) {
                (call, Some(caller)) if Some(caller) != function => format!("{call} ({caller})"),
                (call, _) => call.to_owned(),
            }
        };
        if let Some(function) = function {
            f.write_str(function)?;
        }
        if self.call_before.is_some() || self.call_after.is_some() {
            let comma = if function.is_some() { ", " } else { "" };
            let before = call(&self.call_before, "the start");
            let after = call(&self.call_after, "the end");
            write!(f, "{comma}from {before} to {after}")?;
        }
        Ok(())
    }
}

/// Sets the position of each tracked region in each experiment.
pub(in crate::tracking) fn locate(experiments: &[Observation<'_>], regions: &mut [TrackedRegion]) {
    for (at, experiment) in experiments.iter().enumerate() {
        let mut region_of: BTreeMap<crate::ClusterId, usize> = BTreeMap::new();
        for (index, region) in regions.iter().enumerate() {
            for &id in region.members.get(at).into_iter().flatten() {
                region_of.insert(id, index);
            }
        }
        type Ids = [Option<u32>; 3];
        let mut times: BTreeMap<(usize, Ids), Vec<f64>> = BTreeMap::new();
        for (point, (id, time)) in experiment.labels.iter().zip(&experiment.time).enumerate() {
            let Some(&region) = region_of.get(id) else {
                continue;
            };
            let ids = [0, 1, 2].map(|part| {
                let callers = experiment.position[part].as_ref()?;
                callers.of().get(point).copied().flatten()
            });
            times.entry((region, ids)).or_default().push(*time);
        }
        let mut main: BTreeMap<usize, (f64, Ids)> = BTreeMap::new();
        for ((region, ids), mut times) in times {
            times.sort_unstable_by(f64::total_cmp);
            let time: f64 = times.iter().sum();
            let known = main.entry(region).or_insert((time, ids));
            if time > known.0 {
                *known = (time, ids);
            }
        }
        for (index, region) in regions.iter_mut().enumerate() {
            let position = main.get(&index).and_then(|(_, ids)| {
                let name = |part: usize| {
                    let names = experiment.position[part].as_ref()?.names();
                    names.get(ids[part]? as usize).cloned()
                };
                ids.iter().any(Option::is_some).then(|| CodePosition {
                    call_before: name(0),
                    call_after: name(1),
                    within: name(2),
                })
            });
            region.positions.push(position);
        }
    }
}
