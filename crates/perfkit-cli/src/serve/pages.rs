//! [`Pages`]: page with the timelines of recordings and the views of profiles, and the answers to its
//! requests, without a network.

use super::{Options, profiles};
use crate::clocks;
use crate::correlate::ServedViews;
use crate::failure::{Failure, input};
use crate::findings;
use crate::fold::CountersBy;
use crate::pictures;
use crate::progress::Bar;
use crate::recording::{self, Any, Recording};
use perfkit::core::{Clock, Job, Messages, Nanos, TimeRange, Trace, match_messages};
use perfkit::fold::{Line, RegionMap};
use perfkit::view::timeline::{Part, Served, View};
use perfkit::view::{Page, Section};
use std::path::Path;
use std::sync::{Arc, Once};

/// Largest number of rows into which a page unfolds.
const MOST_ROWS: usize = 20_000;
/// Largest number of events of a recording whose messages are matched before its first picture.
const FEW_EVENTS: usize = 500_000;
/// Names in queries of timelines, for messages.
const EXPECTED: &str = "from=, to=, columns=, and op= and rows= or row=";

/// Page with a timeline for each recording with events and the views of each profile, and the data
/// from which requests are answered.
#[derive(Debug)]
pub struct Pages {
    /// HTML of the page.
    page: String,
    /// First part of the path of all addresses.
    token: String,
    /// Timelines of the recordings.
    timelines: Vec<Arc<Timeline>>,
    /// Views of the profiles.
    profiles: Vec<ServedViews>,
    /// Job of the matching of messages; cancelled with the pages.
    job: Job,
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.job.cancel();
    }
}

/// Timeline of a recording.
#[derive(Debug)]
struct Timeline {
    /// Data of the rows.
    served: Served,
    /// Trace of the messages and call stacks.
    trace: Trace,
    /// Functions of the call stacks; `None` if there are none.
    map: Option<RegionMap>,
    /// Completed once the matching of the messages has begun, or is done.
    matching: Once,
    /// Command that serves the recording with corrected clocks; `None` if they are corrected.
    remedy: Option<String>,
}

impl Timeline {
    /// Returns the section of a recording, whose timeline has a number in the page, and its data.
    fn open(
        options: &Options,
        recording: Recording,
        (file, name, number): (&Path, &str, usize),
    ) -> Result<(Section, Self), Failure> {
        let job = Bar::job();
        let of = (&recording, Some(file));
        let (states, groups, map) = options.rows.timelines(of, None, &job)?;
        let (counters, chosen) = options.counters.of(&recording.trace, &job)?;
        findings::print(&recording.diagnostics, &states.repairs());
        if states.range().is_empty() {
            let file = file.display();
            return Err(Failure::Input(format!("{file}: no region is entered")));
        }
        let view = View::new(&states, pictures::in_page_blocks(groups))
            .named(name, format!("timeline-{number}"))
            .counters(CountersBy::of_page(&counters, &chosen))
            .most_rows(MOST_ROWS);
        let matching = Once::new();
        let found = if recording.trace.len() <= FEW_EVENTS {
            matching.call_once(|| {});
            Some(match_messages(recording.trace.view(), &job).map_err(input)?)
        } else {
            None
        };
        let view = match &found {
            Some(found) => view.lines(Line::of(found)),
            None => view.lines_later(),
        };
        let view = match options.rules.changed() {
            Some(rules) => view.rules(rules),
            None => view,
        };
        let view = match &map {
            Some(map) => view.calls(recording.trace.view(), map),
            None => view,
        };
        let served = view.served(&format!("cells/{number}"), &job);
        let (section, served) = served.map_err(pictures::failed)?;
        let corrected = || {
            let file = file.to_string_lossy();
            pictures::shell(["perfkit", "serve", &file, "--clocks", "correct"])
        };
        let timeline = Timeline {
            served,
            trace: recording.trace,
            map,
            matching,
            remedy: options.rows.are_clocks_kept().then(corrected),
        };
        if let Some(found) = &found {
            timeline.add_remarks(found);
        }
        Ok((section, timeline))
    }

    /// Matches the messages of a large recording, unless that has begun. A thread outside of the pool does so, because
    /// requests would wait behind the work in the pool.
    fn find_messages(self: &Arc<Self>, job: &Job) {
        self.matching.call_once(|| {
            let (timeline, job) = (Arc::clone(self), job.clone());
            let run = move || {
                // The only error is that the job is cancelled. Then no page asks for messages.
                let found = match_messages(timeline.trace.view(), &job).unwrap_or_default();
                timeline.add_remarks(&found);
                timeline.served.add_lines(Line::of(&found));
            };
            match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
                Ok(pool) => pool.spawn(run),
                Err(_) => run(),
            }
        });
    }
}

