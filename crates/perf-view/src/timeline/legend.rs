//! Legend of a timeline: a [`Part`] for each kind of row, with an [`Entry`] for each state with its
//! colour, sorted by time or painted area; also the [`Palette`] of the states and the share of MPI.

use crate::{Colour, Kind, Palette, Result, Theme, number, shortened_apart};
use perf_core::{Job, LocationKind, Paradigm, TimeRange};
use perf_fold::{ClassId, Classes, Folder, Group, GroupBy, Groups, State, Timelines, Usage};
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
    /// `true` for the heading of the rows of one kind, which begins a line.
    pub(super) is_heading: bool,
}

impl Entry {
    /// Creates a remark, which has no colour and time.
    pub(super) fn remark(name: &str) -> Self {
        Entry {
            colour: None,
            name: name.to_string(),
            time: None,
            is_heading: false,
        }
    }

    /// Creates the heading of the rows of one kind.
    pub(super) fn heading(name: &str) -> Self {
        Entry {
            is_heading: true,
            ..Entry::remark(name)
        }
    }
}

/// Returns name, share and time of each entry as text. Names of states are shortened to `most`
/// characters, so that different names stay different; remarks are not shortened.
pub(super) fn texts(entries: &[Entry], most: usize) -> Vec<String> {
    let names = entries.iter().filter(|entry| entry.time.is_some());
    let names = names.map(|entry| entry.name.as_str());
    let mut short = shortened_apart(names, most).into_iter();
    let text = |entry: &Entry| match entry.time {
        Some((share, nanos)) => {
            let name = short.next().unwrap_or_default();
            format!("{name} {}, {}", number::percent(share), number::time(nanos))
        }
        None => entry.name.clone(),
    };
    entries.iter().map(text).collect()
}

/// Rows of one kind, whose times in a legend are shares of the time of their streams.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// Text that names the rows; `None` if all rows are of one kind.
    pub(super) heading: Option<String>,
    /// Indices of the rows.
    pub(super) rows: Vec<usize>,
}

/// Heading and entries of the rows of one kind.
pub(super) type Headed = (Option<String>, Vec<Entry>);

/// Largest number of rows without devices that have a part each. Rows such as threads and annotations
/// mean different things; a row for each of many processes does not.
const MOST_PARTS: usize = 3;

/// Returns the parts of the legend of some rows and their usage: one of all devices and those of the
/// other rows. The streams of a device are idle most of the time, so a share of the time of all streams
/// and threads together has no meaning. Rows without states have no share.
pub(super) fn parts(groups: &[&Group], usage: &[Usage]) -> Vec<Part> {
    let streams = |row: usize| {
        let without_states = usage.get(row).map_or(0, |usage| usage.without_states);
        groups[row].streams.len().saturating_sub(without_states)
    };
    let is_device = |row: &usize| groups[*row].kind == LocationKind::AcceleratorStream;
    let with_states = (0..groups.len()).filter(|row| streams(*row) > 0);
    let (devices, others): (Vec<usize>, Vec<usize>) = with_states.partition(is_device);
    if devices.is_empty() || others.is_empty() {
        return vec![Part {
            heading: None,
            rows: (0..groups.len()).collect(),
        }];
    }
    let part = |name: &str, rows: Vec<usize>| {
        let streams: usize = rows.iter().map(|row| streams(*row)).sum();
        let noun = if streams == 1 { "stream" } else { "streams" };
        let streams = number::count(streams as u64);
        Part {
            heading: Some(format!("{name}, share of the time of {streams} {noun}:")),
            rows,
        }
    };
    let mut parts = vec![part("Devices", devices)];
    if others.len() <= MOST_PARTS {
        let others = others.into_iter();
        parts.extend(others.map(|row| part(&groups[row].label, vec![row])));
    } else {
        parts.push(part("Other rows", others));
    }
    parts
}

