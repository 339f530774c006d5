//! [`Times`]: exclusive times of a profile by call path, [`Class`] of regions, and rank or thread.

use crate::failure::{Failure, input};
use crate::pictures;
use perfkit::core::{
    CallPathId, Combine, LocationGroupId, LocationId, LocationKind, MetricId, Paradigm, Profile,
    Region, RegionRole, Scope, TraceView,
};
use perfkit::view::Unit;
use std::collections::BTreeMap;

/// Class of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Work of the program: every region of no other class.
    Computing,
    /// Communication, such as MPI and SHMEM.
    Communication,
    /// Initialisation and end of MPI.
    StartUp,
    /// OpenMP barriers, critical sections and waits for tasks, and calls that wait for threads.
    Synchronisation,
    /// Input and output.
    InputOutput,
    /// Calls of a device runtime.
    DeviceCalls,
    /// Recorded states of idle or waiting locations.
    Idle,
    /// The measurement system itself.
    Measurement,
}

impl Class {
    /// Number of classes.
    pub(super) const COUNT: usize = 8;

    /// Returns the class of a region.
    pub(crate) fn of(region: &Region) -> Self {
        use RegionRole as Role;
        let name = region.name.as_str();
        let is_openmp = region.paradigm == Paradigm::OpenMp
            || name.starts_with("!$omp")
            || name.starts_with("OpenMP ");
        let waits = [
            "barrier",
            "critical",
            "taskwait",
            "ordered @",
            "single sblock",
        ];
        match (region.paradigm, region.role) {
            (_, Role::FileIo) => Class::InputOutput,
            _ if name.starts_with("MPI_File_") || name == "I/O" => Class::InputOutput,
            _ if START_UP.contains(&name.trim_end_matches("()")) => Class::StartUp,
            _ if region.is_mpi() => Class::Communication,
            (Paradigm::Shmem, _) | (_, Role::Collective | Role::PointToPoint | Role::Rma) => {
                Class::Communication
            }
            (Paradigm::Unknown | Paradigm::OpenMp, _) if SYNCHRONISATION_STATES.contains(&name) => {
                Class::Synchronisation
            }
            (_, Role::Barrier) if is_openmp => Class::Synchronisation,
            _ if is_openmp && waits.iter().any(|wait| name.contains(wait)) => {
                Class::Synchronisation
            }
            (Paradigm::Cuda | Paradigm::Hip | Paradigm::OpenCl, _) => Class::DeviceCalls,
            (Paradigm::Measurement, _) => Class::Measurement,
            _ if DEVICE_CALLS.iter().any(|start| is_call(name, start)) => Class::DeviceCalls,
            (Paradigm::Unknown, _) if IDLE_STATES.contains(&name) => Class::Idle,
            _ if is_wait_of_python(name) => Class::Idle,
            (Paradigm::Unknown, _) if COMMUNICATION_STATES.contains(&name) => Class::Communication,
            _ if region.waits() => {
                let name = name.to_lowercase();
                let is_mpi = name.trim_start_matches('p').starts_with("mpi");
                let synchronises = SYNCHRONISATIONS.iter().any(|word| name.contains(word));
                if synchronises && !is_mpi {
                    Class::Synchronisation
                } else {
                    Class::Communication
                }
            }
            _ => Class::Computing,
        }
    }
}

/// Parts of the names of functions that wait without communicating.
const SYNCHRONISATIONS: [&str; 9] = [
    "barrier", "wait", "lock", "join", "critical", "sync", "poll", "select", "sleep",
];

/// Calls that start and end MPI, which every run makes once.
const START_UP: [&str; 3] = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize"];

/// Returns `true` if a function waits for a lock or another thread of Python, as profilers of PyTorch name it.
fn is_wait_of_python(name: &str) -> bool {
    let waits = ["acquire of _thread.lock", "acquire of _thread.RLock"];
    let of_threading = name.starts_with("threading.py(");
    let ends = ["): wait", "): join", "): acquire"];
    waits.iter().any(|wait| name.contains(wait))
        || (of_threading && ends.iter().any(|end| name.ends_with(end)))
}

