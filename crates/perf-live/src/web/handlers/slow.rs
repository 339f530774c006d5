//! Handler of the query for ranks and phases that are slower than their peers.

use super::page_queries::{MOST, answer, json};
use super::query_string::Fields;
use crate::web::app::App;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use perf_core::Nanos;
use serde::Serialize;
use std::sync::Arc;

#[derive(Serialize)]
struct SlowRankData<'a> {
    /// Program.
    program: u32,
    /// Rank.
    rank: u32,
    /// Function with the most time lost.
    function: &'a str,
    /// First slow step.
    first: u64,
    /// Last slow step.
    last: u64,
    /// `true` if the rank is still slow.
    lasts: bool,
    /// Factor by which calls take longer than those of the median rank.
    factor: f64,
    /// Time lost.
    lost: Nanos,
}

#[derive(Serialize)]
struct SlowPhaseData<'a> {
    /// Program.
    program: u32,
    /// Function.
    function: &'a str,
    /// First slow step.
    first: u64,
    /// Last slow step.
    last: u64,
    /// `true` if the function is still slow.
    lasts: bool,
    /// Factor by which calls take longer than in other steps.
    factor: f64,
    /// Time lost on all ranks.
    lost: Nanos,
}

#[derive(Serialize)]
struct SlowData<'a> {
    /// Slow ranks.
    ranks: Vec<SlowRankData<'a>>,
    /// Slow phases.
    phases: Vec<SlowPhaseData<'a>>,
}

/// Returns the slow ranks and slow phases, those with the most time lost first.
pub(crate) async fn slow(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| fields.within("limit", 100, MOST);
    answer(app, query, ask, |app, limit| {
        let slow = app.source.slow();
        let ranks = slow.ranks.iter().take(limit);
        let phases = slow.phases.iter().take(limit);
        json(&SlowData {
            ranks: ranks
                .map(|(slow, name)| SlowRankData {
                    program: slow.program,
                    rank: slow.rank,
                    function: &name.name,
                    first: slow.first,
                    last: slow.last,
                    lasts: slow.lasts,
                    factor: slow.factor,
                    lost: slow.lost,
                })
                .collect(),
            phases: phases
                .map(|(slow, name)| SlowPhaseData {
                    program: name.program,
                    function: &name.name,
                    first: slow.first,
                    last: slow.last,
                    lasts: slow.lasts,
                    factor: slow.factor,
                    lost: slow.lost,
                })
                .collect(),
        })
    })
    .await
}
