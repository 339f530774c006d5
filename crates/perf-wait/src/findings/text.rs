//! [`Finding::text`]: a finding as a sentence, with its locations, factors and the waiting that it causes.

use super::{Finding, FindingKind};
use crate::activity::Activities;
use crate::device_collectives::LateReason;
use crate::running_state;
use crate::training::Group;
use crate::waits::Pattern;
use perf_core::{CallPathId, Definitions, LocationId, RegionId};

impl Finding {
    /// Returns a sentence about the finding.
    pub fn text(&self, definitions: &Definitions, activities: &Activities) -> String {
        let name = |path: Option<CallPathId>| {
            let (paths, regions) = (activities.paths(), &definitions.regions);
            let Some(path) = path else {
                return "time outside of functions".to_owned();
            };
            // The state in which a thread computes says less than the function around it.
            match running_state::function(paths, definitions, path) {
                Some(function) => format!("`{}`", paths.name(function, regions)),
                None => format!("computation (state `{}`)", paths.name(path, regions)),
            }
        };
        let is_of_threads = self.longest.is_some_and(|it| it.pattern.is_local());
        let noun = if is_of_threads { "thread" } else { "rank" };
        let labels = activities.labels();
        // A location outside of the machine has no label.
        let label =
            |location: LocationId| labels.get(location.index()).cloned().unwrap_or_default();
        let (saved, share) = (self.saved, self.share * 100.0);
        let waiting = self.waiting();
        let held_up = self.held_up_words();
        match self.kind {
            FindingKind::Delay { location, path } => {
                let times = self.factor.map_or_else(String::new, |factor| {
                    format!(": it takes {} times as long as its peers", rounded(factor))
                });
                let (label, path) = (label(location), name(path));
                format!(
                    "{label} {held_up}, in {path}{times}; with the time of its peers the run takes {saved} less ({share:.1} %)"
                )
            }
            FindingKind::BadCalls {
                location,
                path,
                count,
            } => {
                let (label, path) = (label(location), name(Some(path)));
                let at = self
                    .window
                    .and_then(|it| activities.clock().nanos(it.start));
                let at = at.map_or_else(String::new, |at| format!(" at {at}"));
                let own = self.own.unwrap_or_default();
                let peers = self.peers.unwrap_or_default();
                let calls = match count {
                    1 => format!(
                        "one call of {path} on {label}{at} takes {own} where its peers take {peers}"
                    ),
                    _ => format!(
                        "{count} calls of {path} on {label} are far longer than those of its peers: the longest{at} takes {own} instead of {peers}"
                    ),
                };
                format!(
                    "{calls}; {waiting}, and with the time of its peers the run takes {saved} less ({share:.1} %)"
                )
            }
            FindingKind::MovingImbalance { path } => {
                let (path, cost) = (name(Some(path)), self.cost);
                let times = self.factor.map_or_else(String::new, |factor| {
                    format!(
                        ", while the slowest {noun} in it takes {} times the mean in total",
                        rounded(factor)
                    )
                });
                format!(
                    "delays in {path} that move from {noun} to {noun} cost the others {cost} of waiting in total{times}; balancing each call saves {saved} ({share:.1} % of the run time)"
                )
            }
            FindingKind::Imbalance { path } => {
                let times = self.factor.map_or_else(String::new, |factor| {
                    format!(
                        ": they take {} times as long as the others",
                        rounded(factor)
                    )
                });
                let (ranks, path) = (names(&self.locations, &labels), name(Some(path)));
                format!(
                    "{ranks} {held_up}, in {path}{times}; balancing it over all saves {saved} ({share:.1} % of the run time)"
                )
            }
            FindingKind::Serial { location, path }
                if self
                    .longest
                    .is_some_and(|it| it.pattern == Pattern::IdleThread) =>
            {
                let (label, cost) = (label(location), self.cost);
                let own = self.own.unwrap_or_default();
                let thread = if label.starts_with("rank ") {
                    format!("a thread of {label}")
                } else {
                    label
                };
                let (begin, end) = activities.range().unwrap_or_default();
                let runtime = activities
                    .clock()
                    .total(u128::from(end.saturating_since(begin)));
                let own_share = own.0 as f64 * 100.0 / runtime.0.max(1) as f64;
                let place = match path {
                    Some(path)
                        if running_state::function(activities.paths(), definitions, path)
                            .is_none() =>
                    {
                        String::new()
                    }
                    path => format!(" in {}", name(path)),
                };
                let idle = match self.held_up {
                    1 => "1 other thread is".to_owned(),
                    more => format!("{more} other threads are"),
                };
                format!(
                    "{thread} runs alone outside of parallel regions for {own} ({own_share:.1} % of the run time){place}: {idle} idle for {cost} in total meanwhile; sharing it among all saves at most {saved} ({share:.1} %)"
                )
            }
            FindingKind::Serial { location, path } => {
                let (label, path) = (label(location), name(path));
                format!(
                    "{path} runs on one thread of {label}: {waiting}; sharing it saves at most {saved} ({share:.1} % of the run time)"
                )
            }
            FindingKind::DeviceWork { location, path } => format!(
                "{} on {} keeps the host waiting for {}; without it the run is at most {saved} ({share:.1} % of the run time) shorter",
                name(Some(path)),
                label(location),
                self.cost
            ),
            FindingKind::LateRank { location, reason } => {
                let reason = match reason {
                    LateReason::Host => "its host launches them late",
                    LateReason::Copy => "copies run before them",
                    LateReason::Kernel => "its kernels take longer",
                    LateReason::Collective => "other collective operations run before them",
                    _ => "of work that the recording does not have",
                };
                format!(
                    "{} arrives last at collective operations because {reason}, and {waiting}; arriving together with the next one saves at most {saved} ({share:.1} % of the run time)",
                    label(location)
                )
            }
            FindingKind::HostWork { location, path } => format!(
                "accelerators are without work for {} because the host launches late, the largest part of it after {} of {}; launches in time after the first one save at most {saved} ({share:.1} % of the run time)",
                self.cost,
                name(Some(path)),
                label(location)
            ),
            FindingKind::SlowStep { function, step } => {
                let call = self.step_name(function, step, activities);
                let times = self.factor.unwrap_or(1.0);
                let at = self
                    .window
                    .and_then(|it| activities.clock().nanos(it.start));
                let at = at.map_or_else(String::new, |at| format!(" at {at}"));
                format!(
                    "{call}{at} takes {times:.2} times as long as others on most locations; it costs {saved} ({share:.1} % of the run time)"
                )
            }
            FindingKind::Training {
                part: part @ Group::Operation(_),
                ..
            } => format!(
                "`{part}` takes unequal time on ranks, stages and micro-batches; equal durations save {saved} ({share:.1} % of the step times)"
            ),
            FindingKind::Training { part, operation } => {
                let times = match (operation, self.factor) {
                    (Some(kind), Some(factor)) => format!(
                        ": its `{}` takes {} times as long as elsewhere",
                        kind.name(),
                        rounded(factor)
                    ),
                    _ => String::new(),
                };
                format!(
                    "{part} slows the training job down{times}; ideal durations there save {saved} ({share:.1} % of the step times)"
                )
            }
            FindingKind::Transfers => format!(
                "MPI calls take {} beyond their waiting for others, summed over ranks; without this time for transfer and progress the run takes up to {saved} less ({share:.1} % of the run time)",
                self.cost
            ),
        }
    }

