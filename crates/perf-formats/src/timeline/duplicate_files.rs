//! [`remove`]: removes each [`Part`] whose events are identical to those of a part from another
//! file.

use super::part::Part;
use super::row::Row;
use super::rules;
use perf_core::{Diagnostics, Place};
use std::collections::HashMap;
use std::sync::Arc;

/// Removes each part whose events equal those of an earlier part from another file. If the two parts declare different
/// ranks, both are kept. Both cases are reported.
///
/// Times are compared with nanosecond resolution, so that events of two ranks are not mistaken for identical ones.
pub(super) fn remove(parts: &mut Vec<Part>, found: &mut Diagnostics) {
    let mut known: HashMap<(Option<i64>, usize), Vec<usize>> = HashMap::new();
    let mut kept: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts.drain(..) {
        let calls: usize = part.rows.iter().map(|row| row.calls.len()).sum();
        let alike = known.entry((part.first, calls)).or_default();
        let mut same = alike.iter().filter_map(|at| kept.get(*at));
        let same = same.find(|other| calls > 0 && is_same(other, &part));
        if let Some(same) = same {
            let ranks = same.rank.zip(part.rank);
            let is_other = ranks.is_some_and(|(one, other)| one != other);
            let rule = if is_other {
                rules::SAME_EVENTS
            } else {
                rules::SAME_FILE
            };
            let place = Place::file(Arc::clone(&part.file));
            found.add(rule, place.record(format!("the events of {}", same.file)));
            if !is_other {
                continue;
            }
        }
        alike.push(kept.len());
        kept.push(part);
    }
    *parts = kept;
}

fn is_same(one: &Part, other: &Part) -> bool {
    let is_clock = one.source != other.source && one.base == other.base && one.host == other.host;
    is_clock
        && one.words == other.words
        && one.rows.len() == other.rows.len()
        && one
            .rows
            .iter()
            .zip(&other.rows)
            .all(|(a, b)| is_same_row((one, a), (other, b)))
}

fn is_same_row((one, a): (&Part, &Row), (other, b): (&Part, &Row)) -> bool {
    let is_shape =
        a.key == b.key && a.calls.len() == b.calls.len() && a.instants.len() == b.instants.len();
    let mut calls = a.calls.iter().zip(&b.calls);
    let mut instants = a.instants.iter().zip(&b.instants);
    let name = |part: &Part, region| part.names.get(part.names.text_of(region));
    is_shape
        && calls.all(|(a, b)| {
            (a.start, a.end, a.region) == (b.start, b.end, b.region)
                && name(one, a.region) == name(other, b.region)
        })
        && instants.all(|(a, b)| (a.at, a.name) == (b.at, b.name))
}
