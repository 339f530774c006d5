//! Command line of `fold`: [`Options`] and the [`Operation`] of a fold by name; [`Rows`]: options
//! of rows and states that `serve` shares, and the timelines that they make.

use super::Rules;
use super::counters::CountersBy;
use super::states::States;
use crate::clocks::{Clocks, ClocksBy};
use crate::failure::{Failure, Outcome, input};
use crate::messages;
use crate::options::{General, TRACE, UnifyBy, Window, file_names, named_glob, words};
use crate::pictures::{self, Files};
use crate::recording::{Reading, Recording};
use crate::suggest::{hint, near};
use crate::table::counted;
use clap::Args;
use perfkit::core::{
    Close, Job, LocationId, LocationKind, RegionId, SystemTree, Ticks, TraceView, Visitor, replay,
};
use perfkit::fold::{
    FoldParams, Folder, GroupBy, Groups, Op, RegionGroups, RegionMap, RowOrder, Selection,
    StateMap, Timelines,
};
use perfkit::view::timeline::Measure;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Rows and states of a timeline.
#[derive(Args, Clone, Debug)]
pub struct Rows {
    /// Streams that share a row [default: device if there are accelerators, otherwise all]
    #[arg(long, value_name = "LEVEL", value_parser = words(&[
        ("all", GroupBy::All, "all streams of one kind"),
        ("node", GroupBy::Node, "streams of a node"),
        ("process", GroupBy::Process, "streams of a process"),
        ("rank", GroupBy::Process, "the same as process"),
        ("device", GroupBy::Device, "streams of an accelerator"),
        ("location", GroupBy::Location, "one stream"),
    ]))]
    by: Option<GroupBy>,
    /// Order of the rows, and of the members of each row
    #[arg(long, value_name = "ORDER", default_value = "recorded", value_parser = words(&[
        ("recorded", RowOrder::Recorded, "that of the recording"),
        ("name", RowOrder::Name, "by name; numbers within names by value"),
        ("behaviour", RowOrder::Behaviour, "rows with time in the same states together"),
        ("busy", RowOrder::Busy, "the busiest first"),
        ("wait", RowOrder::Wait, "the most time in MPI first"),
    ]))]
    order: RowOrder,
    /// Make regions whose names match one state NAME, such as MPI=MPI_*; repeatable
    #[arg(long = "group", value_name = "NAME=GLOB", value_parser = named_glob)]
    groups: Vec<(String, String)>,
    /// Show the frame at this depth of the call stack, 0 for the outermost [default: the innermost frame]
    #[arg(long, value_name = "D")]
    depth: Option<usize>,
    /// States in place of the functions: event=TYPE for the latest value of an event type, by name or by its number in
    /// Paraver; caller=LEVEL for the latest sampled function, 0 for the innermost; counter=NAME:BOUND[,BOUND...] for
    /// ranges of a counter
    #[arg(long, value_name = "WHAT", value_parser = States::parse, conflicts_with = "depth")]
    states: Option<States>,
    /// Show the call stack of one location, a row for each depth: its name, or that of its process
    #[arg(long, value_name = "LOCATION", conflicts_with_all = ["by", "states", "depth"])]
    stack: Option<String>,
    #[command(flatten)]
    unify: UnifyBy,
    #[command(flatten)]
    clocks: ClocksBy,
}

impl Rows {
    /// Returns the rules for functions and clocks of the reader.
    pub(crate) fn reading(&self) -> Reading {
        Reading {
            unify: self.unify.unify,
            clocks: self.clocks.clocks,
            ..Reading::default()
        }
    }

    /// Returns `true` if the clocks are those of the recording.
    pub(crate) fn are_clocks_kept(&self) -> bool {
        self.clocks.clocks == Clocks::Keep
    }

