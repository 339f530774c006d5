//! The page and its questions, answered in JSON.

use super::app::{App, Source, answered, come_again, refusal};
use super::query::{Asked, Fields};
use crate::hub::{Overview, ProgramSummary};
use crate::store::{Axis, Filter, Order};
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

/// Most rows of an answer.
const MOST: usize = 10_000;

/// Rows of an answer where nobody says how many.
const USUAL: usize = 1_000;

/// Most ranks of a question.
pub(super) const RANKS: usize = 64;

/// The page.
pub(super) async fn page(State(app): State<Arc<App>>) -> Response {
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

/// All other addresses.
pub(super) async fn nothing() -> Response {
    refusal(StatusCode::NOT_FOUND, "there is nothing of this name")
}

/// An answer in JSON.
fn given(text: String) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, text).into_response()
}

fn wrong(status: StatusCode, what: &str) -> Response {
    #[derive(Serialize)]
    struct Failure<'a> {
        error: &'a str,
    }
    // A text always has a form in JSON.
    let text = serde_json::to_string(&Failure { error: what }).unwrap_or_default();
    (status, given(text)).into_response()
}

/// Reads a question, and answers it beside the connections.
async fn answer<Q: Send + 'static>(
    app: Arc<App>,
    query: Option<String>,
    ask: fn(&mut Fields) -> Asked<Q>,
    find: fn(&App, Q) -> Result<Option<String>>,
) -> Response {
    let asked = Fields::parse(query.as_deref()).and_then(|mut fields| {
        let asked = ask(&mut fields)?;
        fields.end()?;
        Ok(asked)
    });
    let question = match asked {
        Ok(question) => question,
        Err(what) => return wrong(StatusCode::BAD_REQUEST, &what),
    };
    let own = Arc::clone(&app);
    match answered(&app, move || find(&own, question)).await {
        Ok(Some(text)) => given(text),
        Ok(None) => wrong(StatusCode::NOT_FOUND, "there is no such record"),
        Err(error @ Error::Busy { again }) => {
            let mut response = wrong(StatusCode::SERVICE_UNAVAILABLE, &error.to_string());
            come_again(&mut response, again);
            response
        }
        Err(Error::Store { what, .. }) => wrong(StatusCode::SERVICE_UNAVAILABLE, &what),
        Err(error) => wrong(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Writes an answer as JSON.
pub(super) fn json(answer: &impl Serialize) -> Result<Option<String>> {
    let text = serde_json::to_string(answer);
    let text = text.map_err(|error| Error::Json {
        what: error.to_string(),
    });
    text.map(Some)
}

/// Sums over calls.
#[derive(Debug, Serialize)]
pub(super) struct LossData {
    calls: u64,
    slow: u64,
    fast: u64,
    beyond_experience: u64,
    not_enough_data: u64,
    time: Nanos,
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
        }
    }
}

/// A program of a workflow.
#[derive(Debug, Serialize)]
pub(super) struct ProgramData<'a> {
    program: u32,
    name: &'a str,
    ranks: usize,
    active: usize,
    clients: usize,
    step: u64,
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

#[derive(Debug, Serialize)]
struct MomentsData {
    count: u64,
    sum: f64,
    mean: f64,
    deviation: f64,
    minimum: Option<f64>,
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
    program: u32,
    rank: u32,
    steps: u64,
    total: f64,
    mean: f64,
    deviation: f64,
    minimum: Option<f64>,
    maximum: Option<f64>,
    #[serde(flatten)]
    loss: LossData,
}

impl From<&RankSummary> for RankData {
    fn from(one: &RankSummary) -> Self {
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
            loss: (&one.loss).into(),
        }
    }
}

/// Returns 200 as long as the database can be written.
pub(super) async fn health(State(app): State<Arc<App>>) -> Response {
    match &app.source.overview().failure {
        None => given(r#"{"store":"ok"}"#.into()),
        Some(why) => wrong(StatusCode::SERVICE_UNAVAILABLE, why),
    }
}

/// State of all programs.
#[derive(Debug, Serialize)]
pub(super) struct StateData<'a> {
    revision: u64,
    total: LossData,
    clients: usize,
    failure: Option<&'a str>,
    unstored: u64,
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
    live: bool,
    name: Option<&'a str>,
    ranks: usize,
    dropped: u64,
    axes: Vec<&'static str>,
    #[serde(flatten)]
    state: StateData<'a>,
}

