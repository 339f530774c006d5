//! Findings of the report about the distribution of time: region classes, load imbalance, and largest call paths.

use super::spread::{Spread, names, plural};
use super::window::Window;
use super::{Finding, Kind, percent, time};
use crate::failure::Failure;
use crate::options::time_option;
use crate::report::Part;
use crate::report::exclusive_times::{Class, PathTime, RUNNING, Times};
use crate::report::sources::Source;
use crate::table::{grouped, shortened};
use perfkit::core::TraceView;
use std::collections::BTreeMap;

/// Smallest share of the time in a class of regions that is a finding.
const MIN_CLASS_SHARE: f64 = 0.05;
/// Smallest share of the time outside all regions that is a finding. It is not smaller because late
/// starts and early ends of threads are usual.
const MIN_IDLE_SHARE: f64 = 0.1;
/// Smallest ratio of the largest to the mean computing time that is a load imbalance.
const MIN_MAX_TO_MEAN: f64 = 1.05;
/// Smallest share of the time that perfect balance could save at which an imbalance is a finding.
const MIN_SAVING_SHARE: f64 = 0.02;
/// Largest number of call paths with uneven times that are reported.
const MAX_UNEVEN_PATHS: usize = 3;
/// Share of the computing time at which a call path repeats the load imbalance and is not reported.
const MAX_SAME_SHARE: f64 = 0.95;
/// Smallest share of a symptom that a cause must explain to precede the symptom in the list.
pub(super) const MIN_EXPLAINED: f64 = 0.5;
/// Parts of names by which functions that compilers create for OpenMP regions, and OpenMP regions, are recognised.
const OPENMP_NAMES: [&str; 3] = ["._omp_fn.", ".omp_outlined", "!$omp"];
/// Largest number of letters of a call path in a sentence.
const MAX_NAME: usize = 80;

/// Command line options that group regions of a class in a timeline.
fn group(class: Class) -> &'static [&'static str] {
    match class {
        Class::Communication => &["--group", "MPI=MPI_*"],
        _ => &[],
    }
}

/// Recording with its times.
pub(in crate::report) struct Balance<'a> {
    /// Recording.
    pub(in crate::report) source: &'a Source,
    /// Exclusive times of its CPU threads.
    pub(in crate::report) times: &'a Times,
    /// Trace from which the times were computed; `None` for a profile.
    pub(in crate::report) view: Option<TraceView<'a>>,
    /// `true` if the recording or an option has a grid of the ranks.
    pub(in crate::report) has_grid: bool,
}

