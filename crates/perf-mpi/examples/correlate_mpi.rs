//! Ranks correlated call paths of a recording on many ranks.
//!
//! `mpirun --oversubscribe -n 4 target/release/examples/correlate_mpi data/recordings/jacobi-16`
//!
//! Each rank reads its locations of the archive. All ranks have the profile, and each has the
//! spectra of some of its views. The output is the same for any number of ranks; `--alone` computes
//! it without this crate.

mod common;

use common::Outcome;
use mpi::environment::Universe;
use perf_core::{CallPathId, Job, MetricId, Profile};
use perf_formats::OpenOptions;
use perf_formats::otf2::Reader;
use perf_mpi::{Ranks, Shard, profile, read};
use perf_spectral::{
    AxisFilter, CheckedRank, Match, Missing, PairMatch, RankParams, Spectra, stored_rows,
};
use perf_topology::{AxisOrder, Shape, Topology};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: correlate_mpi ARCHIVE [OPTIONS]

Lists which call paths of an OTF2 archive take their time on the same ranks, and which on others.

  ARCHIVE        an OTF2 archive
  --metric NAME  of the profile, default: exclusive time
  --top N        the longest list, default 8
  --filter A,B   a weight for each of the two axes, default 1,1
  --alone        by one process, without perf-mpi";

fn main() -> ExitCode {
    common::main(USAGE, mpi::Threading::Single, run)
}

struct Options {
    archive: PathBuf,
    metric: String,
    top: usize,
    filter: Vec<f64>,
    alone: bool,
}

fn parse(mut parser: lexopt::Parser) -> Result<Options, Box<dyn std::error::Error>> {
    use lexopt::prelude::*;
    let mut options = Options {
        archive: PathBuf::new(),
        metric: "exclusive time".into(),
        top: 8,
        filter: vec![1.0, 1.0],
        alone: false,
    };
    while let Some(arg) = parser.next()? {
        match arg {
            Long("metric") => options.metric = parser.value()?.string()?,
            Long("top") => options.top = parser.value()?.parse()?,
            Long("filter") => {
                let text = parser.value()?.string()?;
                let weights: Result<Vec<f64>, _> = text.split(',').map(str::parse).collect();
                options.filter = weights?;
            }
            Long("alone") => options.alone = true,
            Value(path) => options.archive = path.into(),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(options)
}

/// Input that is the same for one process and for many.
struct Question {
    profile: Profile,
    grid: Topology,
    rows: Vec<(MetricId, CallPathId)>,
    filter: AxisFilter,
    params: CheckedRank,
}

impl Question {
    fn new(options: &Options, profile: Profile) -> Result<Self, Box<dyn std::error::Error>> {
        let locations = profile.system().locations().len();
        let shape = Shape::of(&perf_topology::balanced(locations, 2))?;
        let metric = profile.metric(&options.metric).ok_or("no such metric")?;
        Ok(Question {
            grid: Topology::by_order(shape, AxisOrder::LastFastest, locations),
            rows: stored_rows(&profile, &[metric]),
            filter: AxisFilter::new(&options.filter)?,
            params: RankParams::default().top(options.top).check()?,
            profile,
        })
    }

    fn spectra(
        &self,
        rows: &[(MetricId, CallPathId)],
    ) -> Result<Spectra<f64>, perf_spectral::Error> {
        let job = Job::default();
        let mut builder = Spectra::<f64>::builder(&self.grid.shape().lens())?;
        builder.add_rows(&self.profile, &self.grid, rows, Missing::Fill, &job)?;
        Ok(builder.finish())
    }

    fn name(&self, view: usize) -> String {
        let path = self
            .rows
            .get(view)
            .map(|(_, path)| *path)
            .unwrap_or_default();
        self.profile.calls().name(path, self.profile.regions())
    }

    fn text(&self, matches: &[Match], pairs: &[PairMatch]) -> Outcome {
        let mut text = String::new();
        let dims = self.grid.shape().lens();
        writeln!(text, "{} views of {dims:?} cells", self.rows.len())?;
        writeln!(text, "\nlike {}", self.name(0))?;
        for found in matches {
            writeln!(text, "  {:+.3} {}", found.r(), self.name(found.view))?;
        }
        writeln!(text, "\nthe strongest pairs")?;
        for pair in pairs {
            let (one, other) = (self.name(pair.reference), self.name(pair.found.view));
            writeln!(text, "  {:+.3} {one} | {other}", pair.found.r())?;
        }
        Ok(text)
    }
}

fn run(ranks: &Ranks, _: &mut Universe, parser: lexopt::Parser) -> Outcome {
    let options = parse(parser)?;
    let job = Job::default();
    if options.alone {
        let (trace, _) =
            Reader::open(&options.archive, &OpenOptions::new(), &Job::default())?.read()?;
        let (profile, _) = Profile::from_trace(trace.view(), &job)?;
        let question = Question::new(&options, profile)?;
        let spectra = question.spectra(&question.rows)?;
        let list = spectra.rank(0, &question.filter, &question.params, &Job::default())?;
        let pairs = spectra.pairs(&question.filter, &question.params, &job)?;
        return question.text(&list.matches, &pairs);
    }
    let part = read(
        ranks,
        &options.archive,
        &OpenOptions::new(),
        &Job::default(),
    )?;
    let (profile, _) = profile(ranks, part.view(), &job)?;
    let question = Question::new(&options, profile)?;
    // Views are distributed round-robin.
    let numbers: Vec<usize> = (ranks.rank()..question.rows.len())
        .step_by(ranks.size())
        .collect();
    let rows: Vec<_> = numbers
        .iter()
        .filter_map(|view| question.rows.get(*view).copied())
        .collect();
    let spectra = question.spectra(&rows)?;
    let shard = Shard::new(ranks, &spectra, numbers)?;
    let (filter, params) = (&question.filter, &question.params);
    let list = shard.rank(ranks, 0, filter, params, &job)?;
    let pairs = shard.pairs(ranks, filter, params, &job)?;
    question.text(&list.matches, &pairs)
}
