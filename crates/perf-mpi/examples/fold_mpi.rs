//! Folds a recording on many ranks.
//!
//! `mpirun --oversubscribe -n 4 target/release/examples/fold_mpi data/recordings/jacobi-16 --op
//! diff`
//!
//! Each rank reads its locations of the archive and samples their streams. The output is the same
//! for any number of ranks; `--alone` computes it without this crate.

mod common;

use common::Outcome;
use mpi::environment::Universe;
use perf_core::Job;
use perf_fold::{
    AbsentRule, Boundary, Cell, Classes, Folder, GroupBy, Groups, Op, RegionMap, StateMap, Ties,
    Timelines,
};
use perf_formats::OpenOptions;
use perf_formats::otf2::Reader;
use perf_mpi::{Ranks, fold, read};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: fold_mpi ARCHIVE [OPTIONS]

Folds the timelines of an OTF2 archive into rows of characters, one a class.

  ARCHIVE      an OTF2 archive
  --columns N  width, default 96
  --op OP      max (default), min or diff
  --by GROUP   all (default) or process
  --alone      by one process, without perf-mpi";

fn main() -> ExitCode {
    common::main(USAGE, mpi::Threading::Single, run)
}

struct Options {
    archive: PathBuf,
    columns: usize,
    op: Op,
    by: GroupBy,
    alone: bool,
}

fn parse(mut parser: lexopt::Parser) -> Result<Options, Box<dyn std::error::Error>> {
    use lexopt::prelude::*;
    let mut options = Options {
        archive: PathBuf::new(),
        columns: 96,
        op: Op::Max,
        by: GroupBy::All,
        alone: false,
    };
    while let Some(arg) = parser.next()? {
        match arg {
            Long("columns") => options.columns = parser.value()?.parse()?,
            Long("op") => {
                options.op = match parser.value()?.string()?.as_str() {
                    "max" => Op::Max,
                    "min" => Op::Min,
                    "diff" => Op::Diff,
                    other => return Err(format!("--op {other}").into()),
                };
            }
            Long("by") => {
                options.by = match parser.value()?.string()?.as_str() {
                    "all" => GroupBy::All,
                    "process" => GroupBy::Process,
                    other => return Err(format!("--by {other}").into()),
                };
            }
            Long("alone") => options.alone = true,
            Value(path) => options.archive = path.into(),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(options)
}

/// Label, number of streams, cells.
type Row = (String, usize, Vec<Cell>);

fn run(ranks: &Ranks, _: &mut Universe, parser: lexopt::Parser) -> Outcome {
    let options = parse(parser)?;
    let job = Job::default();
    if options.alone {
        let (trace, _) =
            Reader::open(&options.archive, &OpenOptions::new(), &Job::default())?.read()?;
        let map = RegionMap::by_name(trace.definitions())?;
        let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
        let groups = Groups::by(&timelines, options.by);
        let params = Folder::params()
            .columns(options.columns)
            .op(options.op)
            .check()?;
        let folded =
            Folder::new(&timelines, groups, params)?.fold(timelines.range(), &Job::default())?;
        let rows = folded.rows();
        let rows = rows.map(|row| (row.label().into(), row.streams(), row.cells().to_vec()));
        return text(rows.collect(), map.classes());
    }
    let part = read(
        ranks,
        &options.archive,
        &OpenOptions::new(),
        &Job::default(),
    )?;
    let map = RegionMap::by_name(part.trace.definitions())?;
    let timelines = Timelines::new(part.trace.view(), &map, &Job::default())?;
    let groups = Groups::by(&timelines, options.by);
    let own = (&timelines, &part.own[..]);
    let boundary = Boundary::default();
    let folded = fold(ranks, own, &groups, options.columns, boundary, None, &job)?;
    let rows = folded.rows.iter().enumerate().map(|(at, row)| {
        let cells = folded.cells(at, &options.op, Ties::default(), AbsentRule::default());
        (row.label.clone(), row.streams, cells)
    });
    text(rows.collect(), map.classes())
}

/// Returns the rows as text, with one letter for each class. The most frequent class has the first
/// letter.
fn text(rows: Vec<Row>, classes: &Classes) -> Outcome {
    let mut painted = BTreeMap::new();
    for class in rows
        .iter()
        .flat_map(|(_, _, cells)| cells)
        .filter_map(Cell::picture)
    {
        *painted.entry(class).or_insert(0_usize) += 1;
    }
    let mut order: Vec<_> = painted.into_iter().collect();
    order.sort_by_key(|(class, count)| (std::cmp::Reverse(*count), *class));
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
    let letter = |class| {
        let at = order.iter().position(|(other, _)| *other == class);
        at.and_then(|at| letters.get(at)).copied().unwrap_or('*')
    };
    let mut text = String::new();
    for (label, streams, cells) in &rows {
        let line = cells.iter().map(|cell| cell.picture().map_or('.', letter));
        writeln!(text, "{label}, {streams} streams")?;
        writeln!(text, "{}", line.collect::<String>())?;
    }
    writeln!(text)?;
    for (class, count) in &order {
        writeln!(
            text,
            "{} {count:6} cells of {}",
            letter(*class),
            classes.name(*class)
        )?;
    }
    Ok(text)
}
