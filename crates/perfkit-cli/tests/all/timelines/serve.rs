//! Tests of `serve`: cells, access, and the end of the server.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use perf_testdata::bundled::{devices, recording as bundled};
use perf_testdata::corpus::corpus;
use perf_testdata::ring;
use perf_testdata::xorshift::Xorshift;
use perfkit::core::Job;
use perfkit::formats::otf2::{self, NewArchive};
use perfkit_cli::serve::{Answer, Options, Pages, Request, Server};
use perfkit_cli::{command, failure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

/// Returns the pages of a recording.
fn pages(file: &Path, by: &str) -> Pages {
    let words: [OsString; 4] = ["--by".into(), by.into(), file.into(), "--quiet".into()];
    let options: Options = failure::options(words).expect("good options");
    Pages::open(&options).expect("it opens")
}

fn get<'a>(pages: &'a str, query: &'a str) -> Request<'a> {
    Request {
        method: "GET",
        host: Some("127.0.0.1:80"),
        path: pages,
        query,
    }
}

fn json(answer: Answer) -> Value {
    match answer {
        Answer::Json(text) => serde_json::from_str(&text).expect("it is JSON"),
        other => panic!("{other:?}"),
    }
}

/// Returns the data of the script of a page.
fn data(pages: &Pages) -> Value {
    let Answer::Page(html) = pages.answer(get(&pages.path(), ""), &Job::default()) else {
        panic!("no page");
    };
    embedded(&html)
}

/// Returns the data of the first view of a page.
fn embedded(html: &str) -> Value {
    let begin = "<script type=\"application/json\">";
    let from = html.find(begin).expect("data") + begin.len();
    let to = from + html[from..].find("</script>").expect("an end");
    serde_json::from_str(&html[from..to]).expect("it is JSON")
}

/// Decodes the cells of a row, which are a state code and an agreement: base64 of runs of pairs.
fn cells(text: &str) -> Vec<[u8; 2]> {
    let bytes = STANDARD.decode(text).expect("it is base64");
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let (mut length, mut shift) = (0usize, 0);
        while bytes[at] > 127 {
            length |= usize::from(bytes[at] & 127) << shift;
            (shift, at) = (shift + 7, at + 1);
        }
        length |= usize::from(bytes[at]) << shift;
        out.extend(std::iter::repeat_n([bytes[at + 1], bytes[at + 2]], length));
        at += 3;
    }
    out
}

/// Returns the path of a file that no other test uses.
fn temporary(end: &str) -> PathBuf {
    let (process, thread) = (std::process::id(), std::thread::current().id());
    std::env::temp_dir().join(format!("perfkit-serve-{process}-{thread:?}.{end}"))
}

/// Returns the states and agreements of `fold --csv` for each row.
fn folded(
    (file, by, op): (&Path, &str, &str),
    window: (i64, i64),
    columns: usize,
) -> BTreeMap<String, Vec<(String, u8)>> {
    let csv = temporary("csv");
    let time = |at| format!("{at}ns");
    let mut words: Vec<OsString> = [
        "fold".into(),
        file.into(),
        "--quiet".into(),
        "--by".into(),
        by.into(),
        "--columns".into(),
        columns.to_string().into(),
        "--from".into(),
        time(window.0).into(),
        "--to".into(),
        time(window.1).into(),
        "--csv".into(),
        csv.clone().into(),
    ]
    .into();
    if op != USUAL {
        words.extend(["--op".into(), op.into()]);
    }
    command::output(words).expect("it folds");
    let text = std::fs::read_to_string(&csv).expect("it was written");
    std::fs::remove_file(&csv).expect("it is there");
    let mut rows: BTreeMap<String, Vec<(String, u8)>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let (row, rest) = match line.strip_prefix('"') {
            Some(line) => line.split_once("\",").expect("a quoted name"),
            None => line.split_once(',').expect("fields"),
        };
        // Kind, column, from, to, state: names with commas are quoted.
        let state = rest.splitn(5, ',').nth(4).expect("a state");
        let state = match state.strip_prefix('"') {
            Some(state) => state.split_once('"').expect("a quoted name").0,
            None => state.split_once(',').expect("fields").0,
        };
        // The last fields are the number of streams, and how many of them are in the state, idle and
        // absent. Streams that are not recorded count as idle.
        let numbers = line.rsplitn(5, ',').take(4);
        let numbers: Vec<u64> = numbers.map(|it| it.parse().expect("a number")).collect();
        let [absent, _, winning, total] = numbers[..] else {
            panic!("{line}");
        };
        let state = match state {
            "(idle)" | "(idle differs)" if absent == total => "absent",
            "(idle)" | "(idle differs)" => "idle",
            "(uniform)" => "uniform",
            state => state,
        };
        let agreement = (255.0 * (winning as f64 / total as f64)).round() as u8;
        let cell = (state.to_string(), agreement);
        rows.entry(row.to_string()).or_default().push(cell);
    }
    rows
}

