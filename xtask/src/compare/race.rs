//! [`Race`]: runs programs in turns at the same question, checks that their answers agree, and
//! measures their costs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Command;

use super::machine_load::Watch;
use super::target::{Target, time};
use crate::output_of;

/// Keys of costs, which differ between runs. Every other key of a runner's line is an answer.
const COSTS: [&str; 3] = ["cpu_s", "wall_s", "rss_kb"];

/// Program that runs in a race.
pub(crate) struct Runner {
    /// Name in the tables.
    pub(crate) name: String,
    /// Program and arguments, or the missing package as the error.
    pub(crate) command: Result<Vec<String>, &'static str>,
}

impl Runner {
    pub(crate) fn new(name: &str, command: Result<Vec<String>, &'static str>) -> Self {
        Self {
            name: name.into(),
            command,
        }
    }
}

/// Question with the runners that answer it. The first runner is the reference for the others.
pub(crate) struct Race {
    /// Title of the race.
    pub(crate) title: String,
    /// Key of the compared cost: `cpu_s`, or `wall_s` for races about threads.
    pub(crate) by: &'static str,
    /// Name of the answer that counts the work, for a rate in millions per second.
    pub(crate) work: &'static str,
    /// Limits for the first runner.
    pub(crate) asked: Vec<Target>,
    /// Runners, the reference first.
    pub(crate) runners: Vec<Runner>,
}

impl Race {
    /// Runs each runner `repeats` times, in turns. With `again`, turns that other processes
    /// disturbed are repeated, at most `repeats` times.
    pub(crate) fn run(&self, repeats: usize, again: bool) -> Result<Measured, String> {
        let mut runs: Vec<Vec<Figures>> = self.runners.iter().map(|_| Vec::new()).collect();
        let mut answers = BTreeMap::new();
        let (mut turns, mut quiet, mut others) = (0, 0, 0.0_f64);
        let most = if again { 2 * repeats } else { repeats };
        while quiet < repeats && turns < most {
            let watch = Watch::start();
            for (runner, runs) in self.runners.iter().zip(&mut runs) {
                let Ok(words) = &runner.command else { continue };
                let figures = one_run(words)?;
                agree(&mut answers, &figures, &runner.name)?;
                runs.push(figures);
            }
            let cores = watch.cores().unwrap_or_default();
            turns += 1;
            quiet += usize::from(cores < MUCH);
            others = others.max(cores);
        }
        let costs = self.runners.iter().zip(&runs);
        let costs = costs.map(|(runner, runs)| Cost {
            name: runner.name.clone(),
            command: match &runner.command {
                Ok(words) => portable(words),
                Err(_) => String::new(),
            },
            missing: runner.command.as_ref().err().map(|name| (*name).into()),
            figures: Figure::of(runs, self.by),
        });
        let costs = costs.collect();
        let answers: BTreeMap<String, String> = answers
            .into_iter()
            .map(|(key, (_, value))| (key, value))
            .collect();
        let count = answers.get(self.work).and_then(|text| text.parse().ok());
        Ok(Measured {
            title: self.title.clone(),
            by: self.by.into(),
            work: self.work.into(),
            count,
            answers,
            costs,
            turns,
            quiet,
            others,
        })
    }
}

/// Number of cores used by other processes at which a turn counts as disturbed.
const MUCH: f64 = 0.05;

/// Returns a command without the folders of this machine. The program has its bare name, files of the
/// workspace are relative to its root, and files of the target folder and of the corpus are relative to
/// `target` and `$PERFKIT_CORPUS`.
fn portable(words: &[String]) -> String {
    let root = crate::root();
    let target = super::target_folder().unwrap_or_default();
    let corpus = std::env::var("PERFKIT_CORPUS").unwrap_or_default();
    let word = |(at, word): (usize, &String)| {
        let path = Path::new(word);
        let name = path.file_name().map(|name| name.to_string_lossy());
        match (at, name) {
            (0, Some(name)) => return name.into_owned(),
            (_, Some(_)) if path.is_absolute() => {}
            _ => return word.clone(),
        }
        let bases = [
            (target.as_path(), "target"),
            (Path::new(&corpus), "$PERFKIT_CORPUS"),
        ];
        let bases = bases.into_iter().filter(|(base, _)| base.is_absolute());
        for (base, name) in bases {
            if let Ok(rest) = path.strip_prefix(base) {
                return format!("{name}/{}", rest.display());
            }
        }
        match path.strip_prefix(&root) {
            Ok(rest) => rest.display().to_string(),
            Err(_) => path
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        }
    };
    let words: Vec<String> = words.iter().enumerate().map(word).collect();
    words.join(" ")
}

