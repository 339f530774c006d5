//! Counts of the states in a cell: [`Tally`] can be merged, [`Counter`] counts one cell after
//! another without allocating, and operations read [`Counts`].

use crate::states::class::code;
use crate::{AbsentRule, Cell, Choice, FoldOp, State, Ties};
use perf_core::Merge;

/// Weight of one state in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Entry {
    /// The state.
    pub state: State,
    /// Number of streams in the state when sampled, or stream-ticks spent in the state when exact.
    pub weight: u64,
    /// Lowest number of a stream in the state.
    pub first: u32,
}

impl Entry {
    fn add(&mut self, weight: u64, first: u32) {
        // Saturating sums of unsigned numbers are associative.
        self.weight = self.weight.saturating_add(weight);
        self.first = self.first.min(first);
    }
}

/// Weight and first stream of each state. This is the part of a fold that can be merged in any
/// order.
///
/// The published operations are functions of these counts. Parts that threads, groups or MPI ranks
/// count separately therefore merge to the same result as one joint count, including ties, provided
/// that stream numbers are unique across the parts.
///
/// ```
/// use perf_core::Merge;
/// use perf_fold::{AbsentRule, ClassId, Op, State, Tally, Ties, Value};
/// let busy = State::Class(ClassId(0));
/// let (mut left, mut right) = (Tally::default(), Tally::default());
/// left.add(State::Idle, 1, 0);
/// right.add(busy, 1, 1);
/// right.add(busy, 1, 2);
/// left.merge(&right);
/// let cell = left.cell(&Op::Max, Ties::StreamOrder, AbsentRule::AsIdle);
/// assert_eq!((cell.value, cell.winning, cell.total), (Value::Class(ClassId(0)), 2, 3));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Tally {
    /// Entries in ascending order of state.
    entries: Vec<Entry>,
}

impl Tally {
    /// Adds `weight` to a state, for stream number `stream`. A weight of 0 is ignored.
    pub fn add(&mut self, state: State, weight: u64, stream: u32) {
        if weight == 0 {
            return;
        }
        match self
            .entries
            .binary_search_by_key(&state, |entry| entry.state)
        {
            Ok(at) => self.entries[at].add(weight, stream),
            Err(at) => self.entries.insert(
                at,
                Entry {
                    state,
                    weight,
                    first: stream,
                },
            ),
        }
    }

    /// Returns the entries in ascending order of state, with separate entries for idle and absent.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Applies an operation to the counts and returns the cell. [`Ties::KeepPrevious`] has no
    /// previous cell here and falls back to stream order. One stream has weight 1.
    pub fn cell(&self, op: &dyn FoldOp, ties: Ties, absent: AbsentRule) -> Cell {
        let mut counter = Counter::new(absent);
        for entry in &self.entries {
            counter.add(code::of(entry.state), entry.weight, entry.first);
        }
        counter.cell(op, Rules::of(ties), 1)
    }
}

impl Merge for Tally {
    fn merge(&mut self, other: &Self) {
        for entry in &other.entries {
            self.add(entry.state, entry.weight, entry.first);
        }
    }
}

/// Rules that decide between states of equal weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Rule for ties.
    pub(crate) ties: Ties,
    /// State of the cell to the left.
    pub(crate) previous: Option<State>,
    /// `true` if [`Op::Min`](crate::Op::Min) skips idle streams.
    pub(crate) ignore_idle: bool,
}

impl Rules {
    pub(crate) fn of(ties: Ties) -> Self {
        Rules {
            ties,
            previous: None,
            ignore_idle: false,
        }
    }
}

/// Counts of one cell, as operations read them.
///
/// The paper's state `None` is [`State::Idle`] here. Absent streams are counted as idle or dropped,
/// depending on [`AbsentRule`], and have no separate entry.
#[derive(Clone, Copy, Debug)]
pub struct Counts<'a> {
    /// States that occur.
    entries: &'a [Entry],
    /// Sum of all weights.
    total: u64,
    /// Weight of one stream.
    unit: u64,
    /// Rules for ties.
    rules: Rules,
}

