//! [`StreamFile`]: reads the rows of one file of a stream, determines the step of each, with
//! look-ahead for doubtful ones, and pushes the rows of one step at a time.

use super::current_line::CurrentLine;
use super::json::Line;
use super::lines::{Lines, Polled};
use super::row::{Kind, Row, Wrong};
use super::rules;
use super::syntax::{Guess, Syntax};
use crate::{Error, Result};
use perf_core::{Diagnostics, EventSink, Nanos, Place, StreamKey};
use std::collections::BTreeMap;

/// The rows of one file. The next line has always been read, so that its step is known.
///
/// The step number of a row may be damaged. A step number up to one above the highest plausible
/// step is accepted, and before the first row one up to [`FAR`]. For a higher step number, the
/// [`DECIDING_ROWS`] lines after the row decide: if more of their rows have lower steps than not, the step
/// number is wrong and the row belongs to the highest plausible step. If both counts are equal, the
/// step number is wrong if it is more than [`FAR`] steps ahead.
#[derive(Debug)]
pub(super) struct StreamFile {
    /// Current line and look-ahead.
    at_hand: CurrentLine,
    /// Syntax of the lines; `None` before the first line.
    syntax: Option<Syntax>,
    /// Length of a step for rows without a step number.
    period: Nanos,
    /// Begin of step 0, if known.
    origin: Option<Nanos>,
    /// `true` if a row had no step number.
    used_period: bool,
    /// Next item of the file.
    next: Next,
    /// Highest plausible step so far; `None` before the first row.
    highest: Option<u64>,
    /// Last steps with a row of this file.
    own: LastSteps,
    /// Last ended step of all files.
    ended: Option<u64>,
    /// `true` if other files no longer wait for this one.
    pub(super) is_late: bool,
}

/// Next item of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Next {
    /// Not known yet.
    Unknown,
    /// The current line.
    Row(Head),
    /// End of the file.
    End,
}

/// Last step with a row, of all rows and by rank. The ranks of a file may be written one after another.
#[derive(Debug)]
struct LastSteps {
    /// Step of the last row; `None` before the first row.
    last: Option<u64>,
    /// Rank of the last row with a step, and its highest step.
    current: Option<(Rank, u64)>,
    /// Highest steps of all ranks.
    ranks: BTreeMap<Rank, u64>,
    /// Largest number of ranks.
    most: usize,
}

/// Program and rank.
type Rank = (u32, u32);

impl LastSteps {
    /// Returns the highest step with a row of a rank. Ranks beyond the largest number have the step of the
    /// last row.
    fn of(&self, rank: Rank) -> Option<u64> {
        match self.current {
            Some((current, step)) if current == rank => Some(step),
            _ => {
                let is_full = || self.ranks.len() >= self.most;
                let own = self.ranks.get(&rank).copied();
                own.or_else(|| self.last.filter(|_| is_full()))
            }
        }
    }

    /// Returns `true` for a later step of a rank than before, and for the step of the last row if it is of the same
    /// rank: that step may have ended while the file had no more data.
    fn is_next(&self, rank: Rank, step: u64) -> bool {
        self.current == Some((rank, step)) || self.of(rank).is_none_or(|own| step > own)
    }

    /// Records a row of a rank.
    fn add(&mut self, rank: Rank, step: u64) {
        self.last = Some(step);
        match self.current {
            // Most rows have the same step as the one before.
            Some((current, highest)) if current == rank && step <= highest => {}
            _ => self.raise(rank, step),
        }
    }

    fn raise(&mut self, rank: Rank, step: u64) {
        let mut highest = step;
        if let Some(own) = self.ranks.get_mut(&rank) {
            highest = step.max(*own);
            *own = highest;
        } else if self.ranks.len() < self.most {
            self.ranks.insert(rank, step);
        }
        self.current = Some((rank, highest));
    }
}

