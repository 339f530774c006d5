//! Reference implementation of calls: one stream, all events at once, no arena.

use perf_anomaly::calls::Repair;
use perf_core::RegionId;
use std::collections::HashSet;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    Enter(u32),
    Exit(u32),
    Note,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NaiveCall {
    /// Regions of the call path.
    pub(crate) path: Vec<RegionId>,
    /// Time of entry.
    pub(crate) entry: i64,
    /// Time of exit.
    pub(crate) exit: i64,
    /// Exclusive time.
    pub(crate) exclusive: i64,
    /// Times of messages and counters.
    pub(crate) notes: Vec<i64>,
    /// Number of callees.
    pub(crate) children: usize,
    /// `true` if it was closed at the end.
    pub(crate) at_end: bool,
}

#[derive(Clone, Debug)]
struct Open {
    /// Regions of the call path.
    path: Vec<RegionId>,
    /// Time of entry.
    entry: i64,
    /// Time in callees.
    inside: i64,
    /// Number of callees.
    children: usize,
    /// Time of an exit of another region.
    foreign: Option<i64>,
}

#[derive(Default)]
struct State {
    /// Open calls.
    stack: Vec<Open>,
    /// Waiting messages and counters.
    waiting: Vec<i64>,
    /// Known call paths.
    known: HashSet<Vec<RegionId>>,
    /// Completed calls.
    done: Vec<NaiveCall>,
}

impl State {
    /// Closes the innermost call, which takes the waiting messages and counters within it, ends
    /// included.
    fn close(&mut self, at: i64, at_end: bool, outer: bool) {
        let open = self.stack.pop().expect("it is there");
        let (at, at_end) = match open.foreign {
            Some(foreign) if outer || at_end => (foreign, false),
            _ => (at, at_end),
        };
        // Notes after a guessed end also belong to the call, because it was innermost.
        let (mine, rest) = self.waiting.iter().partition(|note| **note >= open.entry);
        self.waiting = rest;
        if let Some(caller) = self.stack.last_mut() {
            caller.inside += at - open.entry;
            caller.children += 1;
        }
        self.done.push(NaiveCall {
            path: open.path,
            entry: open.entry,
            exit: at,
            exclusive: at - open.entry - open.inside,
            notes: mine,
            children: open.children,
            at_end,
        });
    }
}

/// Returns the calls of a stream in order of completion.
pub(crate) fn calls(events: &[(i64, What)], repair: Repair) -> Vec<NaiveCall> {
    let mut functions: Vec<(i64, What)> = events
        .iter()
        .copied()
        .filter(|e| e.1 != What::Note)
        .collect();
    functions.sort_by_key(|event| event.0);
    let mut notes: Vec<i64> = events
        .iter()
        .filter(|e| e.1 == What::Note)
        .map(|e| e.0)
        .collect();
    notes.sort_unstable();
    let end = events.iter().map(|event| event.0).max().unwrap_or_default();
    let mut state = State::default();
    for (at, event) in functions {
        let is_exit = matches!(event, What::Exit(_));
        let come = notes
            .iter()
            .take_while(|note| **note < at || (is_exit && **note == at))
            .count();
        // Without an open call a message belongs to none.
        let come: Vec<i64> = notes.drain(..come).collect();
        if !state.stack.is_empty() {
            state.waiting.extend(come);
        }
        match event {
            What::Enter(region) => enter(&mut state, at, RegionId(region)),
            What::Exit(region) => exit(&mut state, at, RegionId(region), repair),
            What::Note => unreachable!(),
        }
    }
    if !state.stack.is_empty() {
        state.waiting.extend(notes);
    }
    while repair == Repair::Mend && !state.stack.is_empty() {
        state.close(end, true, false);
    }
    state.done
}

fn enter(state: &mut State, at: i64, region: RegionId) {
    let below = |path: &[RegionId]| [path, &[region]].concat();
    if let Some(top) = state.stack.last_mut()
        && let Some(foreign) = top.foreign.take()
    {
        let path = top.path.clone();
        let (own, callers) = path.split_last().expect("it is there");
        let is_callee = state.known.contains(&below(&path));
        let is_sibling = *own == region || state.known.contains(&below(callers));
        if !is_callee && is_sibling {
            state.close(foreign, false, false);
        }
    }
    let path = below(state.stack.last().map_or(&[], |top| &top.path));
    state.known.insert(path.clone());
    state.stack.push(Open {
        path,
        entry: at,
        inside: 0,
        children: 0,
        foreign: None,
    });
}

fn exit(state: &mut State, at: i64, region: RegionId, repair: Repair) {
    let Some(top) = state.stack.last_mut() else {
        return;
    };
    if top.path.last() == Some(&region) {
        return state.close(at, false, false);
    }
    if repair == Repair::Strict {
        return;
    }
    let is_open = state
        .stack
        .iter()
        .any(|open| open.path.last() == Some(&region));
    if !is_open {
        let top = state.stack.last_mut().expect("it is there");
        top.foreign = top.foreign.or(Some(at));
        return;
    }
    while state.stack.last().expect("it is there").path.last() != Some(&region) {
        state.close(at, false, true);
    }
    state.close(at, false, false);
}
