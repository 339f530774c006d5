//! [`Iterations`]: iterations of a recorded program, as steps of a replay.

use super::Replay;
use super::sources::{Source, is_gpu};
use crate::calls::is_running;
use perf_core::{Cancelled, Event, Job, LocationView, Paradigm, Region, Ticks, TraceView, fits};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Fewest iterations that are found by themselves.
const LEAST: usize = 10;
/// Fewest named steps.
const LEAST_NAMED: usize = 2;
/// Largest number of steps that are found; beyond it, several iterations are a step.
const MOST: usize = 1000;
/// Largest number of calls of a function in an iteration.
const CALLS: usize = 8;
/// Fewest events of an iteration: three calls.
const EVENTS: usize = 6;
/// Number of iterations from which on the loop with most events in one is taken. Fewer may be rare work in a loop.
const MANY: usize = 40;
/// Iterations in a thousand that have as many events as the median one.
const EQUAL: usize = 800;
/// Relative difference of equal numbers of events.
const WITHIN: f64 = 0.005;
/// Largest ratio of the time of nine of ten iterations to that of one of ten.
const SPREAD: u64 = 10;
/// Share of the run that iterations of usual length take.
const COVERED: f64 = 0.3;
/// Pattern of the names of training steps that PyTorch records.
const NAMED: &str = "ProfilerStep#*";

/// Iterations of a recorded program: times at which steps begin, on each rank.
///
/// A step begins at each call of a function, or of all functions that match a pattern, on one thread of
/// each rank. Step 0 is the time before the first call. The last iteration ends after as many events as usual; the rest of
/// the recording is the last step.
///
/// ```
/// use perf_anomaly::{Replay, calls::Calls};
/// use perf_core::{EventSource, Job};
/// let trace = perf_core::samples::cosmo::trace();
/// let replay = Replay::in_steps(trace.view(), 100);
/// let job = Job::default();
/// let iterations = replay.iterations(&job)?.expect("a loop of 60 iterations");
/// assert_eq!((iterations.name(), iterations.count(), iterations.every()), ("COSMO", 60, 1));
/// assert_eq!(replay.iterations_at("COS*", &job)?.map(|other| other.count()), Some(60));
/// let mut replay = replay.with_iterations(&iterations);
/// let (mut calls, mut steps) = (Calls::default(), 0);
/// while replay.next_step(&mut calls, &job)? {
///     steps += 1;
/// }
/// assert_eq!(steps, 62);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iterations {
    /// Name of the function, or pattern.
    name: String,
    /// Number of calls in a step.
    every: usize,
    /// Times at which steps begin after step 0, by program and rank.
    begins: Arc<BTreeMap<(u32, u32), Vec<Ticks>>>,
    /// Time at which the last step ends on each rank that has later events.
    ends: Arc<BTreeMap<(u32, u32), Ticks>>,
    /// Rank with most of them.
    longest: (u32, u32),
}

impl Iterations {
    /// Returns the name of the function whose calls begin a step, or the pattern of its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of its calls in a step.
    pub fn every(&self) -> usize {
        self.every
    }

    /// Returns the number of steps that begin at a call: all but step 0 and the step after the last iteration.
    pub fn count(&self) -> usize {
        self.begins.get(&self.longest).map_or(0, Vec::len)
    }

    /// Returns the number of all steps, with step 0 and that after the last iteration, if there is one.
    pub(super) fn steps(&self) -> u64 {
        self.count() as u64 + 1 + u64::from(!self.ends.is_empty())
    }

    /// Returns the time at which a step but the last one ends on a rank, given by program and number; `None` if it ends
    /// with the recording. A rank without iterations has those of the rank with most of them.
    pub(super) fn end(&self, rank: (u32, u32), step: u64) -> Option<Ticks> {
        let own = self.begins.get_key_value(&rank);
        let (rank, begins) = own.or_else(|| self.begins.get_key_value(&self.longest))?;
        let begin = usize::try_from(step).ok().and_then(|step| begins.get(step));
        begin.or_else(|| self.ends.get(rank)).copied()
    }

    fn new(
        name: &str,
        every: usize,
        steps: impl IntoIterator<Item = ((u32, u32), Times)>,
    ) -> Option<Self> {
        let (mut all, mut ends) = (BTreeMap::new(), BTreeMap::new());
        for (rank, times) in steps {
            if !times.begins.is_empty() {
                all.insert(rank, times.begins);
                ends.extend(times.end.map(|end| (rank, end)));
            }
        }
        let longest = all
            .iter()
            .max_by_key(|(_, begins): &(_, &Vec<Ticks>)| begins.len());
        let longest = longest.map(|(rank, _)| *rank)?;
        Some(Iterations {
            name: name.to_string(),
            every,
            begins: Arc::new(all),
            ends: Arc::new(ends),
            longest,
        })
    }
}

