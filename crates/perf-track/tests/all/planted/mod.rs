//! Series of frames whose objects are known beforehand.

#![allow(dead_code, reason = "each test uses its part")]
#![allow(missing_docs, reason = "tests only")]

use perf_core::Job;
use perf_testdata::wide::Xorshift;
use perf_track::tracking::{Callers, Observation, TrackParams, Tracking};
use perf_track::{ClusterId, Points};

/// From 0 to 1.
pub(crate) fn unit(random: &mut Xorshift) -> f64 {
    random.below(1 << 30) as f64 / (1u64 << 30) as f64
}

/// A phase of the program as one frame shows it.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    /// What it is in truth.
    pub(crate) truth: usize,
    pub(crate) centre: [f64; 2],
    pub(crate) spread: f64,
    pub(crate) bursts: usize,
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

/// The cluster of each phase, bursts in random order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planted {
    pub(crate) points: Vec<f64>,
    pub(crate) labels: Vec<ClusterId>,
    pub(crate) time: Vec<f64>,
    pub(crate) callers: Vec<Option<u32>>,
    pub(crate) names: Vec<&'static str>,
    /// What each cluster is in truth.
    pub(crate) truth: Vec<Vec<usize>>,
}

impl Planted {
    /// Each list of phases is one cluster; an empty number of bursts loses a phase in noise.
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
                    // The sum of uniform numbers is close to a normal one.
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

    /// The same bursts in another order.
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

pub(crate) fn track(frames: &[Planted], params: TrackParams) -> Tracking {
    let seen: Vec<_> = frames
        .iter()
        .enumerate()
        .map(|(f, p)| p.seen(4 << f))
        .collect();
    let params = params.check().expect("they make sense");
    Tracking::of(&seen, &params, &Job::default()).expect("it tracks")
}

/// What the members of each object are in truth.
pub(crate) fn truths(tracking: &Tracking, frames: &[Planted]) -> Vec<Vec<Vec<usize>>> {
    let objects = tracking.objects.iter().map(|object| {
        let frames = object.members.iter().zip(frames);
        let frames = frames.map(|(members, planted)| {
            let mut all: Vec<usize> = members
                .iter()
                .flat_map(|id| planted.truth[id.index().expect("a cluster")].clone())
                .collect();
            all.sort_unstable();
            all
        });
        frames.collect()
    });
    objects.collect()
}

/// All objects are one phase in all frames it is in.
pub(crate) fn assert_pure(tracking: &Tracking, frames: &[Planted], phases: usize) {
    let truths = truths(tracking, frames);
    assert_eq!(truths.len(), phases, "{truths:?}");
    for object in truths {
        let mut all: Vec<usize> = object.concat();
        all.dedup();
        assert_eq!(all.len(), 1, "{object:?}");
    }
}

/// Twelve phases on an uneven grid.
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

/// Each phase a cluster, in this order.
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
