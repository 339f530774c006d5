//! Handler of the query for the statistics of counters.

use super::page_queries::{MAX_ROWS, MomentsData, USUAL, answer, json};
use super::query_string::Fields;
use crate::web::app::App;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use perf_anomaly::{CounterStats, CounterSummary};
use serde::Serialize;
use std::sync::Arc;

/// Answer to the query.
#[derive(Serialize)]
struct CountersAnswer<'a> {
    /// Number of counters.
    count: usize,
    /// Number of values that are in no statistics.
    dropped: u64,
    /// Counters.
    counters: Vec<CounterData<'a>>,
}

/// Counter on all ranks of a program.
#[derive(Serialize)]
struct CounterData<'a> {
    /// Program.
    program: u32,
    /// Name, with the unit if it is known.
    counter: &'a str,
    /// Number of ranks with statistics of their own.
    ranks: usize,
    /// `true` if there are more ranks.
    more_ranks: bool,
    /// `true` for a counter that only increases.
    accumulates: bool,
    /// Values of all ranks.
    #[serde(flatten)]
    values: ValuesData,
    /// Rank with the largest mean, or with the largest increase of a counter that accumulates; `None` if ranks do not
    /// differ.
    highest: Option<HighestData>,
}

/// Values of a counter.
#[derive(Serialize)]
struct ValuesData {
    /// Moments in the unit of the counter.
    values: MomentsData,
    /// Skewness.
    skewness: f64,
    /// Excess kurtosis.
    kurtosis: f64,
    /// Last value minus the first one, summed over the threads.
    increase: f64,
}

/// Values of a counter on a rank.
#[derive(Serialize)]
struct HighestData {
    /// Rank.
    rank: u32,
    /// Values.
    #[serde(flatten)]
    values: ValuesData,
}

impl From<&CounterStats> for ValuesData {
    fn from(of: &CounterStats) -> Self {
        ValuesData {
            values: (&of.values).into(),
            skewness: of.values.skewness(),
            kurtosis: of.values.kurtosis(),
            increase: of.growth,
        }
    }
}

impl<'a> From<&'a CounterSummary> for CounterData<'a> {
    fn from(of: &'a CounterSummary) -> Self {
        let highest = of.highest.as_ref();
        CounterData {
            program: of.name.program,
            counter: &of.name.name,
            ranks: of.ranks,
            more_ranks: of.has_more_ranks,
            accumulates: of.stats.accumulates(),
            values: (&of.stats).into(),
            highest: highest.map(|(rank, stats)| HighestData {
                rank: *rank,
                values: stats.into(),
            }),
        }
    }
}

/// Returns the statistics of the counters of one program or of all programs, those of which ranks differ most
/// first.
pub(crate) async fn counters(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let limit = fields.within("limit", USUAL, MAX_ROWS)?;
        Ok((fields.get::<u32>("program")?, limit))
    };
    answer(app, query, ask, |app, (program, limit)| {
        let found = app.source.counters();
        let (all, dropped) = &*found;
        let is_wanted = |one: &&CounterSummary| program.is_none_or(|it| it == one.name.program);
        let wanted: Vec<_> = all.iter().filter(is_wanted).collect();
        json(&CountersAnswer {
            count: wanted.len(),
            dropped: *dropped,
            counters: wanted.into_iter().take(limit).map(Into::into).collect(),
        })
    })
    .await
}
