//! Findings about the distribution of time: classes of regions, load imbalance, and call paths.

use super::Part;
use super::findings::{Finding, Kind, list, percent, time};
use super::sources::Source;
use super::times::{Class, PathTime, Times};
use crate::failure::{Failure, input};
use crate::progress::Bar;
use crate::table::shortened;
use perfkit::core::{CancelToken, Profile, Ticks, TimeRange, TraceView};

/// Smallest share of the time in a class of regions that is a finding.
const MIN_CLASS_SHARE: f64 = 0.05;
/// Smallest share of the time outside all regions that is a finding. Threads that start late and end early are usual.
const MIN_IDLE_SHARE: f64 = 0.1;
/// Smallest ratio of the largest to the mean computing time that is a load imbalance.
const MIN_MAX_TO_MEAN: f64 = 1.05;
/// Smallest share of the time that perfect balance could save and that is a finding.
const MIN_SAVING_SHARE: f64 = 0.02;
/// Largest relative distance to the largest computing time of ranks that are listed as the slowest.
const SLOWEST_WITHIN: f64 = 0.1;
/// Largest number of slowest ranks that are listed.
const MAX_LISTED: usize = 6;
/// Largest number of call paths with uneven times.
const MAX_UNEVEN_PATHS: usize = 3;
/// Largest share of the saving of one call path in the whole above which it repeats the load imbalance.
const MAX_SAME_SHARE: f64 = 0.95;
/// Share of a symptom above which a cause explains it and precedes it in the list.
pub(super) const MIN_EXPLAINED: f64 = 0.5;
/// Number of windows in which the imbalance is compared.
const WINDOWS: u64 = 10;
/// Largest number of letters of a call path in a sentence.
const MAX_NAME: usize = 80;
/// Smallest share of the saving that the reported window holds.
const MIN_WINDOW_SHARE: f64 = 0.5;
/// Largest part of the run that is a window worth reporting.
const MAX_WINDOW_PART: f64 = 0.6;

/// Time that the slowest member has more than the others.
#[derive(Clone, Debug)]
struct Spread {
    /// Largest value.
    max: f64,
    /// Mean value.
    mean: f64,
    /// Members within [`SLOWEST_WITHIN`] of the largest value, by falling value.
    slowest: Vec<usize>,
    /// Sum over the members of the largest value less their own, in thread time.
    saving: f64,
}

impl Spread {
    /// Compares values of the members, each per thread.
    fn of(values: &[f64], times: &Times) -> Option<Self> {
        let max = values.iter().copied().fold(0.0, f64::max);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        if values.len() < 2 || mean <= 0.0 {
            return None;
        }
        let mut slowest: Vec<usize> = (0..values.len()).collect();
        slowest.retain(|at| values[*at] >= (1.0 - SLOWEST_WITHIN) * max);
        slowest.sort_by(|one, other| values[*other].total_cmp(&values[*one]).then(one.cmp(other)));
        let threads = times.members.iter().map(|member| member.threads as f64);
        let saving = values
            .iter()
            .zip(threads)
            .map(|(value, threads)| (max - value) * threads);
        Some(Spread {
            max,
            mean,
            slowest,
            saving: saving.sum(),
        })
    }

    fn ratio(&self) -> f64 {
        self.max / self.mean
    }

    /// Names of the slowest members: `ranks 5, 6 and 9`.
    fn names(&self, times: &Times) -> String {
        names(&self.slowest, times)
    }
}

/// Returns the plural of the noun for a member.
fn plural(noun: &str) -> &'static str {
    match noun {
        "process" => "processes",
        "rank" => "ranks",
        _ => "threads",
    }
}

/// Returns the names of members: `rank 5`, `ranks 5, 6 and 9`.
fn names(of: &[usize], times: &Times) -> String {
    let mut of = of.to_vec();
    of.sort_unstable();
    let shown = of
        .iter()
        .take(MAX_LISTED)
        .filter_map(|at| times.members.get(*at));
    let mut words: Vec<String> = shown
        .map(|member| {
            member
                .rank
                .map_or_else(|| member.name.clone(), |rank| rank.to_string())
        })
        .collect();
    if of.len() > MAX_LISTED {
        words.push(format!("{} more", of.len() - MAX_LISTED));
    }
    let plural = plural(times.noun);
    let noun = if of.len() == 1 { times.noun } else { plural };
    format!("{noun} {}", list(&words))
}

