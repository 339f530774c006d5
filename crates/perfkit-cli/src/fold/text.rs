//! Output of `fold` as text, with a strip of letters for each row, and as JSON.

use super::View;
use crate::clocks;
use crate::failure::Outcome;
use crate::table::{counted, shortened};
use perfkit::core::{Cell as Entry, Job, Nanos, Table, TimeRange, Trace};
use perfkit::fold::{Cell, ClassId, Counter, Group, Usage, Value as Shown};
use perfkit::view::number;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::ops::Range;

impl View {
    /// Returns the share of the cells that show each state, largest first.
    fn shares(&self, cells: &[Cell]) -> Vec<(ClassId, f64)> {
        let mut counts: BTreeMap<ClassId, usize> = BTreeMap::new();
        for class in cells.iter().filter_map(Cell::picture) {
            *counts.entry(class).or_default() += 1;
        }
        let all = cells.len().max(1) as f64;
        let mut shares: Vec<_> = counts
            .into_iter()
            .map(|(class, count)| (class, count as f64 / all))
            .collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        shares
    }

    /// Returns a strip with the exact busy share of some streams in the cells of each character, as [`SHADES`].
    fn shades(&self, group: &Group, pieces: &[Range<usize>]) -> String {
        let (timelines, edges) = (self.folder.timelines(), self.fold.edges());
        let shade = |piece: &Range<usize>| {
            let (start, end) = (*edges.get(piece.start)?, *edges.get(piece.end)?);
            let usage = Usage::of(
                timelines,
                &group.streams,
                TimeRange { start, end },
                &Job::default(),
            )
            .ok()?;
            let steps = (SHADES.len() - 1) as f64;
            let step = (steps * usage.busy_share(group.kind)).round() as usize;
            SHADES.chars().nth(step)
        };
        pieces.iter().filter_map(shade).collect()
    }

