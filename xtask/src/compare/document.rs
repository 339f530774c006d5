//! Generation of `docs/benchmarks.md` from the results of all comparisons.

use std::fmt::Write as _;

use serde_json::Value;

use super::target::{digits, time};
use super::{COMPARISONS, results};
use crate::root;

const HEAD: &str = "\
# Benchmarks

perfkit and established tools on the same input. Programs take turns within the same minutes, and a comparison fails if
the results differ. `cargo xtask compare NAME` runs one comparison and writes its rows and this page. It builds the programs and generates
the inputs; for tools that are not installed it prints the package name. Rows that are not measured again stay
unchanged: each has the date and the number of its runs. The minimum of the runs counts, because other work on the machine only adds to it;
the median shows the scatter. A machine is quiet if other programs use less
than 0.05 cores. Runs on a busy machine are repeated once.

CPU time is user and system time of all threads for the measured work. Imports and plans of the compared tool are excluded
unless noted, and numpy runs without threads of its own (`OPENBLAS_NUM_THREADS=1`). Memory is the peak
of the whole process, in megabytes of 10^6 bytes.
[scaling.md](scaling.md) shows the growth of costs with the size of recordings.
";

/// Notes that are printed below the races, and below the rows measured elsewhere, with a matching
/// title. In a title `*` matches any text.
const NOTES: &[(&str, &str)] = &[
    (
        "all of it: wide",
        "Measured with real-time priority (`chrt -f 50`) on a busy machine, whose other programs share its memory. If \
         rows are not packed, the file consists mostly of numbers, and its 106 MB must pass from the memory of the \
         system to the program; 20 times as fast as pycubexr would be 9.2 ms. Opening takes 2.4 ms (see the \
         comparison of one view), adding up 1.1 ms, and the rest is the copy. Its cost depends on the pieces in which \
         the system keeps the file (pages of 4 KiB after it was written in small blocks, up to 2 MiB after large \
         ones) and on the length of each call: a loop in C that reads large pieces takes 9.0 ms in blocks of 32 KiB (a \
         row), and 5.1 ms in blocks of 1 MiB. perfkit therefore reads up to 1 MiB of rows with one call, directly to \
         their memory. The same in C, with vectors of 512 bits for the sums, takes 8.7 ms, to which opening is to be \
         added: a reader that copies rows cannot be more than 16 to 17 times as fast as pycubexr here. Mapping the \
         file into memory would save the copy (3.5 ms with the sums), and needs `unsafe`.",
    ),
    (
        "all of it, on two cores: wide",
        "Measured with real-time priority, soon after the file was written, so that the system keeps it in large \
         pieces. Opening the file and starting the second thread take 2.4 ms, and only the rest is divided. The copy \
         waits for memory: a loop in C that copies blocks of 256 KiB on two threads, without sums, takes 4.4 ms. Before \
         each thread had a position of its own in the file, and when opening still took 0.3 ms longer, the same work took 8.6 \
         ms.",
    ),
    (
        "all of it: many call paths",
        "Opening takes some 2 ms (see the comparison of one view): 4,000 regions and call paths are 1 MB of XML. The loop \
         in C reads the bytes in 0.9 ms once its memory has been used before.",
    ),
    (
        "every event: *",
        "The binding of ADIOS2 returns tables as arrays, of which the program reads three columns without creating \
         events. perfkit passes each event to a sink, stream by stream in order of time, with the identifiers of the sink \
         for names.",
    ),
    (
        "*: one view against *, product, inverse, extremes",
        "Memory of FFTW and SciPy includes the mapped file of views and the Python interpreter.",
    ),
    (
        "NEKBONE f64: forward transforms",
        "Measured with real-time priority (`chrt -f 50`) on a busy machine, whose other programs share its memory. In 32 \
         further runs of each in turns, perfkit took 601 ms, FFTW with a thread for half of the views 794 ms, and FFTW \
         with 2 threads in each transform 709 ms at least; the lower quartiles are 667, 906 and 803 ms: ratios of 1.32 \
         and 1.18, and of 1.36 and 1.20. A view and its spectrum take 30 MB, and the third-level cache has 32 MB. \
         perfkit requests values before they are read; without this it took 805 ms at least. Both transform one view \
         again and again into the same arrays. FFTW reads the view with its axes sorted, which it does \
         faster, and the time to sort them is not included: from the order in which perfkit reads the view, FFTW took \
         1.49 and 1.31 s at least in 4 runs.",
    ),
    (
        "*: forward transforms",
        "Forward transforms are computed once for each view, correlations once for each pair.",
    ),
    (
        "DBSCAN of 100,000 points, eps 0.01",
        "scikit-learn stores the neighbours of all points at once, which explains its memory; linfa queries a tree.",
    ),
    (
        "events to labels, 2 million events",
        "Chimbuko has no package. Its module, version 7.0, started by hand on a machine of the same kind, processes 0.64 \
         to 0.83 M events/s on a core.",
    ),
    (
        "*, all of 100 functions called on each, *",
        "Each update is decoded, merged and answered. Chimbuko's server, version 7.0, started by hand on a machine of the \
         same kind, merges 23,300 updates/s of 100 functions by deviation and 230 by histogram.",
    ),
    (
        "a server of 10240 ranks, *",
        "The requirement is for one core: at most 60 s of CPU time, and ranks never wait. Chimbuko's server, version 7.0, \
         started by hand on a machine of the same kind, merges 230 updates/s of histograms of 100 functions, and \
         therefore serves about 230 ranks at an update a second.",
    ),
    (
        "how busy devices are: *",
        "Costs are those of whole processes, from loading to busy time, and include the imports of Holistic Trace \
         Analysis.",
    ),
    (
        "what a rank spends on a step of 200 calls*",
        "The CPU time of a rank for such a step varies between 56 us (80 ranks) and 108 us (320 ranks), and does not grow \
         with the number of ranks: with 10,240 it is 69 us. Why the maximum is at 320 ranks is not explained. Ranks that \
         share cores with others, or learn of more functions from them, need more (`distributed.md`, `examples/papers`).",
    ),
];

