//! Inner loops of a fold: computes the cells of one piece of one row from the columns of states.

use super::params::RowOp;
use super::tally::{Counter, Rules};
use crate::cells::folder::Plan;
use crate::states::class::code;
use crate::states::sampling;
use crate::states::timelines::Columns;
use crate::{AbsentRule, Boundary, Cell, FoldOp, Group, GroupBy, State, Ties, Value};
use perf_core::{Job, Ticks};

/// Buffers that one thread needs to fold one piece. [`Workspace::prepare`] sizes the buffers, which
/// are kept between folds.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Counter of the states of a cell.
    counter: Counter,
    /// State codes of the streams (or children) of a group, one row for each stream.
    samples: Vec<u32>,
    /// Index of the current transition of each stream.
    cursors: Vec<usize>,
    /// Buffers of nested folds by level: the pictures of the children, and the cells of one child.
    levels: Vec<(Vec<u32>, Vec<Cell>)>,
    /// Job of the fold. Once it is cancelled, the cells of a piece are not valid.
    pub(crate) job: Job,
}

impl Workspace {
    pub(crate) fn new() -> Self {
        Workspace {
            counter: Counter::new(AbsentRule::default()),
            samples: Vec::new(),
            cursors: Vec::new(),
            levels: Vec::new(),
            job: Job::default(),
        }
    }

    /// Returns the size in bytes of a prepared workspace.
    pub(crate) fn memory(plan: &Plan) -> usize {
        let codes = plan.timelines.classes().len() + code::FIRST as usize;
        let level = plan.nested_room * size_of::<u32>() + plan.widest * size_of::<Cell>();
        Counter::memory(codes, plan.most_streams)
            + plan.room * size_of::<u32>()
            + plan.most_streams * size_of::<usize>()
            + plan.depth * level
    }

    /// Allocates enough for every row of `plan`, so that folding does not allocate.
    pub(crate) fn prepare(&mut self, plan: &Plan) {
        let codes = plan.timelines.classes().len() + code::FIRST as usize;
        self.counter
            .prepare(codes, plan.most_streams, plan.params.absent());
        if self.samples.len() < plan.room {
            self.samples.resize(plan.room, code::ABSENT);
        }
        if self.cursors.len() < plan.most_streams {
            self.cursors.resize(plan.most_streams, 0);
        }
        for depth in 0..plan.depth {
            if self.levels.len() <= depth {
                self.levels.push((Vec::new(), Vec::new()));
            }
            let (codes, cells) = &mut self.levels[depth];
            if codes.len() < plan.nested_room {
                codes.resize(plan.nested_room, code::ABSENT);
            }
            if cells.len() < plan.widest {
                cells.resize(plan.widest, Cell::default());
            }
        }
    }
}

/// Pixels of one piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pixels<'a> {
    /// Time at the centre of each pixel.
    pub(crate) centres: &'a [Ticks],
    /// First tick of each pixel and the end of the last pixel; one entry more than `centres`.
    pub(crate) edges: &'a [Ticks],
}

impl Pixels<'_> {
    /// Returns `true` if a pixel is no wider than a tick.
    fn is_narrow(self, pixel: usize) -> bool {
        let edges = (self.edges.get(pixel), self.edges.get(pixel + 1));
        matches!(edges, (Some(start), Some(end)) if end.saturating_since(*start) <= 1)
    }
}

/// Folds `group` over `pixels` into `out`, one cell for each pixel.
pub(crate) fn fold(
    plan: &Plan,
    group: &Group,
    pixels: Pixels<'_>,
    space: &mut Workspace,
    out: &mut [Cell],
) {
    match plan.params.row_op(group.kind) {
        RowOp::Known(op) => fold_with(plan, group, &op, pixels, space, out, 0),
        RowOp::Own(op) => fold_with(plan, group, op, pixels, space, out, 0),
    }
}