    /// Returns the fold for `--json`.
    pub(crate) fn json(&self) -> impl Serialize {
        #[derive(Serialize)]
        struct Document<'a> {
            op: &'a str,
            start_ns: Nanos,
            end_ns: Nanos,
            columns: usize,
            rows: Table,
            shown: Table,
            utilisation: Table,
            states: Table,
            #[serde(skip_serializing_if = "Option::is_none")]
            messages: Option<Table>,
            #[serde(skip_serializing_if = "Option::is_none")]
            message_sizes: Option<Table>,
            #[serde(skip_serializing_if = "Option::is_none")]
            counters: Option<Table>,
            clocks: Table,
        }
        let messages = || self.messages.as_ref();
        let (start_ns, end_ns) = self.times(self.fold.window());
        let [utilisation, states] = self.folder.usage_tables(&self.usage);
        Document {
            op: &self.op,
            start_ns,
            end_ns,
            columns: self.fold.columns(),
            rows: self.rows_table(),
            shown: self.shown_table(),
            utilisation,
            states,
            messages: messages().map(|(matrix, _)| matrix.table()),
            message_sizes: messages().map(|(_, sizes)| sizes.table(self.fold.clock())),
            counters: (!self.chosen_counters.is_empty())
                .then(|| Counter::table(&self.chosen_counters, self.fold.window())),
            clocks: self.found.clock_violations().table(self.fold.clock()),
        }
    }

    /// Writes what messages and collectives say about the clocks, if they contradict them. `are_kept` is `true` if
    /// the clocks are those of the recording.
    pub(crate) fn clocks_text(
        &self,
        are_kept: bool,
        trace: &Trace,
        out: &mut dyn Write,
    ) -> Outcome {
        let violations = self.found.clock_violations();
        let remedy = are_kept.then_some("--clocks correct");
        for remark in clocks::remarks(&violations, trace, remedy) {
            writeln!(out, "  {remark}")?;
        }
        Ok(())
    }

    /// Writes the counters that options select as strips, or the names of all counters.
    pub(crate) fn counters_text(&self, out: &mut dyn Write) -> Outcome {
        /// Largest number of counters that are named.
        const MOST_NAMES: usize = 8;
        let window = self.fold.window();
        let all = &self.counters.all;
        if self.chosen_counters.is_empty() && !all.is_empty() {
            let names = all
                .iter()
                .take(MOST_NAMES)
                .map(|of| shortened(&of.name, 40));
            let names: Vec<String> = names.collect();
            let more = match all.len().saturating_sub(MOST_NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            writeln!(out, "  counters, for --counter: {}{more}", names.join(", "))?;
        }
        for counter in &self.chosen_counters {
            let cells = counter.combined(window, STRIP, self.across);
            let means = cells
                .iter()
                .map(|cell| cell.mean)
                .filter(|it| it.is_finite());
            let (least, largest) = means.fold((0.0, 0.0), |(low, high): (f64, f64), value| {
                (low.min(value), high.max(value))
            });
            let strip = cells.iter().map(|cell| {
                let share = (cell.mean - least) / (largest - least);
                let step = (SHADES.len() - 1) as f64 * share;
                // Columns without a value stay empty.
                let step = if step.is_finite() {
                    step.round() as usize
                } else {
                    0
                };
                SHADES.chars().nth(step).unwrap_or(' ')
            });
            let over: Vec<_> = counter.series.iter().map(|of| of.over(window)).collect();
            let over = self.across.of(&over);
            let write = |value: f64| number::short(value, &counter.unit);
            let (name, count) = (shortened(&counter.name, 40), counter.series.len());
            let of = counted(count, "location");
            writeln!(
                out,
                "  counter {name}, {} over {of}: {}",
                self.across.name(),
                write(over.mean)
            )?;
            writeln!(
                out,
                "    |{}| {} to {}",
                strip.collect::<String>(),
                write(least),
                write(largest)
            )?;
            if counter.resets > 0 {
                let resets = counted(counter.resets as usize, "time");
                writeln!(
                    out,
                    "    the counter decreased {resets}; its rate is unknown there"
                )?;
            }
        }
        Ok(())
    }

    /// Writes the messages between rows, if an option asks for them.
    pub(crate) fn messages_text(&self, out: &mut dyn Write) -> Outcome {
        let Some((matrix, sizes)) = &self.messages else {
            return Ok(());
        };
        let table = matrix.table();
        let (rows, shown) = (table.rows(), table.rows().min(MOST_PAIRS));
        let count = |row| match table.cell(row, "messages") {
            Some(Entry::Unsigned(count)) => usize::try_from(count).unwrap_or(usize::MAX),
            _ => 0,
        };
        writeln!(
            out,
            "  messages sent in the window, by row of sender and receiver:"
        )?;
        for row in 0..shown {
            let text = |column| table.text_of(row, column);
            writeln!(
                out,
                "    {} -> {}: {}, {}, mean time {}",
                shortened(&text("sender"), 32),
                shortened(&text("receiver"), 32),
                counted(count(row), "message"),
                text("bytes"),
                match text("mean time") {
                    time if time == "-" => "unknown".into(),
                    time => time,
                },
            )?;
        }
        if shown < rows {
            let more = counted(rows - shown, "more pair");
            writeln!(out, "    {more} of rows, in --json")?;
        }
        if rows == 0 {
            writeln!(out, "    none")?;
        }
        let table = sizes.table(self.fold.clock());
        if table.rows() > 0 {
            writeln!(out, "  messages by length:")?;
        }
        for row in 0..table.rows() {
            let text = |column| table.text_of(row, column);
            let count = |row| match table.cell(row, "messages") {
                Some(Entry::Unsigned(count)) => usize::try_from(count).unwrap_or(usize::MAX),
                _ => 0,
            };
            writeln!(
                out,
                "    {} to below {}: {}, {}, mean time {}, longest {}, {}",
                text("from"),
                text("below"),
                counted(count(row), "message"),
                text("bytes"),
                text("mean time"),
                text("longest"),
                text("bandwidth"),
            )?;
        }
        let early: u64 = matrix.pairs.values().map(|pair| pair.early).sum();
        if early > 0 {
            writeln!(
                out,
                "    {early} arrive before they are sent and are not in the mean times: the clocks disagree"
            )?;
        }
        if matrix.elsewhere.count > 0 {
            let count = matrix.elsewhere.count;
            writeln!(out, "    {count} more have an end in no row")?;
        }
        Ok(())
    }

    /// Returns a row for each row of the fold.
    fn rows_table(&self) -> Table {
        let rows = || self.fold.rows();
        let mean = rows().map(|row| {
            let numbers = row.cells().iter().filter_map(|cell| cell.value.number());
            // Operations that result in states have no mean.
            numbers.clone().map(f64::from).sum::<f64>() / numbers.count() as f64
        });
        Table::new("rows", "Rows of the folded timeline.")
            .text("row", rows().map(|row| row.label()))
            .text("kind", rows().map(|row| format!("{:?}", row.group().kind)))
            .unsigned("streams", "", rows().map(|row| row.streams()))
            .unsigned("idle cells", "", rows().map(|row| row.idle_cells()))
            .floats("mean", "", mean)
    }

    /// Returns the share of the cells of each row that show each state.
    fn shown_table(&self) -> Table {
        let rows = self.fold.rows().flat_map(|row| {
            let shares = self.shares(row.cells()).into_iter();
            shares.map(move |(class, share)| (row.label(), class, 100.0 * share))
        });
        let rows: Vec<_> = rows.collect();
        let states = rows.iter().map(|row| self.fold.classes().name(row.1));
        Table::new("shown states", "States that the cells of each row show.")
            .text("row", rows.iter().map(|row| row.0))
            .text("state", states)
            .floats("share", "%", rows.iter().map(|row| row.2))
    }

    /// Writes rows of letters with their legend.
    pub(crate) fn text(&self, out: &mut dyn Write) -> Outcome {
        let (start, end) = self.times(self.fold.window());
        let streams: usize = self.fold.rows().map(|row| row.streams()).sum();
        let rows = self.folder.groups().rows().len();
        writeln!(
            out,
            "  {streams} streams in {}, {start} to {end}, op {}",
            counted(rows, "row"),
            self.op
        )?;
        let without_states: usize = self.usage.iter().map(|usage| usage.without_states).sum();
        if without_states > 0 {
            writeln!(
                out,
                "  {without_states} of them recorded no states: busy shares are of the others, and cells count them as idle unless --absent skip is given"
            )?;
        }
        let all = self.shares(self.fold.cells());
        let numbers = self.fold.cells().iter();
        let mut letters = Letters {
            given: all.iter().map(|(class, _)| *class).zip('A'..='Z').collect(),
            largest: numbers
                .filter_map(|cell| cell.value.number())
                .fold(0.0, f32::max),
            seen: BTreeSet::new(),
            due: BTreeMap::new(),
        };
        let labels = self.fold.rows().map(|row| row.label().chars().count());
        let width = labels.max().unwrap_or_default().clamp(4, 32);
        let mut has_shades = false;
        for (row, usage) in self.fold.rows().zip(&self.usage) {
            let pieces = pieces(row.cells().len());
            letters.due.clear();
            let strip: String = pieces
                .iter()
                .filter_map(|piece| row.cells().get(piece.clone()))
                .map(|cells| letters.of(cells))
                .collect();
            let busy = usage.busy_share(row.group().kind);
            let name = shortened(row.label(), 32);
            let share = if usage.times.is_empty() && usage.without_states > 0 {
                "no states".to_owned()
            } else {
                format!("{:5.1} % busy", 100.0 * busy)
            };
            writeln!(out, "  {name:<width$} |{strip}| {share}")?;
            let painted = strip.chars().filter(|sign| *sign != '.').count();
            let inked = painted as f64 / pieces.len().max(1) as f64;
            if (inked - busy).abs() > MAX_INK_ERROR {
                let shades = self.shades(row.group(), &pieces);
                writeln!(out, "  {:>width$} |{shades}|", "busy")?;
                has_shades = true;
            }
        }
        for (class, share) in all {
            if let Some(letter) = letters.given.get(&class) {
                let name = shortened(self.fold.classes().name(class), NAME);
                let share = 100.0 * share;
                let is_seen =
                    [*letter, letter.to_ascii_lowercase()].map(|it| letters.seen.contains(&it));
                let letter = if is_seen.contains(&true) {
                    *letter
                } else {
                    ' '
                };
                writeln!(out, "    {letter} {name:<40} {share:5.1} % of cells")?;
            }
        }
        if letters.seen.iter().any(char::is_ascii_lowercase) {
            let text = "the same states, in less than half of the character's cells";
            writeln!(out, "    a to z: {text}")?;
        }
        let idle = match without_states {
            0 => "in no region",
            _ => "in no region or without states",
        };
        for (sign, what) in [('.', idle), ('=', "all equal"), ('#', "other states")] {
            if letters.seen.contains(&sign) {
                writeln!(out, "    {sign} {what}")?;
            }
        }
        if letters.largest > 0.0 {
            let step = letters.largest / 9.0;
            writeln!(out, "    0 to 9: the mean; a digit is {step:.2}")?;
        }
        if has_shades {
            writeln!(
                out,
                "    busy: share of the character's time, `{SHADES}` from 0 to 100 % in equal steps"
            )?;
        }
        Ok(())
    }
}

