//! [`Node`]: group that a page can show; [`Plan`]: folds the cells of all nodes at several
//! resolutions of one window and encodes them.

use crate::encoding::{base64, runs};
use crate::timeline::cell_colour;
use crate::timeline::legend::Totals;
use crate::{Colour, Palette, Result};
use perf_core::{Job, TimeRange};
use perf_fold::{
    Cell, ClassId, Classes, FoldParams, Folder, GroupId, Groups, Op, Timelines, Value,
};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Group that a page can show.
#[derive(Debug)]
pub(super) struct Node {
    /// Group of the fold.
    pub(super) group: GroupId,
    /// Index of the node that unfolds into this node; `None` for a row of the page.
    pub(super) parent: Option<usize>,
    /// Indices of the nodes into which this node unfolds.
    pub(super) children: Vec<usize>,
    /// `true` if the group cannot be unfolded, because its members exceed the row limit of the
    /// page.
    pub(super) cut: bool,
}

/// Returns the rows and the groups into which they unfold, level by level, up to `most` nodes. A
/// group with a single member unfolds into the members of that member.
pub(super) fn nodes(groups: &Groups, most: usize) -> Vec<Node> {
    let node = |group, parent| Node {
        group,
        parent,
        children: Vec::new(),
        cut: false,
    };
    let rows = groups.rows().iter().take(most.max(1));
    let mut nodes: Vec<Node> = rows.map(|id| node(*id, None)).collect();
    let mut at = 0;
    while let Some(found) = nodes.get(at) {
        let members = members(groups, found.group);
        if nodes.len() + members.len() > most {
            nodes[at].cut = !members.is_empty();
        } else {
            nodes[at].children = (nodes.len()..nodes.len() + members.len()).collect();
            nodes.extend(members.iter().map(|id| node(*id, Some(at))));
        }
        at += 1;
    }
    nodes
}

fn members(groups: &Groups, id: GroupId) -> &[GroupId] {
    let mut members = groups.get(id).map_or(&[][..], |group| &group.children);
    while let [only] = members {
        members = groups.get(*only).map_or(&[][..], |group| &group.children);
    }
    members
}

/// Code of an idle cell. The script uses the same codes.
const IDLE: u8 = 0;
const ABSENT: u8 = 1;
const UNIFORM: u8 = 2;
/// Code of the first state.
const FIRST: u8 = 3;
/// Code of all states without a code of their own or of their colour.
pub(super) const OTHERS: u8 = 255;
/// Code of a number. The second byte of the cell is then the share of the largest possible number.
pub(super) const NUMBER: u8 = 254;

/// Largest number of codes of states.
const MOST: usize = (NUMBER - FIRST) as usize;
/// Number of these codes for states without an individual code: one for each colour that such states
/// share.
const SHARED: usize = 8;

/// Codes of states. The states with a colour of their own and those with the most time have individual
/// codes. All others share the code of their colour, so that a page has the colours of pictures.
#[derive(Debug)]
pub(super) struct Codes {
    /// Names and colours of the codes, in their order.
    pub(super) states: Vec<(String, Colour)>,
    /// Code of each state.
    codes: HashMap<ClassId, u8>,
}

impl Codes {
    pub(super) fn new(totals: &Totals, classes: &Classes, palette: &Palette) -> Self {
        let states = totals.iter().filter_map(|(state, _)| state.class());
        let mut own: Vec<ClassId> = states.collect();
        let name = |class: &ClassId| classes.name(*class);
        let mut rest = Vec::new();
        if own.len() > MOST {
            // Each part stays sorted by time.
            own.sort_by_key(|class| palette.others(name(class)).is_some());
            rest = own.split_off(MOST - SHARED);
        }
        let mut codes: HashMap<ClassId, u8> = own.iter().copied().zip(FIRST..).collect();
        let mut shared: Vec<(Colour, usize, String)> = Vec::new();
        for class in rest {
            let colour = palette.of(name(&class));
            let known = shared.iter().position(|(same, ..)| *same == colour);
            let at = known.unwrap_or(shared.len());
            if known.is_none() && at < SHARED {
                let others = palette.others(name(&class)).unwrap_or_default();
                shared.push((colour, 0, others));
            }
            if let Some((_, count, _)) = shared.get_mut(at) {
                *count += 1;
                codes.insert(class, FIRST + (own.len() + at) as u8);
            }
        }
        let with_colour = |class: &ClassId| (name(class).to_owned(), palette.of(name(class)));
        let shared = shared.into_iter();
        let shared =
            shared.map(|(colour, count, others)| (format!("one of {count} {others}"), colour));
        Codes {
            states: own.iter().map(with_colour).chain(shared).collect(),
            codes,
        }
    }

