//! [`Local`]: all states of a small recording as page data, from which the script folds any window
//! exactly.

use super::View;
use super::pyramid::{Codes, Node, OTHERS};
use crate::encoding::{base64, varint};
use crate::timeline::legend::{self, Totals};
use crate::{Colour, Palette};
use perf_core::{LocationKind, Ticks, TimeRange};
use perf_fold::{ClassId, Op, State};
use serde::Serialize;
use std::collections::HashMap;

/// Name of a class, its colour, its code in the cells of the page, the name of the states with
/// which it shares the colour, its number, and `true` for MPI.
type Class<'a> = (&'a str, String, u8, Option<String>, u32, bool);

/// Data from which the script computes what a server would send.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Local<'a> {
    /// Ticks per second. Texts keep all digits in the script.
    rate: String,
    /// Ticks from the origin of the clock to the begin of the page.
    begin: String,
    /// Length of the page in ticks.
    length: u64,
    classes: Vec<Class<'a>>,
    /// Transitions and zero-length work of each stream.
    streams: Vec<(String, String)>,
    /// Streams of each node that does not unfold.
    members: Vec<Option<String>>,
    /// Nodes of accelerator streams.
    accelerators: Vec<usize>,
    /// Name of each operation, and the code of its class.
    ops: Vec<(&'static str, u32)>,
    /// Number of nodes that no other node unfolds into.
    roots: usize,
    own_spans: bool,
}

/// Code of the first class. Lower codes are absent and idle.
const FIRST: u32 = 2;
/// Longest page in ticks, up to which numbers of a script are exact integers.
const LONGEST: u64 = 1 << 53;

/// Codes of classes in the order in which they are first needed.
struct Numbered {
    classes: Vec<ClassId>,
    codes: HashMap<ClassId, u32>,
}

impl Numbered {
    fn code(&mut self, state: State) -> u32 {
        match state {
            State::Absent => 0,
            State::Idle => 1,
            State::Class(class) => *self.codes.entry(class).or_insert_with(|| {
                self.classes.push(class);
                self.classes.len() as u32 + FIRST - 1
            }),
        }
    }
}

impl View<'_> {
    /// Returns the states of all streams, or `None` if they exceed `budget` bytes or the script
    /// cannot compute an operation of the page.
    pub(super) fn local(
        &self,
        (nodes, roots): (&[Node], usize),
        ops: &[Option<Op>],
        (codes, totals, palette): (&Codes, &Totals, &Palette),
        budget: usize,
    ) -> Option<Local<'_>> {
        if self.window.len() >= LONGEST || !self.has_default_rules {
            return None;
        }
        // A transition takes at least two bytes.
        self.transitions_within(budget / 2)?;
        let states = totals.iter().filter_map(|(state, _)| state.class());
        let mut numbered = Numbered {
            classes: Vec::new(),
            codes: HashMap::new(),
        };
        for class in states {
            numbered.code(State::Class(class));
        }
        let mut streams = Vec::with_capacity(self.timelines.len());
        let mut bytes = 0;
        for stream in 0..self.timelines.len() as u32 {
            let found = self.encoded(stream, &mut numbered);
            bytes += found.0.len() + found.1.len();
            if bytes > budget {
                return None;
            }
            streams.push(found);
        }
        let ops = ops.iter().map(|op| {
            Some(match op {
                None => ("usual", 0),
                Some(Op::Max) => ("max", 0),
                Some(Op::Min) => ("min", 0),
                Some(Op::Diff) => ("diff", 0),
                Some(Op::Idle) => ("idle", 0),
                Some(Op::Entropy) => ("entropy", 0),
                Some(Op::Any(class)) => ("any", numbered.code(State::Class(*class))),
                Some(Op::Count(class)) => ("count", numbered.code(State::Class(*class))),
                Some(_) => return None,
            })
        });
        let ops = ops.collect::<Option<_>>()?;
        let clock = self.timelines.clock();
        let begin = i128::from(self.window.start.0) - i128::from(clock.origin().0);
        let names = self.timelines.classes();
        let of = |class: &ClassId| {
            let name = names.name(*class);
            let colour: Colour = palette.of(name);
            let page = codes.of(class).unwrap_or(OTHERS);
            let others = palette.others(name);
            let is_mpi = legend::is_mpi(names, *class);
            (name, colour.to_string(), page, others, class.0, is_mpi)
        };
        let groups = nodes.iter().map(|node| self.groups.get(node.group));
        let accelerators = groups.enumerate().filter_map(|(at, group)| {
            (group?.kind == LocationKind::AcceleratorStream).then_some(at)
        });
        Some(Local {
            rate: clock.ticks_per_second().to_string(),
            begin: begin.to_string(),
            length: self.window.len(),
            classes: numbered.classes.iter().map(of).collect(),
            streams,
            members: nodes.iter().map(|node| self.members(node)).collect(),
            accelerators: accelerators.collect(),
            ops,
            roots,
            own_spans: self.has_own_spans,
        })
    }

    /// Returns the number of transitions if it is at most `most`.
    fn transitions_within(&self, most: usize) -> Option<usize> {
        let mut count = 0;
        for stream in 0..self.timelines.len() as u32 {
            let left = most.saturating_sub(count);
            let segments = self.timelines.segments(stream, self.window);
            count += segments.take(left + 1).count();
            if count > most {
                return None;
            }
        }
        Some(count)
    }

    /// Returns the transitions and the zero-length work of a stream as pairs of a difference of
    /// times and a code.
    fn encoded(&self, stream: u32, numbered: &mut Numbered) -> (String, String) {
        let mut pairs = Pairs::new(self.window.start);
        let mut end = None;
        for (range, state) in self.timelines.segments(stream, self.window) {
            if end.is_some_and(|end| end < range.start) {
                pairs.add(end.unwrap_or_default(), 0);
            }
            pairs.add(range.start, numbered.code(state));
            end = Some(range.end);
        }
        if let Some(end) = end.filter(|end| *end < self.window.end) {
            pairs.add(end, 0);
        }
        let mut instants = Pairs::new(self.window.start);
        let window = TimeRange {
            start: self.window.start,
            end: Ticks(self.window.end.0.saturating_add(1)),
        };
        for (at, state) in self.timelines.instants(stream, window) {
            instants.add(at, numbered.code(state));
        }
        (base64(&pairs.bytes), base64(&instants.bytes))
    }

    /// Returns the streams of a node without children as differences.
    fn members(&self, node: &Node) -> Option<String> {
        if !node.children.is_empty() {
            return None;
        }
        let group = self.groups.get(node.group)?;
        let (mut bytes, mut last) = (Vec::new(), 0);
        for stream in &group.streams {
            varint(u64::from(stream.saturating_sub(last)), &mut bytes);
            last = *stream;
        }
        Some(base64(&bytes))
    }
}

/// Encoder of times and codes.
struct Pairs {
    last: Ticks,
    bytes: Vec<u8>,
}

impl Pairs {
    fn new(start: Ticks) -> Self {
        Pairs {
            last: start,
            bytes: Vec::new(),
        }
    }

    fn add(&mut self, at: Ticks, code: u32) {
        varint(at.0.saturating_sub(self.last.0), &mut self.bytes);
        varint(u64::from(code), &mut self.bytes);
        self.last = at;
    }
}