/// Key-value pairs of one line.
type Figures = BTreeMap<String, String>;

fn one_run(words: &[String]) -> Result<Figures, String> {
    let (program, arguments) = words.split_first().ok_or("an empty command")?;
    let mut command = Command::new(program);
    // Threads of numpy that wait for linear algebra spin for a while after an import, which would
    // count as CPU time.
    command.args(arguments).env("OPENBLAS_NUM_THREADS", "1");
    let text = output_of(&mut command)?;
    let figures = parse(&text);
    match COSTS.iter().find(|cost| !figures.contains_key(**cost)) {
        Some(cost) => Err(format!("{program} does not print {cost}: {text}")),
        None => Ok(figures),
    }
}

fn parse(line: &str) -> Figures {
    line.split_whitespace()
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.into(), value.into()))
        .collect()
}

/// Stores the first answer for each key with its runner, and compares all later answers with it.
fn agree(
    answers: &mut BTreeMap<String, (String, String)>,
    figures: &Figures,
    name: &str,
) -> Result<(), String> {
    for (key, value) in figures {
        if COSTS.contains(&key.as_str()) {
            continue;
        }
        let known = answers
            .entry(key.clone())
            .or_insert_with(|| (name.into(), value.clone()));
        if known.1 != *value {
            let (other, theirs) = known;
            return Err(format!("{name} says {key}={value}, {other} {theirs}"));
        }
    }
    Ok(())
}

/// Result of a race with the costs of each runner.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    /// Title of the race.
    pub(crate) title: String,
    pub(crate) by: String,
    pub(crate) work: String,
    /// Amount of work; `None` if no runner prints it.
    pub(crate) count: Option<f64>,
    /// Answers on which all runners agree.
    pub(crate) answers: BTreeMap<String, String>,
    /// Cost of each runner, in the order of the race.
    pub(crate) costs: Vec<Cost>,
    /// Number of turns.
    pub(crate) turns: usize,
    /// Number of turns without disturbance by other processes.
    pub(crate) quiet: usize,
    /// Largest number of cores that other processes used.
    pub(crate) others: f64,
}

/// Cost of one runner.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cost {
    /// Name of the runner.
    pub(crate) name: String,
    pub(crate) command: String,
    /// Package that must be installed first.
    pub(crate) missing: Option<String>,
    /// Measured values; `None` if the runner did not run.
    pub(crate) figures: Option<Figure>,
}

/// Measured values of a runner: minimum and median of the compared cost, minimum CPU time and wall time,
/// all in seconds, and the maximum of the memory peaks in megabytes. The maximum is used for memory
/// because a peak that is reached in some runs must be available.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) cpu: f64,
    pub(crate) wall: f64,
    pub(crate) megabytes: f64,
}

impl Figure {
    fn of(runs: &[Figures], by: &str) -> Option<Self> {
        let values = |key: &str| -> Vec<f64> {
            let values = runs.iter().filter_map(|run| run.get(key)?.parse().ok());
            values.collect()
        };
        let (least, median) = min_and_median(values(by))?;
        let (cpu, _) = min_and_median(values("cpu_s"))?;
        let (wall, _) = min_and_median(values("wall_s"))?;
        let kib = values("rss_kb").into_iter().fold(0.0, f64::max);
        Some(Figure {
            least,
            median,
            cpu,
            wall,
            megabytes: kib * 1024.0 / 1e6,
        })
    }
}

