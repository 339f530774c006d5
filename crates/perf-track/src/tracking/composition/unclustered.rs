//! [`Unclustered`]: bursts in no cluster, by call site; [`explain`]: replaces deaths, births and
//! gaps of regions that have such bursts.

use crate::tracking::observation::Observation;
use crate::tracking::program_position::callers::Callers;
use crate::tracking::result::{Event, TrackedRegion};
use crate::{Bursts, ClusterId, Kind, Labels, Result};
use std::collections::BTreeMap;

/// Smallest fraction of the expected bursts or time of a tracked region that must be found outside clusters.
const FOUND: f64 = 0.5;

/// Full chains of the callers before and after a burst, and the functions that contain it, without lines.
type Site = [Option<String>; 3];

/// Bursts of one program position in no cluster.
#[derive(Clone, Copy, Debug, Default)]
struct Loose {
    /// Number of complete bursts, which are noise.
    noise: usize,
    /// Number of bursts that a filter dropped or that lack a metric.
    dropped: usize,
    /// Time of all of them in nanoseconds.
    time: i64,
}

/// Bursts of an experiment that are in no cluster, by program position.
#[derive(Clone, Debug, Default)]
pub(in crate::tracking) struct Unclustered {
    /// Number of threads.
    threads: usize,
    /// Time of all bursts in nanoseconds, in clusters or not.
    time: i64,
    /// Bursts of each program position.
    of: BTreeMap<Site, Loose>,
}

/// Returns the program position of the burst at index `at` of lists of callers before, callers after and
/// containing functions; `None` if none of them is known.
fn site(lists: [&Option<Callers>; 3], at: usize) -> Option<Site> {
    let site = lists.map(|of| of.as_ref()?.name(at).map(str::to_owned));
    (site != [None, None, None]).then_some(site)
}

impl Unclustered {
    /// Collects the bursts that are noise in `labels`, which has one label for each burst.
    pub(in crate::tracking) fn of(bursts: &Bursts, labels: &Labels) -> Result<Self> {
        let rows = labels.as_slice().iter().zip(0_u32..);
        let rows: Vec<u32> = rows
            .filter_map(|(id, row)| id.is_noise().then_some(row))
            .collect();
        let before = Callers::calls_before(bursts, &rows)?;
        let after = Callers::calls_after(bursts, &rows)?;
        let within = Callers::within(bursts, &rows)?.map(|of| of.without_lines());
        let durations: Vec<i64> = bursts
            .rows()
            .iter()
            .map(|burst| burst.end.0.saturating_sub(burst.begin.0))
            .collect();
        let mut of: BTreeMap<Site, Loose> = BTreeMap::new();
        for (at, &row) in rows.iter().enumerate() {
            let Some(site) = site([&before, &after, &within], at) else {
                continue;
            };
            let loose = of.entry(site).or_default();
            loose.time = loose.time.saturating_add(durations[row as usize]);
            match bursts.kinds().get(row as usize) {
                Some(Kind::Complete) => loose.noise += 1,
                _ => loose.dropped += 1,
            }
        }
        Ok(Unclustered {
            threads: bursts.threads().len(),
            time: durations.into_iter().fold(0, i64::saturating_add),
            of,
        })
    }

    /// Replaces names of call sites; names without an entry are kept.
    pub(in crate::tracking) fn rename(&mut self, names: &BTreeMap<String, String>) {
        let new = |name: String| names.get(&name).cloned().unwrap_or(name);
        let all = std::mem::take(&mut self.of);
        for ([before, after, within], loose) in all {
            let site = [before.map(new), after.map(new), within];
            let own = self.of.entry(site).or_default();
            own.noise += loose.noise;
            own.dropped += loose.dropped;
            own.time = own.time.saturating_add(loose.time);
        }
    }
}

/// Replaces births, deaths and gaps of tracked regions by [`Event::Unclustered`] if the neighbouring
/// experiment has enough bursts of their program positions in no cluster.
///
/// Let `n_s` be the number of bursts of the region at position `s` in the experiment that has the
/// region, and `t` the number of threads of that experiment. Let `u_s` be the number of bursts of
/// position `s` in no cluster of the neighbouring experiment, and `t'` the number of threads of the
/// neighbour. There are enough bursts if `sum_s min(u_s, n_s t' / t) >= 1/2 sum_s n_s t' / t`. They are also
/// enough if they take half of the share of the CPU time that the region takes, because a schedule with other
/// pieces of work has other numbers of bursts; not so for calls without callers, which are many positions.
pub(in crate::tracking) fn explain(experiments: &[Observation<'_>], regions: &mut [TrackedRegion]) {
    for region in regions {
        for event in &mut region.events {
            let (seen, other) = match event {
                Event::Birth { experiment } if *experiment > 0 => (*experiment, *experiment - 1),
                Event::Death { experiment } => (*experiment, *experiment + 1),
                Event::Gap {
                    experiment,
                    hidden_in: None,
                } if *experiment > 0 => (*experiment - 1, *experiment),
                _ => continue,
            };
            if let (Some(own), Some(neighbour), Some(members)) = (
                experiments.get(seen),
                experiments.get(other),
                region.members.get(seen),
            ) && let Some(Loose { noise, dropped, .. }) = loose(own, members, neighbour)
            {
                *event = Event::Unclustered {
                    experiment: other,
                    noise,
                    dropped,
                };
            }
        }
    }
}

/// Counts the bursts of the neighbour `other` in no cluster at the program positions of a tracked region.
/// `None` if there are too few, or if a position of the region is unknown.
fn loose(own: &Observation<'_>, members: &[ClusterId], other: &Observation<'_>) -> Option<Loose> {
    let (here, there) = (own.unclustered()?, other.unclustered()?);
    let mut sites: BTreeMap<Site, usize> = BTreeMap::new();
    let mut time = 0.0;
    let points = own.labels.iter().enumerate();
    for (at, _) in points.filter(|(_, id)| members.contains(id)) {
        let site = site([&own.before, &own.after, &own.position[2]], at)?;
        *sites.entry(site).or_default() += 1;
        time += own.time[at];
    }
    let ratio = there.threads as f64 / here.threads.max(1) as f64;
    let (mut expected, mut found, mut all) = (0.0, 0.0, Loose::default());
    for (site, count) in sites {
        let wanted = count as f64 * ratio;
        expected += wanted;
        if let Some(of) = there.of.get(&site) {
            found += wanted.min((of.noise + of.dropped) as f64);
            all.noise += of.noise;
            all.dropped += of.dropped;
            all.time = all.time.saturating_add(of.time);
        }
    }
    let share = |time: f64, of: &Unclustered| time / (of.time as f64).max(1.0);
    let is_long = !own.is_coarse && share(all.time as f64, there) >= FOUND * share(time, here);
    (found > 0.0 && (found >= FOUND * expected || is_long)).then_some(all)
}
