//! Tests of records out of order and beyond the duration.

use super::*;

/// A trace file that is removed on drop.
struct File(std::path::PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("perfkit-{name}-{}.prv", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns a trace of two threads with states, counters and calls, as lines in order of time.
fn ordered_lines(count: u64) -> Vec<String> {
    let mut lines = Vec::new();
    for step in 0..count {
        for task in 1..=2 {
            let begin = 100 * step + task;
            let who = format!("{task}:1:{task}:1");
            lines.push((begin, format!("1:{who}:{begin}:{}:1", begin + 50)));
            let counters = format!("42000050:{step}:50000001:1");
            lines.push((begin + 50, format!("2:{who}:{}:{counters}", begin + 50)));
            lines.push((begin + 90, format!("2:{who}:{}:50000001:0", begin + 90)));
        }
    }
    lines.sort_by_key(|(time, _)| *time);
    lines.into_iter().map(|(_, line)| line).collect()
}

const LONG: &str = "#Paraver (01/01/2024 at 00:00):10000_ns:1(2):1:2(1:1,1:1)\n";

/// Reads these lines from a file and from memory, which must agree.
fn both(name: &str, lines: &[String], options: &OpenOptions) -> (Trace, Diagnostics) {
    let text = format!("{LONG}{}\n", lines.join("\n"));
    let file = File::new(name, &text);
    let pcf = Pcf::parse(PCF.as_bytes());
    let of_file = Reader::open(&file.0, options, &Job::default()).unwrap();
    let of_file = into_trace(of_file, &pcf, &Row::default()).unwrap();
    let of_text = Reader::new(
        text.as_bytes(),
        &file.0.to_string_lossy(),
        options,
        &Job::default(),
    )
    .unwrap();
    let of_text = into_trace(of_text, &pcf, &Row::default()).unwrap();
    assert_eq!(of_file.0.events(), of_text.0.events());
    assert_eq!(of_file.1, of_text.1);
    of_file
}

#[test]
fn records_out_of_order_are_sorted_with_their_times() {
    let lines = ordered_lines(60);
    let (truth, found) = both("ordered", &lines, &OpenOptions::new());
    assert_eq!(found.repairs(), 0, "{found}");
    // The second half precedes the first: one step back in each thread.
    let (first, second) = lines.split_at(lines.len() / 2);
    let swapped = [second, first].concat();
    let (sorted, found) = both("swapped", &swapped, &OpenOptions::new());
    assert_eq!(sorted.events(), truth.events());
    assert_eq!(found.count(rules::OUT_OF_ORDER), 2, "{found}");
    assert_eq!(found.repairs(), 2, "{found}");
    // One line is late, and one early: each is a step back.
    let mut moved = lines.clone();
    let late = moved.remove(30);
    moved.insert(200, late);
    let early = moved.remove(300);
    moved.insert(100, early);
    let (sorted, found) = both("moved", &moved, &OpenOptions::new());
    assert_eq!(sorted.events(), truth.events());
    assert_eq!(found.count(rules::OUT_OF_ORDER), 2, "{found}");
    // A window or a single thread yields a part of the whole.
    let window = perf_core::TimeRange::new(Ticks(1_000), Ticks(4_000)).unwrap();
    let windowed = both("window", &swapped, &OpenOptions::new().window(window)).0;
    for (whole, part) in truth.events().iter().zip(windowed.events()) {
        assert_eq!(whole.times().get(whole.range(window)), Some(part.times()));
    }
    let one = OpenOptions::new().locations(vec![1]);
    let truth = both("ordered-one", &lines, &one).0;
    let swapped = both("one", &swapped, &one).0;
    assert_eq!(events(&swapped, 1), events(&truth, 1));
}

#[test]
fn records_beyond_the_duration_are_counted_and_kept() {
    let lines = ordered_lines(60);
    let (truth, found) = both("truth", &lines, &OpenOptions::new());
    assert_eq!(found.count(rules::BEYOND_DURATION), 0, "{found}");
    let mut longer = lines.clone();
    longer.push("2:1:1:1:1:10001:50000001:7".into());
    longer.push("3:1:1:1:1:9000:9000:2:1:2:1:9500:10500:8:7".into());
    let (trace, found) = both("longer", &longer, &OpenOptions::new());
    assert_eq!(found.count(rules::BEYOND_DURATION), 2, "{found}");
    assert_eq!(found.repairs(), 0, "{found}");
    assert_eq!(trace.range().unwrap().end, Ticks(10_501));
    assert!(trace.len() > truth.len());
}

#[test]
fn a_time_far_beyond_the_trace_is_repaired() {
    let lines = ordered_lines(60);
    let truth = both("truth", &lines, &OpenOptions::new()).0;
    let end = truth.range().unwrap().end;
    // In the middle and as the last of its thread: events, a state that begins, and one that ends.
    for (at, field) in [
        (100, 5),
        (lines.len() - 1, 5),
        (96, 5),
        (96, 6),
        (lines.len() - 6, 6),
    ] {
        let mut damaged = lines.clone();
        let mut fields: Vec<&str> = damaged[at].split(':').collect();
        fields[field] = "14400000000000000";
        damaged[at] = fields.join(":");
        let (trace, found) = both("jump", &damaged, &OpenOptions::new());
        assert!(trace.range().unwrap().end <= end, "{at} {field}");
        assert!(found.count(rules::TIME_JUMP) >= 1, "{at} {field}: {found}");
        assert_eq!(
            found.repairs(),
            found.count(rules::TIME_JUMP),
            "{at} {field}: {found}"
        );
        assert!(trace.len().abs_diff(truth.len()) <= 4);
    }
    // A message: its channel keeps its order, and every other message its partner.
    let message = |step: u64| {
        let begin = 100 * step + 60;
        let times = [begin, begin, begin + 20, begin + 20].map(|time| time.to_string());
        let [send, sent, receive, received] = times;
        (
            begin,
            format!("3:1:1:1:1:{send}:{sent}:2:1:2:1:{receive}:{received}:{step}:7"),
        )
    };
    let mut with_messages: Vec<(u64, String)> = (0..60).map(message).collect();
    with_messages.extend(lines.iter().map(|line| {
        let time = line.split(':').nth(5).and_then(|time| time.parse().ok());
        (time.unwrap(), line.clone())
    }));
    with_messages.sort_by_key(|(time, _)| *time);
    let sound: Vec<String> = with_messages.into_iter().map(|(_, line)| line).collect();
    let seen = |lines: &[String]| {
        let (trace, found) = both("messages", lines, &OpenOptions::new());
        let messages = perf_core::match_messages(trace.view(), &Job::default()).unwrap();
        let violations = messages.clock_violations().messages;
        (
            messages.messages.len(),
            violations.violated,
            found.count(rules::TIME_JUMP),
        )
    };
    assert_eq!(seen(&sound), (60, 0, 0));
    let own = (0..sound.len()).filter(|at| sound[*at].starts_with("3:"));
    for at in own.step_by(7) {
        // Logical and physical times of the send and of the receive.
        for field in [5, 6, 11, 12] {
            let mut damaged = sound.clone();
            let mut fields: Vec<&str> = damaged[at].split(':').collect();
            fields[field] = "14400000000000000";
            damaged[at] = fields.join(":");
            assert_eq!(seen(&damaged), (60, 0, 1), "{at} {field}");
        }
    }
    // A header with a wrong duration is not trusted.
    let short = LONG.replace("10000", "10");
    let text = format!("{short}{}\n", lines.join("\n"));
    let reader = Reader::new(
        text.as_bytes(),
        "x.prv",
        &OpenOptions::new(),
        &Job::default(),
    )
    .unwrap();
    let (trace, found) = into_trace(reader, &Pcf::parse(PCF.as_bytes()), &Row::default()).unwrap();
    assert_eq!(trace.events(), truth.events());
    assert_eq!(found.repairs(), 0, "{found}");
}
