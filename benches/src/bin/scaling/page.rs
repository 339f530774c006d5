//! Writes `scaling.md` and its pictures from the measured rows: fitted slopes, sizes, and a
//! projection to a million ranks.

use super::plans::{PLANS, Plan};
use super::{Outcome, Row, Rows};
use perfkit::view::number;
use perfkit_benches::curves::{Curve, scene};
use perfkit_benches::scaling::{Point, PowerLaw};
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "\
# Scaling

Growth of CPU time and memory with the size of the input. `cargo xtask scaling` measures it and writes this page; with
`--only NAME` it measures one curve and keeps the others. Inputs are generated. Each run is a separate process on one
core, and the minimum CPU time of all runs counts, without the generation of the input. Memory is the largest peak, minus
that of an idle process, and includes the input. The slope is that of a least-squares line through the logarithms: 1 is linear, 0 is
constant. The residual is that of the point farthest from the line. The last slope is that between the two
largest sizes. Other programs on the machine share its caches and memory: points scatter less on a quiet one.
[benchmarks.md](benchmarks.md) compares single sizes with other tools.
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
    if value >= 60.0 {
        format!("{} s", number::count(value.round() as u64))
    } else {
        number::time(value * 1e9)
    }
}

fn memory(megabytes: f64) -> String {
    if megabytes >= 1000.0 {
        format!("{:.1} GB", megabytes / 1000.0)
    } else {
        number::short(megabytes * 1e6, "B")
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
    let mut out = "\n| work | size | range | slope of CPU time | last slope | residual | slope of memory | last slope | residual | measured |\n\
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
        "\n## Values\n\n| work | size | size: CPU time, memory |\n|---|---|---|\n".to_string();
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

These numbers are not measured. They are the costs of 2^20 = 1,048,576 ranks if costs continue to grow as they do between the sizes above.
The projection starts at the largest measured size. It uses the slope of the line and the slope between the last two sizes; if these
differ, the table shows both ends of the range. It assumes that no other resource becomes the bottleneck, such as the memory of one machine, caches
or the file system, and that each rank does as much as those of the generated input. CPU time is for one core, to be
divided by the number of cores or ranks that share the work. If the memory exceeds that of one machine, the work must be
distributed: see [distributed.md](distributed.md).

| work | a million ranks | factor beyond the largest measured size | CPU time | memory | residuals of the lines |
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
            let text = if low == high {
                low
            } else {
                format!("{low} to {high}")
            };
            (text, law.residual)
        };
        let (time, first) = project(|row| row.cpu_s, seconds);
        let (space, second) = project(|row| row.megabytes, memory);
        let beyond = size / last.size as f64;
        let beyond = if beyond <= 1.0 {
            "measured".into()
        } else {
            format!("{beyond:.0} times")
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
    out += "\nThe cost of detection for each rank depends on its own events and not on the number of ranks; its curves above apply to any \
        rank. Only the server's step grows with the number of ranks. Its memory includes the messages of at most 2,048 ranks: beyond \
        that number it grows only with the stored state.\n";
    out
}