/// Name of the default operation of each kind of row.
const USUAL: &str = "usual";

/// Returns the names of the states and the agreements of a row of a page. States that share the
/// code of all others, which a page has beyond the first 250, are named `others`.
fn named(data: &Value, cells: &[[u8; 2]]) -> Vec<(String, u8)> {
    let others = data["others"][2].as_u64().expect("a code");
    let name = |code: u8| match code {
        0 => "idle",
        1 => "absent",
        2 => "uniform",
        code if u64::from(code) == others => "others",
        code => data["states"][usize::from(code) - 3][0]
            .as_str()
            .expect("a text"),
    };
    let cells = cells.iter();
    cells
        .map(|[code, agreement]| (name(*code).to_string(), *agreement))
        .collect()
}

/// Compares the cells of a row of a page with those of `fold`.
fn assert_cells(data: &Value, found: &str, expected: &[(String, u8)], what: &str) {
    let states = data["states"].as_array().expect("states");
    let is_named = |state: &str| {
        let special = ["idle", "absent", "uniform"].contains(&state);
        special || states.iter().any(|it| it[0] == state)
    };
    let expected: Vec<(String, u8)> = expected
        .iter()
        .map(|(state, agreement)| {
            let shown = if is_named(state) { state } else { "others" };
            (shown.to_string(), *agreement)
        })
        .collect();
    assert_eq!(named(data, &cells(found)), expected, "{what}");
}

/// Zooms a served page to 20 random windows.
fn assert_served(file: &Path, by: &str, random: &mut Xorshift) {
    let pages = pages(file, by);
    let data = data(&pages);
    let groups = data["groups"].as_array().expect("rows");
    let label = |row: usize| groups[row]["label"].as_str().expect("a text");
    let roots = (0..groups.len()).filter(|row| groups[*row]["parent"].is_null());
    let rows: Vec<String> = roots.take(4).map(|row| row.to_string()).collect();
    let ops = data["ops"].as_array().expect("operations");
    let known = ["max", "diff", "min", "idle", USUAL];
    let ops: Vec<(usize, &str)> = (0..)
        .zip(ops)
        .filter_map(|(at, op)| Some((at, known.into_iter().find(|it| op[0] == *it)?)))
        .collect();
    let (start, span) = (
        data["start"].as_i64().expect("a number"),
        data["span"].as_i64().expect("a number"),
    );
    for _ in 0..20 {
        let from = start + random.below(span as u64) as i64;
        let to = from + 1 + random.below((start + span - from) as u64) as i64;
        let columns = 1 + random.below(40) as usize;
        let (number, op) = ops[random.below(ops.len() as u64) as usize];
        let rows = rows.join("-");
        let query = format!("from={from}&to={to}&columns={columns}&op={number}&rows={rows}");
        let path = format!("{}cells/0", pages.path());
        let reply = json(pages.answer(get(&path, &query), &Job::default()));
        let expected = folded((file, by, op), (from, to), columns);
        let found = reply["rows"].as_object().expect("rows");
        assert_eq!(found.len(), rows.split('-').count());
        for (row, cells) in found {
            let label = label(row.parse().expect("a number"));
            let what = format!("{} {label} {op} {from} {to}", file.display());
            let cells = cells.as_str().expect("text");
            let expected = expected.get(label);
            let expected = expected.unwrap_or_else(|| panic!("{what}: no such row"));
            assert_cells(&data, cells, expected, &what);
        }
    }
}

