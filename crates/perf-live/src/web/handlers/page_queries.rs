//! Handlers of the page, its JSON queries (run, ranking, steps, totals, profile, functions, samples, records),
//! health and unknown paths; [`answer`], [`StateData`] and [`RankingData`] for other handlers.

use super::query_string::{Fields, Parsed};
use crate::hub::{Overview, ProgramSummary, Slow};
use crate::store::{Axis, Filter, Order};
use crate::web::app::{App, Source, answered, come_again, refusal};
use crate::{Error, Result, page};
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use perf_anomaly::provenance::Entry;
use perf_anomaly::server::{RankSummary, Ranking};
use perf_anomaly::{Loss, Moments};
use perf_core::Nanos;
use serde::Serialize;
use std::sync::Arc;

/// Largest number of rows of an answer.
pub(super) const MAX_ROWS: usize = 10_000;

/// Default number of rows of an answer.
pub(super) const USUAL: usize = 1_000;

/// Largest number of ranks in a query.
pub(super) const RANKS: usize = 64;

/// Returns the page as HTML.
pub(crate) async fn page(State(app): State<Arc<App>>) -> Response {
    let (html, policy) = page::page(matches!(app.source, Source::Live(_)));
    let mut response = html.into_response();
    let headers = response.headers_mut();
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, html);
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Answers requests for unknown paths with 404.
pub(crate) async fn nothing() -> Response {
    refusal(StatusCode::NOT_FOUND, "no such address")
}

/// Returns a response with a text in JSON.
fn given(text: String) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, text).into_response()
}

fn wrong(status: StatusCode, what: &str) -> Response {
    #[derive(Serialize)]
    struct Failure<'a> {
        /// Error message.
        error: &'a str,
    }
    // A text can always be represented in JSON.
    let text = serde_json::to_string(&Failure { error: what }).unwrap_or_default();
    (status, given(text)).into_response()
}

