//! What `fold` can be asked for, and whether it makes sense.

use perfkit::core::{Nanos, Unify};
use perfkit::fold::{Folder, GroupBy, Op, Timelines};
use perfkit_examples::cli::{self, Failure};
use perfkit_examples::drawn::{self, Files};
use perfkit_examples::names::near;
use perfkit_examples::recording::parse_time;
use std::ffi::OsString;
use std::path::PathBuf;

/// What the program prints with `--help`.
pub(crate) const USAGE: &str = "usage: fold FILE... [OPTIONS]

Prints the folded timeline of a recording. Several files are several ranks of one job, all of one
format: Chrome JSON, rocprofv3 or Nsight Systems.

  FILE              a recording with events: OTF2 (its anchor, .otf2, or its folder), Paraver (.prv),
                    Chrome/Kineto JSON, rocprofv3 JSON, streams (.tsv, .ndjson, .bp); with the feature
                    `nsys` an export of Nsight Systems
  --by LEVEL        rows: all (default), node, process, device, location
  --op OP           max, min, diff, idle, share, entropy, any=STATE, count=STATE or outliers=K;
                    default: idle for accelerator streams, max for all else
  --exact           count the time in each state instead of sampling each pixel's centre
  --group NAME=GLOB regions whose names match become one state NAME, such as MPI=MPI_*; repeatable
  --depth D         the state is the frame at depth D (0 is the outermost), not the innermost one
  --unify R         functions of one name are one state by `name`, by `location` (name, file and line;
                    default) or `never`: each definition of the recording is one
  --from T, --to T  the window, in the times `inspect` prints: 1.5s, 20ms, 7us, 12ns
  --columns N       pixels of a row, default 1200
  --png OUT         also draw it
  --svg OUT         the same as SVG
  --html OUT        also write a page in which rows unfold, with the window and messages
  --title TEXT      what stands above the picture
  --chrome OUT      also write it as Chrome JSON, which chrome://tracing, Perfetto and others open
  --json            one JSON object instead of text";

/// What was asked for.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) by: GroupBy,
    pub(crate) op: Option<(String, Operation)>,
    pub(crate) exact: bool,
    pub(crate) groups: Vec<(String, String)>,
    pub(crate) depth: Option<usize>,
    pub(crate) unify: Unify,
    pub(crate) from: Option<Nanos>,
    pub(crate) to: Option<Nanos>,
    pub(crate) columns: usize,
    pub(crate) drawn: Files,
    title: Option<String>,
    pub(crate) chrome: Option<PathBuf>,
    pub(crate) json: bool,
}

impl Asked {
    /// All files.
    pub(crate) fn names(&self) -> String {
        let names = self.files.iter().map(|it| it.display().to_string());
        names.collect::<Vec<_>>().join(", ")
    }

    /// The recording in a word: the first file, and how many follow.
    pub(crate) fn name(&self) -> String {
        let first = self
            .files
            .first()
            .map_or_else(String::new, |it| drawn::name(it));
        match self.files.len() {
            0 | 1 => first,
            all => format!("{first} and {} more", all - 1),
        }
    }

    /// The command that writes the same page, but for the window.
    pub(crate) fn again(&self, args: &[OsString]) -> String {
        const REPLACED: [&str; 6] = ["--from", "--to", "--html", "--png", "--svg", "--chrome"];
        let words: Vec<String> = args.iter().map(|it| it.to_string_lossy().into()).collect();
        let (mut kept, mut words) = (Vec::new(), words.iter().map(String::as_str));
        while let Some(word) = words.next() {
            let (option, value) = word.split_once('=').unzip();
            if !REPLACED.contains(&option.unwrap_or(word)) {
                kept.push(word);
            } else if value.is_none() {
                // The value is a word of its own.
                words.next();
            }
        }
        kept.retain(|word| *word != "--json");
        drawn::fold_command(kept)
    }

    /// What stands above the picture.
    pub(crate) fn title(&self, op: &str) -> String {
        let sentence = || format!("{}: {}", self.name(), drawn::words(op));
        self.title.clone().unwrap_or_else(sentence)
    }
}

