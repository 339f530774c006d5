//! [`align`]: alignment of the call sites of experiments, so that the same call has the same name
//! in all versions of a program; [`program_order`]: their order on the threads.
//!
//! A call site is a chain of functions with their files and lines. Between versions of a program lines
//! shift, calls appear and calls vanish, and a recording without names has only numbers. The call sites
//! of each experiment are brought into program order, which is the order of their first occurrence on
//! the threads. The orders of two experiments are then aligned like two sequences. The score of two
//! call sites adds
//! * the share of equal functions in their chains,
//! * the support for the shift of their lines: the number of pairs of equal functions in the same file
//!   that are shifted by the same number of lines, and
//! * the similarity of the bursts before and after them.
//!
//! Each call site then takes the name of its partner in the first experiment that has it, so that
//! equal names mean equal call sites in all experiments.

use crate::bursts::OUTSIDE;
use crate::monotone::monotone;
use crate::tracking::observation::Observation;
use crate::tracking::optimal::assignment::{Edge, best};
use crate::tracking::program_position::callers::Callers;
use std::collections::{BTreeMap, BTreeSet};

/// Score that a pair of call sites has to exceed.
const LEAST: f64 = 1.0;
/// Score above [`LEAST`] that a pair out of program order has to exceed.
const MOVED: f64 = 0.6;
/// Share of equal call sites from which on two experiments are runs of one version.
const EXACT: f64 = 0.8;
/// Similarity of the bursts around two call sites below which they are different.
const DIFFERENT: f64 = 0.1;
/// Weight of the shift of lines.
const LINES: f64 = 0.8;
/// Weight of the bursts around the call sites.
const METRICS: f64 = 0.8;
/// Value of a criterion that cannot be evaluated.
const NEUTRAL: f64 = 0.5;
/// Range of the deviation of the Gaussian that compares bursts, in the joint space.
const REACH: std::ops::RangeInclusive<f64> = 0.01..=0.1;
/// Number of innermost functions of a chain that are compared.
const DEPTH: usize = 32;
/// Largest number of pairs of call sites that are compared. Beyond it, only equal names are matched.
const MOST_PAIRS: usize = 1 << 22;

/// One function of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Function {
    /// Name.
    name: String,
    /// Source file, if known.
    file: Option<String>,
    /// Line, if known.
    line: Option<u32>,
    /// `true` if the name is a number that stands for a missing name.
    is_number: bool,
}

impl Function {
    /// Parses `name file:line`, `name:line`, `name file` or `name`.
    fn parse(text: &str) -> Self {
        let (head, line) = match text.rsplit_once(':') {
            Some((head, line)) => match line.parse() {
                Ok(line) => (head, Some(line)),
                Err(_) => (text, None),
            },
            None => (text, None),
        };
        let has_file = |(_, file): &(&str, &str)| line.is_some() || file.contains('.');
        let (name, file) = match head.rsplit_once(' ').filter(has_file) {
            Some((name, file)) => (name, Some(file.to_owned())),
            None => (head, None),
        };
        let number = name.strip_prefix("function ");
        Function {
            name: name.to_owned(),
            file,
            line,
            is_number: number.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())),
        }
    }
}

/// Parses a chain of callers, innermost first.
fn parse(text: &str) -> Vec<Function> {
    text.split(" < ").take(DEPTH).map(Function::parse).collect()
}

/// Returns `true` if a chain of callers is more than a call.
pub(in crate::tracking) fn has_callers(text: &str) -> bool {
    has_lines(text) || text.contains(" < ")
}

/// Returns `true` if a function of a chain has a line.
pub(in crate::tracking) fn has_lines(text: &str) -> bool {
    parse(text).iter().any(|function| function.line.is_some())
}

/// Returns the name of a function without file and line. A part outside of parallel functions loses the names
/// of the functions around it, because a new parallel function changes them.
fn name(function: &str) -> String {
    if function.starts_with(OUTSIDE) {
        return OUTSIDE.to_owned();
    }
    Function::parse(function).name
}

/// Returns a chain of functions without files and lines, which change between versions.
pub(in crate::tracking) fn without_lines(chain: &str) -> String {
    let functions = chain.split(" < ").map(name);
    functions.collect::<Vec<_>>().join(" < ")
}

/// Call site of one experiment.
#[derive(Clone, Debug)]
struct Site {
    /// Functions, innermost first.
    chain: Vec<Function>,
    /// Mean coordinates of the bursts before and after the call; empty if there are none.
    around: [Vec<f64>; 2],
}

