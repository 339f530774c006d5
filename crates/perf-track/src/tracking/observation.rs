//! [`Observation`]: input of tracking for one experiment: coordinates, cluster, duration and
//! callers of each burst, and the alignment of its threads.

use super::{AlignedBursts, Callers, Parts};
use crate::tracking::composition::unclustered::Unclustered;
use crate::tracking::program_position::call_sites;
use crate::{
    Align, Bursts, ClusterId, Error, Experiment, Kind, Labels, Points, Result, Sequences,
    TimeBalance,
};
use perf_core::{Job, Nanos};
use std::collections::BTreeMap;

/// Largest number of clusters of an experiment that can be tracked, because each evaluator has a
/// value for each pair.
pub const MOST_CLUSTERS: usize = 2048;

/// Input of tracking for one experiment. It holds for each burst its cluster, its position in a
/// space common to all experiments, its duration and, if known, its callers and its column in an
/// alignment.
///
/// All lists have one entry for each burst, in the same order. Filtered bursts may be omitted. A
/// burst that is part of an observation is called a point.
///
/// ```
/// use perf_track::{ClusterId, Points, tracking::Observation};
/// let points = Points::new(&[0.1, 0.2, 0.8, 0.9], 2)?;
/// let labels = [ClusterId(1), ClusterId::NOISE];
/// let seen = Observation::new("4 tasks", 4, points, &labels, &[2e6, 1e6])?;
/// assert_eq!((seen.len(), seen.clusters()), (2, 1));
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Observation<'a> {
    /// Name of the experiment.
    pub(super) name: String,
    /// Number of tasks times threads.
    pub(super) tasks: u32,
    /// Position of each burst.
    pub(super) points: Points<'a>,
    /// Cluster of each burst.
    pub(super) labels: Vec<ClusterId>,
    /// Duration of each burst, in the unit of the caller; nanoseconds if created from an experiment.
    pub(super) time: Vec<f64>,
    /// Callers of the call before each burst.
    pub(super) before: Option<Callers>,
    /// Callers of the call after each burst.
    pub(super) after: Option<Callers>,
    /// Calls before and after each burst with their callers, and the functions that contain each burst.
    /// `None` if the observation was created from points alone.
    pub(super) position: [Option<Callers>; 3],
    /// `true` if the calls before and after are known, but not their callers.
    pub(super) is_coarse: bool,
    /// `true` if program positions are known exactly: calls with the lines of their callers, or functions.
    pub(super) is_exact: bool,
    /// Cluster from which each part of a regrouped cluster comes; see [`Parts::of`]. Empty if clusters were
    /// not regrouped.
    pub(super) parts: Vec<ClusterId>,
    /// Number of noise points that joined a cluster because of their program position.
    pub(super) rescued: usize,
    /// Alignment of the ranks' sequences.
    pub(super) alignment: Option<AlignedBursts>,
    /// Number of the recording of which the experiment is a window; `None` if it is no window.
    pub(super) recording: Option<usize>,
    /// Exact times of the bursts; `None` if the observation was created from points alone.
    counted: Option<Counted>,
}

/// Exact times of the bursts behind an observation.
#[derive(Clone, Debug)]
struct Counted {
    /// Time of the bursts that are not points.
    others: TimeBalance,
    /// Kind and duration of the burst of each point.
    points: Vec<(Kind, Nanos)>,
    /// Thread and begin of the burst of each point.
    places: Vec<(u32, Nanos)>,
    /// Bursts in no cluster.
    unclustered: Unclustered,
}

