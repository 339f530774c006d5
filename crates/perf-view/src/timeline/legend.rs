//! Legend of a timeline: an [`Entry`] for each state with its colour, sorted by time or painted
//! area; also the [`Palette`] of the states and the share of MPI.

use crate::{Colour, Kind, Palette, Theme, number, shortened};
use perf_core::Paradigm;
use perf_fold::{ClassId, Classes, State, Usage};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Time of all streams in each state, the largest first.
pub(super) type Totals = [(State, u128)];

/// Line of a legend.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// Colour of the swatch; `None` for a remark.
    pub(super) colour: Option<Colour>,
    /// Name of the state, or the text of a remark.
    pub(super) name: String,
    /// Time in the state as a share of the time of all streams and in nanoseconds; `None` for a
    /// remark.
    pub(super) time: Option<(f64, f64)>,
}

impl Entry {
    /// Creates a remark, which has no colour and time.
    pub(super) fn remark(name: &str) -> Self {
        Entry {
            colour: None,
            name: name.to_string(),
            time: None,
        }
    }

    /// Returns name, share and time as text. Names of states are shortened to `most` characters;
    /// remarks are not shortened.
    pub(super) fn text(&self, most: usize) -> String {
        match self.time {
            Some((share, nanos)) => {
                let name = shortened(&self.name, most);
                format!("{name} {}, {}", number::percent(share), number::time(nanos))
            }
            None => self.name.clone(),
        }
    }
}

/// Returns the stream-ticks in each state over all rows, the largest first. Equal times are sorted
/// by state.
pub(super) fn totals(usage: &[Usage]) -> Vec<(State, u128)> {
    let mut times: BTreeMap<State, u128> = BTreeMap::new();
    for (state, time) in usage.iter().flat_map(|usage| &usage.times) {
        *times.entry(*state).or_default() += u128::from(*time);
    }
    let mut times: Vec<_> = times.into_iter().collect();
    times.sort_by_key(|(state, time)| (std::cmp::Reverse(*time), *state));
    times
}

/// Returns a palette for all states. States with the most time take precedence. States without time
/// follow, because they may be frames of call stacks.
pub(super) fn palette(totals: &Totals, classes: &Classes) -> Palette {
    let states = totals.iter().filter_map(|(state, _)| state.class());
    let all = (0..classes.len() as u32).map(ClassId);
    Palette::of_kinds(states.chain(all).map(|class| {
        let (paradigm, role) = classes.origin(class);
        let name = classes.name(class);
        (name, Kind::of(name, paradigm, role))
    }))
}

/// Returns `true` for functions of MPI.
pub(super) fn is_mpi(classes: &Classes, class: ClassId) -> bool {
    classes.origin(class).0 == Paradigm::Mpi || classes.name(class).starts_with("MPI")
}

/// Returns the share of the time of all streams of a row that is in MPI.
pub(super) fn mpi_share(usage: &Usage, classes: &Classes) -> f64 {
    let is_mpi = |state: State| state.class().is_some_and(|class| is_mpi(classes, class));
    let shares = usage.shares().filter(|(state, _)| is_mpi(*state));
    shares.map(|(_, share)| share).sum()
}

/// Returns the remark about streams without states, of which there are `streams` in all rows; `None`
/// if all have states.
pub(super) fn without_states(streams: usize, usage: &[Usage]) -> Option<String> {
    let count: usize = usage.iter().map(|usage| usage.without_states).sum();
    (count > 0).then(|| {
        format!(
            "{} of {} streams recorded no states; no share counts them",
            number::count(count as u64),
            number::count(streams as u64)
        )
    })
}

/// Returns the hues of all states that have time, each with its kind.
pub(super) fn hues(totals: &Totals, classes: &Classes, palette: &Palette) -> Vec<String> {
    let states = totals.iter().filter(|(_, time)| *time > 0);
    let classes = states.filter_map(|(state, _)| Some(classes.name(state.class()?)));
    let names: Vec<&str> = classes.collect();
    let kinds: BTreeSet<Kind> = names.iter().map(|name| palette.kind(name)).collect();
    // A group of all of MPI has the hue of point-to-point, but holds collectives too.
    let is_group = names.contains(&"MPI");
    let words = kinds.iter().map(|kind| match kind {
        Kind::PointToPoint if is_group => (kind.words().0, "MPI"),
        _ => kind.words(),
    });
    words.map(|(hue, kind)| format!("{hue}: {kind}")).collect()
}

/// Largest number of states in the legend of a picture. Recordings of accelerators have hundreds of
/// kernels, and a reader cannot tell so many shades apart.
const MOST_STATES: usize = 14;

