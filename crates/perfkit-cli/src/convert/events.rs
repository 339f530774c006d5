//! Table of the events of a trace, for the conversion to CSV.

use perfkit::core::{Event, Nanos, Table, Trace};

/// Columns of the table.
#[derive(Default)]
struct Cells {
    /// Name of the location of each event.
    locations: Vec<String>,
    /// Time of each event; `None` if it cannot be represented in nanoseconds.
    times: Vec<Option<Nanos>>,
    /// Kind of each event.
    events: Vec<String>,
    /// Region that the event enters or leaves.
    regions: Vec<Option<String>>,
    /// Rank at the other end of a message in its communicator.
    peers: Vec<Option<u64>>,
    /// Tag of a message.
    tags: Vec<Option<u64>>,
    /// Length of a message in bytes.
    bytes: Vec<Option<u64>>,
}

/// Returns a row for each event, and the number of events with values that have no column.
pub(super) fn table(trace: &Trace) -> (Table, u64) {
    let definitions = trace.definitions();
    let (system, clock) = (&definitions.system, definitions.clock);
    let region_name = |region: usize| definitions.regions.get(region).map(|it| it.name.clone());
    let (mut cells, mut partial) = (Cells::default(), 0);
    for location in trace.view().locations() {
        let label = system.label(location.id());
        for (at, event) in location.iter() {
            cells.locations.push(label.clone());
            cells.times.push(clock.nanos(at));
            cells.events.push(definitions.event_name(event).to_string());
            let (mut region, mut transfer) = (None, None);
            match event {
                Event::Enter { region: id } | Event::Leave { region: id } => {
                    region = region_name(id.index());
                }
                Event::Send(of) | Event::Recv(of) => transfer = Some(of),
                Event::CollectiveBegin | Event::Measuring { .. } => {}
                _ => partial += 1,
            }
            cells.regions.push(region);
            cells.peers.push(transfer.map(|of| u64::from(of.peer)));
            cells.tags.push(transfer.map(|of| u64::from(of.tag)));
            cells.bytes.push(transfer.map(|of| of.bytes));
        }
    }
    let table = Table::new("events", "Events of the trace by location and time.")
        .text("location", cells.locations)
        .times("time", cells.times)
        .text("event", cells.events)
        .text("region", cells.regions)
        .unsigned("peer", "", cells.peers)
        .unsigned("tag", "", cells.tags)
        .unsigned("size", "B", cells.bytes);
    (table, partial)
}