    /// Returns each option, and `true` if it is not the default.
    #[cfg(feature = "serve")]
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let given = [
            ("--by", self.by.is_some()),
            ("--order", self.order != RowOrder::default()),
            ("--group", !self.groups.is_empty()),
            ("--depth", self.depth.is_some()),
            ("--states", self.states.is_some()),
            ("--stack", self.stack.is_some()),
            ("--unify", self.unify.unify != Default::default()),
            ("--clocks", !self.are_clocks_kept()),
        ];
        given.into_iter()
    }

    /// Prints a note for each group without a function, and for a depth below all call stacks, because neither changes
    /// the picture.
    fn print_notes(&self, map: &RegionMap, view: TraceView<'_>, job: &Job) -> Outcome {
        let regions = &view.definitions().regions;
        for (name, glob) in &self.groups {
            let class = map.classes().id(name);
            let all = (0..regions.len() as u32).map(RegionId);
            if all.into_iter().all(|region| map.of(region) != class) {
                let names = regions.iter().map(|region| region.name.as_str());
                let hint = hint(glob.trim_matches('*'), names);
                messages::say(&format!(
                    "note: --group {name}={glob}: no function has such a name, or all of them are in an earlier group{hint}"
                ));
            }
        }
        if let Some(depth) = self.depth {
            let deepest = frames(view, job)?;
            if depth >= deepest {
                let frames = counted(deepest, "frame");
                messages::say(&format!(
                    "note: --depth {depth}: the deepest call stack has {frames}, counted from 0; the innermost frames are shown"
                ));
            }
        }
        Ok(())
    }

    /// Returns the timelines of a recording, their rows, and the functions of its call stacks, which are
    /// `None` if the rows do not show functions of locations. `file` is its file, if it is the only one;
    /// `usual` are the rows without the option `--by`.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] for an invalid glob, and for a trace whose calls cannot be replayed,
    /// and [`Failure::Usage`] if the recording does not have what `--states` or `--stack` names.
    pub(crate) fn timelines(
        &self,
        (recording, file): (&Recording, Option<&Path>),
        usual: Option<GroupBy>,
        job: &Job,
    ) -> Result<(Timelines, Groups, Option<RegionMap>), Failure> {
        let trace = &recording.trace;
        let mut groups = RegionGroups::new().unify(self.unify.unify);
        for (name, glob) in &self.groups {
            groups = groups.name(name, glob);
        }
        let map: RegionMap = groups.plan(trace.definitions()).map_err(input)?;
        let map = match self.depth {
            Some(depth) => map.at_depth(depth),
            None => map,
        };
        let view = trace.view();
        self.print_notes(&map, view, job)?;
        let timelines = match (&self.states, &self.stack) {
            (Some(states), _) => states.timelines((recording, file), &map, job)?,
            (None, Some(name)) => {
                let location = location(&trace.definitions().system, name)?;
                Timelines::call_stack(view, location, &map, job).map_err(input)?
            }
            (None, None) => Timelines::new(view, &map, job).map_err(input)?,
        };
        let mut streams = 0..timelines.len() as u32;
        let by = match (&self.stack, self.by.or(usual)) {
            (Some(_), _) => GroupBy::Location,
            (None, Some(by)) => by,
            _ if streams.any(|it| timelines.kind(it) == LocationKind::AcceleratorStream) => {
                GroupBy::Device
            }
            _ => GroupBy::All,
        };
        let groups = Groups::by(&timelines, by);
        let groups = match by {
            GroupBy::Device => groups.devices_first().map_err(input)?,
            _ => groups,
        };
        let groups = groups.ordered(self.order, &timelines, timelines.range(), job);
        let has_functions = self.states.is_none() && self.stack.is_none();
        Ok((
            timelines,
            groups.map_err(input)?,
            has_functions.then_some(map),
        ))
    }
}

/// Returns the number of frames of the deepest call stack.
fn frames(view: TraceView<'_>, job: &Job) -> Result<usize, Failure> {
    #[derive(Default)]
    struct Deepest(usize);
    impl Visitor for Deepest {
        fn enter(&mut self, _: Ticks, _: RegionId, depth: usize) {
            self.0 = self.0.max(depth + 1);
        }
        fn leave(&mut self, _: Ticks, _: RegionId, _: usize, _: Close) {}
    }
    let mut deepest = Deepest::default();
    for location in view.locations() {
        replay(location, &mut deepest, job).map_err(input)?;
    }
    Ok(deepest.0)
}