/// Joins entries to one without a colour; `None` if there are none.
fn joined(entries: &[Entry], words: &str) -> Option<Entry> {
    let times = entries.iter().filter_map(|entry| entry.time);
    let sum = times.fold((0.0, 0.0), |sum, time| (sum.0 + time.0, sum.1 + time.1));
    (!entries.is_empty()).then(|| Entry {
        colour: None,
        name: format!("{} {words}", number::count(entries.len() as u64)),
        time: Some(sum),
    })
}

/// Sorts the entries of states by their painted area. Joins the states after the first [`MOST_STATES`], and those that
/// are painted in no cell.
/// Without a painted state, as in pictures of numbers, no state is left. `is_theme` selects the entries
/// that stay as they are.
pub(super) fn by_area(
    entries: Vec<Entry>,
    areas: &HashMap<Colour, usize>,
    is_theme: impl Fn(Colour) -> bool,
) -> Vec<Entry> {
    let is_state = |entry: &Entry| entry.colour.is_some_and(|colour| !is_theme(colour));
    let (states, others): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(is_state);
    let area = |entry: &Entry| {
        entry
            .colour
            .and_then(|it| areas.get(&it))
            .copied()
            .unwrap_or(0)
    };
    let (mut painted, hidden): (Vec<Entry>, Vec<Entry>) =
        states.into_iter().partition(|entry| area(entry) > 0);
    painted.sort_by_key(|entry| Reverse(area(entry)));
    if !painted.is_empty() {
        // An entry of its own is no longer than that of one joined state.
        let most = match painted.len() {
            all if all <= MOST_STATES + 1 => all,
            _ => MOST_STATES,
        };
        let smaller = painted.split_off(most);
        painted.extend(joined(&smaller, "more with smaller areas"));
        painted.extend(joined(&hidden, "more in no cell here"));
    }
    painted.extend(others);
    painted
}

/// Returns the entries of the legend: states by time, then one entry for the states of each kind
/// that share a colour, then idle and absent.
pub(super) fn entries(
    totals: &Totals,
    classes: &Classes,
    palette: &Palette,
    theme: &Theme,
    nanos: impl Fn(u128) -> f64,
) -> Vec<Entry> {
    let all: u128 = totals.iter().map(|(_, time)| time).sum();
    let time = |ticks: u128| Some((ticks as f64 / (all.max(1) as f64), nanos(ticks)));
    let (mut entries, mut last) = (Vec::new(), Vec::new());
    let mut shared: Vec<(Colour, String, usize, u128)> = Vec::new();
    let mut firsts: Vec<&str> = Vec::new();
    for (state, ticks) in totals.iter().filter(|(_, ticks)| *ticks > 0) {
        let (colour, name) = match state {
            State::Class(class) => {
                let name = classes.name(*class);
                (palette.of(name), name)
            }
            State::Idle => (theme.idle, "in no region"),
            State::Absent => (theme.absent, "not recorded"),
        };
        let others = state.class().and_then(|_| palette.others(name));
        if let Some(others) = others {
            match shared.iter_mut().find(|(same, ..)| *same == colour) {
                Some((_, _, count, rest)) => (*count, *rest) = (*count + 1, *rest + ticks),
                None => {
                    firsts.push(name);
                    shared.push((colour, others, 1, *ticks));
                }
            }
            continue;
        }
        let entry = Entry {
            colour: Some(colour),
            name: name.to_string(),
            time: time(*ticks),
        };
        match state {
            State::Class(_) => entries.push(entry),
            _ => last.push(entry),
        }
    }
    let shared = shared.into_iter().zip(firsts);
    entries.extend(shared.map(|((colour, name, count, ticks), first)| Entry {
        colour: Some(colour),
        name: match count {
            1 => first.to_string(),
            _ => format!("{count} {name}"),
        },
        time: time(ticks),
    }));
    entries.extend(last);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_small_areas_share_an_entry() {
        let colour = |at: usize| Colour {
            r: at as u8,
            ..Theme::light().ink
        };
        let entry = |at: usize| Entry {
            colour: Some(colour(at)),
            name: format!("state {at}"),
            time: Some((0.01, 10.0)),
        };
        let shown = |states: usize| {
            let areas = (0..states).map(|at| (colour(at), 1 + at)).collect();
            let entries = (0..states + 1).map(entry).collect();
            by_area(entries, &areas, |_| false)
        };
        let few = shown(MOST_STATES + 1);
        assert_eq!(few.len(), MOST_STATES + 2);
        assert_eq!(few[0].name, format!("state {MOST_STATES}"));
        let many = shown(MOST_STATES + 9);
        assert_eq!(many.len(), MOST_STATES + 2);
        let rest = &many[MOST_STATES];
        assert_eq!(rest.name, "9 more with smaller areas");
        let (share, nanos) = rest.time.expect("a sum");
        assert!((share - 0.09).abs() < 1e-12 && nanos == 90.0);
        assert_eq!(many[MOST_STATES + 1].name, "1 more in no cell here");
    }
}