impl Timeline {
    /// Adds what the messages say about the clocks.
    fn add_remarks(&self, found: &Messages) {
        let violations = found.clock_violations();
        let remarks = clocks::remarks(&violations, &self.trace, self.remedy.as_deref());
        self.served.add_remarks(remarks);
    }
}

/// Request without its body, which is ignored.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Method, such as `GET`.
    pub method: &'a str,
    /// Value of the header `Host`, if there is one.
    pub host: Option<&'a str>,
    /// Path without the query.
    pub path: &'a str,
    /// Query without the question mark; empty without one.
    pub query: &'a str,
}

/// Answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The page.
    Page(String),
    /// Data as JSON.
    Json(String),
    /// A stream that stays open as long as the page does.
    Open,
    /// Status code and reason of a refusal.
    Refused(u16, String),
}

impl Pages {
    /// Opens the recordings.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if the options do not apply to a recording, and [`Failure::Input`] if
    /// a recording cannot be read, or the system has no random numbers for the token.
    pub fn open(options: &Options) -> Result<Self, Failure> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|error| Failure::Input(format!("no random token: {error}")))?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let names: Vec<String> = options.files.iter().map(|it| pictures::name(it)).collect();
        let mut page = Page::new(names.join(", "));
        let (mut timelines, mut profiles) = (Vec::new(), Vec::new());
        for (file, name) in options.files.iter().zip(&names) {
            let section = match recording::any_by(file, options.rows.reading())? {
                Any::Trace(recording) => {
                    let number = timelines.len();
                    let (section, timeline) =
                        Timeline::open(options, *recording, (file, name, number))?;
                    timelines.push(Arc::new(timeline));
                    section
                }
                Any::Profile(opened) => {
                    findings::print(&opened.diagnostics, &opened.counts);
                    let by = options.profiles.of(file, &options.general);
                    let address = format!("views/{}", profiles.len());
                    let (section, served) =
                        ServedViews::open(&opened.profile, by, (name, &address))?;
                    profiles.push(served);
                    section
                }
            };
            page = page.with(section);
        }
        if profiles.is_empty() {
            options.profiles.refuse()?;
        }
        if timelines.is_empty() {
            options.refuse_timelines()?;
        }
        Ok(Pages {
            page: page.html(&Bar::job()).map_err(pictures::failed)?,
            token,
            timelines,
            profiles,
            job: Job::default(),
        })
    }

    /// Returns the path of the page.
    pub fn path(&self) -> String {
        format!("/{}/", self.token)
    }

    /// Answers a request.
    pub fn answer(&self, request: Request<'_>, job: &Job) -> Answer {
        let refused = |code, what: &str| Answer::Refused(code, what.into());
        if !request.host.is_some_and(is_local) {
            let what = "this server is 127.0.0.1, not the host of the request; open the address that \
                        perfkit serve has printed";
            return refused(421, what);
        }
        if request.method != "GET" {
            return refused(405, "the method of the request is not GET; use GET");
        }
        let inside = request.path.strip_prefix('/');
        let inside = inside.and_then(|path| path.strip_prefix(self.token.as_str()));
        match inside.and_then(|path| path.strip_prefix('/')) {
            None => refused(
                403,
                "the address has no token, or that of another server; open the address that perfkit serve has printed",
            ),
            Some("") => Answer::Page(self.page.clone()),
            Some("open") => Answer::Open,
            Some(path) => {
                let (kind, rest) = path.split_once('/').unwrap_or((path, ""));
                let (number, what) = rest.split_once('/').unwrap_or((rest, ""));
                let number: usize = number.parse().unwrap_or(usize::MAX);
                match (kind, self.timelines.get(number), self.profiles.get(number)) {
                    ("cells", Some(of), _) if rest == number.to_string() => {
                        let answer = cells(&of.served, request.query, job);
                        // The messages wait for the first picture.
                        of.find_messages(&self.job);
                        answer
                    }
                    ("calls", Some(of), _) if rest == number.to_string() => {
                        calls(of, request.query, job)
                    }
                    ("views", _, Some(of)) => profiles::answer(of, what, request.query, job),
                    _ => Answer::Refused(404, self.no_such(path)),
                }
            }
        }
    }
}