/// Checks that a page in a file holds the states of all streams, from which it computes the cells
/// of each window, or else the cells of `fold` at its resolutions and the command that shows more.
/// Returns `true` for all states.
fn assert_offline(file: &Path, by: &str) -> bool {
    let html = temporary("html");
    let words: [OsString; 7] = [
        "fold".into(),
        file.into(),
        "--quiet".into(),
        "--by".into(),
        by.into(),
        "--html".into(),
        html.clone().into(),
    ];
    command::output(words).expect("it folds");
    let text = std::fs::read_to_string(&html).expect("it was written");
    std::fs::remove_file(&html).expect("it is there");
    let data = embedded(&text);
    let levels = data["levels"].as_array().expect("levels");
    if !data["local"].is_null() {
        assert!(levels.is_empty());
        let groups = data["groups"].as_array().expect("rows");
        let leaves = groups.iter().filter(|it| !it["stream"].is_null());
        let streams = data["local"]["streams"].as_array().expect("streams");
        assert!(leaves.count() <= streams.len());
        return true;
    }
    assert!(data["command"].is_string() && data["serve"].is_string());
    let (start, span) = (
        data["start"].as_i64().expect("a number"),
        data["span"].as_i64().expect("a number"),
    );
    let mut compared = 0;
    let level = &levels[0];
    let columns = level["columns"].as_u64().expect("a number") as usize;
    for (number, op) in (0..).zip(data["ops"].as_array().expect("operations")) {
        let op = op[0].as_str().expect("a name");
        if !["max", "diff", "min", "idle", USUAL].contains(&op) {
            continue;
        }
        let expected = folded((file, by, op), (start, start + span), columns);
        let rows = level["cells"][number as usize].as_array().expect("rows");
        for (row, cells) in rows.iter().enumerate() {
            let label = data["groups"][row]["label"].as_str().expect("a label");
            // Rows that unfold have no row in the fold. A row of one stream has the same cells with
            // each operation that selects a state.
            let (Some(expected), Some(cells)) = (expected.get(label), cells.as_str()) else {
                continue;
            };
            let what = format!("{} offline {label} {op}", file.display());
            assert_cells(&data, cells, expected, &what);
            compared += 1;
        }
    }
    assert!(compared > 0);
    false
}

#[test]
fn cells_are_those_of_fold() {
    let mut random = Xorshift::new(3);
    for (name, by) in [
        ("jacobi-4", "process"),
        ("jacobi-9", "all"),
        ("jacobi-16", "process"),
        ("jacobi-16", "all"),
        ("jacobi-64", "all"),
        ("nwchem-md-4", "process"),
    ] {
        assert_served(&bundled(name), by, &mut random);
        assert!(assert_offline(&bundled(name), by), "{name}");
    }
    assert_served(&devices(), "device", &mut random);
    assert_offline(&devices(), "device");
}

#[test]
fn cells_of_other_formats_are_those_of_fold() {
    let mut random = Xorshift::new(5);
    for (name, by) in [
        (
            "paraver/lulesh/lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv",
            "process",
        ),
        (
            "gpu/param/dlrm_kineto/worker0_step_12.1694128201545.pt.trace.json",
            "device",
        ),
        (
            "gpu/pipit/pipit_tests_data_cloverleaf-nsys_perlmutter-cloverleaf-cuda.sqlite",
            "device",
        ),
        ("otf2/tracer-stencil4d-32/traces.otf2", "all"),
    ] {
        let Some(file) = corpus(name) else { return };
        assert_served(&file, by, &mut random);
        assert_offline(&file, by);
    }
    // Too many states for a page that holds them all.
    let Some(large) = corpus("otf2/eztrace-hpcc4/eztrace_log.otf2") else {
        return;
    };
    assert!(!assert_offline(&large, "process"));
}

