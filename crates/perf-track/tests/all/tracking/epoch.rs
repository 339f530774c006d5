//! EPOCH on 2, 4 and 16 tasks, as another tool clustered it: the published heuristic and the
//! optimal mode.

use perf_core::Job;
use perf_testdata::corpus::corpus;
use perf_track::tracking::{
    AlignedBursts, Callers, Event, Mode, Observation, Threshold, TrackParams, Tracking,
};
use perf_track::{Alignment, ClusterId, Points};
use std::collections::BTreeMap;

const TASKS: [u32; 3] = [2, 4, 16];

/// Contents of the files of one experiment.
struct Recorded {
    /// Number of tasks.
    tasks: u32,
    /// Instructions (logarithm) and IPC, each scaled to the range of the experiment.
    own: Vec<f64>,
    /// Instructions of each burst.
    instructions: Vec<f64>,
    /// IPC of each burst.
    ipc: Vec<f64>,
    /// Cluster of each burst.
    labels: Vec<ClusterId>,
    /// Duration of each burst.
    time: Vec<f64>,
    /// Bursts of each rank in order of time.
    ranks: Vec<Vec<u32>>,
    /// Alignment of the ranks.
    alignment: AlignedBursts,
    /// SPMD score of the experiment.
    global: f64,
}

impl Recorded {
    fn read(tasks: u32) -> Option<Self> {
        let file = |rest: &str| -> Option<String> {
            let path = corpus(&format!("paraver/reference/e{tasks}{rest}"))?;
            Some(std::fs::read_to_string(path).expect("text"))
        };
        let text = file(".DATA.csv")?;
        let mut lines = text.lines();
        let head: Vec<&str> = lines
            .next()
            .expect("a head")
            .split(',')
            .map(str::trim)
            .collect();
        let column = |name: &str| head.iter().position(|column| *column == name).expect(name);
        let wanted = [
            "TaskId",
            "Begin_Time",
            "Duration",
            "d_PAPI_TOT_INS",
            "d_IPC",
        ];
        let wanted = wanted.map(column);
        let (x, y, id) = (
            column("n_PAPI_TOT_INS"),
            column("n_IPC"),
            column("ClusterID"),
        );
        let mut recorded = Recorded {
            tasks,
            own: Vec::new(),
            instructions: Vec::new(),
            ipc: Vec::new(),
            labels: Vec::new(),
            time: Vec::new(),
            ranks: vec![Vec::new(); tasks as usize],
            alignment: AlignedBursts::default(),
            global: 0.0,
        };
        let mut begins = Vec::new();
        for (row, line) in lines.enumerate() {
            let cells: Vec<f64> = line
                .split(',')
                .map(|cell| cell.trim().parse().expect("a number"))
                .collect();
            let [task, begin, duration, instructions, ipc] = wanted.map(|at| cells[at]);
            recorded.own.extend([cells[x], cells[y]]);
            recorded.instructions.push(instructions);
            recorded.ipc.push(ipc);
            // Numbers up to 5 are not clusters.
            recorded
                .labels
                .push(ClusterId((cells[id] as u32).saturating_sub(5)));
            recorded.time.push(duration);
            recorded.ranks[task as usize].push(row as u32);
            begins.push(begin);
        }
        for rank in &mut recorded.ranks {
            rank.sort_by(|&a, &b| begins[a as usize].total_cmp(&begins[b as usize]));
        }
        let sequences = file(".seq")?;
        let rows = sequences.lines().filter(|line| !line.starts_with('>'));
        let cell = |cell: &str| cell.parse().ok().map(ClusterId);
        let rows: Vec<Vec<_>> = rows.map(|row| row.split(',').map(cell).collect()).collect();
        for (rank, row) in recorded.ranks.iter().zip(&rows) {
            let expected: Vec<_> = rank
                .iter()
                .map(|&at| recorded.labels[at as usize])
                .collect();
            let found: Vec<_> = row.iter().copied().flatten().collect();
            assert_eq!(found, expected, "the files agree");
        }
        let alignment = Alignment::from_rows(&rows).expect("aligned");
        recorded.alignment = AlignedBursts::of(&alignment, &recorded.ranks).expect("aligned");
        let scores = file(".SCORES.csv")?;
        let global = scores.lines().find_map(|line| line.strip_prefix("GLOBAL,"));
        recorded.global = global.expect("a score").parse().expect("a number");
        Some(recorded)
    }