impl Pages {
    /// Returns the text about a path that is not answered.
    fn no_such(&self, path: &str) -> String {
        let (what, count) = match path.split_once('/') {
            Some(("cells" | "calls", _)) => ("timeline", self.timelines.len()),
            Some(("views", _)) => ("profile that the page asks for", self.profiles.len()),
            _ => {
                return "no such address; the page asks for cells/NUMBER, calls/NUMBER, views/NUMBER/list and \
                        views/NUMBER/fields"
                    .into();
            }
        };
        match count {
            0 => format!("no such {what}; there is none"),
            1 => format!("no such {what}; the only one has the number 0"),
            all => format!("no such {what}; their numbers are 0 to {}", all - 1),
        }
    }
}

/// Returns `true` if the host of a request is this machine. Pages of other sites whose name is made
/// to resolve to this machine send that name.
fn is_local(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost")
}

fn cells(served: &Served, query: &str, job: &Job) -> Answer {
    let timelines = served.timelines();
    let part = match part(query, (timelines.range(), timelines.clock())) {
        Ok(part) => part,
        Err(error) => return Answer::Refused(400, error),
    };
    json(served.cells(&part, job))
}

/// Returns the call stack of a row: its query has `row` in place of `op` and `rows`.
fn calls(of: &Timeline, query: &str, job: &Job) -> Answer {
    let timelines = of.served.timelines();
    let Some(map) = &of.map else {
        let what = "this timeline has no call stacks, because its rows do not show functions; start perfkit serve \
                    without --states and --stack";
        return Answer::Refused(404, what.into());
    };
    let part = || {
        let window = window(query, (timelines.range(), timelines.clock()))?;
        let row = number("row", value(query, "row", EXPECTED)?)?;
        let columns = number("columns", value(query, "columns", EXPECTED)?)?;
        Ok::<_, String>((row, window, columns))
    };
    match part() {
        Ok(part) => json(of.served.calls((of.trace.view(), map), part, job)),
        Err(error) => Answer::Refused(400, error),
    }
}

/// Returns the answer with the data of a page, or a refusal with the error.
pub(super) fn json(data: Result<String, perfkit::view::Error>) -> Answer {
    match data {
        Ok(text) => Answer::Json(text),
        Err(error) => Answer::Refused(400, error.to_string()),
    }
}

/// Returns the text of a failure.
fn text(failure: Failure) -> String {
    match failure {
        Failure::Usage(text)
        | Failure::Input(text)
        | Failure::Found(text)
        | Failure::Help(text)
        | Failure::MissingSubcommand(text) => text,
        Failure::Output(error) => error.to_string(),
    }
}

/// Returns the value of a name in a query. `expected` is the description of a right query.
pub(super) fn value<'a>(query: &'a str, name: &str, expected: &str) -> Result<&'a str, String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let found = pairs.find(|(key, _)| *key == name);
    let found = found.map(|(_, value)| value);
    found.ok_or_else(|| format!("the query has no {name}; expected {expected}"))
}

pub(super) fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("{name} is not a whole number, or is too large"))
}

/// Returns the window of a query: `from` and `to` in nanoseconds.
fn window(query: &str, (all, clock): (TimeRange, Clock)) -> Result<TimeRange, String> {
    let time = |name| Ok::<_, String>(Nanos(number(name, value(query, name, EXPECTED)?)?));
    let (from, to) = (time("from")?, time("to")?);
    if from >= to {
        return Err(format!(
            "the window is empty: from, {from}, is not before to, {to}"
        ));
    }
    recording::window(all, clock, Some(from), Some(to)).map_err(text)
}

/// Returns the part of a query: its window, `columns`, `op`, and `rows` with `-` between their numbers.
fn part(query: &str, of: (TimeRange, Clock)) -> Result<Part, String> {
    let rows = value(query, "rows", EXPECTED)?
        .split('-')
        .filter(|row| !row.is_empty());
    // One more than is allowed is enough to be refused.
    let rows = rows.take(Part::MOST_ROWS + 1);
    Ok(Part {
        window: window(query, of)?,
        columns: number("columns", value(query, "columns", EXPECTED)?)?,
        op: number("op", value(query, "op", EXPECTED)?)?,
        rows: rows
            .map(|row| number("rows", row))
            .collect::<Result<_, _>>()?,
    })
}