#[test]
fn messages_of_a_large_recording_follow_the_first_picture() {
    let trace = ring::trace(128, 400);
    let (folder, job) = (temporary("folder"), Job::default());
    let mut archive = NewArchive::new(&folder).expect("a folder");
    otf2::write(trace.view(), &mut archive, &Default::default(), &job).expect("it is written");
    let pages = pages(&folder, "process");
    std::fs::remove_dir_all(&folder).expect("it is there");
    let data = data(&pages);
    assert_eq!(data["served"]["hasLinks"], true);
    let end = data["span"].as_i64().expect("a length");
    let query = format!("from=0&to={}&columns=90&op=0&rows=0-1-2", end / 400);
    let path = format!("{}cells/0", pages.path());
    let cells = || json(pages.answer(get(&path, &query), &job));
    let first = cells();
    assert_eq!(
        (&first["links"], &first["awaitsLinks"]),
        (&Value::Null, &Value::Bool(true))
    );
    let mut last = cells();
    while last["awaitsLinks"] == true {
        std::thread::sleep(std::time::Duration::from_millis(20));
        last = cells();
    }
    // Rank 0 sends to rank 1 and rank 1 to rank 2, once in a step.
    let bundles = last["links"]["bundles"].as_array().expect("messages");
    let ends: Vec<_> = bundles
        .iter()
        .map(|it| (it[0].as_u64(), it[2].as_u64()))
        .collect();
    assert_eq!(ends, [(Some(0), Some(1)), (Some(1), Some(2))]);
    assert_eq!(last["rows"], first["rows"]);
}

#[test]
fn only_pages_with_the_token_are_answered() {
    let pages = pages(&bundled("jacobi-4"), "process");
    let (path, job) = (pages.path(), Job::default());
    let cells = format!("{path}cells/0");
    let good = "from=0&to=1000000000&columns=9&op=0&rows=0";
    assert!(matches!(
        pages.answer(get(&cells, good), &job),
        Answer::Json(_)
    ));
    let open = format!("{path}open");
    assert_eq!(pages.answer(get(&open, ""), &job), Answer::Open);
    let code = |request: Request<'_>| match pages.answer(request, &job) {
        Answer::Refused(code, what) => {
            assert!(!what.contains(path.trim_matches('/')), "{what}");
            // The problem, and behind it what is right.
            let is_plain = [";", "expected", "too large", "runs from", "is not before"];
            assert!(is_plain.iter().any(|part| what.contains(part)), "{what}");
            code
        }
        other => panic!("{request:?}: {other:?}"),
    };
    let other = "/0123456789abcdef0123456789abcdef/";
    for wrong in [
        "/",
        "",
        other,
        "/cells/0",
        &path[..path.len() - 1],
        &path[1..],
    ] {
        assert_eq!(code(get(wrong, good)), 403, "{wrong}");
    }
    for wrong in [
        "cells/1",
        "cells/-1",
        "cells/",
        "..",
        "../../etc/passwd",
        "cells/0/",
    ] {
        assert_eq!(code(get(&format!("{path}{wrong}"), good)), 404, "{wrong}");
    }
    for host in [
        None,
        Some(""),
        Some("evil.example"),
        Some("127.0.0.1.evil.example:80"),
    ] {
        let request = Request {
            host,
            ..get(&path, "")
        };
        assert_eq!(code(request), 421, "{host:?}");
    }
    let request = Request {
        method: "POST",
        ..get(&path, "")
    };
    assert_eq!(code(request), 405);
    for wrong in [
        "",
        "from=0&to=1000000000&columns=9&op=0",
        "from=5&to=5&columns=9&op=0&rows=0",
        "from=0&to=x&columns=9&op=0&rows=0",
        "from=0&to=99999999999999999999999&columns=9&op=0&rows=0",
        "from=0&to=1000000000&columns=0&op=0&rows=0",
        "from=0&to=1000000000&columns=999999999999&op=0&rows=0",
        "from=0&to=1000000000&columns=9&op=77&rows=0",
        "from=0&to=1000000000&columns=9&op=18446744073709551615&rows=0",
        "from=0&to=1000000000&columns=9&op=0&rows=99999",
    ] {
        assert_eq!(code(get(&cells, wrong)), 400, "{wrong}");
    }
}