    /// Returns callers by burst, generated from the histogram of each cluster, since the assignment
    /// to bursts is unknown.
    fn callers(&self, level: usize) -> Callers {
        let name = format!(
            "paraver/reference/e{}.prv.callers-lvl-{level}.3D",
            self.tasks
        );
        let text = std::fs::read_to_string(corpus(&name).expect("the corpus")).expect("text");
        let mut names = Vec::new();
        let mut of = vec![None; self.labels.len()];
        let mut next: BTreeMap<u32, usize> = BTreeMap::new();
        for line in text.lines().skip(1) {
            let mut cells = line.splitn(4, ',');
            let mut cell = || cells.next().expect("four cells");
            let id: u32 = cell().parse().expect("a cluster");
            let hits: usize = cell().parse().expect("hits");
            let _percent = cell();
            let caller = cell();
            let known = names.iter().position(|name| name == caller);
            let known = known.unwrap_or_else(|| {
                names.push(caller.to_owned());
                names.len() - 1
            });
            let own = self
                .labels
                .iter()
                .enumerate()
                .filter(|(_, label)| label.0 == id);
            let from = next.entry(id).or_default();
            for (row, _) in own.skip(*from).take(hits) {
                of[row] = Some(known as u32);
            }
            *from += hits;
        }
        Callers::new(names, of).expect("callers")
    }

    fn seen<'p>(&self, points: &'p [f64], callers: Option<usize>) -> Observation<'p> {
        let points = Points::new(points, 2).expect("points");
        let name = format!("{} tasks", self.tasks);
        let seen = Observation::new(name, self.tasks, points, &self.labels, &self.time);
        let seen = seen
            .expect("seen")
            .with_alignment(self.alignment.clone())
            .expect("aligned");
        let callers = callers.map(|level| self.callers(level));
        seen.with_callers(callers, None).expect("one each")
    }
}

fn series() -> Option<Vec<Recorded>> {
    TASKS.iter().map(|&tasks| Recorded::read(tasks)).collect()
}

fn published() -> TrackParams {
    Tracking::params().mode(Mode::Published)
}

/// Tracks in the space in which the other tool compares them.
fn track(experiments: &[Recorded], params: TrackParams, callers: Option<usize>) -> Tracking {
    let seen: Vec<_> = experiments
        .iter()
        .map(|experiment| experiment.seen(&experiment.own, callers))
        .collect();
    let params = params.check().expect("they make sense");
    Tracking::of(&seen, &params, &Job::default()).expect("it tracks")
}

/// Tracks in one space: the logarithm of instructions times tasks, and IPC, both over the common
/// range.
fn joint(experiments: &[Recorded], params: TrackParams, callers: Option<usize>) -> Tracking {
    let raw = |experiment: &Recorded| -> Vec<[f64; 2]> {
        let scale = f64::from(experiment.tasks);
        let both = experiment.instructions.iter().zip(&experiment.ipc);
        both.map(|(instructions, ipc)| [(instructions * scale).ln(), *ipc])
            .collect()
    };
    let raw: Vec<Vec<[f64; 2]>> = experiments.iter().map(raw).collect();
    let range = |axis: usize| {
        let values = raw.iter().flatten().map(|point| point[axis]);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        })
    };
    let ranges = [range(0), range(1)];
    let scaled: Vec<Vec<f64>> = raw
        .iter()
        .map(|points| {
            let scaled = points.iter().flat_map(|point| {
                [0, 1].map(|axis| {
                    let (low, high) = ranges[axis];
                    (point[axis] - low) / (high - low)
                })
            });
            scaled.collect()
        })
        .collect();
    let seen = experiments
        .iter()
        .zip(&scaled)
        .map(|(experiment, points)| experiment.seen(points, callers));
    let params = params.check().expect("they make sense");
    let seen: Vec<_> = seen.collect();
    Tracking::of(&seen, &params, &Job::default()).expect("it tracks")
}

fn show(tracking: &Tracking) -> Vec<String> {
    let regions = tracking.regions.iter().map(|region| {
        let experiments = region.members.iter().map(|members| {
            let ids: Vec<String> = members.iter().map(ToString::to_string).collect();
            ids.join("+")
        });
        experiments.collect::<Vec<_>>().join(" | ")
    });
    regions.collect()
}

#[test]
fn scores_are_those_of_the_other_tool() {
    let Some(experiments) = series() else { return };
    let tracking = track(&experiments, published(), None);
    for (experiment, recorded) in tracking.experiments.iter().zip(&experiments) {
        let score = experiment.score.expect("it is aligned");
        // Its file has five digits.
        assert!(
            (score - recorded.global).abs() < 5.1e-6,
            "{score} {}",
            recorded.global
        );
    }
}

