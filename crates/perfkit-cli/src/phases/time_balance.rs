//! The division of the CPU time of experiments: as a table, and the minimum duration.

use crate::table;
use perfkit::core::Nanos;
use perfkit::track::{Amount, TimeBalance};
use serde::Serialize;
use std::io::{self, Write};

/// A definition of what is divided, for tables.
pub const TOTAL: &str = "CPU time: the time of all bursts, before any filter";

/// Classes with their names. Experiments that were not tracked have one class of clusters.
fn parts(balance: &TimeBalance, is_tracked: bool) -> Vec<(&'static str, Amount)> {
    let mut parts = balance.parts().to_vec();
    if !is_tracked {
        parts.splice(..2, [("in clusters", balance.clustered())]);
    }
    parts
}

/// Writes a line an experiment, and one for all of several. Classes that no experiment has are not
/// shown.
///
/// # Errors
/// What `out` fails with.
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
    let mut head = vec!["experiment", "CPU time"];
    head.extend(shown.iter().map(|&class| names[class].0));
    let rows = balances.iter().zip(&all).map(|((name, balance), parts)| {
        let mut row = vec![name.clone(), balance.total.time.to_string()];
        row.extend(shown.iter().map(|&class| {
            let share = balance.share(parts[class].1);
            format!("{:.1} %", 100.0 * share)
        }));
        row
    });
    table::write(out, &head, &rows.collect::<Vec<_>>())
}

/// Writes the minimum duration and its origin. Nothing if there is none. `window` is the window of a
/// recording of whose CPU time it drops the largest share, if recordings are cut into windows.
///
/// # Errors
/// What `out` fails with.
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
    /// The minimum.
    pub ns: Nanos,
    /// `true` if it was chosen from the bursts.
    #[serde(rename = "chosen")]
    pub is_chosen: bool,
}
