//! [`run`]: runs the measurements of [`PLANS`] in child processes and stores their costs in
//! `benchmarks/scaling.tsv`; plans and page are in submodules.

mod page;
mod plans;

use super::Outcome;
use plans::{PLANS, Plan, words};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Arguments of the command line.
struct Arguments {
    machine: String,
    date: String,
    docs: PathBuf,
    only: Vec<String>,
    draw: bool,
    repeats: usize,
}

/// Cost of one size: the minimum CPU time of all runs, and the largest memory peak beyond that of
/// an idle process.
#[derive(Clone, Debug)]
struct Row {
    size: u64,
    cpu_s: f64,
    megabytes: f64,
    date: String,
    repeats: usize,
    machine: String,
}

/// Rows by the name of their plan.
type Rows = BTreeMap<String, Vec<Row>>;

pub(super) fn run(words: &[String]) -> Outcome<()> {
    let arguments = parse(words)?;
    let file = arguments.docs.join("benchmarks/scaling.tsv");
    let mut rows = read(&file)?;
    if !arguments.draw {
        for plan in PLANS {
            let wanted = arguments
                .only
                .iter()
                .any(|name| plan.name.contains(name.as_str()));
            if wanted || arguments.only.is_empty() {
                rows.insert(plan.name.into(), measure(plan, &arguments)?);
                write(&file, &rows)?;
            }
        }
    }
    page::write(&rows, &arguments.docs)
}

fn parse(words: &[String]) -> Outcome<Arguments> {
    let mut arguments = Arguments {
        machine: "unknown".into(),
        date: "unknown".into(),
        docs: "docs".into(),
        only: Vec::new(),
        draw: false,
        repeats: 3,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or("a value is missing");
        match word.as_str() {
            "--machine" => arguments.machine = value()?,
            "--date" => arguments.date = value()?,
            "--docs" => arguments.docs = value()?.into(),
            "--only" => arguments.only.push(value()?),
            "--repeats" => arguments.repeats = value()?.parse::<usize>()?.max(1),
            "--draw" => arguments.draw = true,
            other => return Err(format!("what is {other}?").into()),
        }
    }
    Ok(arguments)
}

/// Measures every size of a plan.
fn measure(plan: &Plan, arguments: &Arguments) -> Outcome<Vec<Row>> {
    let here = std::env::current_exe()?;
    let program = |name: &str| here.with_file_name(name);
    let nothing = child(
        &program("perfkit-bench-scaling"),
        &["one".into(), "nothing".into()],
    )?;
    let mut rows = Vec::new();
    for size in plan.sizes {
        let folder =
            std::env::temp_dir().join(format!("perfkit-bench-scaling-{}", std::process::id()));
        if let Some(template) = plan.prepare {
            child(&program(plan.program), &words(template, *size, &folder))?;
        }
        let told = words(plan.told, *size, &folder);
        let (mut cpu_s, mut megabytes) = (f64::INFINITY, 0.0_f64);
        for _ in 0..arguments.repeats {
            let found = child(&program(plan.program), &told)?;
            cpu_s = cpu_s.min(found.0);
            megabytes = megabytes.max(found.1 - nothing.1);
        }
        if plan.prepare.is_some() {
            std::fs::remove_dir_all(&folder)?;
        }
        println!(
            "{:<20} {size:>9} {cpu_s:>12.6} s {megabytes:>9.1} MB",
            plan.name
        );
        rows.push(Row {
            size: *size,
            // Neither cost is 0: the clock has a finite resolution, and memory is allocated in
            // pages.
            cpu_s: cpu_s.max(1e-7),
            megabytes: megabytes.max(0.1),
            date: arguments.date.clone(),
            repeats: arguments.repeats,
            machine: arguments.machine.clone(),
        });
    }
    Ok(rows)
}

/// Returns the CPU seconds and megabytes that a program prints.
fn child(program: &Path, words: &[String]) -> Outcome<(f64, f64)> {
    let output = Command::new(program).args(words).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} {}: {said}", program.display(), words.join(" ")).into());
    }
    let find = |key: &str| -> Outcome<f64> {
        let value = text
            .split_whitespace()
            .find_map(|pair| pair.strip_prefix(key));
        Ok(value
            .ok_or_else(|| format!("{key} is not printed: {text}"))?
            .parse()?)
    };
    Ok((find("cpu_s=")?, find("rss_kb=")? * 1024.0 / 1e6))
}

const HEADER: &str = "curve\tsize\tcpu_s\tmegabytes\tdate\trepeats\tmachine";

fn write(file: &Path, rows: &Rows) -> Outcome<()> {
    let mut text = format!("{HEADER}\n");
    for (name, rows) in rows {
        for row in rows {
            let _ = writeln!(
                text,
                "{name}\t{}\t{:.7}\t{:.2}\t{}\t{}\t{}",
                row.size, row.cpu_s, row.megabytes, row.date, row.repeats, row.machine
            );
        }
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(std::fs::write(file, text)?)
}

/// Reads earlier results; none if there is no file.
fn read(file: &Path) -> Outcome<Rows> {
    let mut rows = Rows::new();
    let Ok(text) = std::fs::read_to_string(file) else {
        return Ok(rows);
    };
    for (at, line) in text.lines().enumerate().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, size, cpu_s, megabytes, date, repeats, machine] = fields[..] else {
            return Err(format!("{}:{}: not seven columns", file.display(), at + 1).into());
        };
        rows.entry(name.into()).or_default().push(Row {
            size: size.parse()?,
            cpu_s: cpu_s.parse()?,
            megabytes: megabytes.parse()?,
            date: date.into(),
            repeats: repeats.parse()?,
            machine: machine.into(),
        });
    }
    Ok(rows)
}