/// Folds the timeline of a recording: many streams in few rows
///
/// Prints a row of letters for each group of streams, and its exact share of busy time.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[doc = "Recording with events; several files are the ranks of one job"]
    #[arg(required = true, value_name = "FILE", long_help = format!(
        "Recording with events: {TRACE}. Several files are the ranks of one job, all of one format: Chrome JSON, \
        rocprofv3 or Nsight Systems"
    ))]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) rows: Rows,
    /// State or number that a cell shows: max, min, diff, idle, share, entropy, any=STATE, count=STATE or
    /// outliers=K [default: idle for accelerator streams, max for all other]
    #[arg(long, value_name = "OP", value_parser = Operation::parse)]
    pub(crate) op: Option<Operation>,
    /// Count the time in each state instead of sampling at the centre of each pixel
    #[arg(long)]
    pub(crate) exact: bool,
    #[command(flatten)]
    pub(crate) rules: Rules,
    #[command(flatten)]
    pub(crate) window: Window,
    /// Columns of the fold and pixels of the picture
    #[arg(long, value_name = "N", default_value_t = 1200, value_parser = columns)]
    pub(crate) columns: usize,
    /// Hatch the time in which ranks wait for others, with arrows from the causes of the longest waits and the critical
    /// path; in a page as a separate picture
    #[arg(long)]
    pub(crate) waits: bool,
    /// Print the messages sent in the window by row of sender and receiver, and by length
    #[arg(long)]
    pub(crate) messages: bool,
    /// Print the messages as --messages, and draw them as a matrix of senders and receivers in place of the timeline;
    /// --csv writes its cells; rows are processes by default
    #[arg(long, value_name = "COLOUR", value_parser = words(&[
        ("count", Measure::Count, "number of messages"),
        ("bytes", Measure::Bytes, "their bytes"),
        ("time", Measure::Time, "mean time from sending to receipt"),
    ]))]
    pub(crate) matrix: Option<Measure>,
    #[command(flatten)]
    pub(crate) counters: CountersBy,
    /// Heading of the picture
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    pub(crate) output: Files,
    /// Write all cells of the fold as CSV, a row for each row and column of the fold
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the fold as Chrome JSON, which chrome://tracing and Perfetto open
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    pub(crate) chrome: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) general: General,
}

/// Returns the location of a name: that of a location, the label of a location, or the name of a process,
/// which stands for its first thread.
fn location(system: &SystemTree, name: &str) -> Result<LocationId, Failure> {
    let ids = || system.location_ids();
    let by_label = || ids().find(|id| system.label(*id) == name);
    let by_name = || ids().find(|id| system.location(*id).is_some_and(|it| it.name == name));
    let of_process = |id: &LocationId| {
        let location = system
            .location(*id)
            .filter(|it| it.kind != LocationKind::Metric);
        let group = location.and_then(|it| system.group(it.group?));
        group.is_some_and(|group| group.name == name)
    };
    let found = by_label()
        .or_else(by_name)
        .or_else(|| ids().find(of_process));
    found.ok_or_else(|| {
        let labels: Vec<String> = ids().map(|id| system.label(id)).collect();
        let hint = hint(name, labels.iter().map(String::as_str));
        Failure::Usage(format!("--stack: no such location `{name}`{hint}"))
    })
}

fn columns(text: &str) -> Result<usize, String> {
    let columns = text.parse().map_err(|_| "not a whole number")?;
    let params = Folder::params().columns(columns);
    params.check().map_err(|error| error.to_string())?;
    Ok(columns)
}

impl Options {
    /// Returns the names of all files.
    pub(crate) fn names(&self) -> String {
        file_names(&self.files)
    }

    /// Returns the name of the first file and the number of further files.
    pub(crate) fn name(&self) -> String {
        let first = self
            .files
            .first()
            .map_or_else(String::new, |it| pictures::name(it));
        match self.files.len() {
            0 | 1 => first,
            all => format!("{first} and {} more", all - 1),
        }
    }