#[test]
fn published_by_distance() {
    let Some(experiments) = series() else { return };
    let tracking = track(&experiments, published(), None);
    let expected = [
        "1 | 1+4 | 1+3+5",
        "2 | 5 | 4",
        "3 | 7 | 9+13+16",
        "4+6+7 | 2+3+6+9 | 2+6+7+11+12+14+15+17+18+19",
        "5 | 8+10 | 8+10",
    ];
    // The other tool also joins cluster 1 of 2 and 4 tasks to 1 and 3 of 16.
    assert_eq!(show(&tracking), expected);
    // All clusters are tracked; the rest is noise, as in the other tool on 2 and 4 tasks.
    for (experiment, known) in tracking.experiments.iter().zip([0.913, 0.992, 0.999]) {
        let all = experiment.clustered_time + experiment.noise_time;
        assert!((experiment.coverage - experiment.clustered_time / all).abs() < 1e-12);
        assert!(
            (experiment.coverage - known).abs() < 1e-3,
            "{}",
            experiment.coverage
        );
    }
    // With only the largest link of each row, cluster 6 of 2 tasks is separate.
    let first = track(&experiments, published().threshold(Threshold::First), None);
    assert_eq!(show(&first).len(), 6);
    assert!(show(&first).contains(&"1 | 1+4 | 1+3+5".into()));
}

#[test]
fn published_ties_too_much_together() {
    let Some(experiments) = series() else { return };
    // Alignments with a low score, and callers at any level, yield fewer regions than distance
    // alone.
    let low = track(&experiments, published().min_score(0.6), None);
    assert_eq!(low.regions.len(), 4);
    for level in 1..=3 {
        let called = track(&experiments, published().use_callers(true), Some(level));
        assert_eq!(
            called.regions.len(),
            2,
            "level {level}: {:?}",
            show(&called)
        );
    }
}

#[test]
fn optimal_has_one_region_a_phase() {
    let Some(experiments) = series() else { return };
    let tracking = joint(&experiments, Tracking::params(), Some(3));
    let regions = show(&tracking);
    for expected in [
        // Two call sites in one cluster until 16 tasks separate them.
        "1 | 1 | 1+3",
        // The first phase of the run, noise on 2 tasks: no call precedes it.
        " | 2 | 2",
        "2 | 5 | 4",
        // Equal call sites that no other clusters have.
        " | 4 | 5",
        "3 | 7 | 9+13+15+16",
        "5 | 8 | 8",
        "6 | 9 | 11",
        // On 16 tasks its bursts are below a millisecond, and absent.
        "4 | 6 | ",
    ] {
        assert!(
            regions.contains(&expected.into()),
            "{expected} in {regions:#?}"
        );
    }
    for experiment in &tracking.experiments {
        let all = experiment.clustered_time + experiment.noise_time;
        let tracked = experiment.coverage * all / experiment.clustered_time;
        assert!(tracked > 0.97, "{}: {tracked}", experiment.name);
    }
    // Each event agrees with the clusters.
    let split = Event::Split {
        experiment: 2,
        from: ClusterId(1),
        into: vec![ClusterId(1), ClusterId(3)],
    };
    assert_eq!(tracking.regions[0].events, [split]);
    // With callers, with alignments or with neither, the dominant phase is one tracked region.
    for (params, level) in [
        (Tracking::params().use_callers(false), Some(3)),
        (Tracking::params().use_sequences(false), Some(3)),
        (Tracking::params(), None),
        (Tracking::params(), Some(1)),
        (Tracking::params(), Some(2)),
    ] {
        let tracking = joint(&experiments, params, level);
        let first = &tracking.regions[0].members;
        for (members, wanted) in first.iter().zip([&[1][..], &[1], &[1, 3]]) {
            assert!(
                wanted.iter().all(|&id| members.contains(&ClusterId(id))),
                "{first:?}"
            );
        }
    }
}

#[test]
fn instructions_of_the_dominant_phase_fall_as_tasks_grow() {
    let Some(experiments) = series() else { return };
    let mean = |experiment: &Recorded| {
        let own = experiment
            .labels
            .iter()
            .zip(&experiment.instructions)
            .filter(|(id, _)| id.0 == 1);
        let (count, sum) = own.fold((0usize, 0.0), |(count, sum), (_, v)| (count + 1, sum + v));
        sum / count as f64
    };
    let means: Vec<f64> = experiments.iter().map(mean).collect();
    assert!((means[0] / means[1] - 2.00).abs() < 0.01, "{means:?}");
    assert!((means[1] / means[2] - 4.20).abs() < 0.01, "{means:?}");
}