/// Writes the page.
pub(crate) fn write() -> Result<(), String> {
    let mut all = Vec::new();
    for comparison in COMPARISONS {
        all.push((comparison.0, comparison.1, results::read(comparison.0)?));
    }
    let elsewhere = results::read("elsewhere")?;
    let path = root().join("docs/benchmarks.md");
    std::fs::write(&path, page(&all, &elsewhere))
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// Returns the page. `all` has name, description and lines of each comparison; `elsewhere` has
/// lines of values that other commands measured.
fn page(all: &[(&str, &str, Vec<Value>)], elsewhere: &[Value]) -> String {
    let mut machines: Vec<&str> = Vec::new();
    for line in all.iter().flat_map(|(_, _, lines)| lines) {
        let machine = text(line, "machine");
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    let mut page = HEAD.to_string();
    page += "\n## Machine\n\n";
    for (at, machine) in machines.iter().enumerate() {
        let _ = writeln!(page, "{}. {machine}", at + 1);
    }
    page += "\n## Requirements\n\n\
        The ratio is the factor by which perfkit is better than the other tool.\n\n\
        | work | requirement | perfkit | other tool | ratio | result |\n|---|---|---|---|---|---|\n";
    for line in all.iter().flat_map(|(_, _, lines)| lines) {
        for asked in list(line, "asked") {
            page += &bar(text(line, "race"), asked);
        }
    }
    for asked in elsewhere {
        page += &bar(text(asked, "what"), asked);
    }
    for (name, what, lines) in all {
        if lines.is_empty() {
            continue;
        }
        let _ = write!(
            page,
            "\n## {name}: {what}\n\n`cargo xtask compare {name}`\n"
        );
        for line in lines {
            let machine = machines
                .iter()
                .position(|known| *known == text(line, "machine"));
            page += &race(line, machine.map_or(0, |at| at + 1));
        }
    }
    if !elsewhere.is_empty() {
        page += &others(elsewhere);
    }
    page
}

/// Describes how each value of another command was measured.
fn others(lines: &[Value]) -> String {
    let mut out = "\n## elsewhere: measurements of other commands\n\n\
        Rows of the table of requirements that other commands measure.\n\n\
        | work | command | date and conditions | details |\n|---|---|---|---|\n"
        .to_string();
    for line in lines {
        let link = match line["page"].as_str() {
            Some(page) => format!("[{page}]({page})"),
            None => String::new(),
        };
        let _ = writeln!(
            out,
            "| {} | `{}` | {}, {} | {link} |",
            text(line, "what"),
            text(line, "command"),
            text(line, "date"),
            text(line, "how"),
        );
    }
    for line in lines {
        out += &notes(text(line, "what"));
    }
    out
}

/// Returns the notes on a title, one paragraph each.
fn notes(title: &str) -> String {
    let mut out = String::new();
    for (_, note) in NOTES.iter().filter(|(words, _)| fits(title, words)) {
        let _ = write!(out, "\n{note}\n");
    }
    out
}

/// Returns `true` if a title matches `words`, in which `*` matches any text.
fn fits(title: &str, words: &str) -> bool {
    let Some((begin, end)) = words.split_once('*') else {
        return title == words;
    };
    let Some(rest) = title.strip_prefix(begin) else {
        return false;
    };
    let mut starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    starts.any(|at| fits(&rest[at..], end))
}

/// Returns a row of the table of limits.
fn bar(race: &str, asked: &Value) -> String {
    let peer = match (asked["peer"].as_str(), asked["theirs"].as_str()) {
        (Some(peer), Some(theirs)) => format!("{peer}: {theirs}"),
        _ => String::new(),
    };
    let ratio = asked["ratio"].as_f64().map(digits).unwrap_or_default();
    let met = match asked["met"].as_bool() {
        Some(true) => "holds",
        Some(false) => "**falls short**",
        None => "",
    };
    format!(
        "| {race} | {} | {} | {peer} | {ratio} | {met} |\n",
        text(asked, "bar"),
        text(asked, "ours"),
    )
}

/// Describes the load of the machine by other work.
fn load(line: &Value) -> String {
    let number = |name: &str| line[name].as_f64().unwrap_or_default();
    let (turns, quiet) = (number("turns"), number("quiet"));
    if quiet >= turns {
        "on a quiet machine".into()
    } else {
        format!(
            "{quiet:.0} of them on a quiet machine (others had {:.2} cores at most)",
            number("others")
        )
    }
}

/// Returns the tables of a race.
fn race(line: &Value, machine: usize) -> String {
    // The compared time and the other time.
    let (by, other) = match text(line, "by") {
        "cpu_s" => ("CPU", "wall"),
        _ => ("wall", "CPU"),
    };
    let runners = list(line, "runners");
    let first = runners.first().and_then(|runner| runner["least"].as_f64());
    let count = line["count"].as_f64();
    // Rates are in millions, unless the number would be very small.
    let millions = count.zip(first).map(|(count, first)| count / first / 1e6);
    let (unit, size) = if millions.is_some_and(|rate| rate < 0.1) {
        ("", 1.0)
    } else {
        ("M ", 1e6)
    };
    let mut out = format!(
        "\n### {}\n\n{}, {} runs each, {}, machine {machine}.\n\n\
        | | {by}, least | median | {other} | {unit}{}/s | MB | ratio |\n|---|---|---|---|---|---|---|\n",
        text(line, "race"),
        text(line, "date"),
        line["turns"],
        load(line),
        text(line, "work"),
    );
    for runner in runners {
        let name = text(runner, "name");
        let Some(least) = runner["least"].as_f64() else {
            let package = text(runner, "missing");
            let _ = writeln!(out, "| {name} | not installed ({package}) | | | | | |");
            continue;
        };
        let number = |key: &str| runner[key].as_f64();
        let rate = count.map(|count| digits(count / least / size));
        let ratio = first.map(|first| digits(least / first));
        let megabytes = number("mb").filter(|value| *value > 0.0).map(digits);
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} | {} |",
            time(least),
            number("median").map(time).unwrap_or_default(),
            number(&other.to_lowercase()).map(time).unwrap_or_default(),
            rate.unwrap_or_default(),
            megabytes.unwrap_or_default(),
            ratio.unwrap_or_default(),
        );
    }
    out += "\n```sh\n";
    for runner in runners.iter().filter(|runner| runner["least"].is_f64()) {
        let _ = writeln!(out, "{}", text(runner, "command"));
    }
    out += "```\n";
    out += &notes(text(line, "race"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_has_bars_tables_commands_and_who_is_missing() {
        let line = json!({
            "race": "reading", "by": "cpu_s", "work": "events", "count": 2e6, "date": "2026-11-22",
            "machine": "a machine", "turns": 3, "quiet": 1, "others": 0.5,
            "runners": [
                {"name": "ours", "least": 0.5, "median": 0.6, "wall": 0.5, "mb": 12.0, "command": "ours file"},
                {"name": "theirs", "least": 1.0, "median": 1.1, "wall": 1.0, "mb": 24.0, "command": "theirs file"},
                {"name": "others", "missing": "libothers"},
            ],
            "asked": [{"bar": "at most 1 s", "ours": "500 ms", "met": true, "peer": "theirs", "theirs": "1.00 s", "ratio": 2.0}],
        });
        let elsewhere = json!({
            "what": "drawing", "bar": "at most 2 s", "ours": "1.5 s", "met": false, "command": "draw it",
            "date": "2026-11-22", "how": "on a quiet machine", "page": "drawing.md",
        });
        let lines = vec![line];
        let all = [
            ("one", "what it is", lines),
            ("two", "never run", Vec::new()),
        ];
        let page = page(&all, &[elsewhere]);
        assert!(page.contains("1. a machine\n"), "{page}");
        let row = "| reading | at most 1 s | 500 ms | theirs: 1.00 s | 2.00 | holds |";
        assert!(page.contains(row), "{page}");
        let row = "| theirs | 1.00 s | 1.10 s | 1.00 s | 2.00 | 24.0 | 2.00 |";
        assert!(page.contains(row), "{page}");
        assert!(
            page.contains("| others | not installed (libothers) |"),
            "{page}"
        );
        assert!(
            page.contains("```sh\nours file\ntheirs file\n```"),
            "{page}"
        );
        assert!(!page.contains("never run"), "{page}");
        let row = "| drawing | at most 2 s | 1.5 s |  |  | **falls short** |";
        assert!(page.contains(row), "{page}");
        let row =
            "| drawing | `draw it` | 2026-11-22, on a quiet machine | [drawing.md](drawing.md) |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("| | CPU, least | median | wall | M events/s | MB | ratio |"));
        let turns =
            "3 runs each, 1 of them on a quiet machine (others had 0.50 cores at most), machine 1.";
        assert!(page.contains(turns), "{page}");
    }

    #[test]
    fn a_note_stands_below_what_it_speaks_of_alone() {
        assert!(notes("all of it: wide").contains("not packed"));
        assert_eq!(notes("all of it: wide, packed"), "");
        let what = "one view against 850 (850 of them differ), product, inverse, extremes";
        let note = notes(&format!("Sweep3D f64, one thread: {what}"));
        assert!(note.contains("Memory of FFTW"), "{note}");
        // The row involves neither FFTW nor SciPy.
        let alone = format!("what a second core is worth: Sweep3D f64, {what}");
        assert_eq!(notes(&alone), "");
        let both = notes("NEKBONE f64: forward transforms");
        assert_eq!(both.lines().filter(|line| !line.is_empty()).count(), 2);
    }
}