/// Parses a query with `ask` and answers it with `find` in a separate thread.
pub(super) async fn answer<Q: Send + 'static>(
    app: Arc<App>,
    query: Option<String>,
    ask: fn(&mut Fields) -> Parsed<Q>,
    find: fn(&App, Q) -> Result<Option<String>>,
) -> Response {
    let parsed = Fields::parse(query.as_deref()).and_then(|mut fields| {
        let question = ask(&mut fields)?;
        fields.end()?;
        Ok(question)
    });
    let question = match parsed {
        Ok(question) => question,
        Err(what) => return wrong(StatusCode::BAD_REQUEST, &what),
    };
    let own = Arc::clone(&app);
    match answered(&app, move || find(&own, question)).await {
        Ok(Some(text)) => given(text),
        Ok(None) => wrong(StatusCode::NOT_FOUND, "no such record"),
        Err(error @ Error::Busy { again }) => {
            let mut response = wrong(StatusCode::SERVICE_UNAVAILABLE, &error.to_string());
            come_again(&mut response, again);
            response
        }
        Err(Error::Store { what, .. }) => wrong(StatusCode::SERVICE_UNAVAILABLE, &what),
        Err(error) => wrong(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Returns an answer as JSON; never `None`.
pub(super) fn json(answer: &impl Serialize) -> Result<Option<String>> {
    let text = serde_json::to_string(answer);
    let text = text.map_err(|error| Error::Json {
        what: error.to_string(),
    });
    text.map(Some)
}

/// Totals over calls.
#[derive(Debug, Serialize)]
pub(super) struct LossData {
    /// Number of calls.
    calls: u64,
    /// Number of calls that were too slow.
    slow: u64,
    /// Number of calls that were too fast.
    fast: u64,
    /// Number of calls beyond experience.
    beyond_experience: u64,
    /// Number of calls without enough data.
    not_enough_data: u64,
    /// Time lost.
    time: Nanos,
    /// Time of calls that wait for others.
    waiting: Nanos,
}

impl From<&Loss> for LossData {
    fn from(loss: &Loss) -> Self {
        LossData {
            calls: loss.calls,
            slow: loss.too_slow,
            fast: loss.too_fast,
            beyond_experience: loss.beyond_experience,
            not_enough_data: loss.not_enough_data,
            time: loss.time,
            waiting: loss.waiting,
        }
    }
}

/// Program of a workflow.
#[derive(Debug, Serialize)]
pub(super) struct ProgramData<'a> {
    /// Number of the program.
    program: u32,
    /// Display name.
    name: &'a str,
    /// Number of ranks.
    ranks: usize,
    /// Number of active clients.
    active: usize,
    /// Number of clients.
    clients: usize,
    /// Last step.
    step: u64,
    /// Totals over its calls.
    loss: LossData,
}

impl<'a> From<&'a ProgramSummary> for ProgramData<'a> {
    fn from(one: &'a ProgramSummary) -> Self {
        ProgramData {
            program: one.program,
            name: &one.name,
            ranks: one.ranks,
            active: one.active,
            clients: one.clients,
            step: one.step,
            loss: (&one.loss).into(),
        }
    }
}

/// Statistics of values.
#[derive(Debug, Serialize)]
pub(super) struct MomentsData {
    /// Number of values.
    count: u64,
    /// Sum.
    sum: f64,
    /// Mean.
    mean: f64,
    /// Standard deviation.
    deviation: f64,
    /// Minimum.
    minimum: Option<f64>,
    /// Maximum.
    maximum: Option<f64>,
}

impl From<&Moments> for MomentsData {
    fn from(of: &Moments) -> Self {
        MomentsData {
            count: of.count(),
            sum: of.sum(),
            mean: of.mean(),
            deviation: of.std_dev(),
            minimum: of.min(),
            maximum: of.max(),
        }
    }
}

#[derive(Debug, Serialize)]
struct RankData {
    /// Program.
    program: u32,
    /// Rank.
    rank: u32,
    /// Number of steps.
    steps: u64,
    /// Total number of anomalies.
    total: f64,
    /// Mean number of anomalies per step.
    mean: f64,
    /// Standard deviation of the anomalies per step.
    deviation: f64,
    /// Smallest number of anomalies in a step.
    minimum: Option<f64>,
    /// Largest number of anomalies in a step.
    maximum: Option<f64>,
    /// Time lost by all causes.
    lost: Nanos,
    /// Totals over its calls.
    #[serde(flatten)]
    loss: LossData,
}

impl RankData {
    fn new(one: &RankSummary, lost: Nanos) -> Self {
        let of = &one.anomalies;
        RankData {
            program: one.program,
            rank: one.rank,
            steps: of.count(),
            total: of.sum(),
            mean: of.mean(),
            deviation: of.std_dev(),
            minimum: of.min(),
            maximum: of.max(),
            lost,
            loss: (&one.loss).into(),
        }
    }
}

/// Returns 200 as long as the database can be written, otherwise 503 with the reason.
pub(crate) async fn health(State(app): State<Arc<App>>) -> Response {
    match &app.source.overview().failure {
        None => given(r#"{"store":"ok"}"#.into()),
        Some(why) => wrong(StatusCode::SERVICE_UNAVAILABLE, why),
    }
}

/// State of all programs.
#[derive(Debug, Serialize)]
pub(super) struct StateData<'a> {
    /// Revision of the state.
    revision: u64,
    /// Totals over all calls.
    total: LossData,
    /// Number of clients.
    clients: usize,
    /// Reason why the database cannot be written; `None` if it can be written.
    failure: Option<&'a str>,
    /// Number of messages that were not stored.
    unstored: u64,
    /// Programs.
    programs: Vec<ProgramData<'a>>,
}

impl<'a> StateData<'a> {
    pub(super) fn of(overview: &'a Overview) -> Self {
        StateData {
            revision: overview.revision,
            total: (&overview.total).into(),
            clients: overview.clients,
            failure: overview.failure.as_deref(),
            unstored: overview.unstored,
            programs: overview.programs.iter().map(Into::into).collect(),
        }
    }
}

#[derive(Serialize)]
struct Run<'a> {
    /// `true` for a running server, `false` for a finished run.
    live: bool,
    /// Name of the database file without directories.
    name: Option<&'a str>,
    /// Number of ranks.
    ranks: usize,
    /// Number of dropped records.
    dropped: u64,
    /// Names of the axes for samples.
    axes: Vec<&'static str>,
    /// State of all programs.
    #[serde(flatten)]
    state: StateData<'a>,
}

/// Returns the initial data of the page.
pub(crate) async fn run(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    answer(
        app,
        query,
        |_| Ok(()),
        |app, ()| {
            let overview = app.source.overview();
            let name = app
                .source
                .path()
                .file_name()
                .map(|name| name.to_string_lossy());
            json(&Run {
                live: matches!(app.source, Source::Live(_)),
                name: name.as_deref(),
                ranks: overview.ranks.len(),
                dropped: overview.dropped,
                axes: Axis::names().collect(),
                state: StateData::of(&overview),
            })
        },
    )
    .await
}