/// Fields of a row that determine its step.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Head {
    /// Program and rank.
    rank: Rank,
    /// Step number, if the row has one.
    step: Option<u64>,
    /// Time of the row.
    at: Nanos,
    /// `true` for metadata.
    is_fact: bool,
}

/// Number of following rows that decide on a doubtful one.
const DECIDING_ROWS: usize = 8;
/// Number of steps ahead that counts as far.
const FAR: u64 = 16;

impl Head {
    fn of(row: &Row<'_>) -> Self {
        let StreamKey { program, rank, .. } = row.key;
        Head {
            rank: (program, rank),
            step: row.step,
            at: row.at,
            is_fact: row.kind == Kind::Metadata,
        }
    }

    /// Returns `true` for metadata without a step, which belong to the current one.
    fn is_of_current_step(&self) -> bool {
        self.is_fact && self.step.is_none()
    }
}

impl StreamFile {
    pub(super) fn new(lines: Lines, definitions: u32, period: Nanos) -> Self {
        StreamFile {
            at_hand: CurrentLine::new(lines, definitions),
            syntax: None,
            period,
            origin: None,
            used_period: false,
            next: Next::Unknown,
            highest: None,
            own: LastSteps {
                last: None,
                current: None,
                ranks: BTreeMap::new(),
                most: definitions as usize,
            },
            ended: None,
            is_late: false,
        }
    }

    pub(super) fn lines(&mut self) -> &mut Lines {
        self.at_hand.lines()
    }

    /// Returns `true` if a row had no step number.
    pub(super) fn used_period(&self) -> bool {
        self.used_period
    }

    pub(super) fn set_period(&mut self, period: Nanos) {
        self.period = period;
    }

    /// Returns the begin of step 0 for rows without a step number, or `None` if it is unknown,
    /// because the file had no such row so far.
    pub(super) fn origin(&self) -> Option<Nanos> {
        self.origin
    }

    /// Sets the common begin of step 0.
    pub(super) fn set_origin(&mut self, origin: Nanos) {
        self.origin = Some(origin);
    }

    /// Returns the step of the next row, or `None` if it is unknown or there is no row.
    pub(super) fn step(&self) -> Option<u64> {
        match self.next {
            Next::Row(head) => Some(self.step_of(head)),
            _ => None,
        }
    }

    /// Returns the step of the next row if that step has ended without the rank of the row, because its
    /// file is late, or because another rank precedes it in the file. Returns `None` for a row of the
    /// current or a later step, and for a row of an earlier step than the last one of its own rank.
    pub(super) fn late_step(&self) -> Option<u64> {
        let Next::Row(head) = self.next else {
            return None;
        };
        let step = self.step_of(head);
        let ended = self.ended.is_some_and(|ended| step <= ended);
        let is_new = || self.own.is_next(head.rank, step);
        (ended && !head.is_of_current_step() && is_new()).then_some(step)
    }

    /// Returns `true` if a rank already has rows of a later step than `step`, which ends again. The steps of a
    /// rank never go back.
    fn is_beyond(&self, rank: Rank, step: u64) -> bool {
        self.ended.is_some_and(|ended| step < ended)
            && self.own.of(rank).is_some_and(|own| step < own)
    }

    /// Records that a step of all files has ended.
    pub(super) fn end_step(&mut self, step: u64) {
        self.ended = self.ended.max(Some(step));
    }

    /// Returns the place of the next row.
    pub(super) fn place(&self) -> Place {
        self.at_hand.place()
    }

    /// Returns `true` if the next item is not known yet.
    pub(super) fn is_open(&self) -> bool {
        self.next == Next::Unknown
    }

    /// Determines the next item from the available data.
    pub(super) fn look(&mut self, found: &mut Diagnostics) -> Result<()> {
        self.walk(None, found).map(drop)
    }

    /// Pushes the available rows of `step` and earlier ones. Returns their number.
    pub(super) fn push(
        &mut self,
        step: u64,
        sink: &mut dyn EventSink,
        found: &mut Diagnostics,
    ) -> Result<u64> {
        self.walk(Some((step, sink)), found)
    }