/// Prefixes of the calls of device runtimes, each followed by an upper-case letter.
const DEVICE_CALLS: [&str; 3] = ["cuda", "hip", "cu"];

fn is_call(name: &str, start: &str) -> bool {
    let rest = name.strip_prefix(start);
    rest.is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_uppercase()))
}

/// States of Paraver in which a thread waits for other threads of its process.
const SYNCHRONISATION_STATES: [&str; 2] = ["Synchronization", "Scheduling and Fork/Join"];

/// States of Paraver in which a thread is idle.
const IDLE_STATES: [&str; 6] = [
    "Idle",
    "Not created",
    "Stopped",
    "Blocked",
    "Waiting a message",
    "Wait/WaitAll",
];

/// States of Paraver in which a thread communicates.
const COMMUNICATION_STATES: [&str; 6] = [
    "Blocking Send",
    "Immediate Send",
    "Immediate Receive",
    "Send Receive",
    "Group Communication",
    "Probe",
];

/// A rank, or a thread of the only process.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Name of the process or thread.
    pub(super) name: String,
    /// Rank, if the name or a property states it.
    pub(super) rank: Option<u64>,
    /// Number of CPU threads of the member.
    pub(super) threads: usize,
    /// Time by class in nanoseconds, summed over the threads of the member.
    pub(super) classes: [f64; Class::COUNT],
    /// Time outside all regions in nanoseconds, summed over the threads of the member.
    pub(super) outside: f64,
}

impl Member {
    /// Returns the time of a class, per thread.
    pub(super) fn per_thread(&self, class: Class) -> f64 {
        self.classes[class as usize] / self.threads.max(1) as f64
    }

    /// Returns the rank or the name.
    pub(super) fn label(&self) -> String {
        match self.rank {
            Some(rank) => format!("rank {rank}"),
            None => self.name.clone(),
        }
    }
}

/// Call path with its exclusive time.
#[derive(Clone, Debug)]
pub(super) struct PathTime {
    /// Identifier in the profile.
    pub(super) id: CallPathId,
    /// Names of the regions of the call path.
    pub(super) name: String,
    /// Name of the innermost region.
    pub(super) region: String,
    /// Class of the innermost region.
    pub(super) class: Class,
    /// Exclusive time of each member in nanoseconds, summed over its threads.
    pub(super) members: Vec<f64>,
    /// Sum over all members in nanoseconds.
    pub(super) sum: f64,
}

/// Exclusive times of CPU threads.
#[derive(Clone, Debug)]
pub(super) struct Times {
    /// Ranks, or the threads of the only process.
    pub(super) members: Vec<Member>,
    /// Noun for a member: `rank`, `process` or `thread`.
    pub(super) noun: &'static str,
    /// Call paths in descending order of exclusive time.
    pub(super) paths: Vec<PathTime>,
    /// Number of CPU threads with events.
    pub(super) threads: usize,
    /// Denominator of all shares in nanoseconds. For a trace it is the number of threads times the
    /// duration, for a profile the exclusive time of all call paths.
    pub(super) total: f64,
    /// Duration of the trace in nanoseconds; `None` for a profile.
    pub(super) duration: Option<f64>,
    /// Name of the metric that has the times.
    pub(super) metric: String,
    /// Member of each location; `None` if the location is not a CPU thread with events.
    of: Vec<Option<usize>>,
    /// `true` for each location that has regions of the program.
    computes: Vec<bool>,
}

