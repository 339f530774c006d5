//! Runners that answer one question, taking turns, and the table of what it cost them.

use std::collections::BTreeMap;
use std::fmt;
use std::process::Command;

use crate::output_of;

/// Costs differ from run to run; every other key of a runner's line is an answer.
const COSTS: [&str; 3] = ["cpu_s", "wall_s", "rss_kb"];

/// One program that runs in a race.
pub(crate) struct Runner {
    pub(crate) name: String,
    /// Program and arguments, or the package to install first.
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

/// One question and who answers it. The first runner is what the others are measured by.
pub(crate) struct Race {
    pub(crate) title: String,
    /// The key that ratios are taken of: `cpu_s`, or `wall_s` where threads are the point.
    pub(crate) by: &'static str,
    /// The answer that counts the work, for a rate in millions a second.
    pub(crate) work: &'static str,
    pub(crate) runners: Vec<Runner>,
}

impl Race {
    /// Lets everyone run `repeats` times, in turns.
    pub(crate) fn run(&self, repeats: usize) -> Result<Table<'_>, String> {
        let mut runs: Vec<Vec<Figures>> = self.runners.iter().map(|_| Vec::new()).collect();
        let mut answers = BTreeMap::new();
        for _ in 0..repeats {
            for (runner, runs) in self.runners.iter().zip(&mut runs) {
                let Ok(words) = &runner.command else { continue };
                let figures = one_run(words)?;
                agree(&mut answers, &figures, &runner.name)?;
                runs.push(figures);
            }
        }
        let work = answers
            .get(self.work)
            .and_then(|(_, text)| text.parse().ok());
        Ok(Table {
            race: self,
            runs,
            work,
        })
    }
}

/// The pairs of one line.
type Figures = BTreeMap<String, String>;

fn one_run(words: &[String]) -> Result<Figures, String> {
    let (program, arguments) = words.split_first().ok_or("an empty command")?;
    let text = output_of(Command::new(program).args(arguments))?;
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

/// Keeps the first answer to each key, with who gave it, and holds all later ones to it.
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

/// What a race cost each runner. A ratio is the cost of a runner over that of the first, minimum by
/// minimum: the minimum is what the machine does when nothing else asks for it.
pub(crate) struct Table<'a> {
    race: &'a Race,
    runs: Vec<Vec<Figures>>,
    work: Option<f64>,
}

impl Table<'_> {
    /// Minimum and median of a cost over the runs of one runner.
    fn cost(&self, runner: usize, key: &str) -> Option<(f64, f64)> {
        let values = self.runs[runner].iter();
        min_and_median(
            values
                .filter_map(|run| run.get(key)?.parse().ok())
                .collect(),
        )
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = self.race.by;
        writeln!(f, "{}", self.race.title)?;
        writeln!(
            f,
            "  {:<34} {:>10} {:>9} {:>9} {:>9} {:>8}  ratio",
            "",
            format!("{by} min"),
            "median",
            "M/s",
            "wall min",
            "MB"
        )?;
        let first = self.cost(0, by).map(|(least, _)| least);
        for (index, runner) in self.race.runners.iter().enumerate() {
            write!(f, "  {:<34}", runner.name)?;
            if let Err(package) = runner.command {
                writeln!(f, " not installed: it is in the package {package}")?;
                continue;
            }
            let (Some((least, median)), Some(wall), Some(memory)) = (
                self.cost(index, by),
                self.cost(index, "wall_s"),
                self.cost(index, "rss_kb"),
            ) else {
                writeln!(f, " printed no figures")?;
                continue;
            };
            write!(f, " {least:>10.3} {median:>9.3}")?;
            match self.work {
                Some(work) => write!(f, " {:>9.2}", work / least / 1e6)?,
                None => write!(f, " {:>9}", "-")?,
            }
            write!(f, " {:>9.3} {:>8.1}", wall.0, memory.1 / 1024.0)?;
            match first {
                Some(first) => writeln!(f, " {:>6.2}", least / first)?,
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
            runners: vec![
                Runner::new("ours", Ok(words)),
                Runner::new("theirs", Err("libtheirs-dev")),
            ],
        };
        let text = race.run(2).map(|table| table.to_string());
        let text = text.unwrap_or_else(|error| error);
        assert!(text.contains("libtheirs-dev"), "{text}");
        assert!(text.contains("4.00"), "{text}");
        assert!(text.contains("1.00"), "{text}");
    }
}