    fn walk(
        &mut self,
        mut upto: Option<(u64, &mut dyn EventSink)>,
        found: &mut Diagnostics,
    ) -> Result<u64> {
        let mut count = 0;
        loop {
            match (self.next, &mut upto) {
                (Next::Row(head), Some((step, sink)))
                    if self.step_of(head) <= *step
                        && self.late_step().is_none_or(|late| late == *step)
                        && !self.is_beyond(head.rank, *step) =>
                {
                    self.next = Next::Unknown;
                    self.tell_back(head, *step, found);
                    if let Some(Ok(Line::Row(row))) = self.at_hand.parse(&mut self.syntax) {
                        row.push(&mut **sink);
                        count += 1;
                    }
                    if !head.is_of_current_step() {
                        self.own.add(head.rank, *step);
                    }
                }
                (Next::Row(_) | Next::End, _) => return Ok(count),
                (Next::Unknown, _) => {}
            }
            let is_whole = match self.at_hand.advance(found)? {
                Polled::Line(is_whole) => is_whole,
                Polled::Later => return Ok(count),
                Polled::End => {
                    self.next = Next::End;
                    return Ok(count);
                }
            };
            if self.syntax.is_none() {
                match self.find_syntax(is_whole, found)? {
                    Some(true) => {}
                    Some(false) => continue,
                    None => return Ok(count),
                }
            }
            let head = match self.at_hand.parse(&mut self.syntax) {
                Some(Ok(Line::Row(row))) => {
                    let head = Head::of(&row);
                    // Fast path: the row belongs to the current step.
                    if let Some((step, sink)) = &mut upto
                        && self.highest >= Some(*step)
                        && (head.step.is_some() || self.origin.is_some())
                        && self.step_of(head) == *step
                        && !self.is_beyond(head.rank, *step)
                    {
                        row.push(&mut **sink);
                        count += 1;
                        self.own.add(head.rank, *step);
                        self.is_late &= self.ended.is_some_and(|ended| *step < ended);
                        continue;
                    }
                    head
                }
                Some(Err(wrong)) => {
                    self.report(wrong, found);
                    continue;
                }
                Some(Ok(Line::TooMany(_))) => {
                    found.add(rules::DEFINITIONS, self.at_hand.place());
                    continue;
                }
                Some(Ok(Line::Names(_))) | None => continue,
            };
            match self.believed(head, found)? {
                Some(head) => self.next = Next::Row(head),
                None => return Ok(count),
            }
        }
    }

    /// Determines the syntax of the lines. Returns `true` if the current line is data, `false` if
    /// it is a header, empty or truncated, and `None` if more lines are needed.
    fn find_syntax(&mut self, is_whole: bool, found: &mut Diagnostics) -> Result<Option<bool>> {
        let line = self.at_hand.bytes();
        let (first, is_empty) = (String::from_utf8_lossy(line).into_owned(), line.is_empty());
        if is_empty {
            return Ok(Some(false));
        }
        let mut guess = Syntax::guess(&first);
        if guess == Guess::Unknown {
            let is_all = self.at_hand.read_on(DECIDING_ROWS, found)?;
            let rest: Vec<_> = self.at_hand.after().collect();
            if !rest.is_empty() || is_all {
                guess = Syntax::guess_by(&first, &rest);
            }
            if guess == Guess::Unknown && !is_all {
                self.at_hand.put_back();
                return Ok(None);
            }
        }
        let (syntax, is_header) = match guess {
            Guess::Sure(syntax, is_header) => (syntax, is_header),
            Guess::Repaired(syntax) => {
                found.add(rules::HEADER, self.at_hand.place());
                (syntax, true)
            }
            // A file that is truncated in its first line has no rows.
            Guess::Unknown if !is_whole => {
                found.add(rules::HEADER, self.at_hand.place());
                return Ok(Some(false));
            }
            Guess::Unknown => {
                return Err(Error::Malformed {
                    place: self.at_hand.place(),
                    expected: "a header with ts_us and kind, or a line of JSON".into(),
                    got: first.chars().take(80).collect(),
                });
            }
        };
        self.syntax = Some(syntax);
        Ok(Some(!is_header))
    }

