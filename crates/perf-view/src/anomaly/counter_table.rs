//! [`counter_table()`]: table of the counters of a page of anomalies.

use super::anomalies::rank_name;
use crate::{number, section};
use maud::{Markup, html};
use perf_anomaly::{CounterSummary, Moments};

/// Maximum number of counters in the table.
const MAX_COUNTERS: usize = 500;

/// Returns a value of a counter; all digits of whole and of large numbers up to a billion.
fn amount(value: f64) -> String {
    match value.abs() {
        size @ 0.0..1e9 if size >= 1e3 || size.fract() == 0.0 => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", number::count(size.round() as u64))
        }
        _ => number::short(value, ""),
    }
}

/// Returns a table of counters, or nothing without counters. Counters that accumulate have an increase instead of a mean.
/// `uncounted` is the number of values that are in no statistics.
pub(super) fn counter_table(counters: &[CounterSummary], uncounted: u64) -> Markup {
    let accumulates = |one: &CounterSummary| one.stats.accumulates();
    let has_increase = counters.iter().any(accumulates);
    let has_ranks = counters.iter().any(|one| one.highest.is_some());
    let programs = counters.iter().map(|one| one.name.program);
    let has_programs = programs.clone().min() != programs.max();
    let more = counters.len().saturating_sub(MAX_COUNTERS);
    let level = |one: &CounterSummary, of: fn(&Moments) -> f64| {
        let values = &one.stats.values;
        (!accumulates(one)).then(|| amount(of(values)))
    };
    html! {
        @if !counters.is_empty() || uncounted > 0 {
            details.counters open {
                summary { "Counters, all values of all ranks (" (number::count(counters.len() as u64)) ")" }
                div.scroll { table {
                    thead { tr {
                        th scope="col" { "Counter" } th.n scope="col" { "Ranks" } th.n scope="col" { "Values" }
                        th.n scope="col" { "Mean" } th.n scope="col" { "Deviation" }
                        th.n scope="col" { "Smallest" } th.n scope="col" { "Largest" }
                        @if has_increase { th.n scope="col" { "Increase" } }
                        @if has_ranks { th.n scope="col" { "Highest rank" } }
                    } }
                    tbody { @for one in counters.iter().take(MAX_COUNTERS) { tr {
                        th scope="row" {
                            (section::name(&one.name.name))
                            @if has_programs { " of program " (one.name.program) }
                        }
                        td.n { (number::count(one.ranks as u64)) @if one.has_more_ranks { "+" } }
                        td.n { (number::count(one.stats.values.count())) }
                        td.n { (level(one, Moments::mean).unwrap_or_default()) }
                        td.n { (level(one, Moments::std_dev).unwrap_or_default()) }
                        td.n { (one.stats.values.min().map(amount).unwrap_or_default()) }
                        td.n { (one.stats.values.max().map(amount).unwrap_or_default()) }
                        @if has_increase { td.n { @if accumulates(one) { (amount(one.stats.growth)) } } }
                        @if has_ranks { td.n {
                            @if let Some((rank, stats)) = &one.highest {
                                (rank_name(one.name.program, *rank)) ": " (amount(one.compared(stats)))
                            }
                        } }
                    } } }
                } }
                @if uncounted > 0 {
                    p.note {
                        "Not counted: values that are invalid (no numbers, negative numbers of events, or all bits), or of too many counters ("
                        (number::count(uncounted)) ")."
                    }
                }
                @if more > 0 { p.note { "and " (number::count(more as u64)) " more" } }
                @if has_increase {
                    p.note { "Counters that only increase have no mean, but an increase from the first to the last value of each thread." }
                }
            }
        }
    }
}