    /// Returns the command that writes the same page, without the options of the window.
    pub(crate) fn again(&self, args: &[OsString]) -> String {
        const REPLACED: [&str; 8] = [
            "--from",
            "--to",
            "--html",
            "--png",
            "--svg",
            "--chrome",
            "--threads",
            "--csv",
        ];
        let words: Vec<String> = args.iter().map(|it| it.to_string_lossy().into()).collect();
        let (mut kept, mut words) = (Vec::new(), words.iter().map(String::as_str));
        while let Some(word) = words.next() {
            let (option, value) = word.split_once('=').unzip();
            if !REPLACED.contains(&option.unwrap_or(word)) {
                kept.push(word);
            } else if value.is_none() {
                // The value is a separate argument.
                words.next();
            }
        }
        kept.retain(|word| !["--json", "--quiet", "--verbose"].contains(word));
        pictures::fold_command(kept)
    }

    /// Returns the file, if there is only one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self.files.as_slice() {
            [file] => Some(file),
            _ => None,
        }
    }

    /// Returns the command that serves the recording, or `None` for several files, which `serve`
    /// shows apart.
    pub(crate) fn serve(&self) -> Option<String> {
        let file = self.file()?.to_string_lossy();
        Some(pictures::shell(["perfkit", "serve", &file]))
    }

    /// Returns the parameters of the fold without an operation.
    pub(crate) fn params(&self) -> FoldParams {
        let params = self.rules.params().columns(self.columns);
        if self.exact {
            params.selection(Selection::Exact)
        } else {
            params
        }
    }

    /// Returns the parameters of the page, or `None` if they are the default.
    pub(crate) fn page_rules(&self) -> Option<FoldParams> {
        if self.exact {
            Some(self.params())
        } else {
            self.rules.changed()
        }
    }

    /// Returns the heading of the timeline, or of the matrix of messages.
    pub(crate) fn title(&self, op: &str, matrix: Option<Measure>) -> String {
        let words = match (&self.rows.stack, matrix) {
            (_, Some(_)) => "messages between rows".into(),
            (Some(location), _) => format!("call stack of {location}"),
            _ => pictures::words(op),
        };
        let sentence = || format!("{}: {words}", self.name());
        self.title.clone().unwrap_or_else(sentence)
    }
}

/// Operation of the fold. States are names until the recording is read.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// Text of the option.
    pub(crate) name: String,
    /// Kind of the operation.
    kind: Kind,
}

/// Operation with or without a state of the recording.
#[derive(Clone, Debug)]
enum Kind {
    /// Operation without a state.
    Known(Op),
    /// `any` of the state of this name.
    Any(String),
    /// `count` of the state of this name.
    Count(String),
}

const OPERATIONS: [(&str, Op); 6] = [
    ("max", Op::Max),
    ("min", Op::Min),
    ("diff", Op::Diff),
    ("idle", Op::Idle),
    ("share", Op::Share),
    ("entropy", Op::Entropy),
];

impl Operation {
    fn parse(name: &str) -> Result<Self, String> {
        let wrong = || {
            let known = OPERATIONS.map(|(name, _)| name);
            let meant = match near(name, known, 1).first() {
                Some(meant) => format!("; did you mean `{meant}`?"),
                None => String::new(),
            };
            let known = known.join(", ");
            format!("expected {known}, any=STATE, count=STATE or outliers=K{meant}")
        };
        let kind = match name.split_once('=') {
            Some(("any", state)) => Kind::Any(state.into()),
            Some(("count", state)) => Kind::Count(state.into()),
            Some(("outliers", most)) => {
                Kind::Known(Op::Outliers(most.parse().map_err(|_| wrong())?))
            }
            Some(_) => return Err(wrong()),
            None => {
                let found = OPERATIONS.iter().find(|(known, _)| *known == name);
                Kind::Known(found.ok_or_else(wrong)?.1)
            }
        };
        let name = name.into();
        Ok(Operation { name, kind })
    }

    /// Returns the operation for a recording, with the identifier of its state.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if the recording does not have the state.
    pub(crate) fn find(&self, timelines: &Timelines) -> Result<Op, Failure> {
        let state = |name: &String| {
            let classes = timelines.classes();
            classes.id(name).ok_or_else(|| {
                let hint = hint(name, classes.names().iter().map(String::as_str));
                Failure::Usage(format!("--op: no such state `{name}`{hint}"))
            })
        };
        Ok(match &self.kind {
            Kind::Known(op) => *op,
            Kind::Any(name) => Op::Any(state(name)?),
            Kind::Count(name) => Op::Count(state(name)?),
        })
    }
}