    fn report(&self, wrong: Wrong, found: &mut Diagnostics) {
        let (rule, record) = match wrong {
            Wrong::Kind(kind) => (rules::UNKNOWN_KIND, format!("kind `{kind}`")),
            Wrong::Field(expected, got) => (
                rules::MALFORMED,
                format!("expected {expected}, got `{got}`"),
            ),
        };
        found.add(rule, self.at_hand.place().record(record));
    }

    /// Counts a row whose step has already ended, and updates `is_late`.
    fn tell_back(&mut self, head: Head, step: u64, found: &mut Diagnostics) {
        let own = self.step_of(head);
        if own >= step {
            self.is_late &= self.ended.is_some_and(|ended| step < ended);
        } else if self.is_late {
            found.add(rules::LATE, self.at_hand.place());
        } else {
            found.add(rules::STEP_BACK, self.at_hand.place());
        }
    }

    fn step_of(&self, head: Head) -> u64 {
        match (head.step, self.origin) {
            (Some(step), _) => step,
            // Metadata without a time belong to the current step.
            (None, Some(origin)) if !head.is_fact => {
                let since = head.at.0.saturating_sub(origin.0) / self.period.0.max(1);
                let own = self.own.of(head.rank).unwrap_or_default();
                u64::try_from(since).unwrap_or_default().max(own)
            }
            _ => self.own.last.unwrap_or_default(),
        }
    }

    /// Returns the current row with its plausible step, or `None` if more data are needed to
    /// decide.
    fn believed(&mut self, mut head: Head, found: &mut Diagnostics) -> Result<Option<Head>> {
        if head.step.is_none() && !head.is_fact {
            self.used_period = true;
            if self.origin.is_none() {
                self.at_hand.read_on(DECIDING_ROWS, found)?;
                let after = self.heads().into_iter().map(|head| head.at);
                self.origin = after.chain([head.at]).min();
            }
        }
        let step = self.step_of(head);
        // The progress of the other files counts as well.
        let known = self.highest.max(self.ended.filter(|ended| *ended > 0));
        let is_near = match known {
            Some(highest) => step <= highest.saturating_add(1),
            None => step <= FAR,
        };
        if is_near {
            self.highest = self.highest.max(Some(step));
            return Ok(Some(head));
        }
        let is_all = self.at_hand.read_on(DECIDING_ROWS, found)?;
        let heads = self.heads().into_iter();
        let after: Vec<u64> = heads.map(|head| self.step_of(head)).collect();
        let back = after.iter().filter(|other| **other < step).count();
        let on = after.len() - back;
        let is_right = match (on, back) {
            (0, 0) if !is_all => {
                self.at_hand.put_back();
                return Ok(None);
            }
            _ if on == back => known.is_none_or(|known| step - known <= FAR),
            _ => on > back,
        };
        if is_right {
            self.highest = Some(step);
            return Ok(Some(head));
        }
        found.add(
            rules::STEP_AHEAD,
            self.at_hand.place().record(format!("step {step}")),
        );
        let least = after.iter().copied().min();
        head.step = match (self.own.of(head.rank), self.ended) {
            // The rank is behind others that precede it in the file.
            (Some(own), Some(ended)) if own < ended => Some(own),
            (None, Some(_)) if least.is_some() => least,
            _ => self.highest.or(least),
        };
        self.highest = self.highest.or(head.step);
        Ok(Some(head))
    }

    /// Returns the step fields of the rows that were read ahead, without metadata.
    fn heads(&self) -> Vec<Head> {
        let rows = self.at_hand.after().filter_map(|line| {
            let row = self.syntax.as_ref()?.row(line)?;
            Some(Head::of(&row))
        });
        rows.filter(|head| !head.is_fact).collect()
    }
}
