//! [`View::cells`]: table with a row for each cell of a fold, for output as CSV.

use super::View;
use perfkit::core::Table;
use perfkit::fold::Value;

impl View {
    /// Returns a row for each cell of the fold, in the order of rows and columns.
    pub(crate) fn cells(&self) -> Table {
        let (fold, clock) = (&self.fold, self.fold.clock());
        let edges = fold.edges();
        let time = |at: usize| edges.get(at).and_then(|edge| clock.nanos(*edge));
        let cells = || {
            fold.rows().flat_map(|row| {
                row.cells()
                    .iter()
                    .enumerate()
                    .map(move |(at, cell)| (row, at, cell))
            })
        };
        let state = |value: Value| match value {
            Value::Idle => Some("(idle)"),
            Value::Uniform => Some("(uniform)"),
            Value::DiffersIdle => Some("(idle differs)"),
            Value::Class(class) | Value::Differs(class) => Some(fold.classes().name(class)),
            _ => None,
        };
        Table::new("cells", "Cells of the fold by row and column.")
            .text("row", cells().map(|(row, ..)| row.label()))
            .text(
                "kind",
                cells().map(|(row, ..)| format!("{:?}", row.group().kind)),
            )
            .unsigned("column", "", cells().map(|(_, at, _)| at as u64))
            .times("from", cells().map(|(_, at, _)| time(at)))
            .times("to", cells().map(|(_, at, _)| time(at + 1)))
            .text("state", cells().map(|(.., cell)| state(cell.value)))
            .floats(
                "number",
                "",
                cells().map(|(.., cell)| cell.value.number().map(f64::from)),
            )
            .unsigned("total", "", cells().map(|(.., cell)| cell.total))
            .unsigned("winning", "", cells().map(|(.., cell)| cell.winning))
            .unsigned("idle", "", cells().map(|(.., cell)| cell.idle))
            .unsigned("absent", "", cells().map(|(.., cell)| cell.absent))
    }
}
