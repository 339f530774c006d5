//! [`Side`]: clusters of one experiment with centroids, times, callers and neighbours, as input of evaluators.

use super::observation::Observation;
use crate::tracking::program_position::aligned::sets;
use crate::tracking::program_position::call_sites::program_order;
use crate::tracking::program_position::callers::{CallerWeight, Callers, Histogram, Names};
use crate::tracking::program_position::context::{Context, Row};
use crate::{Alignment, Result};
use perf_core::{Job, Nanos};

/// Number of the caller that stands for unknown callers.
const UNRESOLVED: u32 = u32::MAX;

/// One experiment, its bursts grouped by cluster, without noise.
///
/// Bursts of a cluster are sorted by their values, so that sums and therefore all results do not
/// depend on the order of points.
#[derive(Debug)]
pub(crate) struct Side {
    /// Number of processes.
    pub(crate) tasks: u32,
    /// Number of clusters.
    pub(crate) clusters: usize,
    /// Number of dimensions.
    pub(crate) dimensions: usize,
    /// Coordinates of all bursts, burst by burst.
    pub(crate) coordinates: Vec<f64>,
    /// Cluster of each burst, ascending.
    pub(crate) classes: Vec<u32>,
    /// Number of bursts of each cluster.
    pub(crate) sizes: Vec<usize>,
    /// Time of each cluster.
    pub(crate) time: Vec<f64>,
    /// Time of bursts in no cluster.
    pub(crate) noise_time: f64,
    /// Coordinates of the centroid of each cluster, cluster by cluster.
    pub(crate) centroids: Vec<f64>,
    /// Callers before the bursts of each cluster.
    pub(crate) before: Vec<Histogram>,
    /// Callers after the bursts of each cluster.
    pub(crate) after: Vec<Histogram>,
    /// Functions that contain the bursts of each cluster.
    pub(crate) within: Vec<Histogram>,
    /// Clusters of the previous bursts on the same thread, as fractions; the highest number is noise.
    pub(crate) previous: Vec<Histogram>,
    /// Clusters of the next bursts on the same thread.
    pub(crate) next: Vec<Histogram>,
    /// Calls around the bursts of each cluster, the most frequent ones first; empty unless the calls are known
    /// without their callers.
    pub(crate) contexts: Vec<Vec<Context>>,
    /// `true` if the calls before and after are known, but not their callers.
    pub(crate) is_coarse: bool,
    /// `true` if program positions are known exactly: calls with the lines of their callers, or functions.
    pub(crate) is_exact: bool,
    /// Clusters in program order; empty if the order is unknown.
    pub(crate) order: Vec<usize>,
    /// Alignment of the clusters, if known.
    pub(crate) steps: Option<Alignment>,
    /// SPMD score `score_k` of noise and of each cluster; empty without an alignment.
    pub(crate) scores: Vec<f64>,
    /// Mean of the scores weighted by time; 0 without an alignment.
    pub(crate) global: f64,
}