fn fold_with<O: FoldOp + ?Sized>(
    plan: &Plan,
    group: &Group,
    op: &O,
    pixels: Pixels<'_>,
    space: &mut Workspace,
    out: &mut [Cell],
    depth: usize,
) {
    let rules = Rules {
        ties: plan.params.ties(),
        previous: None,
        ignore_idle: plan.params.ignores_idle(),
    };
    if plan.params.nested() && !plan.is_flat(group) && depth < space.levels.len() {
        nested(plan, group, op, pixels, space, out, depth, rules);
        return;
    }
    if plan.params.exact(group.kind) {
        exact(plan, group, op, pixels, space, out, rules);
        return;
    }
    let width = out.len();
    let streams = &group.streams;
    for (stream, row) in streams
        .iter()
        .zip(space.samples.chunks_exact_mut(width.max(1)))
    {
        if space.job.is_cancelled() {
            return;
        }
        if let Some(columns) = plan.timelines.stream(*stream) {
            sample_row(columns, plan.params.boundary(), pixels.centres, row);
            if plan.params.shows_instants() {
                show_instants(columns, pixels, row);
            }
        }
    }
    count(
        &mut space.counter,
        (&space.samples, streams.len()),
        op,
        rules,
        out,
        |row| streams[row],
        &space.job,
    );
}

fn sample_row(columns: &Columns, boundary: Boundary, centres: &[Ticks], row: &mut [u32]) {
    let Some(first) = centres.first() else {
        return;
    };
    let times = &columns.times;
    match boundary {
        Boundary::AtOrBefore => {
            let cursor = times.partition_point(|time| time <= first);
            sampling::sample::<false>(columns, cursor, centres, row)
        }
        Boundary::Strict => {
            let cursor = times.partition_point(|time| time < first);
            sampling::sample::<true>(columns, cursor, centres, row)
        }
    };
}

/// Writes zero-length work into the pixels that contain it and are at most one tick wide.
fn show_instants(columns: &Columns, pixels: Pixels<'_>, row: &mut [u32]) {
    let (Some(first), Some(last)) = (pixels.centres.first(), pixels.centres.last()) else {
        return;
    };
    let from = columns.instants.partition_point(|(at, _)| at < first);
    let inside = &columns.instants[from..];
    for (at, code) in inside.iter().take_while(|(at, _)| at <= last) {
        let centres = pixels.centres;
        let holds = centres.partition_point(|it| it < at)..centres.partition_point(|it| it <= at);
        for pixel in holds {
            if let (true, Some(cell)) = (pixels.is_narrow(pixel), row.get_mut(pixel)) {
                *cell = *code;
            }
        }
    }
}

/// Counts the samples column by column. `first` returns the stream number of a row of samples.
fn count<O: FoldOp + ?Sized>(
    counter: &mut Counter,
    (samples, rows): (&[u32], usize),
    op: &O,
    mut rules: Rules,
    out: &mut [Cell],
    first: impl Fn(usize) -> u32,
    job: &Job,
) {
    let width = out.len();
    if rows == 1 {
        // The cell of a single stream depends on its code alone, which often stays the same for
        // many columns.
        let mut last: Option<(u32, Cell)> = None;
        for (code, cell) in samples.iter().zip(out) {
            *cell = match last {
                Some((same, cell)) if same == *code => cell,
                _ => {
                    counter.add(*code, 1, first(0));
                    counter.cell(op, rules, 1)
                }
            };
            last = Some((*code, *cell));
        }
        return;
    }
    for (column, cell) in out.iter_mut().enumerate() {
        if job.is_cancelled() {
            return;
        }
        // A row without streams has no samples.
        let codes = samples.get(column..).unwrap_or_default();
        counter.column(codes.iter().step_by(width).take(rows), &first);
        *cell = counter.cell(op, rules, 1);
        keep(&mut rules, cell);
    }
}

fn keep(rules: &mut Rules, cell: &Cell) {
    if rules.ties == Ties::KeepPrevious {
        rules.previous = match cell.value {
            Value::Class(class) | Value::Differs(class) => Some(State::Class(class)),
            Value::Idle | Value::DiffersIdle => Some(State::Idle),
            Value::Uniform | Value::Number(_) => None,
        };
    }
}