/// Largest number of pairs of rows whose messages are printed.
const MOST_PAIRS: usize = 24;

/// Longest name of a state in the legend, in characters.
const NAME: usize = 72;

/// Largest number of characters of a strip. The numbers of cells for each character differ by at
/// most one.
const STRIP: usize = 80;

/// Shades for the busy share of the time of a character, from 0 to 100 % in equal steps.
const SHADES: &str = " .:-=+*#%@";

/// Largest difference between the share of a strip that shows a state and the busy share of the
/// row. If the difference is larger, a second strip shows the busy share of each character.
const MAX_INK_ERROR: f64 = 0.05;

/// Returns the range of cells of each character of a strip.
fn pieces(cells: usize) -> Vec<Range<usize>> {
    let count = cells.min(STRIP);
    let edge = |at: usize| at * cells / count.max(1);
    (0..count).map(|at| edge(at)..edge(at + 1)).collect()
}

/// Letters for the most frequent states, and digits for numbers.
#[derive(Debug)]
struct Letters {
    /// Letter of each state.
    given: BTreeMap<ClassId, char>,
    /// Number that is printed as 9.
    largest: f32,
    /// Characters that were printed, for the legend.
    seen: BTreeSet<char>,
    /// Number of characters that each state of the row still lacks, in proportion to its cells.
    due: BTreeMap<ClassId, f64>,
}

