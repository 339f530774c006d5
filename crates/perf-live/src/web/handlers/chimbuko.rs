//! Handlers of the queries `/api/get_...` of Chimbuko's visualisation server, with its field names
//! and microseconds.
//!
//! Its page also needs Socket.IO, over which it receives updates, and a query for records of its
//! provenance database. Neither is available here.

use super::page_queries::{MAX_ROWS, answer, json};
use super::query_string::Fields;
use crate::web::app::App;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use perf_anomaly::Moments;
use perf_anomaly::server::{FunctionName, FunctionStats, RankSummary};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// Statistics of values with the names of Chimbuko. `None` stands for values that are not known.
#[derive(Debug, Serialize)]
struct RunStats {
    /// Number of values.
    count: u64,
    /// Sum.
    accumulate: f64,
    /// Minimum.
    minimum: Option<f64>,
    /// Maximum.
    maximum: Option<f64>,
    /// Mean.
    mean: f64,
    /// Standard deviation.
    stddev: Option<f64>,
    /// Skewness.
    skewness: Option<f64>,
    /// Excess kurtosis.
    kurtosis: Option<f64>,
}

impl RunStats {
    /// Converts statistics, and their values by a factor.
    fn of(moments: &Moments, factor: f64) -> Self {
        RunStats {
            count: moments.count(),
            accumulate: factor * moments.sum(),
            minimum: moments.min().map(|least| factor * least),
            maximum: moments.max().map(|most| factor * most),
            mean: factor * moments.mean(),
            stddev: Some(factor * moments.std_dev()),
            skewness: Some(moments.skewness()),
            kurtosis: Some(moments.kurtosis()),
        }
    }

    /// Returns the statistics of the anomalies of a function in a step. Only their sum and the steps
    /// from the first to the last anomaly are known.
    fn of_anomalies(stats: &FunctionStats) -> Self {
        let anomalies = stats.loss.anomalies() as f64;
        let steps = stats.steps.map_or(0, |(first, last)| {
            // Clients number their steps as they like.
            last.saturating_sub(first).saturating_add(1)
        });
        RunStats {
            count: steps,
            accumulate: anomalies,
            minimum: None,
            maximum: None,
            mean: anomalies / steps.max(1) as f64,
            stddev: None,
            skewness: None,
            kurtosis: None,
        }
    }
}

/// Anomalies of a rank in a step.
#[derive(Debug, Serialize)]
struct RankStats {
    /// Program and rank, separated by a colon.
    key: String,
    /// Program.
    app: u32,
    /// Rank.
    rank: u32,
    /// Statistics of the numbers of anomalies.
    #[serde(flatten)]
    stats: RunStats,
}

impl From<&RankSummary> for RankStats {
    fn from(one: &RankSummary) -> Self {
        RankStats {
            key: format!("{}:{}", one.program, one.rank),
            app: one.program,
            rank: one.rank,
            stats: RunStats::of(&one.anomalies, 1.0),
        }
    }
}

/// Step of a rank with anomalies.
#[derive(Debug, Serialize)]
struct StepAnomalies {
    /// Program and rank, separated by a colon.
    key: String,
    /// Program.
    app: u32,
    /// Rank.
    rank: u32,
    /// Step.
    step: i64,
    /// Number of anomalies.
    n_anomalies: i64,
    /// Time of the first event in microseconds.
    min_timestamp: i64,
    /// Time of the last event in microseconds.
    max_timestamp: i64,
}

/// Function with its statistics.
#[derive(Debug, Serialize)]
struct FunctionRunStats<'a> {
    /// Number of the function in the order of programs and names.
    fid: usize,
    /// Name.
    name: &'a str,
    /// Program.
    app: u32,
    /// Numbers of anomalies in a step.
    stats: RunStats,
    /// Inclusive run times in microseconds.
    inclusive: RunStats,
    /// Exclusive run times in microseconds.
    exclusive: RunStats,
}

/// Returns the statistics of the numbers of anomalies of each rank in a step.
pub(crate) async fn anomaly_stats(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Response {
    let ask = |fields: &mut Fields| Ok((fields.get::<u32>("app")?, fields.get::<u32>("rank")?));
    answer(app, query, ask, |app, (program, rank)| {
        let overview = app.source.overview();
        let is_wanted = |one: &&RankSummary| {
            program.is_none_or(|program| program == one.program)
                && rank.is_none_or(|rank| rank == one.rank)
        };
        let ranks = overview.ranks.iter().filter(is_wanted);
        json(&ranks.map(RankStats::from).collect::<Vec<_>>())
    })
    .await
}

/// Returns the last steps with anomalies of a rank.
pub(crate) async fn anomaly_data(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Response {
    let ask = |fields: &mut Fields| {
        let key = (fields.get::<u32>("app")?, fields.get::<u32>("rank")?);
        let (Some(program), Some(rank)) = key else {
            return Err("`app` and `rank` are required".to_string());
        };
        Ok((program, rank, fields.within("limit", MAX_ROWS, MAX_ROWS)?))
    };
    answer(app, query, ask, |app, (program, rank, limit)| {
        let table = app.read(|reader| reader.steps(&[(program, rank)], &(0..=u64::MAX), limit))?;
        let steps = table.rows.iter().map(|row| {
            let named = table.columns.iter().zip(row);
            let number = |name: &str| {
                let value = named.clone().find(|(column, _)| **column == name);
                value.and_then(|(_, value)| Value::as_i64(value))
            };
            let count = |name| number(name).unwrap_or(0);
            StepAnomalies {
                key: format!("{program}:{rank}"),
                app: program,
                rank,
                step: count("step"),
                n_anomalies: count("slow") + count("fast"),
                min_timestamp: count("first") / 1000,
                max_timestamp: count("last") / 1000,
            }
        });
        json(&steps.collect::<Vec<_>>())
    })
    .await
}

/// Returns the statistics of functions.
pub(crate) async fn function_stats(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Response {
    let ask = |fields: &mut Fields| fields.get::<usize>("fid");
    answer(app, query, ask, |app, wanted| {
        let all = app.source.functions();
        let mut all: Vec<&(FunctionName, FunctionStats)> = all.iter().collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        let all = all.into_iter().enumerate();
        let chosen = all.filter(|(fid, _)| wanted.is_none_or(|one| one == *fid));
        let micros = |moments| RunStats::of(moments, 1e-3);
        let functions = chosen.map(|(fid, (name, stats))| FunctionRunStats {
            fid,
            name: &name.name,
            app: name.program,
            stats: RunStats::of_anomalies(stats),
            inclusive: micros(&stats.inclusive),
            exclusive: micros(&stats.exclusive),
        });
        json(&functions.collect::<Vec<_>>())
    })
    .await
}