impl Counted {
    fn of(experiment: &Experiment, rows: &[u32]) -> Result<Self> {
        let bursts = experiment.bursts();
        let duration = |row: usize| {
            let burst = bursts.rows().get(row);
            Nanos(burst.map_or(0, |burst| burst.end.0.saturating_sub(burst.begin.0)))
        };
        let mut is_point = vec![false; bursts.len()];
        let mut points = Vec::with_capacity(rows.len());
        for &row in rows {
            let row = row as usize;
            if let (Some(known), Some(kind)) = (is_point.get_mut(row), bursts.kinds().get(row)) {
                *known = true;
                points.push((*kind, duration(row)));
            }
        }
        let mut others = TimeBalance::default();
        let rest = bursts.kinds().iter().zip(&is_point).enumerate();
        for (row, (kind, _)) in rest.filter(|(_, (_, is_point))| !**is_point) {
            // A complete burst that is not a point lacks a finite coordinate.
            let kind = match kind {
                Kind::Complete => Kind::Missing,
                other => *other,
            };
            others.add(kind, ClusterId::NOISE, duration(row), |_| false);
        }
        let burst = |&row: &u32| bursts.rows().get(row as usize);
        let bursts_of_points = rows.iter().filter_map(burst);
        Ok(Counted {
            others,
            points,
            places: bursts_of_points
                .map(|burst| (burst.thread, burst.begin))
                .collect(),
            unclustered: Unclustered::of(bursts, experiment.labels())?,
        })
    }
}

impl<'a> Observation<'a> {
    /// Creates an observation of `tasks` tasks times threads, with a point, a cluster and a duration (in any
    /// unit, not negative) for each burst.
    ///
    /// # Errors
    /// Returns an error for lists of different lengths, a duration that is negative or not finite,
    /// or a cluster number above the number of bursts (see [`Labels::by_weight`]) or above
    /// [`MOST_CLUSTERS`].
    pub fn new(
        name: impl Into<String>,
        tasks: u32,
        points: Points<'a>,
        labels: &[ClusterId],
        time: &[f64],
    ) -> Result<Self> {
        for (what, got) in [
            ("labels of points", labels.len()),
            ("durations of points", time.len()),
        ] {
            if got != points.len() {
                let expected = points.len();
                return Err(Error::Length {
                    what,
                    expected,
                    got,
                });
            }
        }
        let bad = |value: &f64| !(value.is_finite() && *value >= 0.0);
        if let Some(at) = time.iter().position(bad) {
            return Err(Error::Parameter {
                name: "duration of a burst",
                value: time[at].to_string(),
                range: "finite and at least 0",
            });
        }
        let clusters = labels.iter().map(|id| id.0 as usize).max().unwrap_or(0);
        if clusters > labels.len() {
            return Err(Error::Unknown {
                what: "cluster",
                id: clusters,
                count: labels.len(),
            });
        }
        if clusters > MOST_CLUSTERS {
            return Err(Error::TooMany {
                what: "clusters in an experiment that is tracked",
                limit: MOST_CLUSTERS as u64,
            });
        }
        Ok(Observation {
            name: name.into(),
            tasks,
            points,
            labels: labels.to_vec(),
            time: time.to_vec(),
            before: None,
            after: None,
            position: [None, None, None],
            is_coarse: false,
            is_exact: false,
            parts: Vec::new(),
            rescued: 0,
            alignment: None,
            recording: None,
            counted: None,
        })
    }

    /// Creates an observation from an experiment and its points; `rows` holds the burst of each point.
    /// Durations, full chains of callers before and after, and the [balance](TimeBalance) of the
    /// CPU time are taken from the bursts.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new), and an error if there is not one row for each
    /// point or a row does not exist.
    pub fn of(experiment: &Experiment, points: Points<'a>, rows: &[u32]) -> Result<Self> {
        let bursts = experiment.bursts();
        if let Some(&row) = rows.iter().find(|&&row| row as usize >= bursts.len()) {
            return Err(Error::Unknown {
                what: "burst",
                id: row as usize,
                count: bursts.len(),
            });
        }
        let pick = |row: &u32| experiment.labels().as_slice().get(*row as usize).copied();
        let labels: Vec<ClusterId> = rows.iter().filter_map(pick).collect();
        let durations = bursts.durations();
        let time: Vec<f64> = rows.iter().map(|&row| durations[row as usize]).collect();
        let mut seen = Observation::new(
            experiment.name(),
            experiment.threads(),
            points,
            &labels,
            &time,
        )?;
        seen.counted = Some(Counted::of(experiment, rows)?);
        seen.position = [
            Callers::calls_before(bursts, rows)?,
            Callers::calls_after(bursts, rows)?,
            Callers::within(bursts, rows)?,
        ];
        let before = Callers::before(bursts, rows)?;
        seen.with_callers(before, Callers::after(bursts, rows)?)
    }