/// Returns the first metric of a profile that is an additive time, with the factor to nanoseconds.
pub(super) fn time_metric(profile: &Profile) -> Option<(MetricId, f64)> {
    let metrics = profile.metrics().iter().enumerate();
    let mut times = metrics.filter_map(|(at, metric)| {
        let (unit, factor) = pictures::unit(&metric.metric.unit);
        let is_time = unit == Unit::Nanos && metric.combine == Combine::Sum;
        let is_named = metric.metric.name.to_lowercase().contains("time");
        (is_time && is_named).then_some((MetricId::from_index(at)?, factor))
    });
    times.next()
}

/// Prefix of the names of annotations, which repeat the time of other rows of a timeline.
const ANNOTATION: &str = "PyTorch Profiler";

/// Name of the state in which a thread computes. Its bursts are not calls of one function.
pub(super) const RUNNING: &str = "Running";

/// Returns the last region of a call path.
fn region_of(profile: &Profile, path: CallPathId) -> Option<&Region> {
    let path = profile.calls().get(path)?;
    profile.regions().get(path.region.index())
}

impl Times {
    /// Sums the exclusive times of a profile. `view` is the trace from which the profile was
    /// computed, if there is one.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the profile has no times or a row cannot be read.
    pub(super) fn of(profile: &Profile, view: Option<TraceView<'_>>) -> Result<Self, Failure> {
        let (metric, factor) = time_metric(profile)
            .ok_or_else(|| Failure::Input("no metric of the profile is a time".into()))?;
        let system = profile.system();
        let mut rows = Vec::new();
        let mut covered = vec![0.0; system.locations().len()];
        let mut seen = vec![false; covered.len()];
        for id in (0..profile.calls().paths().len()).filter_map(CallPathId::from_index) {
            let row = profile
                .scoped(metric, id, Scope::Exclusive)
                .map_err(input)?;
            let Some(row) = row else { continue };
            // Exclusive times below 0 are rounding errors of files that have inclusive times.
            let values = row
                .to_f64()
                .into_iter()
                .map(|value| (value * factor).max(0.0));
            let values: Vec<f64> = values.collect();
            let name = region_of(profile, id).map_or("", |region| region.name.as_str());
            let is_annotation = name.starts_with(ANNOTATION);
            for (at, value) in values.iter().enumerate() {
                covered[at] += value;
                seen[at] |= *value > 0.0 && !is_annotation;
            }
            rows.push((id, values));
        }
        let spans = spans(view, system.locations().len());
        let of_cpu = |id: LocationId| {
            let location = system.location(id);
            let is_cpu = location.is_some_and(|it| it.kind == LocationKind::CpuThread);
            is_cpu && seen[id.index()]
        };
        let cpus: Vec<LocationId> = system.location_ids().filter(|id| of_cpu(*id)).collect();
        let (mut members, of, noun) = members(profile, &cpus);
        let duration = view.and_then(|view| {
            let clock = view.definitions().clock;
            let range = view.range()?;
            let last = range.end.0.saturating_sub(1);
            Some(
                clock
                    .total(u128::from(last.saturating_sub(range.start.0)))
                    .0 as f64,
            )
        });
        let labels = profile.call_path_labels();
        let mut paths = Vec::new();
        let mut computes = vec![false; covered.len()];
        for (id, values) in rows {
            let region = region_of(profile, id);
            let class = region.map_or(Class::Computing, Class::of);
            let mut of_members = vec![0.0; members.len()];
            for (location, value) in values.into_iter().enumerate() {
                let Some(Some(member)) = of.get(location) else {
                    continue;
                };
                of_members[*member] += value;
                members[*member].classes[class as usize] += value;
                computes[location] |= class == Class::Computing && value > 0.0;
            }
            let sum: f64 = of_members.iter().sum();
            if sum > 0.0 {
                paths.push(PathTime {
                    id,
                    name: labels.label(id),
                    region: region.map_or_else(String::new, |region| region.name.clone()),
                    class,
                    members: of_members,
                    sum,
                });
            }
        }
        paths.sort_by(|one, other| other.sum.total_cmp(&one.sum).then(one.id.cmp(&other.id)));
        if let (Some(spans), Some(duration)) = (&spans, duration) {
            for location in &cpus {
                let at = location.index();
                let (Some(member), Some(own)) = (of[at], spans[at]) else {
                    continue;
                };
                // A thread without regions of the program computes between its recorded calls.
                let between = if computes[at] {
                    0.0
                } else {
                    (own - covered[at]).max(0.0)
                };
                members[member].classes[Class::Computing as usize] += between;
                members[member].outside += (duration - covered[at] - between).max(0.0);
            }
        }
        let total = match duration {
            Some(duration) => duration * cpus.len() as f64,
            None => paths.iter().map(|path| path.sum).sum(),
        };
        Ok(Times {
            threads: cpus.len(),
            members,
            noun,
            paths,
            total,
            duration,
            metric: profile.metrics()[metric.index()].metric.name.clone(),
            of,
            computes,
        })
    }