/// Query for a ranking: the statistic, and the selection of ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked {
    /// Statistic and its name.
    by: (&'static str, Ranking),
    /// Number of ranks from the start of the ranking.
    top: usize,
    /// Number of ranks from the end of the ranking.
    bottom: usize,
    /// Program; `None` for all programs.
    program: Option<u32>,
}

/// First and last ranks of a ranking.
#[derive(Debug, Serialize)]
pub(super) struct RankingData {
    /// Name of the statistic.
    by: &'static str,
    /// Number of ranks.
    ranks: usize,
    /// Revision of the state.
    revision: u64,
    /// First ranks.
    top: Vec<RankData>,
    /// Last ranks.
    bottom: Vec<RankData>,
    /// `true` if no time was lost, so that `lost` is the time of calls that wait for others.
    waiting: bool,
}

const BY: [(&str, (&str, Ranking)); 6] = [
    ("total", ("total", Ranking::Total)),
    ("mean", ("mean", Ranking::Mean)),
    ("deviation", ("deviation", Ranking::Deviation)),
    ("minimum", ("minimum", Ranking::Minimum)),
    ("maximum", ("maximum", Ranking::Maximum)),
    ("time", ("time", Ranking::TimeLost)),
];

impl Ranked {
    pub(super) fn parse(fields: &mut Fields) -> Parsed<Self> {
        Ok(Ranked {
            by: fields.one_of("by", &BY)?.unwrap_or(BY[0].1),
            top: fields.within("top", 5, MAX_ROWS)?,
            bottom: fields.within("bottom", 0, MAX_ROWS)?,
            program: fields.get("program")?,
        })
    }

    /// Returns the first and the last ranks. No rank is in both lists.
    pub(super) fn of(&self, overview: &Overview, slow: &Slow) -> RankingData {
        let mut all = overview.ranked(self.by.1);
        // A rank may be newer than the comparison.
        let lost = |one: &RankSummary| {
            let known = slow.lost_by_rank.get(&(one.program, one.rank));
            known.copied().unwrap_or(one.loss.time)
        };
        if self.by.1 == Ranking::TimeLost {
            all.sort_by_cached_key(|one| std::cmp::Reverse(lost(one)));
        }
        all.retain(|one| self.program.is_none_or(|program| program == one.program));
        let top = all.iter().take(self.top);
        let left = all.len().saturating_sub(self.top).min(self.bottom);
        let bottom = all.iter().skip(all.len() - left);
        RankingData {
            by: self.by.0,
            ranks: all.len(),
            revision: overview.revision,
            top: top.map(|one| RankData::new(one, lost(one))).collect(),
            bottom: bottom.map(|one| RankData::new(one, lost(one))).collect(),
            waiting: slow.lost.total().0 == 0 && slow.lost.waiting.0 > 0,
        }
    }
}

/// Returns ranks ordered by a statistic of their anomalies per step, or by time lost.
pub(crate) async fn ranking(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    answer(app, query, Ranked::parse, |app, ranked| {
        json(&ranked.of(&app.source.overview(), &app.source.slow()))
    })
    .await
}

/// Returns steps with anomalies of the chosen ranks.
pub(crate) async fn steps(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let limit = fields.within("limit", USUAL, MAX_ROWS)?;
        Ok((fields.ranks(RANKS)?, fields.steps()?, limit))
    };
    answer(app, query, ask, |app, (ranks, steps, limit)| {
        json(&app.read(|reader| reader.steps(&ranks, &steps, limit))?)
    })
    .await
}

/// Returns the totals of steps of one program or of all programs.
pub(crate) async fn totals(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let limit = fields.within("limit", USUAL, MAX_ROWS)?;
        Ok((fields.get("program")?, fields.steps()?, limit))
    };
    answer(app, query, ask, |app, (program, steps, limit)| {
        json(&app.read(|reader| reader.totals(program, &steps, limit))?)
    })
    .await
}

#[derive(Serialize)]
struct Profile<'a> {
    /// Functions.
    functions: Vec<FunctionData<'a>>,
}

#[derive(Serialize)]
struct FunctionData<'a> {
    /// Program.
    program: u32,
    /// Name of the function.
    function: &'a str,
    /// Totals over its calls.
    loss: LossData,
    /// Exclusive run times in nanoseconds.
    exclusive: MomentsData,
    /// Inclusive run times in nanoseconds.
    inclusive: MomentsData,
    /// Scores of the anomalies.
    score: MomentsData,
    /// Severities of the anomalies in nanoseconds.
    severity: MomentsData,
    /// First and last step with an anomaly; `None` without anomalies.
    steps: Option<(u64, u64)>,
}