    /// Returns `true` if the longest wait state that the finding causes is that of a location that causes it.
    fn holds_up_itself(&self) -> bool {
        self.longest
            .is_some_and(|it| self.locations.contains(&it.call.location))
    }

    /// Returns the waiting that the finding causes, as a clause.
    fn waiting(&self) -> String {
        let cost = self.cost;
        match self.held_up {
            0 if self.holds_up_itself() => {
                format!("no other waits for it, and it waits itself for {cost} in total")
            }
            0 => format!(
                "no other waits for it directly, but it causes {cost} of waiting through others"
            ),
            1 => format!("1 other waits {cost} in total"),
            more => format!("{more} others wait {cost} in total"),
        }
    }

    /// Returns the waiting that the locations of the finding cause, as a clause without its subject.
    fn held_up_words(&self) -> String {
        let (cost, is_one) = (self.cost, self.locations.len() == 1);
        let verb = |plain: &str| {
            if is_one {
                format!("{plain}s")
            } else {
                plain.into()
            }
        };
        let (hold, cause) = (verb("hold"), verb("cause"));
        let others = match self.held_up {
            0 if self.holds_up_itself() => {
                let whom = if is_one { "itself" } else { "one another" };
                return format!("{hold} up {whom}, for {cost} of waiting in total");
            }
            0 => {
                return format!(
                    "{hold} up no other directly but {cause} {cost} of waiting through others"
                );
            }
            1 => "1 other".to_owned(),
            more => format!("{more} others"),
        };
        format!("{hold} up {others} directly, for {cost} of waiting in total")
    }

