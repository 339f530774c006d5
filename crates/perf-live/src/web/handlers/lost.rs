//! Handlers of the queries for the time lost by rank and step, and by function and step.

use super::page_queries::{MAX_ROWS, answer, json};
use super::query_string::Fields;
use crate::hub::LostCell;
use crate::web::app::App;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde::Serialize;
use std::sync::Arc;

/// Cell: index of its row, first step of its column, anomalies, nanoseconds lost in abnormal calls and in
/// others of slow ranks, and the rank and step in it that lost the most.
type CellData = (usize, u64, u64, i64, i64, u32, u64);

/// Time lost by rank and step.
#[derive(Serialize)]
struct LostData {
    /// Number of steps of a column.
    steps: u64,
    /// Program, first rank and last rank of each row.
    rows: Vec<(u32, u32, u32)>,
    /// Cells with lost time.
    cells: Vec<CellData>,
    /// Time lost in abnormal calls that is in no cell, in nanoseconds.
    missing: i64,
}

/// Returns the matrix of the time lost by rank and step.
pub(crate) async fn lost(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    answer(
        app,
        query,
        |_| Ok(()),
        |app, ()| {
            let lost = app.source.lost_time();
            let cells = lost
                .cells()
                .filter(|(.., cell)| cell.calls > 0 || cell.slow > 0);
            json(&LostData {
                steps: lost.steps_per_column(),
                rows: lost.rows().collect(),
                cells: cells
                    .map(|(row, step, cell)| {
                        let LostCell {
                            anomalies,
                            calls,
                            slow,
                            rank,
                            step: worst,
                            ..
                        } = *cell;
                        (row, step, anomalies, calls, slow, rank, worst)
                    })
                    .collect(),
                missing: lost.missing(),
            })
        },
    )
    .await
}

/// Returns the time lost in recorded abnormal calls by function and step.
pub(crate) async fn stacked(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let group = fields.get("group")?.unwrap_or(1);
        if group == 0 {
            return Err("`group` cannot be 0".to_string());
        }
        Ok((group, fields.within("limit", 1_000, MAX_ROWS)?))
    };
    answer(app, query, ask, |app, (group, limit)| {
        json(&app.read(|reader| reader.stacked(group, limit))?)
    })
    .await
}
