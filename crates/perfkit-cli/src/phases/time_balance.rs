//! Output of the CPU time of experiments by class (in clusters, noise, dropped bursts) as a table,
//! and of the minimum duration of bursts ([`MinDuration`]) as text and JSON.

use crate::table;
use perfkit::core::{Nanos, Table};
use perfkit::track::{Amount, TimeBalance};
use serde::Serialize;
use std::io::{self, Write};

/// Definition of the time that is divided, for tables.
pub const TOTAL: &str = "CPU time: the time of all bursts, before any filter";

/// Returns the classes with their names. Experiments that were not tracked have one class of
/// clusters.
fn parts(balance: &TimeBalance, is_tracked: bool) -> Vec<(&'static str, Amount)> {
    let mut parts = balance.parts().to_vec();
    if !is_tracked {
        parts.splice(..2, [("in clusters", balance.clustered())]);
    }
    parts
}

/// Writes a row for each experiment. Classes of bursts that no experiment has are skipped, except the first.
///
/// # Errors
/// Returns the write errors of `out`.
pub fn write(
    balances: &[(String, TimeBalance)],
    is_tracked: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let all: Vec<_> = balances
        .iter()
        .map(|(_, balance)| parts(balance, is_tracked))
        .collect();
    let is_shown = |class: usize| {
        class == 0
            || all
                .iter()
                .any(|parts| parts.get(class).is_some_and(|(_, of)| of.bursts > 0))
    };
    let names = parts(&TimeBalance::default(), is_tracked);
    let shown: Vec<usize> = (0..names.len()).filter(|&class| is_shown(class)).collect();
    let of = balances.iter();
    let table = Table::new("experiments", TOTAL)
        .text("experiment", of.clone().map(|(name, _)| name.as_str()))
        .times(
            "CPU time",
            of.clone().map(|(_, balance)| balance.total.time),
        );
    let table = shown.into_iter().fold(table, |table, class| {
        let shares = of.clone().zip(&all);
        let shares = shares.map(|((_, balance), parts)| 100.0 * balance.share(parts[class].1));
        table.floats(names[class].0, "%", shares)
    });
    table::print(out, &table, 60)
}

/// Writes the minimum duration and its origin. Writes nothing if there is no minimum. If recordings are
/// divided into windows, `window` has the name of the window in which the minimum duration drops the
/// largest share of the CPU time, and this share.
///
/// # Errors
/// Returns the write errors of `out`.
pub fn write_min(
    min: Nanos,
    is_chosen: bool,
    window: Option<(&str, f64)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if min.0 <= 0 {
        return Ok(());
    }
    let why = match (is_chosen, window) {
        (true, Some((name, share))) => format!(
            ": the longest minimum that drops at most 1 % of the CPU time of a recording; of a window \
             it drops up to {:.1} % ({name})",
            100.0 * share
        ),
        (true, None) => {
            ": the longest minimum that drops at most 1 % of the CPU time of a recording".to_owned()
        }
        (false, _) => String::new(),
    };
    writeln!(
        out,
        "  bursts shorter than {min} are dropped{why} (--min-duration)"
    )
}

/// Minimum duration of bursts, for `--json`.
#[derive(Debug, Serialize)]
pub struct MinDuration {
    /// Minimum duration in nanoseconds.
    pub ns: Nanos,
    /// `true` if the minimum duration was chosen from the bursts.
    #[serde(rename = "chosen")]
    pub is_chosen: bool,
}