impl Letters {
    /// Returns the character for some neighbouring cells: the letter of a state, or the digit of
    /// their mean if they hold numbers.
    ///
    /// Of several states, the state that lacks the most characters is shown. The number of
    /// characters of a state in a row is therefore proportional to its cells. Cells without a state
    /// do not count, so that short events stay visible. The letter is in lower case if its state has
    /// less than half of the cells.
    fn of(&mut self, cells: &[Cell]) -> char {
        let mut counts: BTreeMap<ClassId, usize> = BTreeMap::new();
        for class in cells.iter().filter_map(Cell::picture) {
            *counts.entry(class).or_default() += 1;
        }
        let painted = counts.values().sum::<usize>() as f64;
        for (class, count) in &counts {
            *self.due.entry(*class).or_default() += *count as f64 / painted;
        }
        let due = self.due.iter_mut();
        let first = due
            .filter(|(class, _)| counts.contains_key(class))
            .max_by(|(a, x), (b, y)| x.total_cmp(y).then(b.cmp(a)));
        let shown = first.map(|(class, due)| {
            *due -= 1.0;
            *class
        });
        let numbers = || cells.iter().filter_map(|cell| cell.value.number());
        let uniform = || cells.iter().filter(|cell| cell.value == Shown::Uniform);
        let sign = match shown {
            Some(class) => match self.given.get(&class) {
                Some(letter) if 2 * counts[&class] < cells.len() => letter.to_ascii_lowercase(),
                Some(letter) => *letter,
                None => '#',
            },
            None if numbers().next().is_some() => {
                let mean = numbers().sum::<f32>() / numbers().count() as f32;
                let share = mean / self.largest.max(f32::MIN_POSITIVE);
                char::from_digit((9.0 * share).round() as u32, 10).unwrap_or('9')
            }
            None if 2 * uniform().count() >= cells.len() => '=',
            None => '.',
        };
        self.seen.insert(sign);
        sign
    }
}
