//! HTML of a timeline section: controls, legend, and the rows as a table.

use super::pyramid::Node;
use crate::timeline::cell_colour::{FAINTER, STRONGER};
use crate::timeline::legend::{self, Entry, Headed};
use crate::timeline::picture::busy_share;
use crate::{Theme, number, section, shortened_apart};
use maud::{Markup, html};
use perf_fold::{Classes, Groups, Usage};

/// Returns the content of the section without its data. `whole` is the display text of the window
/// to which all numbers refer. `still` is a picture as base64 with its description, or the heading of a page without one.
pub(super) fn body(
    id: &str,
    (parts, whole): (&[Headed], &str),
    (help, notes): (&[String], &[String]),
    still: Result<&(String, String), &String>,
    table: Markup,
) -> Markup {
    // Colours that belong to the theme are set by CSS classes, so that they follow the choice of
    // the reader.
    let light = Theme::light();
    html! {
        div.tools role="group" aria-label="Timeline controls" {
            label { "Operator " select.op {} }
            button.in type="button" { "Zoom in" }
            button.out type="button" { "Zoom out" }
            button.left type="button" aria-label="Earlier" { "\u{2190}" }
            button.right type="button" aria-label="Later" { "\u{2192}" }
            button.all type="button" { "Reset view" }
            button.fold type="button" { "Fold all" }
            label {
                "Sort rows " select.order {
                    option value="" { "as given" }
                    option value="name" { "by name" }
                    option value="similar" { "similar together" }
                    option value="differs" { "most different first" }
                    option value="busy" { "busiest first" }
                    option value="idle" { "least busy first" }
                    option value="mpi" { "most MPI first" }
                }
            }
            label { "Filter rows " input.filter type="search" size="12"; }
            label.links hidden { input.messages type="checkbox" checked; "Messages" }
            (section::help(&format!("{id}-keys"), help))
        }
        output.status aria-live="polite" {}
        p.view {}
        p.remarks hidden {}
        div.rows {
            div.content {
                canvas.strips tabindex="0" role="img" aria-describedby={ (id) "-keys" }
                    aria-label=(still.map_or_else(|heading| heading, |(_, words)| words)) {}
                div.labels {}
            }
        }
        figure.calls hidden {
            figcaption {
                label { "Call stack of " select.location {} }
                button.close type="button" { "Close" }
            }
            canvas.depths role="img" aria-label="Call stack over time, a row for each depth" {}
            output.frame aria-live="polite" {}
        }
        div.counters hidden {
            label {
                "Counters of all locations " select.across {
                    option value="0" { "mean" }
                    option value="1" { "sum" }
                    option value="2" { "max" }
                }
            }
            canvas.tracks role="img" aria-label="Counters over time" {}
            output.reading {}
        }
        p.closer hidden {}
        p.note {
            "Share of the time of all streams" @if parts.len() > 1 { " of a kind" } ", and time in each state, "
            span.whole { (whole) } ":"
        }
        ul.legend aria-label="States by time" {
            @for (heading, entries) in parts {
            @if let Some(heading) = heading { li.part { span { (heading) } } }
            @for (entry, name) in entries.iter().zip(names(entries)) {
                li {
                    @if let Some(colour) = entry.colour {
                        svg viewBox="0 0 13 13" aria-hidden="true" {
                            rect.idle[colour == light.idle].absent[colour == light.absent]
                                width="13" height="13" fill=(colour) {}
                        }
                    }
                    span title=(entry.name) {
                        (name)
                        @if let Some((share, nanos)) = entry.time {
                            " " (number::percent(share)) ", " (number::time(nanos))
                        }
                    }
                }
            }
            }
            li.fainter { span { (FAINTER) } }
            li.stronger { span { (STRONGER) } }
            li.unusual hidden { span { "\u{25c6} differs far more from the rows of its kind than they do from each other" } }
        }
        @for line in notes { p.note { (section::prose(line)) } }
        details.between hidden {
            summary { "Messages between rows, sent in " span.whole { (whole) } }
            p.note {}
            label {
                "Colour " select.measure {
                    option value="bytes" { "bytes" }
                    option value="number" { "messages" }
                    option value="mean" { "mean time" }
                }
            }
            output.pair {}
            canvas.matrix role="img" aria-label="Messages by sender and receiver; the table has the numbers" {}
            div.scroll { table {
                thead { tr {
                    th scope="col" { "Sender" }
                    th scope="col" { "Receiver" }
                    th.n scope="col" { "Messages" }
                    th.n scope="col" { "Bytes" }
                    th.n scope="col" { "Mean time" }
                } }
                tbody {}
            } }
            div.sizes hidden {
                p { "All messages by length, sent in " span.sent {} "; times are from sending to receipt." }
                p.note {}
                div.scroll { table {
                    thead { tr {
                        th scope="col" { "Length" }
                        @for name in ["Messages", "Bytes", "Mean time", "Longest", "Bandwidth"] {
                            th.n scope="col" { (name) }
                        }
                    } }
                    tbody {}
                } }
            }
        }
        noscript {
            @match still {
                Ok((still, words)) => { img.still src={ "data:image/png;base64," (still) } alt=(words); }
                Err(_) => { p { "The timeline needs JavaScript. The table below is of the whole recording." } }
            }
        }
        (table)
    }
}

/// Returns the names of the entries of a legend, shortened so that different names stay different.
fn names(entries: &[Entry]) -> Vec<String> {
    shortened_apart(entries.iter().map(|entry| entry.name.as_str()), NAME)
}

/// Longest name in the legend, in characters. Names of kernels have hundreds.
const NAME: usize = 72;

/// Maximum number of rows of the text table, which the script replaces by the rows on the screen.
const TABLE: usize = 64;

pub(super) fn table(
    (groups, nodes): (&Groups, &[Node]),
    usage: &[Usage],
    classes: &Classes,
    (whole, has_own_spans): (&str, bool),
) -> Markup {
    let roots = nodes.iter().zip(usage);
    let roots = roots.take_while(|(node, _)| node.parent.is_none());
    let count = roots.clone().count();
    let which = match count {
        ..=TABLE => "folded rows".to_owned(),
        _ => format!(
            "first {TABLE} of {} folded rows",
            number::count(count as u64)
        ),
    };
    html! {
        details.table {
            summary { "Table of the " span.which { (which) } ", over " span.whole { (whole) } }
            div.scroll {
                table {
                    thead { tr {
                        th scope="col" { "Row" }
                        th.n scope="col" { "Streams" }
                        th.n scope="col" { (if has_own_spans { "Busy of its span" } else { "Busy" }) }
                        th scope="col" { "States by time" }
                    } }
                    tbody {
                        @for (node, usage) in roots.take(TABLE) {
                            @let group = groups.get(node.group);
                            tr {
                                th scope="row" { (section::name(group.map_or("", |group| &group.label))) }
                                td.n { (number::count(group.map_or(0, |group| group.streams.len() as u64))) }
                                td.n { (number::percent(busy_share(usage, group.map_or_else(Default::default, |it| it.kind), has_own_spans))) }
                                td {
                                    @for (name, share) in legend::named(usage, classes).take(4) {
                                        (section::name(name)) " " (number::percent(share)) ". "
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