impl Balance<'_> {
    /// Returns all findings about the distribution of time.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if no profile of a window of the trace can be computed.
    pub(in crate::report) fn part(&self) -> Result<Part, Failure> {
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
                // The cause of waiting is listed before it.
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
            None if self.times.noun != "thread" => {
                self.source.command(&["inspect"], &["--by", "rank"])
            }
            None => self.source.command(&["inspect"], &["--top", "20"]),
        }
    }

    fn row(&self) -> &'static str {
        match self.times.noun {
            "thread" => "location",
            _ => "process",
        }
    }

    /// Returns `true` if most members wait for each other: ranks that communicate, threads that OpenMP synchronises, or
    /// threads that share the work of an OpenMP region.
    fn are_coupled(&self) -> bool {
        let members = self.times.members.len();
        let are_most = |count: usize| 2 * count > members;
        let class = match self.times.noun {
            "thread" => Class::Synchronisation,
            _ => Class::Communication,
        };
        let all = self.times.members.iter();
        let coupled = all.filter(|member| member.classes[class as usize] > 0.0);
        let shared = self.times.paths.iter().filter(|path| {
            let is_openmp = OPENMP_NAMES.iter().any(|part| path.name.contains(part));
            path.class == Class::Computing && is_openmp
        });
        let mut shared = shared.map(|path| path.members.iter().filter(|time| **time > 0.0).count());
        are_most(coupled.count()) || (self.times.noun == "thread" && shared.any(are_most))
    }

    /// Returns the finding about unequal computing times with the saving of perfect balance in nanoseconds. `None` if
    /// there is no load imbalance.
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
        let Some(spread) = self.computing() else {
            part.skip(analysis, "no computing time is recorded");
            return Ok(None);
        };
        let share = times.share(spread.saving);
        if spread.ratio() < MIN_MAX_TO_MEAN || share < MIN_SAVING_SHARE {
            let limit = if spread.ratio() < MIN_MAX_TO_MEAN {
                format!(
                    "no load imbalance above {:.0} %",
                    100.0 * (MIN_MAX_TO_MEAN - 1.0)
                )
            } else {
                format!(
                    "no load imbalance that concerns {} of the time",
                    percent(MIN_SAVING_SHARE)
                )
            };
            part.pass(format!(
                "{limit}: max/mean of computing time is {:.3} over {} {}, and perfect balance would save at most {} of the time",
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
        let named = spread.named();
        let others = (0..times.members.len()).filter(|at| !named.contains(at));
        let least = others.map(waiting).fold(f64::INFINITY, f64::min);
        let waits_least = named.iter().all(|at| waiting(*at) < least);
        let does = match (named.len(), waits_least) {
            (1, true) => "computes longest and waits least",
            (1, false) => "computes longest",
            (_, true) => "compute longest and wait least",
            (_, false) => "compute longest",
        };
        let window = Window::of(self.view, times)?;
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
            "{} {does}{}: {} of computing{per} against {} in the mean of {} {}, max/mean {:.2}. Perfect balance \
             would save at most {}, {} of the {}{growth}.",
            names(named, times),
            spread.unnamed(times),
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
                &time_option(window.from),
                "--to",
                &time_option(window.to),
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

    /// Compares the computing times of the members. `None` if there is nothing to compare.
    fn computing(&self) -> Option<Spread> {
        let members = self.times.members.iter();
        let computing: Vec<f64> = members
            .map(|member| member.per_thread(Class::Computing))
            .collect();
        Spread::of(&computing, self.times)
    }

    /// Describes the denominator of the shares.
    fn of(&self) -> String {
        match self.times.duration {
            Some(duration) => format!(
                "time ({} x {})",
                super::count(self.times.threads as u64, "CPU thread", "CPU threads"),
                time(duration)
            ),
            None => "time (exclusive time of all call paths and locations)".into(),
        }
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
                Class::StartUp,
                Kind::StartUp,
                "the start and the end of MPI",
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
                (Some(least), Some(most))
                    if percent(values[least] / per) != percent(values[most] / per) =>
                {
                    format!(
                        ", from {} on {} to {} on {}",
                        percent(values[least] / per),
                        times.members[least].label(),
                        percent(values[most] / per),
                        times.members[most].label()
                    )
                }
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
            let cause = match class {
                Class::StartUp => ". A longer run has a smaller share of it".into(),
                _ => cause,
            };
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

    /// Adds a finding if threads spend much time outside all regions.
    fn outside(&self, part: &mut Part) {
        let times = self.times;
        let outside: f64 = times.members.iter().map(|member| member.outside).sum();
        let share = times.share(outside);
        if share < MIN_IDLE_SHARE {
            return;
        }
        let most = times.members.iter().max_by(|one, other| {
            let per = |member: &crate::report::exclusive_times::Member| {
                member.outside / member.threads.max(1) as f64
            };
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

    /// Returns the computing call paths whose times differ between the members, in descending order of the saving.
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
        // Excess in one call path is made up for by other call paths, up to the load imbalance.
        let in_all = self.computing();
        let in_all = times.share(in_all.map_or(0.0, |spread| spread.saving));
        for (path, spread) in self.uneven().into_iter().take(MAX_UNEVEN_PATHS) {
            // A single computing call path repeats the load imbalance.
            if path.sum >= MAX_SAME_SHARE * computing {
                continue;
            }
            let share = times.share(spread.saving);
            let (worst, others) = spread
                .named()
                .split_first()
                .map_or((0, &[][..]), |(first, rest)| (*first, rest));
            let others = match others.len() {
                0 => spread.unnamed(times),
                _ => format!(" (and nearly as long on {})", names(others, times)),
            };
            let name = shortened(&path.name, MAX_NAME);
            let worst_name = names(&[worst], times);
            let made_up = if in_all < MIN_EXPLAINED * share {
                format!(
                    " Other call paths make up for most of it: in all computing, the {} spend {} less than the slowest.",
                    plural(times.noun),
                    percent(in_all)
                )
            } else {
                String::new()
            };
            let sentence = if spread.is_of_one(times.members.len()) {
                let alone = spread.max / times.duration.unwrap_or(f64::INFINITY);
                let of_run = match times.duration {
                    Some(_) => format!(", {} of the duration", percent(alone)),
                    None => String::new(),
                };
                format!(
                    "{name} runs on {worst_name} alone, for {}{of_run}. Together the others spend {} less in it, {} of the {}.{made_up}",
                    time(spread.max),
                    time(spread.saving),
                    percent(share),
                    self.of()
                )
            } else {
                format!(
                    "{name} takes {} on {worst_name}{others} against {} in the mean of all {}, max/mean {:.2}. Together the \
                     others spend {} less in it, {} of the {}.{made_up}",
                    time(spread.max),
                    time(spread.mean),
                    plural(times.noun),
                    spread.ratio(),
                    time(spread.saving),
                    percent(share),
                    self.of()
                )
            };
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
            let finding = Finding {
                weight: share.min(in_all),
                ..finding
            };
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

    /// Adds the computing function with the largest exclusive time over all of its call paths. If no function
    /// computes, adds the function with the largest exclusive time of all.
    fn top(&self, part: &mut Part) {
        let times = self.times;
        let is_computing = |path: &&PathTime| path.class == Class::Computing;
        let computes = times.paths.iter().any(|path| is_computing(&path));
        let mut functions: BTreeMap<&str, (f64, u64, &PathTime)> = BTreeMap::new();
        // The paths are in descending order of time, so that the first of a function is its largest.
        let paths = times.paths.iter();
        for path in paths.filter(|path| is_computing(path) || !computes) {
            // The state of a computing thread is no function.
            let name = match path.region.as_str() {
                RUNNING => path.name.as_str(),
                region => region,
            };
            let found = functions.entry(name).or_insert((0.0, 0, path));
            found.0 += path.sum;
            found.1 += 1;
        }
        let largest = functions
            .into_iter()
            .max_by(|(_, one), (_, other)| one.0.total_cmp(&other.0));
        let Some((function, (sum, paths, top))) = largest else {
            return;
        };
        let share = times.share(sum);
        let what = if computes { "computing " } else { "" };
        let taken = format!("{}, {} of the {}", time(sum), percent(share), self.of());
        let sentence = match paths {
            1 => format!(
                "{} is the {what}call path with the largest exclusive time: {taken}.",
                shortened(&top.name, MAX_NAME),
            ),
            more => format!(
                "{} is the {what}function with the largest exclusive time: {taken}, in {} call paths. The largest of them, {}, takes {}.",
                shortened(function, MAX_NAME),
                grouped(more),
                shortened(&top.name, MAX_NAME),
                time(top.sum)
            ),
        };
        let figure = ("exclusive time", sum, "ns");
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
