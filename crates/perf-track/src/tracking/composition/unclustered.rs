//! [`Unclustered`]: bursts in no cluster, by call site; [`explain`]: replaces deaths, births and
//! gaps of regions that have such bursts.

use crate::tracking::observation::Observation;
use crate::tracking::program_position::callers::Callers;
use crate::tracking::result::{Event, TrackedRegion};
use crate::{Bursts, ClusterId, Kind, Labels, Result};
use std::collections::BTreeMap;

/// Smallest fraction of the expected bursts of a tracked region that must be found outside clusters.
const FOUND: f64 = 0.5;

/// Full chains of the callers before and after a burst.
type Site = [Option<String>; 2];

/// Numbers of bursts of one call site in no cluster.
#[derive(Clone, Copy, Debug, Default)]
struct Loose {
    /// Number of complete bursts, which are noise.
    noise: usize,
    /// Number of bursts that a filter dropped or that lack a metric.
    dropped: usize,
}

/// Bursts of an experiment that are in no cluster, by call site.
#[derive(Clone, Debug, Default)]
pub(in crate::tracking) struct Unclustered {
    /// Number of threads.
    threads: usize,
    /// Bursts of each call site.
    of: BTreeMap<Site, Loose>,
}

/// Returns the call site of the burst at index `at` of two lists of callers; `None` if neither the
/// callers before nor those after it are known.
fn site([before, after]: [&Option<Callers>; 2], at: usize) -> Option<Site> {
    let site = [before, after].map(|of| of.as_ref()?.name(at).map(str::to_owned));
    (site != [None, None]).then_some(site)
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
        let mut of: BTreeMap<Site, Loose> = BTreeMap::new();
        for (at, &row) in rows.iter().enumerate() {
            let Some(site) = site([&before, &after], at) else {
                continue;
            };
            let loose = of.entry(site).or_default();
            match bursts.kinds().get(row as usize) {
                Some(Kind::Complete) => loose.noise += 1,
                _ => loose.dropped += 1,
            }
        }
        Ok(Unclustered {
            threads: bursts.threads().len(),
            of,
        })
    }

    /// Replaces names of call sites; names without an entry are kept.
    pub(in crate::tracking) fn rename(&mut self, names: &BTreeMap<String, String>) {
        let new = |name: String| names.get(&name).cloned().unwrap_or(name);
        let all = std::mem::take(&mut self.of);
        for (site, loose) in all {
            let own = self.of.entry(site.map(|name| name.map(new))).or_default();
            own.noise += loose.noise;
            own.dropped += loose.dropped;
        }
    }
}

/// Replaces births, deaths and gaps of tracked regions by [`Event::Unclustered`] if the neighbouring
/// experiment has enough bursts of their call sites in no cluster.
///
/// Let `n_s` be the number of bursts of the region at call site `s` in the experiment that has the
/// region, and `t` the number of threads of that experiment. Let `u_s` be the number of bursts of
/// call site `s` in no cluster of the neighbouring experiment, and `t'` the number of threads of the
/// neighbour. There are enough bursts if `sum_s min(u_s, n_s t' / t) >= 1/2 sum_s n_s t' / t`.
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
            ) && let Some(Loose { noise, dropped }) = loose(own, members, neighbour)
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

/// Counts the bursts of the neighbour `other` in no cluster at the call sites of a tracked region.
/// `None` if there are too few, or if a call site of the region is unknown.
fn loose(own: &Observation<'_>, members: &[ClusterId], other: &Observation<'_>) -> Option<Loose> {
    let (here, there) = (own.unclustered()?, other.unclustered()?);
    let mut sites: BTreeMap<Site, usize> = BTreeMap::new();
    let points = own.labels.iter().enumerate();
    for (at, _) in points.filter(|(_, id)| members.contains(id)) {
        *sites
            .entry(site([&own.before, &own.after], at)?)
            .or_default() += 1;
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
        }
    }
    (found > 0.0 && found >= FOUND * expected).then_some(all)
}