    /// Returns the number of states with a code.
    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }

    /// Returns the code of a state, or `None` if it has none.
    pub(super) fn of(&self, class: &ClassId) -> Option<u8> {
        self.codes.get(class).copied()
    }

    /// Encodes a cell as two bytes: the code of its state, and the share of its streams that are in
    /// this state, scaled to 255.
    ///
    /// `most` is the largest possible number; `None` stands for the number of streams.
    fn cell(&self, cell: &Cell, most: Option<f64>) -> [u8; 2] {
        if let Some(number) = cell
            .value
            .number()
            .filter(|_| !cell_colour::is_absent(cell))
        {
            let most = most.unwrap_or(cell.total as f64).max(f64::MIN_POSITIVE);
            let share = (f64::from(number) / most).clamp(0.0, 1.0);
            return [NUMBER, (255.0 * share).round() as u8];
        }
        let code = match (cell.picture(), cell.value) {
            (Some(class), _) => self.of(&class).unwrap_or(OTHERS),
            (None, Value::Uniform) => UNIFORM,
            _ if cell_colour::is_absent(cell) => ABSENT,
            _ => IDLE,
        };
        [code, (255.0 * cell.agreement()).round() as u8]
    }
}

/// One resolution of a window, with the cells of each group for each operation.
#[derive(Debug, serde::Serialize)]
pub(super) struct Level {
    /// Number of columns.
    pub(super) columns: usize,
    /// Encoded rows by operation and node. Rows of single streams are only stored with the first
    /// operation.
    pub(super) cells: Vec<Vec<Option<String>>>,
}

/// Cells of the nodes without cells at all resolutions.
#[derive(Debug, serde::Serialize)]
pub(super) struct Members {
    /// Number of columns.
    columns: usize,
    /// First node.
    first: usize,
    /// Encoded rows by operation and node.
    cells: Vec<BTreeMap<usize, String>>,
}

impl Members {
    fn bytes(&self) -> usize {
        self.cells.iter().flatten().map(|(_, row)| row.len()).sum()
    }
}

/// Input for the cells at all resolutions.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// States of all streams.
    pub(super) timelines: &'a Timelines,
    /// Groups of streams.
    pub(super) groups: &'a Groups,
    /// Time window of the page.
    pub(super) window: TimeRange,
    /// Groups that the page can show.
    pub(super) nodes: &'a [Node],
    /// Operations of the page; `None` is the default operation of each kind of row.
    pub(super) ops: &'a [Option<Op>],
    /// Codes of states.
    pub(super) codes: &'a Codes,
    /// Number of columns of the finest level.
    pub(super) finest: usize,
    /// Maximum size of all levels together, in bytes.
    pub(super) budget: usize,
    /// Rules of all folds, without columns and operation.
    pub(super) rules: &'a FoldParams,
}

/// Largest number of nodes that all have cells at all resolutions.
pub(super) const FINE: usize = 400;
/// Number of nodes with cells at all resolutions in a larger page, or the number of its rows if that
/// is larger.
const FEW: usize = 128;
/// Maximum size of the cells of all other nodes in bytes.
const MEMBERS: usize = 5 << 19;
/// Number of columns of the coarsest level.
const COARSEST: usize = 512;
/// Smallest number of columns of the other nodes.
const FEWEST: usize = 32;
/// Maximum number of cells that are folded at a time. They take 48 MiB.
const PIECE: usize = 1 << 20;

/// Returns the largest number that an operation can return. Returns `None` if this is the number of
/// streams, or if the operation returns states. Entropy is largest if all states have equal shares.
pub(super) fn most(op: Op, timelines: &Timelines) -> Option<f64> {
    let states = timelines.classes().len() + 1;
    let streams = timelines.len();
    matches!(op, Op::Entropy).then(|| (states.min(streams).max(2) as f64).ln())
}