/// Returns the stream-ticks in each state over all rows, the largest first. Equal times are sorted
/// by state.
pub(super) fn totals<'a>(usage: impl IntoIterator<Item = &'a Usage>) -> Vec<(State, u128)> {
    let mut times: BTreeMap<State, u128> = BTreeMap::new();
    for (state, time) in usage.into_iter().flat_map(|usage| &usage.times) {
        *times.entry(*state).or_default() += u128::from(*time);
    }
    let mut times: Vec<_> = times.into_iter().collect();
    times.sort_by_key(|(state, time)| (std::cmp::Reverse(*time), *state));
    times
}

/// Returns a palette for all states. States with the most time in the recording take precedence, so
/// that pages and pictures of each window and of any rows have the same colours. States without time
/// follow, because they may be frames of call stacks.
///
/// `known` are the totals of some rows in a window with the number of their streams, which are those of
/// the recording if the rows have all streams.
pub(super) fn palette(
    timelines: &Timelines,
    (known, streams, window): (&Totals, usize, TimeRange),
    job: &Job,
) -> Result<Palette> {
    let whole = timelines.range();
    if window == whole && streams == timelines.len() {
        return Ok(palette_of(known, timelines.classes()));
    }
    let params = Folder::params().columns(1).check()?;
    let folder = Folder::new(timelines, Groups::by(timelines, GroupBy::All), params)?;
    let usage = folder.busy_shares(whole, &job.without_progress())?;
    Ok(palette_of(&totals(&usage), timelines.classes()))
}

fn palette_of(totals: &Totals, classes: &Classes) -> Palette {
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

/// Returns the name of a state in legends, tables and status lines.
pub(super) fn name(state: State, classes: &Classes) -> &str {
    match state {
        State::Class(class) => classes.name(class),
        State::Idle => "in no region",
        State::Absent => "not recorded",
    }
}

/// Returns the shares of the states of a row with their names, the largest first.
pub(super) fn named<'a>(
    usage: &'a Usage,
    classes: &'a Classes,
) -> impl Iterator<Item = (&'a str, f64)> + 'a {
    let shares = usage.shares();
    shares.map(|(state, share)| (name(state, classes), share))
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

/// Largest number of states in the legend of the rows of one kind. Recordings of accelerators have hundreds of
/// kernels, and a reader cannot tell so many shades apart.
const MOST_STATES: usize = 14;

/// Joins entries to one without a colour; `None` if there are none.
fn joined(entries: &[Entry], words: &str) -> Option<Entry> {
    let times = entries.iter().filter_map(|entry| entry.time);
    let sum = times.fold((0.0, 0.0), |sum, time| (sum.0 + time.0, sum.1 + time.1));
    let name = match entries {
        [] => return None,
        [one] => format!("{} {words}", one.name),
        all => format!("{} more {words}", number::count(all.len() as u64)),
    };
    Some(Entry {
        colour: None,
        name,
        time: Some(sum),
        is_heading: false,
    })
}

/// Sorts the entries of states by their painted area. Joins the states after the first
/// [`MOST_STATES`], and those that are painted in no cell; both are dropped where cells show numbers.
/// `is_theme` selects the entries that stay as they are.
pub(super) fn by_area(
    entries: Vec<Entry>,
    (areas, has_numbers): (&HashMap<Colour, usize>, bool),
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
    if !has_numbers {
        // An entry of its own is no longer than that of one joined state.
        let most = match painted.len() {
            all if all <= MOST_STATES + 1 => all,
            _ => MOST_STATES,
        };
        let smaller = painted.split_off(most);
        painted.extend(joined(&smaller, "with smaller areas"));
        painted.extend(joined(&hidden, "in no cell here"));
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
            State::Idle => (theme.idle, name(*state, classes)),
            State::Absent => (theme.absent, name(*state, classes)),
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
            is_heading: false,
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
        is_heading: false,
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
            is_heading: false,
        };
        let shown = |states: usize| {
            let areas = (0..states).map(|at| (colour(at), 1 + at)).collect();
            let entries = (0..states + 1).map(entry).collect();
            by_area(entries, (&areas, false), |_| false)
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
        let hidden = format!("state {} in no cell here", MOST_STATES + 9);
        assert_eq!(many[MOST_STATES + 1].name, hidden);
    }
}