/// What the page shows first.
pub(super) async fn run(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
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

/// Which ranks, by which statistic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked {
    by: (&'static str, Ranking),
    top: usize,
    bottom: usize,
    program: Option<u32>,
}

/// The first and the last ranks.
#[derive(Debug, Serialize)]
pub(super) struct RankingData {
    by: &'static str,
    ranks: usize,
    revision: u64,
    top: Vec<RankData>,
    bottom: Vec<RankData>,
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
    pub(super) fn asked(fields: &mut Fields) -> Asked<Self> {
        Ok(Ranked {
            by: fields.one_of("by", &BY)?.unwrap_or(BY[0].1),
            top: fields.within("top", 5, MOST)?,
            bottom: fields.within("bottom", 0, MOST)?,
            program: fields.get("program")?,
        })
    }

    /// The first ones and the last ones.
    pub(super) fn of(&self, overview: &Overview) -> RankingData {
        let mut all = overview.ranked(self.by.1);
        all.retain(|one| self.program.is_none_or(|program| program == one.program));
        let top = all.iter().take(self.top);
        let left = all.len().saturating_sub(self.top).min(self.bottom);
        let bottom = all.iter().skip(all.len() - left);
        RankingData {
            by: self.by.0,
            ranks: all.len(),
            revision: overview.revision,
            top: top.map(|one| RankData::from(*one)).collect(),
            bottom: bottom.map(|one| RankData::from(*one)).collect(),
        }
    }
}

/// Ranks by a statistic of their anomalies a step.
pub(super) async fn ranking(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    answer(app, query, Ranked::asked, |app, asked| {
        json(&asked.of(&app.source.overview()))
    })
    .await
}

/// Steps of some ranks that had anomalies.
pub(super) async fn steps(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let limit = fields.within("limit", USUAL, MOST)?;
        Ok((fields.ranks(RANKS)?, fields.steps()?, limit))
    };
    answer(app, query, ask, |app, (ranks, steps, limit)| {
        json(&app.read(|reader| reader.steps(&ranks, &steps, limit))?)
    })
    .await
}

/// Steps of programs.
pub(super) async fn totals(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let limit = fields.within("limit", USUAL, MOST)?;
        Ok((fields.get("program")?, fields.steps()?, limit))
    };
    answer(app, query, ask, |app, (program, steps, limit)| {
        json(&app.read(|reader| reader.totals(program, &steps, limit))?)
    })
    .await
}

#[derive(Serialize)]
struct Profile<'a> {
    functions: Vec<FunctionData<'a>>,
}

#[derive(Serialize)]
struct FunctionData<'a> {
    program: u32,
    function: &'a str,
    loss: LossData,
    exclusive: MomentsData,
    inclusive: MomentsData,
    score: MomentsData,
    severity: MomentsData,
    steps: Option<(u64, u64)>,
}

/// What the calls of each function were.
pub(super) async fn profile(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let limit = fields.within("limit", USUAL, MOST)?;
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

/// Which records.
fn filter(fields: &mut Fields) -> Asked<Filter> {
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

/// Functions with recorded anomalies.
pub(super) async fn functions(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let mut filter = filter(fields)?;
        filter.kind = Some("anomaly");
        Ok((filter, fields.within("limit", USUAL, MOST)?))
    };
    answer(app, query, ask, |app, (filter, limit)| {
        json(&app.read(|reader| reader.functions(&filter, limit))?)
    })
    .await
}

/// Recorded calls by two of their numbers.
pub(super) async fn samples(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let mut axis = |name: &str, usual: &str| {
            let asked = fields.text(name).unwrap_or_else(|| usual.into());
            let names: Vec<_> = Axis::names().collect();
            let axis = Axis::named(&asked);
            axis.ok_or_else(|| format!("`{name}` must be one of {}", names.join(", ")))
        };
        let axes = [axis("x", "entry")?, axis("y", "runtime")?];
        Ok((filter(fields)?, axes, fields.within("limit", USUAL, MOST)?))
    };
    answer(app, query, ask, |app, (filter, axes, limit)| {
        json(&app.read(|reader| reader.samples(&filter, axes, limit))?)
    })
    .await
}

/// Recorded calls.
pub(super) async fn records(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let order = fields.one_of("order", &Order::ALL)?.unwrap_or_default();
        Ok((filter(fields)?, order, fields.within("limit", 100, MOST)?))
    };
    answer(app, query, ask, |app, (filter, order, limit)| {
        json(&app.read(|reader| reader.records(&filter, order, limit))?)
    })
    .await
}

/// All that is known of a recorded call, and the model it was judged by.
pub(super) async fn record(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let id: Option<i64> = fields.get("id")?;
        id.ok_or_else(|| "which `id`?".to_string())
    };
    answer(app, query, ask, |app, id| {
        app.read(|reader| {
            let Some(line) = reader.entry(id)? else {
                return Ok(None);
            };
            // Only what can be read is JSON for sure.
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