impl<'a> Counts<'a> {
    /// Returns the states that occur, in no particular order.
    pub fn entries(&self) -> &'a [Entry] {
        self.entries
    }

    /// Returns the sum of all weights, n in the paper.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the weight of one stream: 1 when sampled, the length of the pixel in ticks when
    /// exact.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// Returns `true` if [`Op::Min`](crate::Op::Min) must skip idle streams.
    pub fn ignores_idle(&self) -> bool {
        self.rules.ignore_idle
    }

    /// Returns the weight of one state, 0 if it does not occur.
    pub fn weight(&self, state: State) -> u64 {
        let entry = self.entries.iter().find(|entry| entry.state == state);
        entry.map_or(0, |entry| entry.weight)
    }

    /// Returns the state with the largest weight among the states that `keep` accepts, or `None` if
    /// there is none. [`Ties`] decides between states of equal weight.
    pub fn most(&self, keep: impl Fn(State) -> bool) -> Option<Entry> {
        self.best(keep, |weight| u64::MAX - weight)
    }

    /// Returns the state with the smallest weight among the states that `keep` accepts, or `None`
    /// if there is none. [`Ties`] decides between states of equal weight.
    pub fn least(&self, keep: impl Fn(State) -> bool) -> Option<Entry> {
        self.best(keep, |weight| weight)
    }

    #[inline]
    fn best(&self, keep: impl Fn(State) -> bool, cost: impl Fn(u64) -> u64) -> Option<Entry> {
        let mut best: Option<Entry> = None;
        for entry in self.entries.iter().filter(|entry| keep(entry.state)) {
            let better = best.is_none_or(|best| {
                let (new, old) = (cost(entry.weight), cost(best.weight));
                new < old || (new == old && self.before(entry, &best))
            });
            if better {
                best = Some(*entry);
            }
        }
        best
    }

    /// Returns `true` if `a` wins a tie against `b`.
    fn before(&self, a: &Entry, b: &Entry) -> bool {
        match self.rules.ties {
            Ties::LowestStateId => a.state < b.state,
            Ties::KeepPrevious if self.rules.previous == Some(a.state) => true,
            Ties::KeepPrevious if self.rules.previous == Some(b.state) => false,
            // With exact selection one stream may be the first of two states.
            Ties::StreamOrder | Ties::KeepPrevious => (a.first, a.state) < (b.first, b.state),
        }
    }
}

/// Counts the states of one cell after another without allocating.
#[derive(Debug)]
pub(crate) struct Counter {
    /// Entries of the current cell.
    entries: Vec<Entry>,
    /// Index of each code among the entries plus 1; 0 for a code without an entry.
    places: Vec<u32>,
    /// Sum of all weights.
    total: u64,
    /// Weight of idle streams.
    idle: u64,
    /// Weight of absent streams.
    absent: u64,
    /// Rule for absent streams.
    rule: AbsentRule,
}

impl Counter {
    pub(crate) fn new(rule: AbsentRule) -> Self {
        Counter {
            entries: Vec::new(),
            places: Vec::new(),
            total: 0,
            idle: 0,
            absent: 0,
            rule,
        }
    }

    /// Allocates space for `codes` states, so that counting does not allocate. It is sufficient if
    /// at most `streams` or 4,096 states, whichever is more, occur in one cell.
    pub(crate) fn prepare(&mut self, codes: usize, streams: usize, rule: AbsentRule) {
        self.rule = rule;
        if self.places.len() < codes {
            self.places.resize(codes, 0);
        }
        self.entries.reserve(Self::room(codes, streams));
    }

    fn room(codes: usize, streams: usize) -> usize {
        codes.min(streams.max(4096))
    }

    /// Returns the size in bytes of a prepared counter.
    pub(crate) fn memory(codes: usize, streams: usize) -> usize {
        codes * size_of::<u32>() + Self::room(codes, streams) * size_of::<Entry>()
    }

    /// Counts a column of samples with weight 1 each; `first` returns the stream number of a row of
    /// samples.
    ///
    /// Adjacent streams are mostly in the same state. Counting runs instead of single samples takes
    /// one comparison for each stream and updates the counter only where the state changes.
    #[inline]
    pub(crate) fn column<'a>(
        &mut self,
        codes: impl Iterator<Item = &'a u32>,
        first: impl Fn(usize) -> u32,
    ) {
        let mut codes = codes.enumerate();
        let Some((_, code)) = codes.next() else {
            return;
        };
        let (mut run, mut start, mut end) = (*code, 0, 1);
        for (row, code) in codes {
            if *code != run {
                self.add(run, (row - start) as u64, first(start));
                (run, start) = (*code, row);
            }
            end = row + 1;
        }
        self.add(run, (end - start) as u64, first(start));
    }

    #[inline]
    pub(crate) fn add(&mut self, code: u32, weight: u64, first: u32) {
        let mut code = code;
        if code < code::FIRST {
            if code == code::ABSENT {
                self.absent = self.absent.saturating_add(weight);
                if self.rule == AbsentRule::LeaveOut {
                    return;
                }
                code = code::IDLE;
            } else {
                self.idle = self.idle.saturating_add(weight);
            }
        }
        self.total = self.total.saturating_add(weight);
        let index = code as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, 0);
        }
        let place = &mut self.places[index];
        if *place == 0 {
            let state = code::state(code);
            self.entries.push(Entry {
                state,
                weight,
                first,
            });
            // There is at most one entry for each code, and codes are `u32`.
            *place = self.entries.len() as u32;
        } else {
            self.entries[*place as usize - 1].add(weight, first);
        }
    }

    /// Applies `op` to the counts, returns the cell, and resets the counter.
    #[inline]
    pub(crate) fn cell<O: FoldOp + ?Sized>(&mut self, op: &O, rules: Rules, unit: u64) -> Cell {
        let counts = Counts {
            entries: &self.entries,
            total: self.total,
            unit,
            rules,
        };
        let Choice { value, winning } = op.fold(&counts);
        let cell = Cell {
            value,
            distinct: self.entries.len() as u32,
            total: self.total,
            winning,
            idle: self.idle,
            absent: self.absent,
        };
        for entry in &self.entries {
            self.places[code::of(entry.state) as usize] = 0;
        }
        self.entries.clear();
        (self.total, self.idle, self.absent) = (0, 0, 0);
        cell
    }
}