/// Returns the statistics of functions of one program or of all programs.
pub(crate) async fn profile(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let limit = fields.within("limit", USUAL, MAX_ROWS)?;
        Ok((fields.get::<u32>("program")?, limit))
    };
    answer(app, query, ask, |app, (program, limit)| {
        let all = app.source.functions();
        let wanted = all
            .iter()
            .filter(|(name, _)| program.is_none_or(|one| one == name.program));
        let functions = wanted.take(limit).map(|(name, stats)| FunctionData {
            program: name.program,
            function: &name.name,
            loss: (&stats.loss).into(),
            exclusive: (&stats.exclusive).into(),
            inclusive: (&stats.inclusive).into(),
            score: (&stats.scores).into(),
            severity: (&stats.severities).into(),
            steps: stats.steps,
        });
        json(&Profile {
            functions: functions.collect(),
        })
    })
    .await
}

const KINDS: [(&str, &str); 2] = [("anomaly", "anomaly"), ("normal", "normal")];
const LABELS: [(&str, &str); 4] = [
    ("beyond", "beyond experience"),
    ("slow", "too slow"),
    ("fast", "too fast"),
    ("normal", "normal"),
];

/// Parses a selection of records.
fn filter(fields: &mut Fields) -> Parsed<Filter> {
    let has_steps = fields.steps()?;
    Ok(Filter {
        kind: fields.one_of("kind", &KINDS)?,
        label: fields.one_of("label", &LABELS)?,
        program: fields.get("program")?,
        rank: fields.get("rank")?,
        thread: fields.get("thread")?,
        function: fields.text("function"),
        steps: (has_steps != (0..=u64::MAX)).then_some(has_steps),
        score: fields.real("score")?,
        severity: fields.get("severity")?,
    })
}

/// Returns functions with recorded anomalies.
pub(crate) async fn functions(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let mut filter = filter(fields)?;
        filter.kind = Some("anomaly");
        Ok((filter, fields.within("limit", USUAL, MAX_ROWS)?))
    };
    answer(app, query, ask, |app, (filter, limit)| {
        json(&app.read(|reader| reader.functions(&filter, limit))?)
    })
    .await
}

/// Returns recorded calls with two of their quantities.
pub(crate) async fn samples(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let mut axis = |name: &str, usual: &str| {
            let name = fields.text(name).unwrap_or_else(|| usual.into());
            let names: Vec<_> = Axis::names().collect();
            let axis = Axis::named(&name);
            axis.ok_or_else(|| format!("`{name}` must be one of {}", names.join(", ")))
        };
        let axes = [axis("x", "entry")?, axis("y", "runtime")?];
        Ok((
            filter(fields)?,
            axes,
            fields.within("limit", USUAL, MAX_ROWS)?,
        ))
    };
    answer(app, query, ask, |app, (filter, axes, limit)| {
        json(&app.read(|reader| reader.samples(&filter, axes, limit))?)
    })
    .await
}

/// Returns recorded calls.
pub(crate) async fn records(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let order = fields.one_of("order", &Order::ALL)?.unwrap_or_default();
        Ok((
            filter(fields)?,
            order,
            fields.within("limit", 100, MAX_ROWS)?,
        ))
    };
    answer(app, query, ask, |app, (filter, order, limit)| {
        json(&app.read(|reader| reader.records(&filter, order, limit))?)
    })
    .await
}

/// Returns a recorded call and the model with which the call was classified.
pub(crate) async fn record(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let id: Option<i64> = fields.get("id")?;
        id.ok_or_else(|| "which `id`?".to_string())
    };
    answer(app, query, ask, |app, id| {
        app.read(|reader| {
            let Some(line) = reader.entry(id)? else {
                return Ok(None);
            };
            // Parsing ensures that the line is JSON.
            let Entry::Call(call) = line.parse()? else {
                return Ok(None);
            };
            let model = match call.model {
                0 => None,
                number => reader.model(number, id)?,
            };
            // Models of earlier versions are stored without their text.
            let model = model.and_then(|line| line.parse::<Entry>().ok());
            let model = model.map_or("null".into(), |model| model.to_string());
            Ok(Some(format!(
                "{{\"id\":{id},\"record\":{line},\"model\":{model}}}"
            )))
        })
    })
    .await
}
