//! Counting states: [`Tally`], the part of a fold that merges, and the [`Counts`] that
//! operations read.

use crate::class::code;
use crate::{AbsentRule, Cell, Choice, FoldOp, State, Ties};
use perf_core::Merge;

/// How much of one state there is in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Entry {
    /// The state.
    pub state: State,
    /// Streams in it when sampled, stream-ticks spent in it when exact.
    pub weight: u64,
    /// The lowest number of a stream in it.
    pub first: u32,
}

impl Entry {
    fn add(&mut self, weight: u64, first: u32) {
        // Saturating sums are as associative as plain ones.
        self.weight = self.weight.saturating_add(weight);
        self.first = self.first.min(first);
    }
}

/// States counted, with the first stream of each: the associative part of a fold.
///
/// The published operations are functions of these counts, so parts that threads, groups or MPI
/// ranks count on their own merge to exactly what counting all at once gives, ties included,
/// provided that stream numbers are unique among the parts.
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
    /// By ascending state.
    entries: Vec<Entry>,
}

impl Tally {
    /// Counts `weight` of a state, of stream number `stream`. A weight of 0 is not counted.
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

    /// What was counted, by ascending state; idle and absent apart.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The cell an operation makes of this. [`Ties::KeepPrevious`] has no previous cell here and
    /// falls back to stream order. One stream weighs 1.
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

/// What decides between states of equal weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) ties: Ties,
    pub(crate) previous: Option<State>,
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

/// The counts of one cell, as operations read them.
///
/// `None` of the paper is [`State::Idle`] here; absent streams are counted as idle or not at all,
/// as [`AbsentRule`] says, and appear in no entry of their own.
#[derive(Clone, Copy, Debug)]
pub struct Counts<'a> {
    entries: &'a [Entry],
    total: u64,
    unit: u64,
    rules: Rules,
}

impl<'a> Counts<'a> {
    /// The states that occur, in no particular order.
    pub fn entries(&self) -> &'a [Entry] {
        self.entries
    }

    /// The sum of all weights: the paper's n.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The weight of one stream: 1 when sampled, the length of the pixel in ticks when exact.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// Whether [`Op::Min`](crate::Op::Min) is to leave idle streams out.
    pub fn ignores_idle(&self) -> bool {
        self.rules.ignore_idle
    }

    /// The weight of one state, 0 where it does not occur.
    pub fn weight(&self, state: State) -> u64 {
        let entry = self.entries.iter().find(|entry| entry.state == state);
        entry.map_or(0, |entry| entry.weight)
    }

    /// The heaviest of the states that `keep` lets through; equals by the rule for ties.
    pub fn most(&self, keep: impl Fn(State) -> bool) -> Option<Entry> {
        self.best(keep, |weight| u64::MAX - weight)
    }

    /// The lightest of the states that `keep` lets through; equals by the rule for ties.
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

    /// Whether `a` wins a tie against `b`.
    fn before(&self, a: &Entry, b: &Entry) -> bool {
        match self.rules.ties {
            Ties::LowestStateId => a.state < b.state,
            Ties::KeepPrevious if self.rules.previous == Some(a.state) => true,
            Ties::KeepPrevious if self.rules.previous == Some(b.state) => false,
            // In exact mode one stream may be the first of two states.
            Ties::StreamOrder | Ties::KeepPrevious => (a.first, a.state) < (b.first, b.state),
        }
    }
}

/// Counts one cell after another without allocating: entries, and by code where they are.
#[derive(Debug)]
pub(crate) struct Counter {
    entries: Vec<Entry>,
    /// One past the place of a code among the entries, 0 where it has none.
    places: Vec<u32>,
    total: u64,
    idle: u64,
    absent: u64,
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

    /// Room for any of `codes` states, as many at a time as there are streams or a few thousand, so
    /// that counting them does not allocate.
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

    /// Bytes that one takes once it is prepared.
    pub(crate) fn memory(codes: usize, streams: usize) -> usize {
        codes * size_of::<u32>() + Self::room(codes, streams) * size_of::<Entry>()
    }

    /// Counts a column of samples, each of weight 1; `first` names the stream of a row.
    ///
    /// Neighbouring streams are mostly in the same state, so runs are counted rather than single
    /// cells: one comparison a stream, and a counter is touched where the state changes.
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
            // At most one entry a code, and codes are `u32`.
            *place = self.entries.len() as u32;
        } else {
            self.entries[*place as usize - 1].add(weight, first);
        }
    }

    /// The cell that `op` makes of what was counted; counting starts anew.
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
