//! Tables of alignments and SPMD scores.

use super::{Alignment, SpmdScore};
use perf_core::Table;

impl SpmdScore {
    /// Returns the scores of clusters as a table. The weighted scores add up to [`global`](Self::global).
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `cluster` | text | number, or `noise` |
    /// | `SPMD score` | float, % | mean share of threads that have the cluster, over the columns in which it occurs |
    /// | `columns` | unsigned | number of columns in which the cluster occurs |
    /// | `share of time` | float, % | share of the time of its bursts |
    /// | `weighted SPMD score` | float, % | product of score and share |
    ///
    /// ```
    /// use perf_core::Cell;
    /// use perf_track::{Alignment, ClusterId};
    /// let (one, two) = (Some(ClusterId(1)), Some(ClusterId(2)));
    /// let alignment = Alignment::from_rows(&[vec![one, two, one], vec![one, None, one]])?;
    /// let table = alignment.score(&[0.0, 0.8, 0.2]).table();
    /// assert_eq!(table.cell(2, "cluster"), Some(Cell::Text("2")));
    /// assert_eq!(table.text_of(2, "SPMD score"), "50 %");
    /// assert_eq!(table.text_of(2, "weighted SPMD score"), "10 %");
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn table(&self) -> Table {
        let all = || self.clusters.iter();
        Table::new(
            "SPMD scores",
            "Threads that execute the same cluster at the same time.",
        )
        .text("cluster", all().map(|it| it.cluster.to_string()))
        .floats("SPMD score", "%", all().map(|it| 100.0 * it.score))
        .unsigned("columns", "", all().map(|it| it.columns))
        .floats("share of time", "%", all().map(|it| 100.0 * it.share))
        .floats(
            "weighted SPMD score",
            "%",
            all().map(|it| 100.0 * it.weighted()),
        )
    }
}

impl Alignment {
    /// Returns the columns of the alignment as a table with a row for each cluster of each column.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `column` | unsigned | number of the column, from 0 |
    /// | `cluster` | text | number, or `noise` |
    /// | `threads` | unsigned | number of threads that have the cluster in the column |
    /// | `share of threads` | float, % | share of all threads |
    ///
    /// ```
    /// use perf_core::Cell;
    /// use perf_track::{Alignment, ClusterId};
    /// let (one, two) = (Some(ClusterId(1)), Some(ClusterId(2)));
    /// let table = Alignment::from_rows(&[vec![one, two], vec![one, None]])?.table();
    /// assert_eq!((table.rows(), table.cell(1, "cluster")), (2, Some(Cell::Text("2"))));
    /// assert_eq!(table.text_of(1, "share of threads"), "50 %");
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn table(&self) -> Table {
        let rows = || {
            let columns = 0..self.columns();
            columns.flat_map(|at| self.column(at).iter().map(move |entry| (at, *entry)))
        };
        let all = self.threads() as f64;
        let share = rows().map(|(_, (_, threads))| 100.0 * f64::from(threads) / all);
        Table::new(
            "alignment",
            "Clusters in each column of an alignment of threads.",
        )
        .unsigned("column", "", rows().map(|row| row.0))
        .text("cluster", rows().map(|row| row.1.0.to_string()))
        .unsigned("threads", "", rows().map(|row| row.1.1))
        .floats("share of threads", "%", share)
    }
}