impl Replay<'_> {
    /// Finds the iterations of the recorded program: training steps that PyTorch records, or else a
    /// function that all ranks call equally often, at least ten times, so that 80 % of the iterations have equally
    /// many events. Those of usual length take 30 % of the run. Of
    /// several loops with 40 iterations, that with most events in one is taken, otherwise that with most iterations, and of more than 1,000 iterations several are a step. `None` if there are none.
    ///
    /// # Errors
    /// Returns [`Cancelled`] if the job is cancelled.
    pub fn iterations(&self, job: &Job) -> Result<Option<Iterations>, Cancelled> {
        let names = names(self.view);
        let named = self.named(NAMED, &names, job)?;
        if let Some(named) = named.filter(|named| named.count() >= LEAST_NAMED) {
            return Ok(Some(named));
        }
        let leads = leads(self.view, &self.streams);
        let Some((first, _)) = leads.first_key_value() else {
            return Ok(None);
        };
        let mut counts: Option<HashMap<usize, usize>> = None;
        for lead in leads.values() {
            let mut own: HashMap<usize, usize> = HashMap::new();
            enters(lead, &names, job, |name, _, _| {
                *own.entry(name).or_default() += 1
            })?;
            counts = Some(match counts {
                None => own,
                Some(mut common) => {
                    common.retain(|name, count| own.get(name) == Some(count));
                    common
                }
            });
        }
        let mut candidates = counts.unwrap_or_default();
        let regions = &self.view.definitions().regions;
        candidates.retain(|name, _| regions.get(*name).is_some_and(can_begin));
        let mut places: HashMap<usize, Vec<(usize, Ticks)>> = HashMap::new();
        enters(&leads[first], &names, job, |name, index, at| {
            if candidates.get(&name).is_some_and(|count| *count >= LEAST) {
                places.entry(name).or_default().push((index, at));
            }
        })?;
        let Some(range) = self.view.range() else {
            return Ok(None);
        };
        let loops = places.iter().filter_map(|(name, places)| {
            let (every, events, equal) = regular(places)?;
            let count = places.len() / every;
            let order = if count >= MANY {
                (MANY, events)
            } else {
                (count, events)
            };
            are_equal_times(places, every, range.len()).then_some((
                order,
                equal,
                std::cmp::Reverse((places[0].0, *name)),
                every,
            ))
        });
        let Some((.., std::cmp::Reverse((_, name)), every)) = loops.max() else {
            return Ok(None);
        };
        let calls = candidates.get(&name).copied().unwrap_or_default();
        let iterations = (calls / every).div_ceil(MOST);
        let (mut steps, size) = (Vec::new(), (every, iterations));
        for (rank, lead) in &leads {
            steps.push((*rank, times(lead, &names, |one| one == name, size, job)?));
        }
        let text = regions.get(name).map_or("", |region| region.name.as_str());
        Ok(Iterations::new(text, every * iterations, steps))
    }

    /// Returns the iterations that begin at each call of the functions whose names match a pattern, on the thread
    /// of each rank with most of these calls; `None` if there are none.
    ///
    /// # Errors
    /// Returns [`Cancelled`] if the job is cancelled.
    pub fn iterations_at(&self, pattern: &str, job: &Job) -> Result<Option<Iterations>, Cancelled> {
        self.named(pattern, &names(self.view), job)
    }

    /// Returns the iterations of a pattern; `names` are those of the [regions](names).
    fn named(
        &self,
        pattern: &str,
        names: &[usize],
        job: &Job,
    ) -> Result<Option<Iterations>, Cancelled> {
        let regions = self.view.definitions().regions.iter().zip(names);
        let matching = regions.filter(|(region, _)| fits(pattern, &region.name));
        let matching: BTreeSet<usize> = matching.map(|(_, name)| *name).collect();
        if matching.is_empty() {
            return Ok(None);
        }
        let mut steps: BTreeMap<(u32, u32), Times> = BTreeMap::new();
        for source in &self.streams {
            let Some(location) = self.view.location(source.location) else {
                continue;
            };
            if is_gpu(self.view.definitions(), source.location) {
                continue;
            }
            let is_begin = |name| matching.contains(&name);
            let own = times(&location, names, is_begin, (1, 1), job)?;
            let rank = (source.key.program, source.key.rank);
            let known = steps.entry(rank).or_default();
            if own.begins.len() > known.begins.len() {
                *known = own;
            }
        }
        Ok(Iterations::new(pattern, 1, steps))
    }
}

/// Returns `true` for a function that may begin iterations: one that computes, or one of MPI. States are none.
fn can_begin(region: &Region) -> bool {
    let is_mpi = region.paradigm == Paradigm::Mpi || region.name.starts_with("MPI_");
    is_mpi || !region.waits() && !is_running(region)
}