/// Call sites of an experiment in program order, by name.
struct Sites {
    /// Names in program order.
    order: Vec<String>,
    /// Sites by name.
    of: BTreeMap<String, Site>,
}

impl Sites {
    fn of(experiment: &Observation<'_>) -> Self {
        let dimensions = experiment.points.dimensions();
        let mut sums: BTreeMap<&str, [(Vec<f64>, usize); 2]> = BTreeMap::new();
        // The call before a burst has the burst after it.
        for (callers, role) in [(&experiment.before, 1), (&experiment.after, 0)] {
            let Some(callers) = callers else { continue };
            for point in 0..experiment.len() {
                let (Some(name), Some(place)) = (callers.name(point), experiment.points.get(point))
                else {
                    continue;
                };
                let empty = || [0, 1].map(|_| (vec![0.0; dimensions], 0));
                let (sum, count) = &mut sums.entry(name).or_insert_with(empty)[role];
                sum.iter_mut()
                    .zip(place)
                    .for_each(|(sum, value)| *sum += value);
                *count += 1;
            }
        }
        let mean = |(sum, count): (Vec<f64>, usize)| match count {
            0 => Vec::new(),
            count => sum.into_iter().map(|sum| sum / count as f64).collect(),
        };
        let of = sums.into_iter().map(|(name, around)| {
            let site = Site {
                chain: parse(name),
                around: around.map(mean),
            };
            (name.to_owned(), site)
        });
        let of: BTreeMap<String, Site> = of.collect();
        let names = [&experiment.before, &experiment.after];
        let occurrences = |point: usize| {
            let name =
                |callers: &'_ Option<Callers>| callers.as_ref()?.name(point).map(str::to_owned);
            names.map(name).into_iter().flatten().collect()
        };
        let order = match experiment.places() {
            Some(places) => program_order(places.iter().copied(), occurrences),
            None => {
                let mut order: Vec<String> = of.keys().cloned().collect();
                let key = |name: &String| {
                    let chain = parse(name);
                    let lines: Vec<_> = chain
                        .iter()
                        .rev()
                        .map(|of| (of.file.clone(), of.line))
                        .collect();
                    lines
                };
                order.sort_by_cached_key(key);
                order
            }
        };
        Sites { order, of }
    }
}

/// Merges the orders in which things first occur on each thread into one order. The thread with most
/// things comes first; a thing that it lacks is inserted after its predecessor on another thread.
pub(in crate::tracking) fn program_order<T: Ord + Clone>(
    places: impl Iterator<Item = (u32, perf_core::Nanos)>,
    things: impl Fn(usize) -> Vec<T>,
) -> Vec<T> {
    let mut rows: Vec<_> = places
        .enumerate()
        .map(|(row, place)| (place, row))
        .collect();
    rows.sort_unstable();
    let mut threads: Vec<(u32, Vec<T>)> = Vec::new();
    let mut seen: BTreeSet<T> = BTreeSet::new();
    for ((thread, _), row) in rows {
        if threads.last().is_none_or(|last| last.0 != thread) {
            threads.push((thread, Vec::new()));
            seen.clear();
        }
        for thing in things(row) {
            if let Some((_, list)) = threads.last_mut()
                && !seen.contains(&thing)
            {
                seen.insert(thing.clone());
                list.push(thing);
            }
        }
    }
    threads.sort_by_key(|(thread, list)| (std::cmp::Reverse(list.len()), *thread));
    let mut order: Vec<T> = Vec::new();
    let mut known: BTreeSet<T> = BTreeSet::new();
    for (_, list) in threads {
        let mut previous: Option<T> = None;
        for thing in list {
            if known.insert(thing.clone()) {
                let at = previous.and_then(|previous| order.iter().position(|of| *of == previous));
                order.insert(at.map_or(0, |at| at + 1), thing.clone());
            }
            previous = Some(thing);
        }
    }
    order
}

/// Files with shifts of lines and the support of each shift relative to the largest of the file.
type Shifts = BTreeMap<(Option<String>, i64), f64>;

/// Returns the pairs of functions of two chains with equal names that have lines.
fn lines<'s>(a: &'s Site, b: &'s Site) -> impl Iterator<Item = (Option<String>, i64)> + 's {
    let pairs = a.chain.iter().zip(&b.chain);
    pairs.filter_map(|(a, b)| {
        let shift = i64::from(b.line?) - i64::from(a.line?);
        (a.name == b.name && a.file == b.file).then(|| (a.file.clone(), shift))
    })
}