/// Command line options that group regions of a class in a timeline.
fn group(class: Class) -> &'static [&'static str] {
    match class {
        Class::Communication => &["--group", "MPI=MPI_*"],
        _ => &[],
    }
}

/// A source with its times.
pub(super) struct Balance<'a> {
    pub(super) source: &'a Source,
    pub(super) times: &'a Times,
    /// The trace that the times are of.
    pub(super) view: Option<TraceView<'a>>,
    /// `true` if the recording has a grid of its ranks.
    pub(super) has_grid: bool,
}

impl Balance<'_> {
    /// Returns all findings about the distribution of time.
    ///
    /// # Errors
    /// [`Failure::Input`] if a window of the trace makes no profile.
    pub(super) fn part(&self) -> Result<Part, Failure> {
        let mut part = Part::default();
        if self.times.threads == 0 || self.times.total <= 0.0 {
            part.skip("time by call path", "no CPU thread has times");
            return Ok(part);
        }
        let imbalance = self.imbalance(&mut part)?;
        self.classes(imbalance.as_ref(), &mut part);
        if let Some((mut finding, saving)) = imbalance {
            let waits =
                self.times.class(Class::Communication) + self.times.class(Class::Synchronisation);
            if saving >= MIN_EXPLAINED * waits {
                // The cause of waiting precedes it.
                finding.weight = finding.weight.max(self.times.share(waits) + f64::EPSILON);
            }
            part.findings.push(finding);
        }
        self.uneven_paths(&mut part);
        self.top(&mut part);
        Ok(part)
    }

    fn fold(&self, more: &[&str]) -> String {
        match self.view {
            Some(_) => self.source.command(
                &["fold"],
                &[&["--by", self.row()], more, &["--html", "closer.html"]].concat(),
            ),
            None => self.source.command(&["inspect"], &["--top", "20"]),
        }
    }

    fn row(&self) -> &'static str {
        match self.times.noun {
            "thread" => "location",
            _ => "process",
        }
    }

    /// Returns `true` if members wait for each other: ranks that communicate, or threads that OpenMP synchronises.
    fn are_coupled(&self) -> bool {
        let class = match self.times.noun {
            "thread" => Class::Synchronisation,
            _ => Class::Communication,
        };
        let coupled = self
            .times
            .members
            .iter()
            .filter(|member| member.classes[class as usize] > 0.0);
        2 * coupled.count() > self.times.members.len()
    }

    /// Returns the finding about computing times, with the saving of perfect balance in nanoseconds.
    fn imbalance(&self, part: &mut Part) -> Result<Option<(Finding, f64)>, Failure> {
        let times = self.times;
        let analysis = "load balance";
        if times.members.len() < 2 {
            part.skip(
                analysis,
                "one CPU thread; there is nothing to compare it with",
            );
            return Ok(None);
        }
        if !self.are_coupled() {
            let reason = format!(
                "nothing shows that the {} wait for each other, so that unequal computing times are no finding",
                plural(times.noun)
            );
            part.skip(analysis, &reason);
            return Ok(None);
        }
        let computing: Vec<f64> = times
            .members
            .iter()
            .map(|member| member.per_thread(Class::Computing))
            .collect();
        let Some(spread) = Spread::of(&computing, times) else {
            part.skip(analysis, "no computing time is recorded");
            return Ok(None);
        };
        let share = times.share(spread.saving);
        if spread.ratio() < MIN_MAX_TO_MEAN || share < MIN_SAVING_SHARE {
            part.pass(format!(
                "no load imbalance above {:.0} %: max/mean of computing time is {:.3} over {} {}, and perfect balance would save at most \
                 {} of the time",
                100.0 * (MIN_MAX_TO_MEAN - 1.0),
                spread.ratio(),
                times.members.len(),
                plural(times.noun),
                percent(share),
            ));
            return Ok(None);
        }
        let waiting = |at: usize| {
            let member = &times.members[at];
            member.per_thread(Class::Communication) + member.per_thread(Class::Synchronisation)
        };
        let least =
            (0..times.members.len()).min_by(|one, other| waiting(*one).total_cmp(&waiting(*other)));
        let waits_least = match least.is_some_and(|least| spread.slowest.contains(&least)) {
            true if spread.slowest.len() > 1 => " and wait least",
            true => " and waits least",
            false => "",
        };
        let verb = if spread.slowest.len() == 1 {
            "computes"
        } else {
            "compute"
        };
        let window = self.window()?;
        let growth = match &window {
            Some(window) => format!(
                "; {} of that falls between {} and {}",
                percent(window.share),
                time(window.from as f64),
                time(window.to as f64)
            ),
            None => String::new(),
        };
        let per = if times.threads > times.members.len() {
            " a thread"
        } else {
            ""
        };
        let sentence = format!(
            "{} {verb} longest{waits_least}: {} of computing{per} against {} in the mean of {} {}, max/mean {:.2}. Perfect balance \
             would save at most {}, {} of the {}{growth}.",
            spread.names(times),
            time(spread.max),
            time(spread.mean),
            times.members.len(),
            plural(times.noun),
            spread.ratio(),
            time(spread.saving),
            percent(share),
            self.of(),
        );
        let worst = spread.slowest.first().and_then(|at| times.members.get(*at));
        let uneven = self.uneven().into_iter().next();
        let command = match &window {
            Some(window) => self.fold(&[
                "--from",
                &window.option(window.from),
                "--to",
                &window.option(window.to),
            ]),
            None => self.fold(&[]),
        };
        let figure = ("max/mean of computing time", spread.ratio(), "1");
        let finding = Finding::new(
            Kind::LoadImbalance,
            &self.source.name,
            Some(share),
            times.denominator(),
            figure,
            sentence,
        );
        let finding = finding.next(command).at(|place| {
            place.rank = worst.and_then(|member| member.rank);
            place.location = worst.map(|member| member.label());
            place.call_path = uneven.map(|(path, _)| path.name.clone());
            place.from_ns = window.as_ref().map(|window| window.from);
            place.to_ns = window.as_ref().map(|window| window.to);
        });
        Ok(Some((finding, spread.saving)))
    }

    /// Returns the denominator in words.
    fn of(&self) -> String {
        match self.times.duration {
            Some(duration) => format!(
                "time ({} x {})",
                super::findings::count(self.times.threads as u64, "CPU thread", "CPU threads"),
                time(duration)
            ),
            None => "time (exclusive time of all call paths and locations)".into(),
        }
    }

    /// Returns the shortest window that holds most of the imbalance; `None` if it is spread over the run.
    fn window(&self) -> Result<Option<Window>, Failure> {
        let (Some(view), Some(range)) = (self.view, self.view.and_then(|view| view.range())) else {
            return Ok(None);
        };
        let length = range.len() / WINDOWS;
        if length == 0 {
            return Ok(None);
        }
        let clock = view.definitions().clock;
        let tick = |at: u64| match at {
            WINDOWS => range.end,
            at => Ticks(range.start.0 + at * length),
        };
        let mut savings = Vec::new();
        for at in 0..WINDOWS {
            let Some(window) = TimeRange::new(tick(at), tick(at + 1)) else {
                return Ok(None);
            };
            let made = Profile::from_trace(view.between(window), &Bar::new(), &CancelToken::new());
            let (profile, _) = made.map_err(input)?;
            let length = clock.total(u128::from(window.len())).0 as f64;
            let computing = self.times.computing_in(&profile, length)?;
            savings.push(Spread::of(&computing, self.times).map_or(0.0, |spread| spread.saving));
        }
        let total: f64 = savings.iter().sum();
        let most = (MAX_WINDOW_PART * WINDOWS as f64) as usize;
        let held = |from: usize, count: usize| savings[from..from + count].iter().sum::<f64>();
        let mut shortest = None;
        for count in 1..=most {
            let starts = 0..=savings.len() - count;
            let best =
                starts.max_by(|one, other| held(*one, count).total_cmp(&held(*other, count)));
            if let Some(from) = best.filter(|from| held(*from, count) >= MIN_WINDOW_SHARE * total) {
                shortest = Some((from, count));
                break;
            }
        }
        // A window as long as its share of the imbalance says nothing.
        let even = |count: usize| count as f64 / WINDOWS as f64 > 0.8 * MIN_WINDOW_SHARE;
        Ok(shortest
            .filter(|(_, count)| total > 0.0 && !even(*count))
            .and_then(|(from, count)| {
                Some(Window {
                    share: held(from, count) / total,
                    from: clock.nanos(tick(from as u64))?.0,
                    to: clock.nanos(tick((from + count) as u64))?.0,
                })
            }))
    }

    /// Adds a finding for each class of regions that takes much time.
    fn classes(&self, imbalance: Option<&(Finding, f64)>, part: &mut Part) {
        let times = self.times;
        let mut below = Vec::new();
        for (class, kind, name) in [
            (
                Class::Communication,
                Kind::Communication,
                "communication (MPI)",
            ),
            (
                Class::Synchronisation,
                Kind::Synchronisation,
                "OpenMP synchronisation",
            ),
            (Class::InputOutput, Kind::InputOutput, "input and output"),
            (
                Class::DeviceCalls,
                Kind::DeviceCalls,
                "calls of the device runtime",
            ),
            (Class::Idle, Kind::IdleTime, "idle states"),
        ] {
            let spent = times.class(class);
            let share = times.share(spent);
            if share < MIN_CLASS_SHARE {
                if spent > 0.0 {
                    below.push(format!("{name} {}", percent(share)));
                }
                continue;
            }
            let values: Vec<f64> = times
                .members
                .iter()
                .map(|member| member.per_thread(class))
                .collect();
            let by = |one: &usize, other: &usize| values[*one].total_cmp(&values[*other]);
            let (least, most) = ((0..values.len()).min_by(by), (0..values.len()).max_by(by));
            let per = times
                .duration
                .unwrap_or_else(|| times.total / times.threads.max(1) as f64);
            let spread = match (least, most) {
                (Some(least), Some(most)) if least != most => format!(
                    ", from {} on {} to {} on {}",
                    percent(values[least] / per),
                    times.members[least].label(),
                    percent(values[most] / per),
                    times.members[most].label()
                ),
                _ => String::new(),
            };
            let top = times.paths.iter().find(|path| path.class == class);
            let mostly = top.map_or_else(String::new, |top| {
                format!(
                    "; {} of it in {}",
                    percent(top.sum / spent),
                    shortened(&top.name, MAX_NAME)
                )
            });
            let waits = matches!(class, Class::Communication | Class::Synchronisation);
            let cause = imbalance.filter(|_| waits);
            let cause = cause.map_or_else(String::new, |(_, saving)| {
                format!(
                    ". Load imbalance explains up to {} of it",
                    percent((saving / spent).min(1.0))
                )
            });
            let sentence = format!(
                "{} of the {} goes to {name}{spread}{mostly}{cause}.",
                percent(share),
                self.of()
            );
            let figure = ("time", spent, "ns");
            let finding = Finding::new(
                kind,
                &self.source.name,
                Some(share),
                times.denominator(),
                figure,
                sentence,
            );
            let worst = most
                .and_then(|most| times.members.get(most))
                .filter(|_| least != most);
            part.findings
                .push(finding.next(self.fold(group(class))).at(|place| {
                    place.rank = worst.and_then(|member| member.rank);
                    place.location = worst.map(|member| member.label());
                    place.call_path = top.map(|top| top.name.clone());
                }));
        }
        if !below.is_empty() {
            let below = below.join(", ");
            part.pass(format!(
                "below {} of the time: {below}",
                percent(MIN_CLASS_SHARE)
            ));
        }
        self.outside(part);
    }

    /// Adds a finding if threads are outside all regions for long.
    fn outside(&self, part: &mut Part) {
        let times = self.times;
        let outside: f64 = times.members.iter().map(|member| member.outside).sum();
        let share = times.share(outside);
        if share < MIN_IDLE_SHARE {
            return;
        }
        let most = times.members.iter().max_by(|one, other| {
            let per = |member: &super::times::Member| member.outside / member.threads.max(1) as f64;
            per(one).total_cmp(&per(other))
        });
        let sentence = format!(
            "{} of the {} lies outside all recorded regions: threads that start late, end early or have nothing to do between \
             regions.",
            percent(share),
            self.of()
        );
        let figure = ("time outside regions", outside, "ns");
        let finding = Finding::new(
            Kind::OutsideRegions,
            &self.source.name,
            Some(share),
            times.denominator(),
            figure,
            sentence,
        );
        let command = self
            .source
            .command(&["fold"], &["--by", "location", "--html", "closer.html"]);
        part.findings.push(finding.next(command).at(|place| {
            place.rank = most.and_then(|member| member.rank);
            place.location = most
                .filter(|_| times.members.len() > 1)
                .map(|member| member.label());
        }));
    }

    /// Returns computing call paths whose times differ between members, by falling saving.
    fn uneven(&self) -> Vec<(&PathTime, Spread)> {
        let times = self.times;
        let computing = times
            .paths
            .iter()
            .filter(|path| path.class == Class::Computing);
        let mut found: Vec<(&PathTime, Spread)> = computing
            .filter_map(|path| {
                let threads = times
                    .members
                    .iter()
                    .map(|member| member.threads.max(1) as f64);
                let values = path
                    .members
                    .iter()
                    .zip(threads)
                    .map(|(sum, threads)| sum / threads);
                let spread = Spread::of(&values.collect::<Vec<_>>(), times)?;
                let is_large = times.share(spread.saving) >= MIN_SAVING_SHARE;
                (spread.ratio() >= MIN_MAX_TO_MEAN && is_large).then_some((path, spread))
            })
            .collect();
        found.sort_by(|(_, one), (_, other)| other.saving.total_cmp(&one.saving));
        found
    }

    fn uneven_paths(&self, part: &mut Part) {
        let times = self.times;
        if times.members.len() < 2 || !self.are_coupled() {
            return;
        }
        let computing = times.class(Class::Computing);
        for (path, spread) in self.uneven().into_iter().take(MAX_UNEVEN_PATHS) {
            // The only computing call path of the recording repeats the load imbalance.
            if path.sum >= MAX_SAME_SHARE * computing {
                continue;
            }
            let share = times.share(spread.saving);
            let (worst, others) = spread
                .slowest
                .split_first()
                .map_or((0, &[][..]), |(first, rest)| (*first, rest));
            let others = match others.len() {
                0 => String::new(),
                _ => format!(" (and nearly as long on {})", names(others, times)),
            };
            let sentence = format!(
                "{} takes {} on {}{others} against {} in the mean of all {}, max/mean {:.2}. Together the others spend {} less in it, \
                 {} of the {}.",
                shortened(&path.name, MAX_NAME),
                time(spread.max),
                names(&[worst], times),
                time(spread.mean),
                plural(times.noun),
                spread.ratio(),
                time(spread.saving),
                percent(share),
                self.of()
            );
            let worst = spread.slowest.first().and_then(|at| times.members.get(*at));
            let figure = ("max/mean of exclusive time", spread.ratio(), "1");
            let finding = Finding::new(
                Kind::UnevenCallPath,
                &self.source.name,
                Some(share),
                times.denominator(),
                figure,
                sentence,
            );
            let path_name = path.name.as_str();
            let command = match self.view {
                Some(_) => self.fold(&["--op", "diff"]),
                None if self.has_grid => self.source.command(
                    &["correlate"],
                    &[
                        "--path",
                        path_name,
                        "--metric",
                        &times.metric,
                        "--html",
                        "closer.html",
                    ],
                ),
                None => self.fold(&[]),
            };
            part.findings.push(finding.next(command).at(|place| {
                place.rank = worst.and_then(|member| member.rank);
                place.location = worst.map(|member| member.label());
                place.call_path = Some(path.name.clone());
            }));
        }
    }

    /// Adds the computing call path with the largest exclusive time, or the first of all without one.
    fn top(&self, part: &mut Part) {
        let times = self.times;
        let computing = times
            .paths
            .iter()
            .find(|path| path.class == Class::Computing);
        let Some(top) = computing.or(times.paths.first()) else {
            return;
        };
        let share = times.share(top.sum);
        let what = match top.class {
            Class::Computing => "the computing call path",
            _ => "the call path",
        };
        let sentence = format!(
            "{} is {what} with the largest exclusive time: {}, {} of the {}.",
            shortened(&top.name, MAX_NAME),
            time(top.sum),
            percent(share),
            self.of()
        );
        let figure = ("exclusive time", top.sum, "ns");
        let finding = Finding::new(
            Kind::TopCallPath,
            &self.source.name,
            Some(share),
            times.denominator(),
            figure,
            sentence,
        );
        let command = self.source.command(&["inspect"], &["--top", "20"]);
        part.findings.push(
            finding
                .next(command)
                .at(|place| place.call_path = Some(top.name.clone())),
        );
    }
}

/// Part of the run.
struct Window {
    /// Share of the imbalance that it holds.
    share: f64,
    from: i64,
    to: i64,
}

impl Window {
    /// Returns a time as the options `--from` and `--to` take it.
    fn option(&self, nanos: i64) -> String {
        option(nanos)
    }
}

/// Returns a time in nanoseconds as the options `--from` and `--to` take it, in the largest unit that keeps it exact
/// to a microsecond.
pub(super) fn option(nanos: i64) -> String {
    match nanos {
        _ if nanos.abs() < 1_000_000 => format!("{nanos}ns"),
        _ => format!("{}ms", (nanos as f64 / 1e3).round() / 1e3),
    }
}
