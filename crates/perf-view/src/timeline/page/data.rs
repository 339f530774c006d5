//! [`Data`]: all data of a timeline page as its script reads them; also the help and the notes that
//! explain the page.

use super::View;
use super::calls::CallsData;
use super::local::Local;
use super::overlays::{Links, MOST_LINKS, Mark, Size};
use super::pyramid::{Level, Members, Node};
use crate::number;
use crate::timeline::counters::{CounterNames, TracksData};
use serde::Serialize;
use std::collections::BTreeMap;

/// Name, description, `true` if agreement is shown (with the usual operation only in rows that are
/// no devices), and the largest number with its unit.
pub(super) type OpData = (String, String, bool, Option<(f64, &'static str)>);

#[derive(Serialize)]
pub(super) struct Data<'a> {
    pub(super) start: i64,
    pub(super) span: i64,
    pub(super) busy: &'static str,
    pub(super) groups: Vec<GroupData<'a>>,
    /// Names and colours of the states.
    pub(super) states: Vec<(&'a str, String)>,
    /// Name, colour and code of all other states.
    pub(super) others: (String, String, u8),
    /// Code and colour of numbers.
    pub(super) number: (u8, String),
    pub(super) ops: Vec<OpData>,
    pub(super) levels: &'a [Level],
    /// Kinds of rows of the legend: heading, and numbers of the rows.
    pub(super) parts: Vec<(Option<String>, Vec<usize>)>,
    /// States from which the script computes cells; `None` for a page with levels.
    pub(super) local: Option<Local<'a>>,
    /// Names of the colours that depend on the theme.
    pub(super) themed: BTreeMap<String, &'static str>,
    /// Begin in nanoseconds with all digits.
    pub(super) begin: String,
    /// `None` for a page that contains its cells.
    pub(super) served: Option<Requests<'a>>,
    pub(super) links: Option<Links>,
    /// Messages of the page by length; `None` if the script computes them or the server sends them.
    pub(super) sizes: Option<Vec<Size>>,
    pub(super) command: Option<&'a str>,
    pub(super) serve: Option<&'a str>,
    pub(super) markers: Vec<Mark<'a>>,
    /// Rows after the first ones at their only resolution; `None` if there are none.
    pub(super) members: Option<Members>,
    /// Call stacks of a page that is not served.
    pub(super) calls: Option<CallsData>,
    /// Colours from least to largest, for counters and messages.
    pub(super) heat: Vec<String>,
    /// Counters below the rows.
    pub(super) counters: Vec<CounterNames>,
    /// Values of the counters; empty for a served page.
    pub(super) tracks: Vec<TracksData>,
}

/// Requests of a page for its cells.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Requests<'a> {
    /// Address without the query, relative to the page.
    pub(super) address: &'a str,
    /// Shortest window in nanoseconds.
    pub(super) shortest: f64,
    /// Largest number of rows of a request.
    pub(super) most_rows: usize,
    /// Largest number of columns of a request.
    pub(super) most_columns: usize,
    /// `true` if there are messages.
    pub(super) has_links: bool,
    /// `true` if there are call stacks.
    pub(super) has_calls: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GroupData<'a> {
    pub(super) label: &'a str,
    pub(super) streams: usize,
    /// Number of its streams without states, which are in no share.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) without_states: usize,
    pub(super) parent: Option<usize>,
    /// Stream of a group that has only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream: Option<u32>,
    /// `true` if the usual operation of the row is `idle` instead of `max`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) device: bool,
    pub(super) busy: f64,
    /// Share of the time in MPI.
    pub(super) mpi: f64,
    /// Position when similar rows are neighbours.
    pub(super) similar: usize,
    /// Difference from the rows of the same kind.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) differs: f64,
    /// `true` if the row differs from almost all rows of its kind.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) unusual: bool,
    /// State with this difference, its share, and the median of the shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<(&'a str, f64, f64)>,
    /// Row that differs most of those into which the row unfolds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) most: Option<usize>,
    /// Shares of the states with the most time; empty for rows after the first ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) shares: Vec<(&'a str, f64)>,
}

impl View<'_> {
    /// Returns the sentences of the help text, which explain the controls and the resolution of the
    /// page.
    pub(super) fn help(finest: Option<usize>, span: i64) -> Vec<String> {
        let cells = match finest {
            Some(finest) => format!(
                "This page holds {} columns of {} each and zooms in until a column is a pixel. A column shows \
                 the state at its centre; shorter events may lie between two columns.",
                number::count(finest as u64),
                number::time(span as f64 / finest as f64)
            ),
            None => "Each pixel shows the state at its centre; shorter events may lie between two pixels until the view is \
                 zoomed in. All numbers are of the visible window."
                .into(),
        };
        vec![
            "Drag moves, drag with Shift or a double-click zooms in. Keys: arrows move and select a row, + and - \
             zoom, Enter unfolds, S shows the call stack, Home resets the view."
                .into(),
            cells,
        ]
    }

    pub(super) fn note(&self, nodes: &[Node], roots: usize) -> Vec<String> {
        let mut note = Vec::new();
        let cut = nodes.iter().filter(|node| node.cut).count();
        if cut > 0 {
            note.push(format!(
                "{cut} rows have more members than this page can hold and stay folded; a page of `perfkit serve` \
                 unfolds them."
            ));
        }
        let missing = self.groups.rows().len().saturating_sub(roots);
        if missing > 0 {
            note.push(format!(
                "{} more rows exceed the limit of this page and are not in it.",
                number::count(missing as u64)
            ));
        }
        if self.markers.len() > MOST_LINKS {
            note.push(format!(
                "{} calls are marked as abnormal; this page has the first ones.",
                number::count(self.markers.len() as u64)
            ));
        }
        note
    }
}

/// Returns the text about messages that are never drawn, which are messages within one row and
/// messages with an end in no row. Returns `None` if there are none.
pub(super) fn hidden_messages([inside, elsewhere]: [u64; 2]) -> Option<String> {
    let part = |count: u64, text: &str| match count {
        0 => None,
        _ => Some(format!("{} {text}", number::count(count))),
    };
    let parts = [
        part(inside, "stay within one row"),
        part(elsewhere, "have an end in no row"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let text = parts.join(" and ");
    (!parts.is_empty()).then(|| format!("Messages without a line in any view: {text}."))
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Rounds a share to four decimal places, to keep pages small.
pub(super) fn rounded(share: f64) -> f64 {
    (share * 10_000.0).round() / 10_000.0
}