    /// Returns the name of a step. That of a state is named after the calls around it.
    fn step_name(&self, function: RegionId, step: u64, activities: &Activities) -> String {
        let definitions = activities.definitions();
        let region = definitions.regions.get(function.index());
        let start = self.window.map(|it| it.start);
        let start = start.filter(|_| region.is_some_and(running_state::is_running));
        let Some((before, after)) = start.and_then(|at| activities.around(at)) else {
            return format!("call {step} of `{}`", definitions.region_name(function));
        };
        let name = |id| activities.call(id).map(|call| activities.call_name(call));
        let before = name(before).unwrap_or_default();
        let after = after.and_then(name);
        let after = after.map_or_else(String::new, |after| format!(" and before `{after}`"));
        let caller = self.caller.map_or_else(String::new, |caller| {
            format!(" in `{}`", definitions.region_name(caller))
        });
        format!("computation {step} of each rank, after `{before}`{after}{caller},")
    }
}

/// Returns a factor with three significant digits.
fn rounded(factor: f64) -> String {
    match factor {
        100.0.. => format!("{factor:.0}"),
        10.0.. => format!("{factor:.1}"),
        _ => format!("{factor:.2}"),
    }
}

/// Most names of locations in a sentence.
const MAX_NAMES: usize = 6;

/// Returns the names of locations, of ranks as `ranks 5, 6 and 9`.
fn names(locations: &[LocationId], labels: &[String]) -> String {
    let all: Vec<&str> = locations
        .iter()
        .filter_map(|id| labels.get(id.index()).map(String::as_str))
        .collect();
    // One word before all numbers: `rank`, or `THREAD` of Paraver.
    let noun = all.first().and_then(|it| it.split_once(' ')).map(|it| it.0);
    let number = |label: &&'_ str| {
        let rest = label.split_once(' ').filter(|it| Some(it.0) == noun)?.1;
        let is_number = rest.chars().all(|it| it.is_ascii_digit() || it == '.');
        is_number.then(|| label.len() - rest.len())
    };
    let starts: Option<Vec<usize>> = all.iter().map(number).collect();
    let (noun, all) = match (starts, noun) {
        (Some(starts), Some(noun)) => {
            let numbers = all.iter().zip(starts).map(|(it, at)| &it[at..]);
            (format!("{}s ", noun.to_lowercase()), numbers.collect())
        }
        _ => (String::new(), all),
    };
    match &all[..] {
        [first @ .., last] if all.len() <= MAX_NAMES && !first.is_empty() => {
            format!("{noun}{} and {last}", first.join(", "))
        }
        _ => {
            let (shown, more) = all.split_at(all.len().min(MAX_NAMES));
            match more.len() {
                0 => format!("{noun}{}", shown.join(", ")),
                more => format!("{noun}{} and {more} more", shown.join(", ")),
            }
        }
    }
}