    /// Returns the observation with calls in place of the callers of calls, where they are known.
    pub(super) fn by_calls(&self) -> Self {
        let mut new = self.clone();
        let [before, after, _] = &self.position;
        if before.is_some() || after.is_some() {
            (new.before, new.after) = (before.clone(), after.clone());
            let mut names = [before, after]
                .into_iter()
                .flatten()
                .flat_map(Callers::names);
            new.is_coarse = !names.clone().any(|name| call_sites::has_callers(name));
            new.is_exact = names.any(|name| call_sites::has_lines(name));
        }
        if let Some(within) = &self.position[2] {
            new.position[2] = Some(within.without_lines());
            // Beside calls without lines, a function is no exact position.
            new.is_exact |= new.before.is_none() && new.after.is_none();
        }
        new
    }

    /// Returns the observation with other names of call sites.
    pub(super) fn renamed(&self, names: &BTreeMap<String, String>) -> Self {
        let mut new = self.clone();
        for callers in [&mut new.before, &mut new.after] {
            *callers = callers.as_ref().map(|callers| callers.renamed(names));
        }
        if let Some(counted) = &mut new.counted {
            counted.unclustered.rename(names);
        }
        new
    }

    /// Adds the callers of the calls before and after each burst.
    ///
    /// # Errors
    /// Returns an error if there is not one entry for each point.
    pub fn with_callers(mut self, before: Option<Callers>, after: Option<Callers>) -> Result<Self> {
        for callers in [&before, &after].into_iter().flatten() {
            if callers.len() != self.len() {
                return Err(Error::Length {
                    what: "callers of points",
                    expected: self.len(),
                    got: callers.len(),
                });
            }
        }
        (self.before, self.after) = (before, after);
        Ok(self)
    }

    /// Declares the experiment to be a window of the recording with this number. By default each
    /// experiment is a separate recording.
    pub fn part_of(mut self, recording: usize) -> Self {
        self.recording = Some(recording);
        self
    }

    /// Adds the alignment of the ranks' sequences of bursts.
    ///
    /// # Errors
    /// Returns an error if a point of the alignment does not exist.
    pub fn with_alignment(mut self, alignment: AlignedBursts) -> Result<Self> {
        let mut cells = alignment.rows().iter().flatten().flatten();
        if let Some(&point) = cells.find(|&&point| point as usize >= self.len()) {
            return Err(Error::Unknown {
                what: "point of an alignment",
                id: point as usize,
                count: self.len(),
            });
        }
        self.alignment = Some(alignment);
        Ok(self)
    }