/// Returns the share of equal functions in two chains. [`NEUTRAL`] if a chain has numbers in place of names,
/// and -1 if the innermost functions have different names.
fn functions(a: &Site, b: &Site) -> f64 {
    let longest = a.chain.len().max(b.chain.len()).max(1);
    let (mut equal, mut unknown) = (0, 0);
    for (at, (a, b)) in a.chain.iter().zip(&b.chain).enumerate() {
        if a.is_number || b.is_number {
            unknown += 1;
        } else if a.name == b.name {
            equal += 1;
        } else if at == 0 {
            return -1.0;
        }
    }
    (f64::from(equal) + NEUTRAL * f64::from(unknown)) / longest as f64
}

/// Returns the similarity of the bursts around two call sites.
fn metrics(a: &Site, b: &Site, reach: f64) -> f64 {
    let both = a.around.iter().zip(&b.around);
    let known = both.filter(|(a, b)| !a.is_empty() && !b.is_empty());
    let (sum, count) = known.fold((0.0, 0), |(sum, count), (a, b)| {
        let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        (
            sum + crate::tracking::evaluators::near(square, reach),
            count + 1,
        )
    });
    match count {
        0 => NEUTRAL,
        count => sum / f64::from(count),
    }
}

/// Returns a quarter of the median distance from the bursts around a call site to the nearest bursts around
/// another one of the same experiment, within [`REACH`].
fn reach(sides: [&[&Site]; 2]) -> f64 {
    let mut gaps = Vec::new();
    for side in sides {
        let around: Vec<&[f64]> = side
            .iter()
            .map(|site| site.around[1].as_slice())
            .filter(|place| !place.is_empty())
            .collect();
        for (at, a) in around.iter().enumerate() {
            let others = around.iter().enumerate().filter(|(other, _)| *other != at);
            let squares = others.map(|(_, b)| {
                let pairs = a.iter().zip(b.iter());
                pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
            });
            gaps.push(squares.fold(f64::INFINITY, f64::min).sqrt());
        }
    }
    gaps.sort_unstable_by(f64::total_cmp);
    // Without gaps the reach is the largest.
    let median = gaps.get(gaps.len() / 2).copied().unwrap_or(f64::INFINITY);
    (median / 4.0).clamp(*REACH.start(), *REACH.end())
}

fn shifts(from: &[&Site], to: &[&Site], reach: f64) -> Shifts {
    let mut votes: Shifts = Shifts::new();
    for a in from {
        for b in to {
            if functions(a, b) >= 1.0 {
                let worth = 0.1 + metrics(a, b, reach);
                for shift in lines(a, b) {
                    *votes.entry(shift).or_default() += worth;
                }
            }
        }
    }
    let mut most: BTreeMap<Option<String>, f64> = BTreeMap::new();
    for ((file, _), votes) in &votes {
        let most = most.entry(file.clone()).or_default();
        *most = most.max(*votes);
    }
    for ((file, _), votes) in &mut votes {
        *votes /= most[file];
    }
    votes
}

fn score(a: &Site, b: &Site, shifts: &Shifts, reach: f64) -> f64 {
    // A shift without votes has no support.
    let supports = lines(a, b).map(|shift| shifts.get(&shift).copied().unwrap_or(0.0));
    let (sum, count) = supports.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    let line = match count {
        0 => NEUTRAL,
        count => sum / f64::from(count),
    };
    functions(a, b) + LINES * line + METRICS * metrics(a, b, reach)
}

/// Returns the pairs of equal call sites if most call sites of the smaller experiment have one, as in two
/// runs of one version. Otherwise lines shifted, and equal lines may be different calls. A new call may also
/// take the line of one that moved: two equal call sites between different bursts are no pair if an unpaired
/// one of the same functions is between equal bursts.
fn exact(from: &[&Site], to: &[&Site], reach: f64) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (j, b) in to.iter().enumerate() {
        let is_known = b.chain.iter().all(|function| !function.is_number);
        let same = from.iter().position(|a| a.chain == b.chain);
        pairs.extend(same.filter(|_| is_known).map(|i| (i, j)));
    }
    if (pairs.len() as f64) < EXACT * from.len().min(to.len()) as f64 {
        return Vec::new();
    }
    let mut is_paired = vec![false; to.len()];
    pairs.iter().for_each(|&(_, j)| is_paired[j] = true);
    pairs.retain(|&(i, j)| {
        let is_moved = |other: usize| {
            let site = to[other];
            !is_paired[other]
                && functions(from[i], site) >= 1.0
                && metrics(from[i], site, reach) > NEUTRAL
        };
        metrics(from[i], to[j], reach) >= DIFFERENT || !(0..to.len()).any(is_moved)
    });
    pairs
}