/// Returns the number of the first region with the same name, for each region.
fn names(view: TraceView<'_>) -> Vec<usize> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let regions = view.definitions().regions.iter().enumerate();
    regions
        .map(|(at, region)| *known.entry(region.name.as_str()).or_insert(at))
        .collect()
}

/// Returns the thread with most events of each rank, without accelerators.
fn leads<'a>(view: TraceView<'a>, streams: &[Source]) -> BTreeMap<(u32, u32), LocationView<'a>> {
    let mut leads: BTreeMap<(u32, u32), LocationView<'a>> = BTreeMap::new();
    for source in streams {
        let location = view.location(source.location);
        let location = location.filter(|one| !one.is_empty());
        let Some(location) = location.filter(|_| !is_gpu(view.definitions(), source.location))
        else {
            continue;
        };
        let rank = (source.key.program, source.key.rank);
        if leads
            .get(&rank)
            .is_none_or(|known| location.len() > known.len())
        {
            leads.insert(rank, location);
        }
    }
    leads
}

/// Calls `take` with the name, the index and the time of each enter of a location.
fn enters(
    location: &LocationView<'_>,
    names: &[usize],
    job: &Job,
    mut take: impl FnMut(usize, usize, Ticks),
) -> Result<(), Cancelled> {
    let mut checks = job.checks();
    for (index, (at, event)) in location.iter().enumerate() {
        checks.next(1)?;
        if let Event::Enter { region } = event
            && let Some(name) = names.get(region.index())
        {
            take(*name, index, at);
        }
    }
    Ok(())
}

/// Times of the steps of a rank.
#[derive(Clone, Debug, Default)]
struct Times {
    /// Begins of steps.
    begins: Vec<Ticks>,
    /// End of the last iteration, if there are later events.
    end: Option<Ticks>,
}

/// Returns the times of steps of several `iterations`, which begin at every `every`-th of the calls that match. The last
/// iteration has as many events as the median one.
fn times(
    location: &LocationView<'_>,
    names: &[usize],
    matches: impl Fn(usize) -> bool,
    (every, iterations): (usize, usize),
    job: &Job,
) -> Result<Times, Cancelled> {
    let (mut found, mut count) = (Vec::new(), 0_usize);
    enters(location, names, job, |name, index, at| {
        if matches(name) {
            if count.is_multiple_of(every.max(1)) {
                found.push((index, at));
            }
            count += 1;
        }
    })?;
    let mut events: Vec<usize> = found.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let middle = events.len() / 2;
    let usual = (!events.is_empty()).then(|| *events.select_nth_unstable(middle).1);
    let end = found.last().zip(usual);
    let end = end.and_then(|((index, _), usual)| location.times().get(index + usual));
    let begins = found.iter().step_by(iterations.max(1));
    Ok(Times {
        begins: begins.map(|one| one.1).collect(),
        end: end.copied(),
    })
}

/// Returns the number of calls and the number of events of an iteration that begins with a call of a function, and the
/// iterations in a thousand with so many, given the indices and times of its calls.
fn regular(places: &[(usize, Ticks)]) -> Option<(usize, usize, usize)> {
    (1..=CALLS.min(places.len() / LEAST)).find_map(|every| {
        let begins: Vec<usize> = places.iter().step_by(every).map(|one| one.0).collect();
        let mut events: Vec<usize> = begins.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let middle = events.len() / 2;
        let (_, usual, _) = events.select_nth_unstable(middle);
        let usual = *usual;
        let within = (WITHIN * usual as f64).max(2.0);
        let equal = events
            .iter()
            .filter(|one| one.abs_diff(usual) as f64 <= within);
        let equal = 1000 * equal.count() / events.len().max(1);
        // A call has two events; iterations do more than to call one function several times.
        let least = EVENTS.max(4 * every + 4);
        (equal >= EQUAL && usual >= least).then_some((every, usual, equal))
    })
}

/// Returns `true` if iterations that begin at every `every`-th call, given the times of the calls, take about equal times,
/// and those of usual length much of a run of a length.
fn are_equal_times(places: &[(usize, Ticks)], every: usize, length: u64) -> bool {
    let begins: Vec<u64> = places.iter().step_by(every).map(|one| one.1.0).collect();
    let mut times: Vec<u64> = begins.windows(2).map(|pair| pair[1] - pair[0]).collect();
    times.sort_unstable();
    let tenth = times.len() / 10;
    let (short, long) = (times.get(tenth), times.iter().nth_back(tenth));
    let bound = |short: &u64| short.saturating_mul(SPREAD);
    let usual = times.get(times.len() / 2).map_or(0, bound);
    let covered: u64 = times.iter().filter(|time| **time <= usual).sum();
    long <= short.map(bound).as_ref() && covered as f64 >= COVERED * length as f64
}
