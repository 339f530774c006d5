//! Call stacks of the locations of a page: as data that the page holds, and as the answer of
//! [`Served`] for a row and a window.

use super::pyramid::Node;
use super::served::check_limits;
use super::{Served, View};
use crate::encoding::{base64, varint};
use crate::{Error, Palette, Result};
use perf_core::{Job, TimeRange, TraceView};
use perf_fold::{ClassId, Folder, GroupBy, Groups, Op, RegionMap, Timelines};
use serde::Serialize;
use std::collections::HashMap;

/// Name and colour of a function.
type Function = (String, String);

/// Source of the call stacks of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls<'a> {
    pub(super) trace: TraceView<'a>,
    pub(super) map: &'a RegionMap,
}

/// Call stacks that a page holds.
#[derive(Debug, Serialize)]
pub(super) struct CallsData {
    names: Vec<Function>,
    /// Transitions of each depth by stream; `None` for a stream that is not held.
    streams: Vec<Option<Vec<String>>>,
    /// Number of streams that are not held because the page would be too large.
    missing: usize,
}

/// Functions in the order of their numbers.
#[derive(Default)]
struct Functions {
    codes: HashMap<ClassId, usize>,
    classes: Vec<ClassId>,
}

impl Functions {
    fn code(&mut self, class: ClassId) -> usize {
        *self.codes.entry(class).or_insert_with(|| {
            self.classes.push(class);
            self.classes.len() - 1
        })
    }

    fn named(&self, map: &RegionMap, palette: &Palette) -> Vec<Function> {
        use perf_fold::StateMap;
        let names = self.classes.iter().map(|class| map.classes().name(*class));
        let with_colour = |name: &str| (name.to_owned(), palette.of(name).to_string());
        names.map(with_colour).collect()
    }
}

impl View<'_> {
    /// Returns the call stacks of as many streams as `budget` bytes hold, in the order of the rows, or
    /// `None` without a source or calls.
    pub(super) fn calls_data(
        &self,
        nodes: &[Node],
        palette: &Palette,
        budget: usize,
        job: &Job,
    ) -> Result<Option<CallsData>> {
        let Some(Calls { trace, map }) = self.calls else {
            return Ok(None);
        };
        let clock = self.timelines.clock();
        let nanos = |at| clock.nanos(at).unwrap_or_default().0;
        let start = nanos(self.window.start);
        let mut functions = Functions::default();
        let mut data = CallsData {
            names: Vec::new(),
            streams: vec![None; self.timelines.len()],
            missing: 0,
        };
        let mut bytes = 0;
        let job = job.without_progress();
        for stream in nodes.iter().filter_map(|node| self.stream(node)) {
            let Some(location) = self.timelines.location(stream) else {
                continue;
            };
            // An event takes at least two bytes.
            let events = trace.between(self.window).location(location);
            let events = events.map_or(0, |events| events.len());
            if bytes + 2 * events > budget {
                data.missing += 1;
                continue;
            }
            let stack = Timelines::call_stack(trace, location, map, &job)?;
            let depths: Vec<String> = (0..stack.len() as u32)
                .map(|depth| {
                    let (mut out, mut last) = (Vec::new(), start);
                    let mut add = |at: i64, code: u64| {
                        varint(at.saturating_sub(last).max(0) as u64, &mut out);
                        varint(code, &mut out);
                        last = at;
                    };
                    for (range, state) in stack.segments(depth, self.window) {
                        let code = match state.class() {
                            Some(class) => functions.code(class) as u64 + 1,
                            None => 0,
                        };
                        add(nanos(range.start), code);
                    }
                    base64(&out)
                })
                .collect();
            let size: usize = depths.iter().map(String::len).sum();
            if bytes + size > budget {
                data.missing += 1;
                continue;
            }
            bytes += size;
            if let Some(slot) = data.streams.get_mut(stream as usize) {
                *slot = Some(depths);
            }
        }
        let has_calls = data.streams.iter().flatten().any(|it| !it.is_empty());
        data.names = functions.named(map, palette);
        Ok((has_calls || data.missing > 0).then_some(data))
    }

    /// Returns the stream of a node that has only one.
    pub(super) fn stream(&self, node: &Node) -> Option<u32> {
        match self.groups.get(node.group)?.streams.as_slice() {
            [stream] => Some(*stream),
            _ => None,
        }
    }
}

/// Call stack of a location in a window, as the page shows it.
#[derive(Serialize)]
struct Stack {
    /// Begin in nanoseconds since the start of the page, and length in nanoseconds.
    from: i64,
    span: i64,
    columns: usize,
    names: Vec<Function>,
    /// Runs of each depth: length in columns, and number of the function; `None` for idle.
    depths: Vec<Vec<(usize, Option<usize>)>>,
}

impl Served {
    /// Returns the call stack of the location of a row as JSON, for the script of the page: the frame of
    /// each depth at the centre of each column. `trace` and `map` are those of
    /// [`View::calls`](super::View::calls).
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Empty`] for an empty window.
    /// - Returns [`Error::Outside`] for more columns than [`Part::MOST_COLUMNS`](super::Part::MOST_COLUMNS)
    ///   or a row that the page does not have.
    /// - Returns [`Error::Mismatch`] for a row of several streams.
    /// - Returns [`Error::Fold`] if the calls cannot be replayed.
    /// - Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn calls(
        &self,
        (trace, map): (TraceView<'_>, &RegionMap),
        (row, window, columns): (usize, TimeRange, usize),
        job: &Job,
    ) -> Result<String> {
        if window.is_empty() {
            return Err(Error::Empty { what: "no time" });
        }
        let group = self.nodes.get(row).and_then(|it| self.groups.get(it.group));
        let streams = group.map_or(&[][..], |group| &group.streams);
        check_limits("columns", (1, super::Part::MOST_COLUMNS), columns)?;
        check_limits("row", (0, self.nodes.len().saturating_sub(1)), row)?;
        let [stream] = streams else {
            return Err(Error::Mismatch {
                what: "streams of a row with a call stack",
                expected: 1,
                got: streams.len(),
            });
        };
        let location = self.timelines.location(*stream).unwrap_or_default();
        let stack = Timelines::call_stack(trace, location, map, job)?;
        let clock = self.timelines.clock();
        let mut functions = Functions::default();
        let mut depths = Vec::with_capacity(stack.len());
        if !stack.is_empty() {
            let groups = Groups::by(&stack, GroupBy::Location);
            let params = self.rules.clone().columns(columns).op(Op::Max).check()?;
            let fold = Folder::new(&stack, groups, params)?.fold(window, job)?;
            for row in fold.rows() {
                let mut runs: Vec<(usize, Option<usize>)> = Vec::new();
                for cell in row.cells() {
                    let code = cell.picture().map(|class| functions.code(class));
                    match runs.last_mut() {
                        Some((length, same)) if *same == code => *length += 1,
                        _ => runs.push((1, code)),
                    }
                }
                depths.push(runs);
            }
        }
        let from = clock.nanos(window.start).unwrap_or_default().0;
        let reply = Stack {
            from: from.saturating_sub(self.start),
            span: clock.total(u128::from(window.len())).0,
            columns,
            names: functions.named(map, &self.palette),
            depths,
        };
        Ok(serde_json::to_string(&reply).map_err(std::io::Error::from)?)
    }
}