    /// Returns the computing time of each member in a window of the same trace, per thread, in nanoseconds.
    /// `profile` is the profile of the window, and `length` is the length of the window in nanoseconds.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if a row cannot be read.
    pub(super) fn computing_in(&self, profile: &Profile, length: f64) -> Result<Vec<f64>, Failure> {
        let mut sums = vec![0.0; self.members.len()];
        let mut covered = vec![0.0; self.of.len()];
        let metric = time_metric(profile).map(|(metric, _)| metric);
        for id in (0..profile.calls().paths().len()).filter_map(CallPathId::from_index) {
            let Some(metric) = metric else { break };
            let row = profile
                .scoped(metric, id, Scope::Exclusive)
                .map_err(input)?;
            let region = region_of(profile, id);
            let is_computing = region.map_or(Class::Computing, Class::of) == Class::Computing;
            for (at, value) in row.iter().flat_map(|row| row.to_f64()).enumerate() {
                let Some(Some(member)) = self.of.get(at) else {
                    continue;
                };
                covered[at] += value;
                sums[*member] += if is_computing { value } else { 0.0 };
            }
        }
        for (at, member) in self.of.iter().enumerate() {
            if let Some(member) = member.filter(|_| !self.computes[at]) {
                sums[member] += (length - covered[at]).max(0.0);
            }
        }
        let threads = self
            .members
            .iter()
            .map(|member| member.threads.max(1) as f64);
        Ok(sums
            .into_iter()
            .zip(threads)
            .map(|(sum, threads)| sum / threads)
            .collect())
    }

    /// Returns the time of a class over all members.
    pub(super) fn class(&self, class: Class) -> f64 {
        self.members
            .iter()
            .map(|member| member.classes[class as usize])
            .sum()
    }

    /// Returns a time as a share of the total.
    pub(super) fn share(&self, time: f64) -> f64 {
        if self.total > 0.0 {
            time / self.total
        } else {
            0.0
        }
    }

    /// Describes the denominator of all shares.
    pub(super) fn denominator(&self) -> &'static str {
        match self.duration {
            Some(_) => "CPU threads x duration",
            None => "exclusive time of all call paths and locations",
        }
    }
}

/// Returns the time from the first to the last event of each location; `None` for a location without events.
fn spans(view: Option<TraceView<'_>>, locations: usize) -> Option<Vec<Option<f64>>> {
    let view = view?;
    let clock = view.definitions().clock;
    let mut spans = vec![None; locations];
    for location in view.locations() {
        if let (Some(first), Some(last)) = (location.times().first(), location.times().last())
            && let Some(span) = spans.get_mut(location.id().index())
        {
            *span = Some(clock.total(u128::from(last.saturating_since(*first))).0 as f64);
        }
    }
    Some(spans)
}