/// Returns `true` if an operation returns the state of a single stream. The script has the same list.
fn selects_of_one(op: Option<Op>) -> bool {
    matches!(op, None | Some(Op::Max | Op::Min | Op::Idle | Op::Share))
}

impl Plan<'_> {
    /// Returns the levels, the coarsest first. Each level has twice the columns of the level
    /// before. The levels end at the finest resolution or when the budget is reached; there is at
    /// least one level.
    pub(super) fn levels(&self, job: &Job) -> Result<Vec<Level>> {
        let mut levels = Vec::new();
        let (mut columns, mut bytes) = (COARSEST.min(self.finest), 0);
        while columns <= self.finest {
            let level = self.level(columns, job)?;
            let rows = level.cells.iter().flatten().flatten();
            bytes += rows.map(String::len).sum::<usize>();
            if bytes > self.budget && !levels.is_empty() {
                break;
            }
            levels.push(level);
            job.advance(
                "pyramid",
                1,
                u64::from((self.finest / COARSEST).max(1).ilog2()) + 1,
            );
            // The next level takes about twice as many bytes, so it is not folded if it would
            // exceed the budget.
            if bytes * 2 > self.budget {
                break;
            }
            columns *= 2;
        }
        Ok(levels)
    }

    /// Returns the number of nodes with cells at all resolutions.
    fn fine(&self) -> usize {
        let roots = self.nodes.iter().take_while(|node| node.parent.is_none());
        match self.nodes.len() {
            ..=FINE => self.nodes.len(),
            _ => roots.count().max(FEW),
        }
    }

    /// Returns the cells of the other nodes, with as many columns as their budget allows, or `None`
    /// if there are no such nodes.
    pub(super) fn members(&self, job: &Job) -> Result<Option<Members>> {
        if self.fine() >= self.nodes.len() {
            return Ok(None);
        }
        let mut found = self.members_at(COARSEST.min(self.finest), job)?;
        let mut columns = found.columns;
        while found.bytes() > MEMBERS && columns / 2 >= FEWEST {
            columns /= 2;
            found = self.members_at(columns, job)?;
        }
        // Twice as many columns take at most twice as many bytes.
        let mut bytes = found.bytes();
        while 2 * bytes <= MEMBERS && 2 * columns <= self.finest {
            (bytes, columns) = (2 * bytes, 2 * columns);
        }
        if columns > found.columns {
            found = self.members_at(columns, job)?;
        }
        Ok(Some(found))
    }

    fn members_at(&self, columns: usize, job: &Job) -> Result<Members> {
        let first = self.fine();
        let mut cells = Vec::with_capacity(self.ops.len());
        for (at, op) in self.ops.iter().enumerate() {
            let nodes = first..self.nodes.len();
            let mut rows = vec![None; self.nodes.len()];
            self.rows((columns, at, *op), nodes, &mut rows, job)?;
            let rows = rows.into_iter().enumerate();
            cells.push(rows.filter_map(|(at, row)| Some((at, row?))).collect());
        }
        Ok(Members {
            columns,
            first,
            cells,
        })
    }

    fn level(&self, columns: usize, job: &Job) -> Result<Level> {
        let mut cells = Vec::with_capacity(self.ops.len());
        for (at, op) in self.ops.iter().enumerate() {
            let fine = self.fine();
            let mut rows = vec![None; fine];
            self.rows((columns, at, *op), 0..fine, &mut rows, job)?;
            cells.push(rows);
        }
        Ok(Level { columns, cells })
    }

    /// Stores the encoded cells of `nodes` in `rows`. A single stream has cells with the first
    /// operation that selects a state, which stand for those of all such operations, and with the
    /// operations that return something else.
    fn rows(
        &self,
        (columns, at, op): (usize, usize, Option<Op>),
        nodes: Range<usize>,
        rows: &mut [Option<String>],
        job: &Job,
    ) -> Result<()> {
        let first = self.ops.iter().position(|op| selects_of_one(*op));
        let is_known = selects_of_one(op) && first != Some(at);
        let wanted: Vec<usize> = nodes
            .filter(|node| !(is_known && self.is_single(*node)))
            .collect();
        self.folded(columns, op, &wanted, rows, job)
    }

    /// Returns `true` if a node is a single stream.
    pub(super) fn is_single(&self, node: usize) -> bool {
        let group = self
            .nodes
            .get(node)
            .and_then(|node| self.groups.get(node.group));
        group.is_none_or(|group| group.streams.len() < 2)
    }

    /// Folds the nodes `wanted` and stores their encoded cells in `rows`, which has an entry for each
    /// node.
    pub(super) fn folded(
        &self,
        columns: usize,
        op: Option<Op>,
        wanted: &[usize],
        rows: &mut [Option<String>],
        job: &Job,
    ) -> Result<()> {
        for piece in wanted.chunks((PIECE / columns).max(1)) {
            self.fold(columns, op, piece, rows, job)?;
        }
        Ok(())
    }

    fn fold(
        &self,
        columns: usize,
        op: Option<Op>,
        piece: &[usize],
        rows: &mut [Option<String>],
        job: &Job,
    ) -> Result<()> {
        let mut params = self.rules.clone().columns(columns);
        if let Some(op) = op {
            params = params.op(op);
        }
        let ids = piece
            .iter()
            .filter_map(|node| Some(self.nodes.get(*node)?.group));
        let groups = self.groups.with_rows(&ids.collect::<Vec<_>>())?;
        let folder = Folder::new(self.timelines, groups, params.check()?)?;
        let (mut fold, mut scratch) = (folder.empty(), folder.scratch());
        folder.refold(
            self.window,
            &mut scratch,
            &mut fold,
            &job.without_progress(),
        )?;
        for (node, row) in piece.iter().zip(fold.rows()) {
            let most = op.and_then(|op| most(op, self.timelines));
            let pairs = row.cells().iter().map(|cell| self.codes.cell(cell, most));
            if let Some(slot) = rows.get_mut(*node) {
                *slot = Some(base64(&runs(pairs)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::legend;
    use perf_core::{
        Definitions, Event, Events, Location, Region, RegionId, SystemTree, Ticks, Trace,
    };
    use perf_fold::RegionMap;

    #[test]
    fn states_without_a_code_of_their_own_have_the_colour_of_pictures() {
        let names = (0..400).map(|at| match at {
            399 => "MPI_File_write".to_owned(),
            _ if at % 4 == 0 => format!("MPI_Isend_{at}"),
            _ => format!("f{at}"),
        });
        let mut definitions = Definitions::default();
        definitions.regions = names.map(Region::named).collect();
        let location = vec![Location::default()];
        let system = SystemTree::new(vec![], vec![], location, &Default::default());
        definitions.system = system.expect("a good tree");
        let mut events = Events::default();
        for at in 0..400 {
            let region = RegionId(at);
            let (begin, end) = (
                Ticks(1000 * u64::from(at)),
                Ticks(1000 * u64::from(at) + 900 - u64::from(at)),
            );
            events
                .push(begin, Event::Enter { region })
                .expect("few events");
            events
                .push(end, Event::Leave { region })
                .expect("few events");
        }
        let trace = Trace::new(definitions, vec![events]).expect("a good trace");
        let map = RegionMap::by_name(trace.definitions()).expect("few regions");
        let job = Job::default();
        let timelines = Timelines::new(trace.view(), &map, &job).expect("a good trace");
        let folder = Folder::new(
            &timelines,
            Groups::by(&timelines, perf_fold::GroupBy::All),
            Default::default(),
        );
        let usage = folder.expect("a row").busy_shares(timelines.range(), &job);
        let totals = legend::totals(&usage.expect("it is computed"));
        let known = (&totals[..], 1, timelines.range());
        let palette = legend::palette(&timelines, known, &job).expect("it is planned");
        let classes = timelines.classes();
        let codes = Codes::new(&totals, classes, &palette);
        assert_eq!((codes.len(), codes.states.len()), (400, MOST - SHARED + 2));
        for class in totals.iter().filter_map(|(state, _)| state.class()) {
            let code = usize::from(codes.of(&class).expect("all have a code") - FIRST);
            assert_eq!(codes.states[code].1, palette.of(classes.name(class)));
        }
        assert!(
            codes
                .states
                .iter()
                .any(|(name, _)| name == "MPI_File_write")
        );
        assert!(
            codes.states[MOST - SHARED]
                .0
                .ends_with("others (computation)")
        );
    }
}
