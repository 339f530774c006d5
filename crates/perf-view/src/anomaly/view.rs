//! [`View`]: section of a page that shows anomalies from rank to step to function to call stack.

use super::anomalies::{Anomalies, rank_name};
use super::counter_table::counter_table;
use super::json::Data;
use super::{Picture, STYLE};
use crate::encoding::base64;
use crate::section;
use crate::{Result, Section, number, numbered};
use maud::{Markup, html};
use perf_anomaly::provenance::Kind;
use perf_core::Job;
use serde::Serialize;

/// Section of a page that shows anomalies.
///
/// The section shows the ranking of ranks, the counts by step, the functions with their recorded
/// calls along selectable axes and their distribution, and the call stack of a call. A click leads
/// from a rank to its steps, from a step to its functions, and from a recorded call to its call
/// stack.
///
/// See [`Anomalies`] for an example.
#[derive(Clone, Debug)]
pub struct View<'a> {
    found: &'a Anomalies,
    heading: String,
    id: String,
    most: usize,
}

/// Returns a sentence in which names in scripts that are written from right to left have a direction
/// of their own. Otherwise the numbers after such a name would be moved before it.
fn isolated(sentence: &str) -> Markup {
    let is_from_right = |letter: char| {
        matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
            | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
    };
    let first = sentence.find(is_from_right).unwrap_or(sentence.len());
    let mut letters = sentence.char_indices();
    let last = letters.rfind(|(_, letter)| is_from_right(*letter));
    let end = last.map_or(first, |(at, letter)| at + letter.len_utf8());
    html! { (sentence[..first]) @if first < end { bdi { (sentence[first..end]) } } (sentence[end..]) }
}

const SCRIPT: &str = concat!(
    include_str!("../../assets/anomaly/parts.js"),
    include_str!("../../assets/anomaly/view.js")
);
/// Number of colours for ranks. Further ranks use the same colours again.
const COLOURS: usize = 48;
/// Columns of the table of functions, as the keys that the script sorts by and the headings.
const STATISTICS: [(&str, &str); 9] = [
    ("name", "Function"),
    ("calls", "Calls"),
    ("slow", "Too slow"),
    ("fast", "Too fast"),
    ("unknown", "Not judged"),
    ("lost", "In slow calls"),
    ("0", "Median"),
    ("1", "99 %"),
    ("2", "Longest"),
];
/// Maximum number of functions in the text table.
const FUNCTIONS: usize = 200;

impl<'a> View<'a> {
    /// Creates a view of the anomalies.
    pub fn new(found: &'a Anomalies) -> Self {
        View {
            found,
            heading: "Anomalies".into(),
            id: "anomalies".into(),
            most: 4_000,
        }
    }

    /// Sets the heading of the section and its link anchor. Default `Anomalies` and `anomalies`.
    pub fn named(mut self, heading: impl Into<String>, id: impl Into<String>) -> Self {
        (self.heading, self.id) = (heading.into(), id.into());
        self
    }

    /// Sets the maximum number of recorded calls in the page, default 4,000. The worst calls take
    /// precedence, then normal calls for comparison.
    pub fn most(mut self, calls: usize) -> Self {
        self.most = calls;
        self
    }

