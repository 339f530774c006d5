//! Option `--what-if` of `wait`: parses changes of durations, and replays a trace with them for its
//! run time ([`Answers`]).

use super::Analysis;
use crate::failure::{Failure, input};
use crate::progress::Bar;
use crate::suggest::{hint, near};
use perfkit::core::{Job, Nanos, Table, TraceView, fits};
use perfkit::wait::whatif::{Answer, Change, Dependency, WhatIf};
use std::collections::BTreeSet;

/// Questions of the user with their answers.
#[derive(Clone, Debug)]
pub(crate) struct Answers(Vec<(String, Answer)>);

/// Answers what-if questions. Each question consists of changes separated by semicolons.
///
/// # Errors
/// Returns [`Failure::Usage`] for a text that is not a change, and for a name without a match in
/// the trace.
pub(super) fn ask(
    view: TraceView<'_>,
    found: &Analysis,
    questions: &[String],
) -> Result<Answers, Failure> {
    if questions.is_empty() {
        return Ok(Answers(Vec::new()));
    }
    let none: &[Dependency] = &[];
    let whatif = WhatIf::of(view, &found.activities, none, &Bar::job()).map_err(input)?;
    let mut answers = Vec::with_capacity(questions.len());
    for question in questions {
        let changes = question
            .split(';')
            .map(str::trim)
            .filter(|text| !text.is_empty());
        let changes: Vec<Change> = changes
            .map(|text| change(text, found))
            .collect::<Result<_, _>>()?;
        if changes.is_empty() {
            return Err(Failure::Usage("--what-if: no change is given".into()));
        }
        let answer = whatif.ask(&changes, &Job::default()).map_err(input)?;
        answers.push((question.clone(), answer));
    }
    Ok(Answers(answers))
}

/// Parses a change and checks that its pattern matches a name of the trace.
fn change(text: &str, found: &Analysis) -> Result<Change, Failure> {
    let wrong = |what: &str| Failure::Usage(format!("--what-if {what}"));
    let change = Change::parse(text, &found.ranks).map_err(|error| wrong(&error.to_string()))?;
    let definitions = found.activities.definitions();
    let (pattern, names): (&str, BTreeSet<String>) = match &change {
        Change::Function { pattern, .. } => {
            let paths = found.activities.paths().paths().iter();
            let names = paths.map(|path| definitions.region_name(path.region).into_owned());
            (pattern, names.collect())
        }
        Change::Calls { pattern, .. } => {
            let calls = found.activities.calls();
            let names = calls.map(|(_, call)| found.activities.call_name(call).into_owned());
            (pattern, names.collect())
        }
        _ => return Ok(change),
    };
    if names.iter().any(|name| fits(pattern, name)) {
        return Ok(change);
    }
    let what = match &change {
        Change::Calls { .. } => "call of MPI",
        _ => "function",
    };
    let word = pattern.replace(['*', '?'], "");
    let likely = near(&word, names.iter().map(String::as_str), 4);
    let all = names.iter().map(String::as_str);
    let likely = match (likely.is_empty(), &change) {
        // A function without the prefix `region` is parsed as an MPI call.
        (true, Change::Calls { .. }) => format!("; a function is `region {pattern} x FACTOR`"),
        _ => hint(&word, all),
    };
    Err(wrong(&format!(
        "`{text}`: no {what} matches `{pattern}`{likely}"
    )))
}

impl Answers {
    /// Returns `true` if there are no answers.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the largest difference between the recorded run time and its replay, as a share of the
    /// recorded run time.
    pub(crate) fn replay_error(&self) -> f64 {
        let errors = self.0.iter().map(|(_, answer)| {
            let difference = answer.identity.saturating_sub(answer.recorded);
            (difference.0 as f64 / answer.recorded.0.max(1) as f64).abs()
        });
        errors.fold(0.0, f64::max)
    }

    /// Returns a row for each question.
    pub(crate) fn table(&self) -> Table {
        let rows = || self.0.iter();
        let share = |answer: &Answer| {
            let identity = answer.identity.0.max(1) as f64;
            100.0 * answer.saved().0 as f64 / identity
        };
        let times = |of: fn(&Answer) -> Nanos| rows().map(move |(_, answer)| of(answer));
        Table::new("what if", "Run time of a replay with other durations.")
            .text("change", rows().map(|it| it.0.as_str()))
            .times("run time", times(|it| it.identity))
            .times("changed", times(|it| it.runtime))
            .times("saved", times(Answer::saved))
            .floats("share", "%", rows().map(|it| share(&it.1)))
    }
}
