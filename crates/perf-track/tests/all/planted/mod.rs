//! Series of experiments with known tracked regions.

#![allow(dead_code, reason = "each test uses its part")]
#![allow(missing_docs, reason = "tests only")]

use perf_core::Job;
use perf_testdata::xorshift::Xorshift;
use perf_track::tracking::{Callers, Observation, TrackParams, Tracking};
use perf_track::{ClusterId, Points};

/// Returns a number in `0.0..1.0`.
pub(crate) fn unit(random: &mut Xorshift) -> f64 {
    random.below(1 << 30) as f64 / (1u64 << 30) as f64
}

/// Phase of the program in one experiment.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    /// True phase.
    pub(crate) truth: usize,
    /// Centre of its bursts.
    pub(crate) centre: [f64; 2],
    /// Width of its bursts.
    pub(crate) spread: f64,
    /// Number of bursts.
    pub(crate) bursts: usize,
    /// Caller of its bursts.
    pub(crate) caller: &'static str,
}

pub(crate) fn phase(truth: usize, centre: [f64; 2]) -> Phase {
    Phase {
        truth,
        centre,
        spread: 0.008,
        bursts: 60,
        caller: "",
    }
}

/// Cluster of each phase, with bursts in random order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planted {
    /// Coordinates in row-major order.
    pub(crate) points: Vec<f64>,
    /// Cluster of each burst.
    pub(crate) labels: Vec<ClusterId>,
    /// Duration of each burst.
    pub(crate) time: Vec<f64>,
    /// Caller of each burst.
    pub(crate) callers: Vec<Option<u32>>,
    /// Names of the callers.
    pub(crate) names: Vec<&'static str>,
    /// True phases of each cluster.
    pub(crate) truth: Vec<Vec<usize>>,
}

impl Planted {
    /// Creates an experiment in which each list of phases is one cluster; 0 bursts move a phase to
    /// noise.
    pub(crate) fn new(seed: u64, clusters: &[Vec<Phase>]) -> Self {
        let mut random = Xorshift::new(seed);
        let mut planted = Planted::default();
        let mut rows = Vec::new();
        for (index, phases) in clusters.iter().enumerate() {
            planted
                .truth
                .push(phases.iter().map(|phase| phase.truth).collect());
            for phase in phases {
                let at = planted.names.iter().position(|name| *name == phase.caller);
                let name = at.unwrap_or_else(|| {
                    planted.names.push(phase.caller);
                    planted.names.len() - 1
                });
                for _ in 0..phase.bursts {
                    // The sum of uniform numbers is approximately normal.
                    let mut bell = || (0..6).map(|_| unit(&mut random) - 0.5).sum::<f64>() * 1.4;
                    let point = [0, 1].map(|axis| phase.centre[axis] + phase.spread * bell());
                    let time = 1e6 * (2.0 + phase.truth as f64 % 5.0) * (1.0 + 0.05 * bell());
                    let known = (!phase.caller.is_empty()).then_some(name as u32);
                    rows.push((point, ClusterId(index as u32 + 1), time, known));
                }
            }
        }
        for _ in 0..25 {
            let point = [unit(&mut random), unit(&mut random)];
            rows.push((point, ClusterId::NOISE, 1e4, None));
        }
        for at in (1..rows.len()).rev() {
            rows.swap(at, random.below(at as u64 + 1) as usize);
        }
        for (point, label, time, caller) in rows {
            planted.points.extend(point);
            planted.labels.push(label);
            planted.time.push(time);
            planted.callers.push(caller);
        }
        planted
    }

    pub(crate) fn seen(&self, tasks: u32) -> Observation<'_> {
        let points = Points::new(&self.points, 2).expect("points");
        let name = format!("{tasks} tasks");
        let seen = Observation::new(name, tasks, points, &self.labels, &self.time).expect("seen");
        if self.callers.iter().all(Option::is_none) {
            return seen;
        }
        let callers = Callers::new(self.names.iter().copied(), self.callers.clone());
        seen.with_callers(Some(callers.expect("callers")), None)
            .expect("one each")
    }

    /// Returns the same bursts in another order.
    pub(crate) fn shuffled(&self, seed: u64) -> Self {
        let mut random = Xorshift::new(seed);
        let mut order: Vec<usize> = (0..self.labels.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at as u64 + 1) as usize);
        }
        Planted {
            points: order
                .iter()
                .flat_map(|&at| self.points[2 * at..2 * at + 2].to_vec())
                .collect(),
            labels: order.iter().map(|&at| self.labels[at]).collect(),
            time: order.iter().map(|&at| self.time[at]).collect(),
            callers: order.iter().map(|&at| self.callers[at]).collect(),
            ..self.clone()
        }
    }
}

pub(crate) fn track(experiments: &[Planted], params: TrackParams) -> Tracking {
    let seen: Vec<_> = experiments
        .iter()
        .enumerate()
        .map(|(f, p)| p.seen(4 << f))
        .collect();
    let params = params.check().expect("they make sense");
    Tracking::of(&seen, &params, &Job::default()).expect("it tracks")
}

/// Returns the true phases of the members of each tracked region.
pub(crate) fn truths(tracking: &Tracking, experiments: &[Planted]) -> Vec<Vec<Vec<usize>>> {
    let regions = tracking.regions.iter().map(|region| {
        let experiments = region.members.iter().zip(experiments);
        let experiments = experiments.map(|(members, planted)| {
            let mut all: Vec<usize> = members
                .iter()
                .flat_map(|id| planted.truth[id.index().expect("a cluster")].clone())
                .collect();
            all.sort_unstable();
            all
        });
        experiments.collect()
    });
    regions.collect()
}

/// Asserts that each tracked region is one phase in all experiments in which it occurs.
pub(crate) fn assert_pure(tracking: &Tracking, experiments: &[Planted], phases: usize) {
    let truths = truths(tracking, experiments);
    assert_eq!(truths.len(), phases, "{truths:?}");
    for region in truths {
        let mut all: Vec<usize> = region.concat();
        all.dedup();
        assert_eq!(all.len(), 1, "{region:?}");
    }
}

/// Returns twelve phases on an uneven grid.
pub(crate) fn twelve() -> Vec<Phase> {
    let mut random = Xorshift::new(12);
    let place = |index: usize| {
        let (column, row) = (index % 4, index / 4);
        [0.12 + 0.22 * column as f64, 0.15 + 0.3 * row as f64]
    };
    let jitter = |centre: [f64; 2], random: &mut Xorshift| {
        centre.map(|value| value + 0.06 * (unit(random) - 0.5))
    };
    (0..12)
        .map(|index| phase(index, jitter(place(index), &mut random)))
        .collect()
}

/// Makes each phase a cluster, in this order.
pub(crate) fn alone(phases: &[Phase], order: &[usize]) -> Vec<Vec<Phase>> {
    order.iter().map(|&at| vec![phases[at].clone()]).collect()
}

pub(crate) fn moved(phases: &[Phase], shift: [f64; 2]) -> Vec<Phase> {
    let mut phases = phases.to_vec();
    for phase in &mut phases {
        phase.centre = [phase.centre[0] + shift[0], phase.centre[1] + shift[1]];
    }
    phases
}

pub(crate) fn order(count: usize, seed: u64) -> Vec<usize> {
    let mut random = Xorshift::new(seed);
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    order
}
