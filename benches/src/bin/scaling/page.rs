//! `scaling.md` and its pictures, from the measured rows.

use super::plans::{PLANS, Plan};
use super::{Outcome, Row, Rows};
use perfkit::view::number;
use perfkit_benches::curves::{Curve, scene};
use perfkit_benches::scaling::{Point, PowerLaw};
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "\
# Scaling

How CPU time and memory grow with the size of what is analysed. `cargo xtask scaling` measures it and writes this page; with
`--only NAME` one curve is measured anew and the others stay. Inputs are generated, each run is a process of its own on one
core, the least CPU time of its runs counts, without the making of the input; memory is the largest peak beyond that of a
process that does nothing, and has the input in it. A slope is that of the line of least squares through logarithms: 1 is linear,
0 does not grow. The residual is the point that is farthest from its line; the last slope is that between the two
largest sizes alone. What else runs on the machine takes no CPU time of it, but shares its caches and memory: lines scatter less
on a quiet one. How fast a size is beside other tools stands in [benchmarks.md](benchmarks.md).
";

/// Cost of a row that is drawn.
type Of = fn(&Row) -> f64;

/// Formats a cost.
type Unit = fn(f64) -> String;

/// File, title, cost and format of a picture.
type Picture = (&'static str, &'static str, Of, Unit);

fn points(rows: &[Row], of: Of) -> Vec<Point> {
    let point = |row: &Row| Point {
        size: row.size as f64,
        cost: of(row),
    };
    rows.iter().map(point).collect()
}

fn seconds(value: f64) -> String {
    match value >= 60.0 {
        true => format!("{} s", number::count(value.round() as u64)),
        false => number::time(value * 1e9),
    }
}

fn memory(megabytes: f64) -> String {
    match megabytes >= 1000.0 {
        true => format!("{:.1} GB", megabytes / 1000.0),
        false => number::short(megabytes * 1e6, "B"),
    }
}

pub(super) fn write(rows: &Rows, docs: &Path) -> Outcome<()> {
    let known: Vec<(&Plan, &[Row])> = PLANS
        .iter()
        .filter_map(|plan| Some((plan, rows.get(plan.name)?.as_slice())))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    let cpu: Of = |row| row.cpu_s;
    let peak: Of = |row| row.megabytes;
    let pictures: [Picture; 2] = [
        ("scaling-cpu.png", "CPU time against size", cpu, seconds),
        (
            "scaling-memory.png",
            "Peak memory against size",
            peak,
            memory,
        ),
    ];
    let mut page = HEAD.to_string();
    page += "\n## Machine\n\n";
    let mut machines: Vec<&str> = Vec::new();
    for row in known.iter().flat_map(|(_, rows)| *rows) {
        if !machines.contains(&row.machine.as_str()) {
            machines.push(&row.machine);
            let _ = writeln!(page, "* {}", row.machine);
        }
    }
    page += "\n## Curves\n";
    std::fs::create_dir_all(docs.join("pictures"))?;
    for (file, title, of, unit) in pictures {
        let curve = |(plan, rows): &(&Plan, &[Row])| Curve {
            title: plan.title.into(),
            axis: plan.axis.into(),
            points: points(rows, of),
        };
        let curves: Vec<Curve> = known.iter().map(curve).collect();
        std::fs::write(
            docs.join("pictures").join(file),
            scene(title, &curves, unit).png()?,
        )?;
        let _ = write!(page, "\n{title}:\n\n![{title}](pictures/{file})\n");
    }
    page += &slopes(&known);
    page += &sizes(&known);
    page += &projection(&known);
    Ok(std::fs::write(docs.join("scaling.md"), page)?)
}

fn slopes(known: &[(&Plan, &[Row])]) -> String {
    let mut out = "\n| what | against | sizes | slope of time | last | residual | slope of memory | last | residual | measured |\n\
        |---|---|---|---|---|---|---|---|---|---|\n"
        .to_string();
    for (plan, rows) in known {
        let law = |of: Of| match PowerLaw::fit(&points(rows, of)) {
            Some(law) => format!(
                "{:.2} | {:.2} | {:.0} %",
                law.slope,
                law.end,
                100.0 * law.residual
            ),
            None => " | | ".into(),
        };
        let [first, .., last] = rows else { continue };
        let _ = writeln!(
            out,
            "| {} | {} | {} to {} | {} | {} | {}, {} run(s) |",
            plan.title,
            plan.axis,
            number::count(first.size),
            number::count(last.size),
            law(|row| row.cpu_s),
            law(|row| row.megabytes),
            last.date,
            last.repeats
        );
    }
    out
}

fn sizes(known: &[(&Plan, &[Row])]) -> String {
    let mut out =
        "\n## Figures\n\n| what | against | size, CPU time, memory |\n|---|---|---|\n".to_string();
    for (plan, rows) in known {
        let each = |row: &Row| {
            format!(
                "{}: {}, {}",
                number::count(row.size),
                seconds(row.cpu_s),
                memory(row.megabytes)
            )
        };
        let all: Vec<String> = rows.iter().map(each).collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            plan.title,
            plan.axis,
            all.join("; ")
        );
    }
    out
}

const PROJECTION: &str = "
## A million ranks, projected

Nobody has run this: it is what 2^20 = 1,048,576 ranks would cost if costs went on growing as they did between the sizes above.
From the largest size measured the line is drawn on with its slope, and with the slope of the last two sizes; where these
differ both ends are told. It is assumed that nothing else becomes the bound on the way, which memory of one machine, caches
and the file system may well do, and that a rank does as much as those of the generated input. Work is that of one core, to be
divided by the cores or ranks that share it ([distributed.md](distributed.md) says how); memory that is too much
for one machine is a reason to do so.

| what | a million ranks | beyond the largest measured | CPU time | memory | residual of the lines |
|---|---|---|---|---|---|
";

fn projection(known: &[(&Plan, &[Row])]) -> String {
    let mut out = PROJECTION.to_string();
    for (plan, rows) in known {
        let (Some((size, why)), Some(last)) = (plan.million, rows.last()) else {
            continue;
        };
        let project = |of: Of, unit: Unit| {
            let points = points(rows, of);
            let (Some(law), Some(last)) = (PowerLaw::fit(&points), points.last()) else {
                return (String::new(), 0.0);
            };
            let [low, high] = law.project(*last, size).map(unit);
            let text = match low == high {
                true => low,
                false => format!("{low} to {high}"),
            };
            (text, law.residual)
        };
        let (time, first) = project(|row| row.cpu_s, seconds);
        let (space, second) = project(|row| row.megabytes, memory);
        let beyond = size / last.size as f64;
        let beyond = match beyond <= 1.0 {
            true => "measured".into(),
            false => format!("{beyond:.0} times"),
        };
        let _ = writeln!(
            out,
            "| {} | {why}: {} {} | {beyond} | {time} | {space} | {:.0} %, {:.0} % |",
            plan.title,
            number::count(size as u64),
            plan.axis,
            100.0 * first,
            100.0 * second
        );
    }
    out += "\nDetection costs a rank what its own events cost, whatever the number of ranks: its curves above are those of any rank. \
        What grows with ranks there is the server's step, whose memory has the messages of at most 2,048 ranks in it: beyond \
        that number it grows with what the server keeps alone.\n";
    out
}