#[test]
fn no_query_breaks_the_server() {
    let pages = pages(&bundled("jacobi-4"), "process");
    let paths = ["cells/0", "calls/0"].map(|it| format!("{}{it}", pages.path()));
    let mut random = Xorshift::new(11);
    let words = [
        "from",
        "to",
        "columns",
        "op",
        "rows",
        "=",
        "&",
        "-",
        "0",
        "1",
        "9",
        "%2C",
        "1e9",
        "\u{ff}",
        "9223372036854775807",
        "-9223372036854775808",
        "500000000",
        "=1&",
    ];
    for at in 0..8_000 {
        let mut query = String::new();
        for name in ["from", "to", "columns", "op", "rows", "row"] {
            if random.below(8) > 0 {
                query += &format!("{name}=");
            }
            for _ in 0..random.below(3) + 1 {
                query += words[random.below(words.len() as u64) as usize];
            }
            query += "&";
        }
        let answer = pages.answer(get(&paths[at % 2], &query), &Job::default());
        assert!(
            matches!(answer, Answer::Json(_) | Answer::Refused(400, _)),
            "{query}: {answer:?}"
        );
    }
}

#[test]
fn the_call_stack_of_a_row_is_that_of_its_location() {
    let (pages, job) = (pages(&bundled("jacobi-4"), "process"), Job::default());
    let data = data(&pages);
    assert_eq!(data["served"]["hasCalls"], true);
    let path = format!("{}calls/0", pages.path());
    let groups = data["groups"].as_array().expect("groups");
    let row = groups
        .iter()
        .position(|it| it["stream"] == 2)
        .expect("a row");
    let begin: i64 = data["begin"]
        .as_str()
        .and_then(|it| it.parse().ok())
        .expect("a time");
    let end = begin + data["span"].as_i64().expect("a length");
    let query = format!("from={begin}&to={end}&columns=700&row={row}");
    let found = json(pages.answer(get(&path, &query), &job));
    let depths = found["depths"].as_array().expect("depths");
    assert!(depths.len() >= 2, "{found}");
    for runs in depths {
        let columns = runs
            .as_array()
            .expect("runs")
            .iter()
            .map(|run| run[0].as_u64());
        assert_eq!(columns.map(|it| it.expect("a length")).sum::<u64>(), 700);
    }
    let names = found["names"].as_array().expect("names");
    assert!(
        names.iter().any(|it| it[0].as_str() == Some("Working")),
        "{names:?}"
    );
    for wrong in ["row=99999", "row=x", "", "row=0&columns=0"] {
        let query = format!("from={begin}&to={end}&{wrong}&columns=9");
        let refused = pages.answer(get(&path, &query), &job);
        assert!(
            matches!(refused, Answer::Refused(400, _)),
            "{wrong}: {refused:?}"
        );
    }
}

#[test]
fn the_server_ends_after_its_last_page_is_closed() {
    let server =
        Server::start(pages(&bundled("jacobi-4"), "process"), 0, false).expect("a free port");
    let url = server.url();
    let (host, path) = url["http://".len()..].split_once('/').expect("a path");
    let request = |path: &str| {
        let mut stream = TcpStream::connect(host).expect("it listens");
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("it reads");
        stream
    };
    let status = |stream: &mut TcpStream| {
        let mut head = [0; 12];
        stream.read_exact(&mut head).expect("it answers");
        String::from_utf8_lossy(&head).into_owned()
    };
    assert_eq!(status(&mut request(path)), "HTTP/1.1 200");
    assert_eq!(status(&mut request("")), "HTTP/1.1 403");
    let mut open = request(&format!("{path}open"));
    assert_eq!(status(&mut open), "HTTP/1.1 200");
    drop(open);
    server.wait();
    assert!(TcpStream::connect(host).is_err());
}
