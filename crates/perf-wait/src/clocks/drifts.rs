//! Estimation of clock corrections with drift: a line for each pair of processes, added along a
//! tree to one for each process.

use super::ClockOffset;
use super::band::{Band, Line, Point};
use super::bounds::{Bound, Bounds};
use super::likely::SLACKS;
use crate::Result;
use perf_core::Job;
use std::collections::BTreeMap;

/// Bounds of the correction of one process relative to another one, by time on the clock of the first.
#[derive(Default)]
struct Pair {
    upper: Vec<Point>,
    lower: Vec<Point>,
}

/// Estimates corrections with drift of all processes.
pub(super) fn estimate(bounds: &Bounds, job: &Job) -> Result<Vec<ClockOffset>> {
    let pairs = pairs(bounds, job)?;
    let likely = SLACKS.map(|factor| likely(bounds, factor));
    let end = bounds.since_origin(bounds.end);
    let mut neighbours: Vec<Vec<(usize, Line)>> = vec![Vec::new(); bounds.processes];
    for ((child, parent), pair) in pairs {
        job.check()?;
        // A line with bounds on one side only has no uncertainty and is used last.
        let band = Band::new(pair.upper, pair.lower);
        let narrower = likely.iter().filter_map(|all| {
            let more = all.get(&(child, parent))?;
            Some(band.with(&more.upper, &more.lower))
        });
        let line = band.line(narrower, end);
        if let Some(list) = neighbours.get_mut(parent) {
            list.push((child, line));
        }
    }
    let mut found: Vec<Option<ClockOffset>> = vec![None; bounds.processes];
    let mut near: Vec<Option<ClockOffset>> = vec![None; bounds.processes];
    if let Some(reference) = near.first_mut() {
        *reference = Some(ClockOffset {
            uncertainty: Some(0.0),
            ..ClockOffset::default()
        });
    }
    // The tree of shortest paths by uncertainty, as by Dijkstra. A missing uncertainty is the largest.
    let width = |it: &ClockOffset| it.uncertainty.unwrap_or(f64::INFINITY);
    loop {
        job.check()?;
        let open = near
            .iter()
            .enumerate()
            .filter(|(at, _)| found[*at].is_none());
        let open = open.filter_map(|(at, it)| Some((at, (*it)?)));
        let Some((at, parent)) = open.min_by(|a, b| width(&a.1).total_cmp(&width(&b.1))) else {
            break;
        };
        found[at] = Some(parent);
        for (child, line) in &neighbours[at] {
            let candidate = beyond(parent, *line);
            let known = near[*child].as_ref();
            if known.is_none_or(|known| width(&candidate) < width(known)) {
                near[*child] = Some(candidate);
            }
        }
    }
    Ok(found.into_iter().map(Option::unwrap_or_default).collect())
}

/// Returns the correction of a process whose difference to a corrected one is a line.
fn beyond(parent: ClockOffset, line: Line) -> ClockOffset {
    ClockOffset {
        offset: line.offset + parent.offset + parent.drift * line.offset,
        drift: line.drift + parent.drift * (1.0 + line.drift),
        uncertainty: line
            .uncertainty
            .zip(parent.uncertainty)
            .map(|(own, other)| own + other),
        ..ClockOffset::default()
    }
}

/// Bounds by process and the process that it is relative to.
type Pairs = BTreeMap<(usize, usize), Pair>;

/// Adds a bound with some slack to its pair in both orders.
fn add(pairs: &mut Pairs, bounds: &Bounds, (from, to): (usize, usize), bound: Bound, slack: f64) {
    let difference = bound.difference() + slack;
    // Of the sender relative to the receiver, and of the receiver relative to the sender.
    let upper = (bounds.since_origin(bound.early), difference);
    pairs.entry((from, to)).or_default().upper.push(upper);
    let lower = (bounds.since_origin(bound.late), -difference);
    pairs.entry((to, from)).or_default().lower.push(lower);
}

/// Returns the likely bounds of each pair of processes in both orders.
fn likely(bounds: &Bounds, factor: f64) -> Pairs {
    let mut pairs = Pairs::new();
    for (both, list) in &bounds.likely {
        for likely in list {
            let slack = likely.slack * factor;
            add(&mut pairs, bounds, *both, likely.bound, slack);
        }
    }
    pairs
}

/// Returns the bounds of each pair of processes in both orders.
fn pairs(bounds: &Bounds, job: &Job) -> Result<Pairs> {
    let mut pairs = Pairs::new();
    let mut checks = job.checks();
    for (both, list) in &bounds.pairs {
        for bound in list {
            checks.next(1)?;
            add(&mut pairs, bounds, *both, *bound, 0.0);
        }
    }
    let mut meet = |from, to, early, late| {
        add(&mut pairs, bounds, (from, to), Bound { early, late }, 0.0);
    };
    for meeting in &bounds.meetings {
        // All members relative to the first one.
        let Some(first) = meeting.ends.first().map(|it| it.0) else {
            continue;
        };
        let of = |list: &[(usize, perf_core::Ticks)]| {
            list.iter().find(|it| it.0 == first).map(|it| it.1)
        };
        let (begin, end) = (of(&meeting.begins), of(&meeting.ends));
        for (process, time) in meeting.begins.iter().filter(|it| it.0 != first) {
            checks.next(1)?;
            if let Some(end) = end {
                meet(*process, first, *time, end);
            }
        }
        for (process, time) in meeting.ends.iter().filter(|it| it.0 != first) {
            checks.next(1)?;
            if let Some(begin) = begin {
                meet(first, *process, begin, *time);
            }
        }
    }
    Ok(pairs)
}
