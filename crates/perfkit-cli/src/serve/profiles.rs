//! Answers to the requests of the page of a profile: lists of correlated views, and values of cells.

use super::pages::{Answer, json, number, value};
use crate::correlate::ServedViews;
use perfkit::core::Job;
use perfkit::view::topology::{Selected, Served};

/// Names in queries of the pages of profiles, for messages.
const EXPECTED: &str = "reference=, weights= and top=, or views=";

/// Largest number of weights that are read. A topology has at most 16 axes.
const MOST_WEIGHTS: usize = 17;

/// Answers a request for a `list` or for `fields`.
pub(super) fn answer(of: &ServedViews, what: &str, query: &str, job: &Job) -> Answer {
    let answer = match what {
        "list" => list(query).map(|(reference, f, top)| of.list(reference, &f, top, job)),
        "fields" => views(query).map(|views| of.fields(&views, job)),
        _ => {
            let what = "no such address; the page asks for list and fields of a profile";
            return Answer::Refused(404, what.into());
        }
    };
    match answer {
        Ok(data) => json(data),
        Err(error) => Answer::Refused(400, error),
    }
}

/// Returns the reference, the weights with `_` between them, and the number of views of a query.
fn list(query: &str) -> Result<(Selected, Vec<f64>, usize), String> {
    let reference = value(query, "reference", EXPECTED)?.parse()?;
    let weights = value(query, "weights", EXPECTED)?.split('_');
    let weights = weights.take(MOST_WEIGHTS).map(|weight| {
        let weight: f64 = weight.parse().ok()?;
        (0.0..=1.0).contains(&weight).then_some(weight)
    });
    let weights: Option<Vec<f64>> = weights.collect();
    let weights = weights.ok_or("a weight is not a number; expected 0 to 1 for each axis")?;
    let top = number("top", value(query, "top", EXPECTED)?)?;
    Ok((reference, weights, top))
}

/// Returns the views of a query, with `-` between them.
fn views(query: &str) -> Result<Vec<Selected>, String> {
    let views = value(query, "views", EXPECTED)?.split('-');
    // One more than is allowed is enough to be refused.
    let views = views.filter(|view| !view.is_empty());
    views
        .take(Served::MOST_FIELDS + 1)
        .map(str::parse)
        .collect()
}