    /// Creates the section. Reports progress in the phase `anomalies`.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    /// - Returns [`Error::TooLarge`](crate::Error::TooLarge) if the static picture has too many
    ///   pixels.
    pub fn section(&self, job: &Job) -> Result<Section> {
        job.check()?;
        #[derive(Serialize)]
        struct Coloured<'a> {
            #[serde(flatten)]
            data: Data<'a>,
            colours: Vec<String>,
        }
        let data = section::data(&Coloured {
            data: self.found.data(self.most),
            colours: (0..COLOURS).map(|at| numbered(at).to_string()).collect(),
        })?;
        job.advance("anomalies", 1, 2);
        job.check()?;
        let scene = Picture::new(self.found).titled(&self.heading).scene();
        let still = (base64(&scene.png()?), scene.title);
        job.advance("anomalies", 1, 2);
        Ok(Section::new(
            "anomaly",
            &self.id,
            &self.heading,
            self.body(&still),
            data,
            SCRIPT,
            STYLE,
        ))
    }

    fn body(&self, (still, words): &(String, String)) -> Markup {
        let has_functions = !self.found.functions.is_empty();
        let has_calls = !self.found.records.is_empty();
        let keys = format!("{}-keys", self.id);
        let help = [
            "Click a rank for its steps, a step or function for its calls, a call for its stack. Keys in the charts: \
             arrows move between points, Enter selects."
                .to_string(),
        ];
        html! {
            @if let [sum, causes @ ..] = &self.found.causes[..] {
                @for line in sum.lines() { p.words { (isolated(line)) "." } }
                ol.causes { @for cause in causes { li { (isolated(cause)) } } }
            }
            p.words { (words.strip_prefix(&self.heading).map_or(words.as_str(), |rest| rest.trim_start_matches(": "))) "." }
            canvas.heat tabindex="0" role="img" aria-describedby=(keys) aria-label="Time lost by rank and step" {}
            canvas.stacked tabindex="0" role="img" aria-describedby=(keys) aria-label="Time lost by function and step" {}
            div.legend role="group" aria-label="Functions that lost time" {}
            div.tools role="group" aria-label="Ranking" {
                label { "Rank by " select.by {} }
                label { "Show " select.top {
                    @for count in [5, 10, 20, 50] {
                        option value=(count) selected[count == 10] { (count) }
                    }
                } }
                label { input.lowest type="checkbox" checked; "and the lowest ranks" }
                button.all type="button" { "Reset selection" }
                label hidden[!has_functions] { "x axis " select.x {} }
                label hidden[!has_functions] { "y axis " select.y {} }
                (section::help(&keys, &help))
            }
            output.status aria-live="polite" {}
            div.pair {
                div.ranks role="group" aria-label="Ranks" {}
                canvas.steps tabindex="0" role="img" aria-describedby=(keys) aria-label="Abnormal calls by step and rank" {}
            }
            (self.changes())
            @for line in self.notes() { p.note.aggregated { (section::prose(&line)) } }
            div.trio hidden[!has_functions] {
                div { h3 { "Functions" } div.scroll { (self.table()) } }
                canvas.executions tabindex="0" role="img" aria-describedby=(keys) aria-label="Recorded calls" {}
                canvas.distribution role="img" aria-label="Run times of the function" {}
            }
            div.pair hidden[!has_calls] {
            div { h3 { "Abnormal calls, by time above the expected one" } div.scroll { table.calls {
                thead { tr {
                    th scope="col" { "Call" } th scope="col" { "Where" } th.n scope="col" { "Step" }
                    th.n scope="col" { "Took" } th.n scope="col" { "Expected" } th.n scope="col" { "Longer by" }
                    th.n scope="col" { "Score" }
                } }
                tbody {}
            } } }
            figure.call {
                figcaption tabindex="-1" {}
                canvas.stack role="img" aria-label="Calls around the selected call" {}
                ol.path aria-label="Call stack" {}
                p.about {}
            }
            }
            (self.long_calls())
            (self.unjudged())
            (counter_table(&self.found.counters, self.found.uncounted))
            noscript { img.still src={ "data:image/png;base64," (still) } alt=(words); }
        }
    }

    /// Returns the list of functions that became slower or faster.
    fn changes(&self) -> Markup {
        let changes = &self.found.changes;
        html! {
            @if !changes.is_empty() {
                details.changes {
                    summary { "Functions that became slower or faster (" (number::count(changes.len() as u64)) ")" }
                    ol { @for change in changes { li { (isolated(change)) } } }
                }
            }
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let others = self.found.counts.others;
        if others > 0 {
            notes.push(format!(
                "{} ranks that are neither high nor low in any way are shown together: bars to the largest \
                 count of a step, and marks at the mean with a standard deviation to either side.",
                number::count(others as u64)
            ));
        }
        let records = self.found.records.iter().take(self.most);
        let shown = records
            .filter(|record| record.kind == Kind::Anomaly)
            .count();
        let all = self
            .found
            .records
            .iter()
            .filter(|record| record.kind == Kind::Anomaly);
        let missing = self.found.unrecorded + (all.count() - shown) as u64;
        if missing > 0 {
            notes.push(format!(
                "{} more abnormal calls are counted, but there is no record of them in this page.",
                number::count(missing)
            ));
        }
        notes
    }

    /// Returns the table of the calls without an alarm that are far longer than all earlier ones.
    fn long_calls(&self) -> Markup {
        let calls = &self.found.long;
        let entries = number::apart(calls.iter().map(|one| one.1.call.entry.0 as f64));
        html! {
            @if !calls.is_empty() {
                details.long open {
                    summary { "Long calls that are not certain to be abnormal" }
                    p.note {
                        "No earlier call of the function but the first on a thread took a tenth of the time, but they are too few for an alarm. The list does not depend on the selection."
                    }
                    div.scroll { table {
                        thead { tr {
                            th scope="col" { "Function" } th scope="col" { "Where" } th.n scope="col" { "Step" }
                            th.n scope="col" { "From" } th.n scope="col" { "Took" } th.n scope="col" { "Longest before" }
                            th.n scope="col" { "Earlier calls" }
                        } }
                        tbody { @for ((name, long), entry) in calls.iter().zip(entries) { tr {
                            th scope="row" { (section::name(name)) }
                            td { (rank_name(long.call.stream.program, long.call.stream.rank)) ", thread " (long.call.stream.thread) }
                            td.n { (long.call.step) }
                            td.n { (entry) }
                            td.n { (number::time(long.call.runtime.0 as f64)) }
                            td.n { (number::time(long.longest.0 as f64)) }
                            td.n { (number::count(long.of)) }
                        } } }
                    } }
                }
            }
        }
    }

    /// Returns the table of the longest calls that were not judged.
    fn unjudged(&self) -> Markup {
        let calls = &self.found.unjudged;
        let entries = number::apart(calls.iter().map(|one| one.1.entry.0 as f64));
        html! {
            @if !calls.is_empty() {
                details.unjudged open[self.found.records.is_empty()] {
                    summary { "Longest calls that were not judged" }
                    p.note {
                        "Too few calls of the function were known to separate normal from abnormal or to exclude one so long, or recent ones were as slow. One call of each function is listed, but no first call on a thread, regardless of the selection."
                    }
                    div.scroll { table {
                        thead { tr {
                            th scope="col" { "Function" } th scope="col" { "Where" } th.n scope="col" { "Step" }
                            th.n scope="col" { "From" } th.n scope="col" { "Took" } th.n scope="col" { "Earlier calls" }
                        } }
                        tbody { @for ((name, call), entry) in calls.iter().zip(entries) { tr {
                            th scope="row" { (section::name(name)) }
                            td { (rank_name(call.stream.program, call.stream.rank)) ", thread " (call.stream.thread) }
                            td.n { (call.step) }
                            td.n { (entry) }
                            td.n { (number::time(call.runtime.0 as f64)) }
                            td.n { (number::count(call.known)) }
                        } } }
                    } }
                }
            }
        }
    }

    /// Returns the table of functions.
    fn table(&self) -> Markup {
        let more = self.found.functions.len().saturating_sub(FUNCTIONS);
        html! {
            table.functions {
                thead { tr {
                    @for (key, name) in STATISTICS {
                        th.n[key != "name"] scope="col" {
                            button.sort type="button" data-key=(key) { (name) }
                        }
                    }
                    th.n scope="col" { "Selected" }
                } }
                tbody {
                    @for (at, function) in self.found.functions.iter().take(FUNCTIONS).enumerate() {
                        tr data-function=(at) {
                            th scope="row" {
                                button type="button" aria-pressed="false" title=(function.name) { (crate::shortened(&function.name, 40)) }
                                @if let Some(program) = function.program { " of program " (program) }
                            }
                            td.n { (number::count(function.loss.calls)) }
                            td.n { (number::count(function.loss.too_slow)) }
                            td.n { (number::count(function.loss.too_fast)) }
                            td.n { (number::count(function.loss.not_enough_data)) }
                            td.n { (number::time(function.loss.in_slow_calls().0 as f64)) }
                            @let quantiles = function.distribution.as_ref().and_then(|of| of.quantiles);
                            @for at in 0..3 {
                                td.n { @if let Some(all) = quantiles { (number::time(all[at])) } }
                            }
                            td.n.here {}
                        }
                    }
                }
            }
            @if more > 0 { p.note { "and " (number::count(more as u64)) " more" } }
        }
    }
}
