//! The subcommands `cluster` and `track` on traces of other tools and on unusual bursts.

use perf_testdata::bundled::recording;
use perfkit::core::Job;
use perfkit::formats::OpenOptions;
use perfkit::formats::paraver::{Cluster, Pcf, Reader, colours};
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use std::path::{Path, PathBuf};

fn print(command: &str, words: &[&str]) -> Result<String, Failure> {
    command::output([&[command], words].concat())
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Writes a trace of two threads with two bursts in each of 20 steps. Every third step has a burst
/// without an instruction, and in the last step the counters of a burst were not read.
fn with_bursts_without_a_logarithm(path: &Path) {
    let mut text = String::from("#Paraver (1/1/20 at 1:00):200000000_ns:1(2):1:2(1:1,1:1)\n");
    for step in 0..20_u64 {
        for task in [1, 2] {
            let begin = 10_000_000 * step;
            let line = |from: u64, to: u64, instructions: Option<u64>| {
                let (from, to) = (begin + from, begin + to);
                let at = format!("{task}:1:{task}:1");
                let read = instructions.map_or_else(String::new, |of| {
                    format!("2:{at}:{to}:42000050:{of}:42000059:{}\n", 2_000_000 + of)
                });
                format!(
                    "1:{at}:{from}:{to}:1\n{read}1:{at}:{to}:{}:15\n",
                    to + 1_000_000
                )
            };
            let few = if step % 3 == 0 {
                0
            } else {
                900_000 + 100 * step
            };
            let last = (step < 19).then_some(few);
            text += &line(0, 4_000_000, Some(8_000_000 + 1_000 * step));
            text += &line(5_000_000, 7_000_000, last);
        }
    }
    std::fs::write(path, text).expect("it can be written");
}

#[test]
fn bursts_without_a_logarithm_are_missing_data() {
    let folder = scratch("without-logarithm");
    std::fs::create_dir_all(&folder).expect("it can be made");
    let trace = folder.join("zero.prv");
    with_bursts_without_a_logarithm(&trace);
    let trace = trace.display().to_string();
    let check = |path: &Path| {
        let mut reader =
            Reader::open(path, &OpenOptions::new(), &Job::default()).expect("it is a trace");
        let found = colours(&mut reader).expect("it is whole");
        let of = |cluster| found.iter().filter(|of| of.cluster == cluster).count();
        // For both threads, 7 steps have a burst without an instruction, and the last one a burst
        // without counters.
        assert_eq!(of(Cluster::MissingData), 16);
        assert_eq!((of(Cluster::Id(1)), of(Cluster::Id(2))), (40, 24));
        assert_eq!(of(Cluster::Noise), 0);
        let pcf = std::fs::read(path.with_extension("pcf")).expect("it was written");
        let pcf = Pcf::parse(&pcf);
        assert_eq!(pcf.value(90_000_001, 1), Some("Missing Data"));
    };
    let coloured = folder.join("one.prv");
    let to = coloured.display().to_string();
    let words = [trace.as_str(), "--eps", "0.1", "--recolour", &to, "--json"];
    let printed = print("cluster", &words).expect("it clusters");
    let result: serde_json::Value = serde_json::from_str(&printed).expect("it is JSON");
    check(&coloured);
    let sizes = result["clusters"]["rows"].as_array().expect("a list");
    let sizes: Vec<_> = sizes
        .iter()
        .map(|of| (of["cluster"].as_str(), of["bursts"].as_u64()))
        .collect();
    assert_eq!(
        sizes,
        [
            (Some("1"), Some(40)),
            (Some("2"), Some(24)),
            (Some("noise"), Some(0))
        ]
    );
    let no_points = result["no_points"].as_object().expect("by metric");
    let no_points: Vec<_> = no_points.values().map(|of| of["bursts"].as_u64()).collect();
    assert_eq!(no_points, [Some(14)]);
    let all = folder.join("all");
    let to = all.display().to_string();
    print("track", &[&trace, "--eps", "0.1", "--recolour", &to]).expect("it tracks");
    check(&all.join("zero.prv"));
}

#[test]
fn clusters_as_the_established_tool_has_them() {
    let corpus = |name: &str| perf_testdata::corpus::corpus(&format!("paraver/{name}"));
    let Some(definition) = corpus("reference/epoch1ms.xml") else {
        return;
    };
    let text = |path: Option<PathBuf>| path.expect("the corpus").display().to_string();
    let definition = text(Some(definition));
    let names = ["epoch_2proc", "epoch_4proc", "epoch_16proc"];
    let traces = names.map(|name| text(corpus(&format!("epoch/{name}.prv.gz"))));
    let tables = ["e2", "e4", "e16"];
    let tables = tables.map(|name| text(corpus(&format!("reference/{name}.DATA.csv"))));
    let json = |words: &[&str]| -> serde_json::Value {
        let printed = print("track", words).expect("it tracks");
        serde_json::from_str(&printed).expect("it is JSON")
    };
    let [a, b, c] = traces.each_ref().map(String::as_str);
    let folder = scratch("recoloured");
    let colour = folder.display().to_string();
    let like = ["--like", &definition, "--json", "--recolour", &colour];
    let ours = json(&[&[a, b, c], like.as_slice()].concat());
    let [a, b, c] = tables.each_ref().map(String::as_str);
    let read = json(&[a, b, c, "--mode", "published", "--json"]);
    assert_eq!(ours["mode"], "published");
    for (experiment, score) in [0.98332, 0.92344, 0.73945].into_iter().enumerate() {
        let (ours, read) = (
            &ours["experiments"][experiment],
            &read["experiments"][experiment],
        );
        for of in [ours, read] {
            let found = of["score"].as_f64().expect("a score");
            assert!((found - score).abs() < 2e-5, "{found} {score}");
        }
        for key in ["clusters", "bursts", "tasks"] {
            assert_eq!(ours[key], read[key]);
        }
    }
    let members = |of: &serde_json::Value| -> Vec<serde_json::Value> {
        let regions = of["regions"].as_array().expect("a list").iter();
        regions.map(|region| region["members"].clone()).collect()
    };
    assert_eq!(members(&ours), members(&read));
    assert_eq!(
        ours["recordings"][0]["extraction"]["duration"]["bursts"],
        3_336
    );

    // The colours of the traces are the tracked regions. The traces are compressed as before.
    let path = folder.join("epoch_2proc.prv.gz");
    let packed = std::fs::read(&path).expect("it was written");
    assert!(packed.starts_with(&[0x1f, 0x8b]));
    let mut reader =
        Reader::open(&path, &OpenOptions::new(), &Job::default()).expect("it is a trace");
    let colours = colours(&mut reader).expect("it is whole");
    let of = |cluster| colours.iter().filter(|of| of.cluster == cluster).count();
    assert_eq!((of(Cluster::Id(1)), of(Cluster::Noise)), (22, 26));
    let pcf = std::fs::read(folder.join("epoch_2proc.pcf")).expect("it was written");
    let pcf = Pcf::parse(&pcf);
    assert_eq!(pcf.value(90_000_001, 6), Some("Cluster 1"));

    // A single trace, and invalid options.
    let words = [traces[2].as_str(), "--like", &definition, "--json"];
    let printed = print("cluster", &words).expect("it clusters");
    let result: serde_json::Value = serde_json::from_str(&printed).expect("it is JSON");
    // One of the rows is noise.
    let clusters = result["clusters"]["rows"].as_array();
    assert_eq!(clusters.map(Vec::len), Some(19 + 1));
    let refused = print("track", &[a, "--recolour", &colour]).expect_err("a table is no trace");
    assert!(format!("{refused:?}").contains("Paraver"), "{refused:?}");
    for (words, expected) in [
        (
            &[traces[0].as_str(), "--min-duration", "100s"][..],
            "3 494 too short",
        ),
        (
            &[traces[0].as_str(), "--metrics", "nothing"],
            "no metric `nothing`; there are `PAPI_TOT_INS`",
        ),
        (&[traces[0].as_str(), "--like", a], "clustering_definition"),
    ] {
        let failure = format!("{:?}", print("cluster", words).expect_err("it cannot"));
        assert!(failure.contains(expected), "{failure}");
    }
}

#[test]
fn epoch_on_2_4_and_16_tasks() {
    let file =
        |tasks| perf_testdata::corpus::corpus(&format!("paraver/epoch/epoch_{tasks}proc.prv.gz"));
    let files: Option<Vec<_>> = [2, 4, 16].into_iter().map(file).collect();
    let Some(files) = files else {
        return;
    };
    let files: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let run = |more: &[&str]| -> serde_json::Value {
        let words = files.iter().map(String::as_str).chain([
            "--eps",
            "0.04",
            "--min-duration",
            "1ms",
            "--json",
        ]);
        let words: Vec<&str> = words.chain(more.iter().copied()).collect();
        let printed = print("track", &words).expect("it tracks");
        serde_json::from_str(&printed).expect("it is JSON")
    };
    let result = run(&[]);
    let region = |id: usize| &result["regions"][id - 1];
    // The dominant cluster of 2 and 4 tasks mixes two call sites, which are different clusters on
    // 16 tasks. Split by callers it results in two tracked regions, and each divides its
    // instructions by the number of tasks.
    assert_eq!(region(1)["members"], serde_json::json!([[1], [1], [1]]));
    let second = region(3)["members"]
        .as_array()
        .expect("a set an experiment");
    assert_eq!(second[2], serde_json::json!([3]));
    for (experiment, members) in second.iter().enumerate().take(2) {
        let parts = result["experiments"][experiment]["parts"]
            .as_array()
            .expect("parts");
        let part = parts
            .iter()
            .find(|part| part["id"] == members[0])
            .expect("it was split off");
        assert_eq!(part["of"], 1);
    }
    for id in [1, 3] {
        let changes = result["time_changes"]["rows"].as_array().expect("a list");
        let changes = changes.iter().filter(|of| of["tracked region"] == id);
        let factors = changes.filter_map(|of| of["factor of instructions"].as_f64());
        let factors: Vec<f64> = factors.collect();
        let factor = |step: usize| factors[step];
        assert!((factor(0) - 0.5).abs() < 0.01, "{}", factor(0));
        assert!((factor(1) - 0.25).abs() < 0.01, "{}", factor(1));
        assert!(
            region(id)["confidence"]
                .as_f64()
                .is_some_and(|confidence| confidence > 0.9)
        );
    }
    // Shares of the CPU time: on 2 tasks 8.7 % are noise.
    let coverage = result["coverage"].as_array().expect("one an experiment");
    for (share, least) in coverage.iter().zip([0.9, 0.98, 0.96]) {
        assert!(share.as_f64().is_some_and(|share| share > least), "{share}");
    }

    // Without splitting, one tracked region divides into two.
    let result = run(&["--whole"]);
    let first = &result["regions"][0]["members"];
    assert_eq!(
        (&first[0][0], &first[1][0]),
        (&serde_json::json!(1), &serde_json::json!(1))
    );
    let last = first[2].as_array().expect("a set");
    assert!(
        [1, 3]
            .iter()
            .all(|&id| last.contains(&serde_json::json!(id))),
        "{first}"
    );

    // The published mode: clusters, noise and tracked regions of each experiment in its own space.
    let result = run(&["--mode", "published"]);
    let clusters: Vec<_> = [0, 1, 2]
        .map(|experiment| result["experiments"][experiment]["clusters"].as_u64())
        .to_vec();
    assert_eq!(clusters, [Some(7), Some(10), Some(19)]);
    let regions = result["regions"].as_array().expect("some");
    assert_eq!(regions.len(), 5);
    assert_eq!(
        regions[0]["members"],
        serde_json::json!([[1], [1, 4], [1, 3, 5]])
    );
}

/// Returns the share of a class of the CPU time.
fn share(balance: &serde_json::Value, class: &str) -> f64 {
    let time = |class: &str| balance[class]["time"].as_f64().expect("a time");
    time(class) / time("total")
}

/// With a chosen radius, little of the time is noise, and both regions are tracked.
#[test]
fn epoch_needs_no_radius() {
    let file =
        |tasks| perf_testdata::corpus::corpus(&format!("paraver/epoch/epoch_{tasks}proc.prv.gz"));
    let files: Option<Vec<_>> = [2, 4, 16].into_iter().map(file).collect();
    let Some(files) = files else {
        return;
    };
    let words: Vec<String> = files.iter().map(|of| of.display().to_string()).collect();
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    // The first sentence: the region that grows, its place, and its time on twice the tasks.
    let text = print("track", &words).expect("it tracks");
    let (first, others) = text.split_once('\n').expect("several lines");
    assert!(
        first.starts_with("region 2, from the start to MPI_Init, takes 16.6 times the CPU time"),
        "{first}"
    );
    let predicted = first.split_once("; at 32 tasks about ");
    let predicted = predicted.and_then(|(_, end)| end.split_once(" s are predicted"));
    let predicted: f64 = predicted
        .and_then(|(time, _)| time.parse().ok())
        .expect("seconds");
    // From 4 to 16 tasks 1.7 s become 12.8 s, a power of 1.5; on 32 tasks 36 s.
    assert!((18.0..60.0).contains(&predicted), "{first}");
    // All of the times of a region that is divided are equal.
    let (_, times) = others.split_once("CPU time of regions").expect("a table");
    let row = times.lines().find(|line| line.starts_with("       1  "));
    let row: Vec<&str> = row.expect("the first region").split_whitespace().collect();
    assert_eq!(row[2], "s");
    for time in [1, 3, 5, 7].map(|at| row[at].parse::<f64>().expect("seconds")) {
        assert!((time / 16.7 - 1.0).abs() < 0.05, "{row:?}");
    }
    words.push("--json");
    let printed = print("track", &words).expect("it tracks");
    let result: serde_json::Value = serde_json::from_str(&printed).expect("it is JSON");
    for experiment in result["experiments"].as_array().expect("three") {
        assert!(share(&experiment["balance"], "noise") < 0.1, "{experiment}");
    }
    for share in result["coverage"].as_array().expect("one an experiment") {
        assert!(share.as_f64().is_some_and(|share| share > 0.89), "{share}");
    }
    // At most 1 % of the time of each trace is in bursts below the minimum duration.
    let min = &result["min_duration"];
    assert_eq!(min["chosen"], true);
    let shares = [0, 1, 2]
        .map(|experiment| share(&result["experiments"][experiment]["balance"], "duration"));
    assert!(shares.iter().all(|share| *share <= 0.01), "{shares:?}");
    assert!(shares[2] > 0.0099, "{shares:?}");
    // The shared radius separates modes in every run, so that the first region has two clusters in
    // small runs.
    for (region, last, most) in [(0, 1, 2), (2, 3, 1)] {
        let members = result["regions"][region]["members"]
            .as_array()
            .expect("three");
        let mut sizes = members.iter().map(|of| of.as_array().map_or(0, Vec::len));
        assert!(sizes.all(|size| (1..=most).contains(&size)));
        assert_eq!(members[2], serde_json::json!([last]));
    }
}

/// Bursts shorter than a millisecond take 79 % of the time.
#[test]
fn many_short_bursts_are_a_handful_of_clusters() {
    let file = perf_testdata::bundled::recording("nwchem-md-4");
    let printed = print("cluster", &[&file.display().to_string(), "--json"]);
    let result: serde_json::Value =
        serde_json::from_str(&printed.expect("it clusters")).expect("it is JSON");
    let balance = &result["balance"];
    assert!(share(balance, "duration") <= 0.01, "{balance}");
    assert!(share(balance, "untracked") > 0.95, "{balance}");
    let clusters = result["clusters"]["rows"].as_array().expect("a list");
    assert!((6..=13).contains(&clusters.len()), "{}", clusters.len());
    // The four longest bursts, one for each rank, are a cluster although there are 14,355 shorter
    // ones.
    assert!(clusters.iter().any(|of| {
        of["bursts"] == 4 && of["CPU time"].as_f64().is_some_and(|share| share > 16.0)
    }));
    assert_eq!(result["min_duration"]["ns"], 900);
}

/// Tests that a window selects the bursts that lie in it, and that two windows together have all but those cut by the
/// edge between them.
#[test]
fn windows_select_bursts() {
    let file = recording("jacobi-4").display().to_string();
    let bursts = |window: &[&str]| {
        let text = print("bursts", &[&["--json", &file], window].concat()).expect("bursts");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let rows = json["threads"]["rows"].as_array().expect("threads");
        let counts = rows.iter().map(|row| row["kept bursts"].as_u64());
        counts.sum::<Option<u64>>().expect("numbers")
    };
    let windows = [&[][..], &["--to", "300ms"], &["--from", "300ms"]];
    let [all, first, second] = windows.map(bursts);
    assert!(first > 0 && second > 0);
    // At most one burst of each of the four threads is open at the edge.
    assert!((all - 4..=all).contains(&(first + second)));
    let clusters = print("cluster", &["--to", "300ms", &file]);
    assert!(clusters.expect("clusters").contains("cluster"));
    let outside = print("bursts", &["--from", "9s", &file]);
    assert!(matches!(outside, Err(Failure::Usage(what)) if what.contains("580.21 ms")));
}

/// ImageMagick with OpenMP reads a picture, which is serial, and then executes two parallel functions. The three
/// phases are three regions with positions, and the serial one limits the run on 8 threads.
#[test]
fn phases_of_an_openmp_program_are_named() {
    let file = |threads| {
        perf_testdata::corpus::corpus(&format!("paraver/imagemagick_omp/omp{threads}.prv.gz"))
    };
    let files: Option<Vec<_>> = [1, 2, 8].into_iter().map(file).collect();
    let Some(files) = files else {
        return;
    };
    let words: Vec<String> = files.iter().map(|of| of.display().to_string()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = print("track", &words).expect("it tracks");
    let serial = "region 2, outside parallel functions, before GetPixelBlue, runs on one of 8 threads for 4.18 s";
    assert!(text.starts_with(serial), "{text}");
    for line in [
        "  region 1: GetPixelBlue pixel-accessor.h:92\n",
        "  region 2: outside parallel functions, before GetPixelBlue\n",
        "  region 3: GetPixelGreen pixel-accessor.h:186\n",
        "the number of instructions stays on 1 of 8 threads, so it is not divided",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("no trend is stated"), "{text}");
    // The scale is the number of threads of one process.
    assert!(text.contains(" prediction for 16 threads\n"), "{text}");
    assert!(text.contains("scaling models, and their values at 16 threads\n"));
    assert!(!text.contains("tasks"), "{text}");
}

/// Few threads have long bursts of the second region of the smallest run.
#[test]
fn regions_that_few_threads_repeat_have_no_trend() {
    let files = [4, 9, 16, 64].map(|ranks| {
        let file = perf_testdata::bundled::recording(&format!("jacobi-{ranks}"));
        file.display().to_string()
    });
    let words: Vec<&str> = files.iter().map(String::as_str).collect();
    let text = print("track", &words).expect("it tracks");
    let (_, unstated) = text.split_once("no trend is stated").expect("one region");
    assert!(unstated.contains("region 2 "), "{text}");
    // The times of the first region rise and fall.
    let first = text.lines().find(|line| line.starts_with("region 1, "));
    let end = "; no model of the tasks describes its growth";
    assert!(first.is_some_and(|line| line.ends_with(end)), "{text}");
    // An interval from 43 us to 14 ms says nothing.
    let model = text
        .lines()
        .find(|line| line.contains("1  mean duration [ns]"));
    assert!(
        model.is_some_and(|line| line.ends_with("too wide: noise, or no such model")),
        "{text}"
    );
}
