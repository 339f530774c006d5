//! Formatting of the facts (names and numbers) that describe a detector's model of a function, as
//! text with units.

use perf_core::Nanos;

/// Formats the facts of a model ([`Detector::describe`](crate::Detector::describe)) as text, with
/// one item for each mode and one for each other fact.
///
/// Times are printed with a unit from nanoseconds to seconds, shares in per cent of the calls. The
/// value of a name that ends in `from`, `to`, `median`, `mean`, `deviation`, `minimum` or `maximum`
/// is a time in nanoseconds. The value of a name that ends in `share` is a fraction. Other values
/// are numbers without a unit.
///
/// ```
/// let facts = [
///     ("calls", 1200.0),
///     ("mode 1 from", 4_100_000.0), ("mode 1 median", 4_800_000.0), ("mode 1 to", 5_230_000.0),
///     ("mode 1 share", 0.995),
/// ];
/// let facts = facts.map(|(name, value)| (name.to_string(), value));
/// let text = perf_anomaly::facts_text(&facts);
/// assert_eq!(text, ["1200 calls", "mode 1: 4.10 ms to 5.23 ms, median 4.80 ms, 99.5 % of the calls"]);
/// ```
pub fn facts_text(facts: &[(String, f64)]) -> Vec<String> {
    let mut text = Vec::new();
    let mut modes: Vec<&str> = Vec::new();
    for (name, value) in facts {
        let mode = name.rsplit_once(' ').map(|(mode, _)| mode);
        match mode.filter(|mode| mode.starts_with("mode ")) {
            Some(mode) if modes.contains(&mode) => {}
            Some(mode) => {
                modes.push(mode);
                text.push(mode_text(mode, facts));
            }
            None if name == "calls" => text.push(format!("{value} calls")),
            None => text.push(format!("{name} {}", value_text(name, *value))),
        }
    }
    text
}

/// Formats the facts of a mode, in any order.
fn mode_text(mode: &str, facts: &[(String, f64)]) -> String {
    let of = |what: &str| {
        let own = |name: &str| name.strip_prefix(mode).map(str::trim_start) == Some(what);
        let (name, value) = facts.iter().find(|(name, _)| own(name))?;
        Some(value_text(name, *value))
    };
    let range = match (of("from"), of("to")) {
        (Some(from), Some(to)) => Some(format!("{from} to {to}")),
        (from, to) => from.map(|from| format!("from {from}")).or(to),
    };
    let median = of("median").map(|median| format!("median {median}"));
    let share = of("share").map(|share| format!("{share} of the calls"));
    let parts: Vec<_> = [range, median, share].into_iter().flatten().collect();
    format!("{mode}: {}", parts.join(", "))
}

/// Smallest time in nanoseconds that represents the end of an unbounded range.
const ENDLESS: f64 = 1e18;

/// Returns `true` if a fact of this name is a time in nanoseconds.
pub(crate) fn is_time(name: &str) -> bool {
    let times = [
        "from",
        "to",
        "median",
        "mean",
        "deviation",
        "minimum",
        "maximum",
    ];
    times.contains(&name.rsplit(' ').next().unwrap_or_default())
}

/// Returns `true` if a fact is the end of an unbounded range.
pub(crate) fn is_endless(name: &str, value: f64) -> bool {
    is_time(name) && value >= ENDLESS
}

/// Returns the value of a fact with its unit.
pub(crate) fn value_text(name: &str, value: f64) -> String {
    match name.rsplit(' ').next().unwrap_or_default() {
        _ if is_endless(name, value) => "no end".into(),
        // Conversions saturate.
        _ if is_time(name) => Nanos(value.round() as i64).to_string(),
        "share" => format!("{} %", (value * 1e4).round() / 1e2),
        _ => format!("{}", (value * 1e4).round() / 1e4),
    }
}
