//! Tables of `wait`: wait states by kind and by rank, root causes, and all wait states.

use super::Analysis;
use perfkit::core::{CallPathId, LocationId, Nanos, Table, Ticks};
use perfkit::wait::activity::CallId;
use perfkit::wait::waits::{Pattern, WaitState};
use std::collections::BTreeMap;

/// Sums over the wait states of one kind.
#[derive(Default)]
struct Sums {
    /// Number of wait states.
    count: u64,
    /// Waiting time in ticks.
    ticks: u64,
    /// Waiting time of each location in ticks.
    by_location: BTreeMap<LocationId, u64>,
}

impl Sums {
    fn add(&mut self, state: &WaitState) {
        self.count += 1;
        self.ticks = self.ticks.saturating_add(state.ticks);
        let own = self.by_location.entry(state.call.location).or_default();
        *own = own.saturating_add(state.ticks);
    }

    /// Returns the location that waits longest with its waiting time; the first if several wait equally long.
    fn worst(&self) -> Option<(LocationId, u64)> {
        let all = self
            .by_location
            .iter()
            .map(|(location, ticks)| (*location, *ticks));
        all.max_by_key(|(location, ticks)| (*ticks, std::cmp::Reverse(*location)))
    }
}

/// Returns a row for each kind of wait states that occurs, with the sum and the location that waits longest. Kinds that
/// are waiting time come first, after their sum.
pub(super) fn kinds(analysis: &Analysis) -> Table {
    let mut kinds: BTreeMap<(bool, Pattern), Sums> = BTreeMap::new();
    let mut all = Sums::default();
    for state in analysis.waits.states() {
        let is_waiting = state.pattern.is_waiting();
        kinds
            .entry((!is_waiting, state.pattern))
            .or_default()
            .add(state);
        if is_waiting {
            all.add(state);
        }
    }
    let mut rows: Vec<(&str, &str, &Sums)> = vec![("all waiting", "yes", &all)];
    let is_part = |is_other: bool| if is_other { "no" } else { "yes" };
    rows.extend(
        kinds
            .iter()
            .map(|((is_other, pattern), sums)| (pattern.name(), is_part(*is_other), sums)),
    );
    let rows = || rows.iter();
    let share = |sums: &Sums| 100.0 * analysis.time(sums.ticks).0 as f64 / analysis.all_time();
    let worst = |sums: &Sums| {
        sums.worst()
            .map(|(location, _)| analysis.label(location).to_owned())
    };
    let most = |sums: &Sums| sums.worst().map(|(_, ticks)| analysis.time(ticks));
    Table::new(
        "wait states",
        "Time in calls that wait for others, summed over all ranks, threads and streams.",
    )
    .text("kind", rows().map(|row| row.0))
    .text("waiting", rows().map(|row| row.1))
    .unsigned("count", "", rows().map(|row| row.2.count))
    .times("total", rows().map(|row| analysis.time(row.2.ticks)))
    .floats(
        "share of time",
        "%",
        // Items that queue at the same time add up beyond the time of the run.
        rows().map(|row| (row.0 != Pattern::Queueing.name()).then(|| share(row.2))),
    )
    .text("worst location", rows().map(|row| worst(row.2)))
    .times("its time", rows().map(|row| most(row.2)))
}