/// Returns the partner of each call site of `to` in `from`, as indices in program order.
fn matches(from: &[&Site], to: &[&Site]) -> Vec<Option<usize>> {
    let reach = reach([from, to]);
    let shifts = shifts(from, to, reach);
    let mut gains = vec![0.0; from.len() * to.len()];
    for (i, a) in from.iter().enumerate() {
        for (j, b) in to.iter().enumerate() {
            gains[i * to.len() + j] = score(a, b, &shifts, reach) - LEAST;
        }
    }
    let mut partner = vec![None; to.len()];
    let mut is_used = vec![false; from.len()];
    for (i, j) in exact(from, to, reach) {
        partner[j] = Some(i);
        is_used[i] = true;
        (0..to.len()).for_each(|j| gains[i * to.len() + j] = -1.0);
        (0..from.len()).for_each(|i| gains[i * to.len() + j] = -1.0);
    }
    let gain = |i: usize, j: usize| gains[i * to.len() + j];
    for (i, j) in monotone(from.len(), to.len(), gain) {
        partner[j] = Some(i);
        is_used[i] = true;
    }
    // Code that moved is out of order.
    let mut edges = Vec::new();
    for left in (0..from.len()).filter(|&i| !is_used[i]) {
        for right in (0..to.len()).filter(|&j| partner[j].is_none()) {
            let weight = gain(left, right) - MOVED;
            edges.push(Edge {
                left,
                right,
                weight,
            });
        }
    }
    for (left, right) in best(from.len(), to.len(), &edges).into_iter().enumerate() {
        if let Some(right) = right {
            partner[right] = Some(left);
        }
    }
    partner
}

/// Renames the call sites of experiments, so that equal names are equal call sites in all of them. The
/// name of a call site is its name in the first experiment that has it.
pub(in crate::tracking) fn align<'p>(experiments: &[Observation<'p>]) -> Vec<Observation<'p>> {
    let mut aligned = Vec::with_capacity(experiments.len());
    // Name in the first experiment and latest form of each call site, in program order.
    let mut known: Vec<(String, Site)> = Vec::new();
    for experiment in experiments {
        let sites = Sites::of(experiment);
        let here: Vec<(&String, &Site)> = sites
            .order
            .iter()
            .filter_map(|name| Some((name, sites.of.get(name)?)))
            .collect();
        let partner = if known.len().saturating_mul(here.len()) <= MOST_PAIRS {
            let from: Vec<&Site> = known.iter().map(|of| &of.1).collect();
            let to: Vec<&Site> = here.iter().map(|of| of.1).collect();
            matches(&from, &to)
        } else {
            let place: BTreeMap<&String, usize> = known
                .iter()
                .enumerate()
                .map(|(at, of)| (&of.0, at))
                .collect();
            here.iter().map(|of| place.get(of.0).copied()).collect()
        };
        let mut taken: BTreeSet<String> = known.iter().map(|of| of.0.clone()).collect();
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        let mut added: Vec<(Option<usize>, String, Site)> = Vec::new();
        let mut previous = None;
        for ((name, site), partner) in here.into_iter().zip(partner) {
            match partner.and_then(|at| Some((at, known.get_mut(at)?))) {
                Some((at, known)) => {
                    names.insert(name.clone(), known.0.clone());
                    known.1 = site.clone();
                    previous = Some(at);
                }
                None => {
                    // A new call site may have the name that another one had before.
                    let mut new = name.clone();
                    while !taken.insert(new.clone()) {
                        new.push_str(" (new)");
                    }
                    names.insert(name.clone(), new.clone());
                    added.push((previous, new, site.clone()));
                }
            }
        }
        for (after, name, site) in added.into_iter().rev() {
            known.insert(after.map_or(0, |at| at + 1), (name, site));
        }
        aligned.push(experiment.renamed(&names));
    }
    aligned
}