/// Weights states by the number of ticks that they last within each pixel.
fn exact<O: FoldOp + ?Sized>(
    plan: &Plan,
    group: &Group,
    op: &O,
    pixels: Pixels<'_>,
    space: &mut Workspace,
    out: &mut [Cell],
    mut rules: Rules,
) {
    let Some(begin) = pixels.edges.first() else {
        return;
    };
    let streams = &group.streams;
    for (stream, cursor) in streams.iter().zip(&mut space.cursors) {
        let columns = plan.timelines.stream(*stream);
        *cursor = columns.map_or(0, |columns| {
            columns.times.partition_point(|time| time <= begin)
        });
    }
    for (cell, edges) in out.iter_mut().zip(pixels.edges.windows(2)) {
        let [start, end] = *edges else { continue };
        if space.job.is_cancelled() {
            return;
        }
        for (stream, cursor) in streams.iter().zip(&mut space.cursors) {
            if let Some(columns) = plan.timelines.stream(*stream) {
                let mut add = |code, weight| space.counter.add(code, weight, *stream);
                let is_narrow = end.saturating_since(start) <= 1;
                let shown = is_narrow && plan.params.shows_instants();
                match columns.instant(start).filter(|_| shown) {
                    Some(code) => {
                        weigh(columns, cursor, start, end, |_, weight| add(code, weight));
                    }
                    None => weigh(columns, cursor, start, end, add),
                }
            }
        }
        let unit = end.saturating_since(start).max(1);
        *cell = space.counter.cell(op, rules, unit);
        keep(&mut rules, cell);
    }
}

/// Calls `add` with each state code of a stream within `[start, end)` and its duration in ticks.
/// The cursor points past the transitions at or before `start` and is moved past those at or before
/// `end`. An empty pixel is sampled at `start` with weight 1.
#[inline]
fn weigh(
    columns: &Columns,
    cursor: &mut usize,
    start: Ticks,
    end: Ticks,
    mut add: impl FnMut(u32, u64),
) {
    // A stream without transitions is absent.
    let code = |cursor: usize| columns.codes.get(cursor).copied().unwrap_or(code::ABSENT);
    if start >= end {
        add(code(*cursor), 1);
        return;
    }
    let mut from = start;
    while let Some(next) = columns.times.get(*cursor).filter(|next| **next < end) {
        add(code(*cursor), next.0 - from.0);
        from = *next;
        *cursor += 1;
    }
    add(code(*cursor), end.0 - from.0);
    if columns.times.get(*cursor) == Some(&end) {
        *cursor += 1;
    }
}

/// Folds the children first and then the resulting pictures, with equal weight for each child.
#[allow(
    clippy::too_many_arguments,
    reason = "one call, from the function that splits the cases"
)]
fn nested<O: FoldOp + ?Sized>(
    plan: &Plan,
    group: &Group,
    op: &O,
    pixels: Pixels<'_>,
    space: &mut Workspace,
    out: &mut [Cell],
    depth: usize,
    rules: Rules,
) {
    let width = out.len();
    // Removes the buffers for a while so that the children can use the rest of the workspace. This
    // does not allocate.
    let Some(level) = space.levels.get_mut(depth) else {
        return;
    };
    let (mut codes, mut cells) = std::mem::take(level);
    let children = || group.children.iter().filter_map(|id| plan.groups.get(*id));
    for (child, row) in children().zip(codes.chunks_exact_mut(width.max(1))) {
        let cells = &mut cells[..width];
        match plan.params.child_op(child.kind) {
            Some(op) => fold_with(plan, child, &op, pixels, space, cells, depth + 1),
            None => fold_with(plan, child, op, pixels, space, cells, depth + 1),
        }
        for (code, cell) in row.iter_mut().zip(cells) {
            *code = code::of(state(cell, plan.params.absent())).min(plan.last_code);
        }
    }
    let first = |row: usize| {
        let child = group.children.get(row).and_then(|id| plan.groups.get(*id));
        child
            .and_then(|child| child.streams.first().copied())
            .unwrap_or(u32::MAX)
    };
    let rows = group.children.len();
    let (counter, job) = (&mut space.counter, &space.job);
    count(counter, (&codes, rows), op, rules, out, first, job);
    if let Some(level) = space.levels.get_mut(depth) {
        *level = (codes, cells);
    }
}

/// Returns the state of a child from its cell. A child whose streams are all absent is absent.
fn state(cell: &Cell, rule: AbsentRule) -> State {
    let all_absent = match rule {
        AbsentRule::AsIdle => cell.absent == cell.total,
        AbsentRule::LeaveOut => cell.total == 0,
    };
    match cell.picture() {
        Some(class) => State::Class(class),
        None if all_absent => State::Absent,
        None => State::Idle,
    }
}

impl Plan {
    /// Returns `true` if all children of a group are single streams, so that nested and flat folds
    /// agree.
    pub(crate) fn is_flat(&self, group: &Group) -> bool {
        let mut children = group.children.iter().filter_map(|id| self.groups.get(*id));
        children.all(|child| child.level == Some(GroupBy::Location))
    }
}