impl Measured {
    /// Returns a number among the answers.
    pub(crate) fn answer(&self, name: &str) -> Option<f64> {
        self.answers.get(name)?.parse().ok()
    }

    /// Returns the cost of a runner relative to the first one. Minima are compared, because they
    /// contain the least disturbance by other processes.
    pub(crate) fn ratio(&self, runner: usize) -> Option<f64> {
        let first = self.costs.first()?.figures?;
        Some(self.costs.get(runner)?.figures?.least / first.least)
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measured { turns, quiet, .. } = self;
        writeln!(
            f,
            "{} ({quiet} of {turns} turns on a quiet machine)",
            self.title
        )?;
        let by = format!("{} min", self.by);
        writeln!(
            f,
            "  {:<34} {by:>10} {:>9} {:>9} {:>9} {:>8}  ratio",
            "", "median", "M/s", "wall min", "MB"
        )?;
        for (index, cost) in self.costs.iter().enumerate() {
            write!(f, "  {:<34}", cost.name)?;
            let Some(figure) = cost.figures else {
                let package = cost.missing.as_deref().unwrap_or("?");
                writeln!(f, " not installed: it is in the package {package}")?;
                continue;
            };
            let texts = [figure.least, figure.median].map(time);
            write!(f, " {:>10} {:>9}", texts[0], texts[1])?;
            match self.count {
                Some(work) => write!(f, " {:>9.2}", work / figure.least / 1e6)?,
                None => write!(f, " {:>9}", "-")?,
            }
            write!(f, " {:>9} {:>8.1}", time(figure.wall), figure.megabytes)?;
            match self.ratio(index) {
                Some(ratio) => writeln!(f, " {ratio:>6.2}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

fn min_and_median(mut values: Vec<f64>) -> Option<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let least = *values.first()?;
    let middle = values.len() / 2;
    let median = if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    };
    Some((least, median))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_lies_between() {
        assert_eq!(min_and_median(vec![4.0, 1.0, 2.0, 3.0]), Some((1.0, 2.5)));
        assert_eq!(min_and_median(vec![3.0, 1.0, 2.0]), Some((1.0, 2.0)));
        assert_eq!(min_and_median(Vec::new()), None);
    }

    #[test]
    fn answers_must_agree_and_costs_need_not() {
        let mut answers = BTreeMap::new();
        let ours = parse("events=10 cpu_s=1.0 wall_s=1.0 rss_kb=5");
        let theirs = parse("events=10 frames=4 cpu_s=2.0 wall_s=1.0 rss_kb=9");
        let wrong = parse("frames=5 cpu_s=2.0");
        assert_eq!(agree(&mut answers, &ours, "ours"), Ok(()));
        assert_eq!(agree(&mut answers, &theirs, "theirs"), Ok(()));
        assert_eq!(
            agree(&mut answers, &wrong, "wrong"),
            Err("wrong says frames=5, theirs 4".into())
        );
    }

    #[test]
    fn a_missing_peer_is_named_with_its_package() {
        let line = "echo events=2000000 cpu_s=0.5 wall_s=0.5 rss_kb=1024";
        let words = line.split(' ').map(String::from).collect();
        let race = Race {
            title: "reading".into(),
            by: "cpu_s",
            work: "events",
            asked: vec![Target::Rate(3.0), Target::Faster(1, 2.0)],
            runners: vec![
                Runner::new("ours", Ok(words)),
                Runner::new("theirs", Err("libtheirs-dev")),
            ],
        };
        let measured = race.run(2, true);
        let judged = measured.as_ref().map(|measured| {
            let judged = race.asked.iter().map(|asked| asked.judge(measured));
            judged.map(|one| one.map(|one| one.met)).collect::<Vec<_>>()
        });
        // A runner that did not run cannot be compared.
        assert_eq!(judged, Ok(vec![Some(true), None]));
        let text = measured.map_or_else(|error| error, |table| table.to_string());
        assert!(text.contains("libtheirs-dev"), "{text}");
        assert!(text.contains("4.00"), "{text}");
        assert!(text.contains("1.00"), "{text}");
    }
}