/// Arguments as what they mean.
pub(crate) fn parse(args: &[OsString]) -> Result<Asked, Failure> {
    use lexopt::prelude::*;
    let mut asked = Asked {
        by: GroupBy::All,
        columns: 1200,
        ..Asked::default()
    };
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("by") => asked.by = level(&parser.value()?.string()?)?,
            Long("op") => {
                let name = parser.value()?.string()?;
                let operation = Operation::parse(&name)?;
                asked.op = Some((name, operation));
            }
            Long("exact") => asked.exact = true,
            Long("group") => {
                let rule = parser.value()?.string()?;
                let wrong = || Failure::Usage(format!("`{rule}` is not NAME=GLOB"));
                let (name, glob) = rule.split_once('=').ok_or_else(wrong)?;
                asked.groups.push((name.into(), glob.into()));
            }
            Long("depth") => asked.depth = Some(cli::number("depth", &mut parser)?),
            Long("unify") => asked.unify = cli::unify(&mut parser)?,
            Long("from") => asked.from = Some(parse_time(&parser.value()?.string()?)?),
            Long("to") => asked.to = Some(parse_time(&parser.value()?.string()?)?),
            Long("columns") => asked.columns = cli::number("columns", &mut parser)?,
            Long("png") => asked.drawn.png = Some(parser.value()?.into()),
            Long("svg") => asked.drawn.svg = Some(parser.value()?.into()),
            Long("html") => asked.drawn.html = Some(parser.value()?.into()),
            Long("title") => asked.title = Some(parser.value()?.string()?),
            Long("chrome") => asked.chrome = Some(parser.value()?.into()),
            Long("json") => asked.json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            Value(path) => asked.files.push(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    if asked.files.is_empty() {
        return Err(Failure::Usage("which file?".into()));
    }
    let params = Folder::params().columns(asked.columns);
    params
        .check()
        .map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(asked)
}

fn level(name: &str) -> Result<GroupBy, Failure> {
    Ok(match name {
        "all" => GroupBy::All,
        "node" => GroupBy::Node,
        "process" => GroupBy::Process,
        "device" => GroupBy::Device,
        "location" => GroupBy::Location,
        _ => {
            return Err(Failure::Usage(format!(
                "--by {name}: not all, node, process, device or location"
            )));
        }
    })
}

/// An operation as it was asked for: states are names until the recording is read.
#[derive(Debug)]
pub(crate) enum Operation {
    Known(Op),
    Any(String),
    Count(String),
}

impl Operation {
    fn parse(name: &str) -> Result<Self, Failure> {
        let wrong = || {
            Failure::Usage(format!(
                "--op {name}: not max, min, diff, idle, share, entropy, any=STATE, count=STATE or outliers=K"
            ))
        };
        Ok(Operation::Known(match name.split_once('=') {
            Some(("any", state)) => return Ok(Operation::Any(state.into())),
            Some(("count", state)) => return Ok(Operation::Count(state.into())),
            Some(("outliers", most)) => Op::Outliers(most.parse().map_err(|_| wrong())?),
            Some(_) => return Err(wrong()),
            None => match name {
                "max" => Op::Max,
                "min" => Op::Min,
                "diff" => Op::Diff,
                "idle" => Op::Idle,
                "share" => Op::Share,
                "entropy" => Op::Entropy,
                _ => return Err(wrong()),
            },
        }))
    }

    /// The operation, with the states of the recording.
    pub(crate) fn find(&self, timelines: &Timelines) -> Result<Op, Failure> {
        let state = |name: &String| {
            let classes = timelines.classes();
            let known = || classes.names().iter().map(String::as_str);
            let alike = || match near(name, known(), 8) {
                none if none.is_empty() => known().take(8).collect(),
                alike => alike,
            };
            classes.id(name).ok_or_else(|| {
                let alike = alike().join("`, `");
                Failure::Usage(format!("--op: there is no state `{name}`, but `{alike}`"))
            })
        };
        Ok(match self {
            Operation::Known(op) => *op,
            Operation::Any(name) => Op::Any(state(name)?),
            Operation::Count(name) => Op::Count(state(name)?),
        })
    }
}