impl Side {
    /// Prepares an experiment.
    ///
    /// With `unresolved`, all bursts with an unknown caller get the same additional caller if the
    /// callers of at least half of the bursts are known. If callers were recorded, bursts without a
    /// caller are the first of the run or follow a particular kind of call.
    pub(crate) fn new(
        seen: &Observation<'_>,
        names: &Names,
        weight: CallerWeight,
        unresolved: bool,
        job: &Job,
    ) -> Result<Self> {
        let (clusters, dimensions) = (seen.clusters(), seen.points.dimensions());
        let number = |callers: &Option<Callers>| -> Vec<Option<u32>> {
            let Some(callers) = callers else {
                return Vec::new();
            };
            let numbers = names.numbers(callers);
            let of = callers.of();
            let known = of.iter().flatten().count();
            let other = (unresolved && known >= of.len().div_ceil(2)).then_some(UNRESOLVED);
            let number = |id: u32| numbers.get(id as usize).copied();
            of.iter().map(|id| id.and_then(number).or(other)).collect()
        };
        let (before, after) = (number(&seen.before), number(&seen.after));
        let within = number(&seen.position[2]);
        let caller = |of: &[Option<u32>], row: u32| of.get(row as usize).copied().flatten();
        // Each row is a point, so that the default is not used.
        let point = |row: u32| seen.points.get(row as usize).unwrap_or(&[]);
        let time = |row: u32| seen.time[row as usize];
        let mut rows: Vec<u32> = (0..seen.len() as u32).collect();
        job.sort_by(&mut rows, |&a, &b| {
            let by_label = seen.labels[a as usize].cmp(&seen.labels[b as usize]);
            let mut pairs = point(a).iter().zip(point(b));
            by_label
                .then_with(|| {
                    let differing =
                        pairs.find_map(|(x, y)| Some(x.total_cmp(y)).filter(|o| o.is_ne()));
                    differing.unwrap_or(std::cmp::Ordering::Equal)
                })
                .then_with(|| time(a).total_cmp(&time(b)))
                .then_with(|| caller(&before, a).cmp(&caller(&before, b)))
                .then_with(|| caller(&after, a).cmp(&caller(&after, b)))
        })?;
        let mut side = Side {
            tasks: seen.tasks,
            clusters,
            dimensions,
            coordinates: Vec::new(),
            classes: Vec::new(),
            sizes: vec![0; clusters],
            time: vec![0.0; clusters],
            noise_time: 0.0,
            centroids: vec![0.0; clusters * dimensions],
            before: vec![Histogram::new(); clusters],
            after: vec![Histogram::new(); clusters],
            within: vec![Histogram::new(); clusters],
            previous: vec![Histogram::new(); clusters],
            next: vec![Histogram::new(); clusters],
            contexts: Vec::new(),
            is_coarse: seen.is_coarse,
            is_exact: seen.is_exact,
            order: Vec::new(),
            steps: None,
            scores: Vec::new(),
            global: 0.0,
        };
        let mut checks = job.checks();
        for row in rows {
            checks.next(1)?;
            let Some(class) = seen.labels[row as usize].index() else {
                side.noise_time += time(row);
                continue;
            };
            side.coordinates.extend_from_slice(point(row));
            side.classes.push(class as u32);
            side.sizes[class] += 1;
            side.time[class] += time(row);
            let sums = side.centroids.iter_mut().skip(class * dimensions);
            for (sum, value) in sums.zip(point(row)) {
                *sum += value;
            }
            let worth = match weight {
                CallerWeight::Time => time(row),
                CallerWeight::Bursts => 1.0,
            };
            for (histograms, of) in [
                (&mut side.before, &before),
                (&mut side.after, &after),
                (&mut side.within, &within),
            ] {
                if let Some(caller) = caller(of, row) {
                    *histograms[class].entry(caller).or_default() += worth;
                }
            }
        }
        for (class, sums) in side.centroids.chunks_mut(dimensions).enumerate() {
            for sum in sums {
                *sum /= side.sizes[class].max(1) as f64;
            }
        }
        let callers = side.before.iter_mut().chain(&mut side.after);
        for histogram in callers.chain(&mut side.within) {
            let sum: f64 = histogram.values().sum();
            // A cluster whose bursts with a caller take no time has no histogram.
            if sum > 0.0 {
                histogram.values_mut().for_each(|share| *share /= sum);
            } else {
                histogram.clear();
            }
        }
        if let Some(places) = seen.places() {
            let cluster = |point: usize| seen.labels.get(point).and_then(|id| id.index());
            let clusters = |point| cluster(point).into_iter().collect();
            side.order = program_order(places.iter().copied(), clusters);
            let row = |(at, place): (usize, &(u32, Nanos))| {
                let calls = [&before, &after].map(|of| caller(of, at as u32));
                (*place, seen.labels[at].index(), calls)
            };
            let mut rows: Vec<Row> = places.iter().enumerate().map(row).collect();
            rows.sort_unstable();
            side.neighbours(&rows);
            if seen.is_coarse {
                side.contexts = Context::of(&rows, side.clusters);
            }
        }
        if let Some(aligned) = &seen.alignment {
            let steps = aligned.labelled(&seen.labels)?;
            let times = std::iter::once(&side.noise_time).chain(&side.time);
            let all = times.clone().sum::<f64>().max(f64::MIN_POSITIVE);
            let shares: Vec<f64> = times.map(|time| time / all).collect();
            let score = steps.score(&shares);
            side.global = score.global;
            side.scores = score.clusters.iter().map(|cluster| cluster.score).collect();
            if side.order.is_empty() {
                for class in sets(&steps).into_iter().flatten() {
                    if !side.order.contains(&class) {
                        side.order.push(class);
                    }
                }
            }
            side.steps = Some(steps);
        }
        Ok(side)
    }

    /// Counts the clusters of the bursts before and after those of each cluster. `rows` are in the order of threads
    /// and time.
    fn neighbours(&mut self, rows: &[Row]) {
        for pair in rows.windows(2) {
            let [(a, left, _), (b, right, _)] = pair else {
                continue;
            };
            if a.0 != b.0 {
                continue;
            }
            let number = |of: &Option<usize>| of.map_or(UNRESOLVED, |class| class as u32);
            if let Some(of) = left.and_then(|class| self.next.get_mut(class)) {
                *of.entry(number(right)).or_default() += 1.0;
            }
            if let Some(of) = right.and_then(|class| self.previous.get_mut(class)) {
                *of.entry(number(left)).or_default() += 1.0;
            }
        }
        for histogram in self.previous.iter_mut().chain(&mut self.next) {
            let sum: f64 = histogram.values().sum();
            histogram.values_mut().for_each(|share| *share /= sum);
        }
    }

    pub(crate) fn centroid(&self, class: usize) -> &[f64] {
        self.centroids
            .get(class * self.dimensions..(class + 1) * self.dimensions)
            .unwrap_or(&[])
    }

    /// Returns the share of each cluster in the time of all clusters, in `0.0..=1.0`.
    pub(crate) fn shares(&self) -> Vec<f64> {
        let sum: f64 = self.time.iter().sum();
        let share = |time: &f64| time / sum.max(f64::MIN_POSITIVE);
        self.time.iter().map(share).collect()
    }

    /// Returns the clusters that have bursts.
    pub(crate) fn present(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.clusters).filter(|&class| self.sizes[class] > 0)
    }
}