/// Returns a row for each rank: useful time, waiting, the waiting that delays of the rank cause, and time on the
/// critical path.
pub(super) fn ranks(analysis: &Analysis) -> Table {
    let mut waiting: BTreeMap<LocationId, u64> = BTreeMap::new();
    for state in analysis
        .waits
        .states()
        .iter()
        .filter(|it| it.pattern.is_waiting())
    {
        *waiting.entry(state.call.location).or_default() += state.ticks;
    }
    let mut caused: BTreeMap<LocationId, f64> = BTreeMap::new();
    for cost in analysis.delays.costs() {
        *caused.entry(cost.location).or_default() += cost.short + cost.long;
    }
    let useful = analysis.efficiencies.iter().flat_map(|it| &it.processes);
    let mut useful: BTreeMap<_, _> = useful.map(|it| (it.location, it.time)).collect();
    if useful.is_empty() {
        let threads = analysis.hybrid.iter().flat_map(|it| &it.processes);
        useful.extend(threads.flat_map(|it| it.useful.iter().copied()));
    }
    let rows = || analysis.ranks.iter();
    // Locations without wait states are in neither map.
    let waits = |id: &LocationId| waiting.get(id).copied().unwrap_or_default();
    let causes = |id: &LocationId| caused.get(id).copied().unwrap_or_default() as u64;
    Table::new("ranks", "Useful time, waiting, waiting that delays of the rank cause, and critical path of each rank.")
        .text("rank", rows().map(|id| analysis.label(*id)))
        .times("useful", rows().map(|id| useful.get(id).copied()))
        .times("waiting", rows().map(|id| analysis.time(waits(id))))
        .times("causes", rows().map(|id| analysis.time(causes(id))))
        .times(
            "critical path",
            rows().map(|id| analysis.time(analysis.path.ticks_on(*id))),
        )
}

/// Returns the delays of each call path and location in descending order of the waiting that they cause.
pub(super) fn root_causes(analysis: &Analysis) -> Table {
    let mut sums: BTreeMap<(LocationId, Option<CallPathId>), (f64, f64)> = BTreeMap::new();
    for cost in analysis.delays.costs() {
        let (short, long) = sums.entry((cost.location, cost.path)).or_default();
        *short += cost.short;
        *long += cost.long;
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by(|(_, one), (_, other)| (other.0 + other.1).total_cmp(&(one.0 + one.1)));
    let time = |ticks: f64| analysis.time(ticks.max(0.0) as u64);
    let rows = || rows.iter();
    let path = |path: Option<CallPathId>| path.map(|path| analysis.path_name(path));
    Table::new(
        "root causes",
        "Delays by the waiting that they cause, directly and through other waits.",
    )
    .text("location", rows().map(|row| analysis.label(row.0.0)))
    .text("call path", rows().map(|row| path(row.0.1)))
    .times("waiting", rows().map(|row| time(row.1.0 + row.1.1)))
    .times("directly", rows().map(|row| time(row.1.0)))
    .times("through others", rows().map(|row| time(row.1.1)))
}

/// Returns all wait states, in order of location and call.
pub(super) fn events(analysis: &Analysis) -> Table {
    let states = || analysis.waits.states().iter();
    let clock = analysis.activities.clock();
    let call = |id: CallId| analysis.activities.call(id);
    let path = |id: CallId| Some(analysis.path_name(call(id)?.path()?));
    let cause = |state: &WaitState| state.cause.map(|cause| analysis.label(cause.location));
    let at = |time: Ticks| clock.nanos(time);
    let entered = |state: &WaitState| -> Option<Nanos> { at(call(state.cause?)?.enter) };
    let message = |state: &WaitState| {
        analysis
            .activities
            .messages()
            .get(usize::try_from(state.message?).ok()?)
    };
    Table::new(
        "wait states",
        "All wait states, in order of location and call.",
    )
    .times("begin", states().map(|it| at(it.start)))
    .times("duration", states().map(|it| analysis.time(it.ticks)))
    .text("kind", states().map(|it| it.pattern.name()))
    .flags("waiting", states().map(|it| it.pattern.is_waiting()))
    .text(
        "location",
        states().map(|it| analysis.label(it.call.location)),
    )
    .text("call path", states().map(|it| path(it.call)))
    .times(
        "enter",
        states().map(|it| call(it.call).and_then(|it| at(it.enter))),
    )
    .text("cause location", states().map(cause))
    .text(
        "cause call path",
        states().map(|it| it.cause.and_then(path)),
    )
    .times("cause enter", states().map(entered))
    .unsigned(
        "bytes",
        "B",
        states().map(|it| message(it).map(|it| it.bytes)),
    )
    .unsigned(
        "tag",
        "",
        states().map(|it| message(it).map(|it| u64::from(it.tag))),
    )
    .unsigned(
        "collective",
        "",
        states().map(|it| it.collective.map(u64::from)),
    )
}