type Members = (Vec<Member>, Vec<Option<usize>>, &'static str);

/// Groups CPU threads by process. If there is only one process, each thread is a member.
fn members(profile: &Profile, cpus: &[LocationId]) -> Members {
    let system = profile.system();
    let mut of = vec![None; system.locations().len()];
    let mut processes = BTreeMap::new();
    for id in cpus {
        let process = system.process(*id).map_or(u32::MAX, |process| process.0);
        processes.entry(process).or_insert_with(Vec::new).push(*id);
    }
    let none = |name: String, rank| Member {
        name,
        rank,
        threads: 0,
        classes: [0.0; Class::COUNT],
        outside: 0.0,
    };
    let mut members: Vec<Member> = Vec::new();
    let is_parallel = processes.len() > 1;
    for (process, threads) in processes {
        let group = system.groups().get(process as usize);
        for (at, id) in threads.into_iter().enumerate() {
            if at == 0 || !is_parallel {
                let name = system
                    .location(id)
                    .map_or_else(String::new, |it| it.name.clone());
                members.push(match group.filter(|_| is_parallel) {
                    Some(group) => {
                        let rank = system.stated_rank(LocationGroupId(process));
                        none(group.name.clone(), rank.or_else(|| task(&group.name)))
                    }
                    None => none(name, None),
                });
            }
            of[id.index()] = members.len().checked_sub(1);
            if let Some(last) = members.last_mut() {
                last.threads += 1;
            }
        }
    }
    let mut ranks: Vec<u64> = members.iter().filter_map(|member| member.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let are_ranks = is_parallel && ranks.len() == members.len();
    if !are_ranks {
        members.iter_mut().for_each(|member| member.rank = None);
    }
    let noun = match (are_ranks, is_parallel) {
        (true, _) => "rank",
        (false, true) => "process",
        _ => "thread",
    };
    (members, of, noun)
}

/// Returns the rank of a task of the only application of a Paraver trace, which counts tasks from 1.
fn task(name: &str) -> Option<u64> {
    let number: u64 = name.strip_prefix("TASK 1.")?.parse().ok()?;
    number.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_have_classes() {
        let class = |name: &str, paradigm, role| {
            let region = Region {
                paradigm,
                role,
                ..Region::named(name)
            };
            Class::of(&region)
        };
        let plain = |name| class(name, Paradigm::Unknown, RegionRole::Unknown);
        assert_eq!(plain("MPI_Recv"), Class::Communication);
        assert_eq!(plain("MPI_Init()"), Class::StartUp);
        assert_eq!(plain("threading.py(359): wait"), Class::Idle);
        assert_eq!(plain("MPI_File_write_all"), Class::InputOutput);
        assert_eq!(plain("Running"), Class::Computing);
        assert_eq!(plain("Waiting a message"), Class::Idle);
        assert_eq!(plain("cudaDeviceSynchronize"), Class::DeviceCalls);
        assert_eq!(plain("custom_kernel"), Class::Computing);
        for name in ["PMPI_Barrier", "mpi_wait_", "ncclAllReduce"] {
            assert_eq!(plain(name), Class::Communication, "{name}");
        }
        for name in ["GOMP_barrier", "pthread_cond_wait", "sleep"] {
            assert_eq!(plain(name), Class::Synchronisation, "{name}");
        }
        assert_eq!(plain("OpenMP implicit barrier"), Class::Synchronisation);
        let fork = class(
            "Scheduling and Fork/Join",
            Paradigm::OpenMp,
            RegionRole::Unknown,
        );
        assert_eq!(fork, Class::Synchronisation);
        let user = class("Idle", Paradigm::User, RegionRole::Function);
        assert_eq!(user, Class::Computing);
        let barrier = class(
            "!$omp implicit barrier",
            Paradigm::OpenMp,
            RegionRole::Barrier,
        );
        assert_eq!(barrier, Class::Synchronisation);
    }

    #[test]
    fn tasks_of_the_only_application_are_ranks() {
        assert_eq!(task("TASK 1.1"), Some(0));
        assert_eq!(task("TASK 2.1"), None);
    }
}