    /// Aligns the sequences of bursts of each thread, and adds the alignment. `rows` holds the
    /// burst of each point, as in [`of`](Self::of).
    ///
    /// # Errors
    /// Returns the errors of [`Align::align`], and an error if there is not one row for each point
    /// or a row does not exist.
    pub fn align(self, bursts: &Bursts, rows: &[u32], align: &Align, job: &Job) -> Result<Self> {
        if rows.len() != self.len() {
            return Err(Error::Length {
                what: "bursts of points",
                expected: self.len(),
                got: rows.len(),
            });
        }
        let mut threads: Vec<Vec<(Nanos, u32)>> = vec![Vec::new(); bursts.threads().len()];
        let mut shares = vec![0.0; self.clusters() + 1];
        for (point, (&row, label)) in rows.iter().zip(&self.labels).enumerate() {
            let burst = bursts.rows().get(row as usize).ok_or(Error::Unknown {
                what: "burst",
                id: row as usize,
                count: bursts.len(),
            })?;
            if let Some(thread) = threads.get_mut(burst.thread as usize) {
                thread.push((burst.begin, point as u32));
            }
            if let Some(share) = shares.get_mut(label.0 as usize) {
                *share += self.time[point];
            }
        }
        let all: f64 = shares.iter().sum();
        shares
            .iter_mut()
            .for_each(|share| *share /= all.max(f64::MIN_POSITIVE));
        let in_order = |mut thread: Vec<(Nanos, u32)>| {
            thread.sort_unstable();
            thread.into_iter().map(|(_, point)| point).collect()
        };
        let points: Vec<Vec<u32>> = threads.into_iter().map(in_order).collect();
        let label = |&point: &u32| self.labels[point as usize];
        let sequences = points
            .iter()
            .map(|points| points.iter().map(label).collect());
        let sequences = Sequences::new(sequences.collect());
        let alignment = align.align(&sequences, &shares, job)?;
        self.with_alignment(AlignedBursts::of(&alignment, &points)?)
    }

    /// Replaces the clusters by the parts that [`regroup_by_position`](super::regroup_by_position) returns.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new).
    pub fn with_parts(self, parts: &Parts) -> Result<Self> {
        let mut new = self.with_labels(&parts.labels)?;
        new.parts.clone_from(&parts.of);
        new.rescued = parts.rescued.len();
        Ok(new)
    }

    /// Returns a function that returns the cluster of a cluster before regrouping; `None` for a part that was noise.
    pub(super) fn originals(&self) -> impl Fn(ClusterId) -> Option<ClusterId> + '_ {
        let first = self.clusters().saturating_sub(self.parts.len());
        move |id| match id.index()?.checked_sub(first) {
            Some(part) => self.parts.get(part).copied().filter(|id| !id.is_noise()),
            None => Some(id),
        }
    }

    /// Replaces the clusters.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new).
    pub fn with_labels(self, labels: &Labels) -> Result<Self> {
        let mut new = Observation::new(
            self.name,
            self.tasks,
            self.points,
            labels.as_slice(),
            &self.time,
        )?;
        (new.before, new.after, new.alignment) = (self.before, self.after, self.alignment);
        (new.recording, new.counted) = (self.recording, self.counted);
        new.position = self.position;
        new.is_coarse = self.is_coarse;
        Ok(new)
    }

    /// Returns the balance of the CPU time, given a test for tracked clusters. `None` for an
    /// observation that was created from points alone.
    pub(super) fn balance(&self, is_tracked: impl Fn(ClusterId) -> bool) -> Option<TimeBalance> {
        let counted = self.counted.as_ref()?;
        let mut balance = counted.others;
        for (&(kind, duration), &label) in counted.points.iter().zip(&self.labels) {
            balance.add(kind, label, duration, &is_tracked);
        }
        Some(balance)
    }

    /// Returns thread and begin of the burst of each point. `None` for an observation that was
    /// created from points alone.
    pub(super) fn places(&self) -> Option<&[(u32, Nanos)]> {
        self.counted.as_ref().map(|of| of.places.as_slice())
    }

    /// Returns the bursts in no cluster. `None` for an observation that was created from points
    /// alone.
    pub(super) fn unclustered(&self) -> Option<&Unclustered> {
        self.counted.as_ref().map(|of| &of.unclustered)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of tasks times threads.
    pub fn tasks(&self) -> u32 {
        self.tasks
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns `true` if there are no points.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns the highest cluster number.
    pub fn clusters(&self) -> usize {
        self.labels
            .iter()
            .map(|id| id.0 as usize)
            .max()
            .unwrap_or(0)
    }

    /// Returns the cluster of each point.
    pub fn labels(&self) -> &[ClusterId] {
        &self.labels
    }
}
