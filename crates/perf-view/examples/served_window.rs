//! Measures a served timeline of 20 million events on 1,024 ranks: the time to open it, and from the
//! request of a window of 1,920 columns to its data.
//!
//! ```sh
//! cargo run --release -p perf-view --no-default-features --features fold,parallel --example served_window
//! ```
//!
//! The targets on two cores of 2.6 GHz are 2 s from the trace to the page, and 100 ms for a request. Measured CPU
//! times of all threads: 1.1 s for the page, 0.10 s for the whole time, 0.04 s for a tenth of it, and 4 ms for a
//! call stack; on two cores that no other program uses, a request takes at least half of it.

use perf_core::{Job, Ticks, TimeRange};
use perf_fold::{GroupBy, Groups, RegionMap, Timelines};
use perf_testdata::many_ranks;
use perf_view::Page;
use perf_view::timeline::{Part, View};
use std::error::Error;
use std::time::{Duration, Instant};

/// Begin of a measurement: wall time, and CPU time of all threads.
struct Begin(Instant, Duration);

impl Begin {
    fn now() -> Self {
        Begin(Instant::now(), cpu())
    }

    fn elapsed(&self) -> String {
        let (wall, cpu) = (self.0.elapsed(), cpu().saturating_sub(self.1));
        format!("{wall:.1?} ({cpu:.1?} of CPU time)")
    }
}

/// Returns the CPU time of all threads, or 0 if the system is not Linux.
fn cpu() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let of = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(tasks.flatten().filter_map(of).sum())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (trace, job) = (many_ranks::trace(1024, 19_500), Job::default());
    let begin = Begin::now();
    let map = RegionMap::by_name(trace.definitions())?;
    let timelines = Timelines::new(trace.view(), &map, &job)?;
    println!("timelines of {} events: {}", trace.len(), begin.elapsed());
    let groups = Groups::by(&timelines, GroupBy::Location).in_blocks(128, 64);
    let view = View::new(&timelines, groups).calls(trace.view(), &map);
    let (section, served) = view.served("cells/0", &job)?;
    let bytes = Page::new("x").with(section).html(&job)?.len();
    println!("page of {bytes} bytes: {} since the trace", begin.elapsed());
    let all = timelines.range();
    for (name, share) in [
        ("all", 1),
        ("a half", 2),
        ("a tenth", 10),
        ("a 1,000th", 1000),
    ] {
        let length = all.len() / share;
        let start = all.start.0 + (all.len() - length) / 2;
        let window = TimeRange {
            start: Ticks(start),
            end: Ticks(start + length),
        };
        for (rows, count) in [(0..64, "64 blocks"), (64..320, "256 ranks")] {
            let part = Part {
                window,
                columns: 1920,
                op: 0,
                rows: rows.collect(),
            };
            let begin = Begin::now();
            let bytes = served.cells(&part, &job)?.len();
            println!("{name}, {count}: {}, {bytes} bytes", begin.elapsed());
        }
        let begin = Begin::now();
        served.calls((trace.view(), &map), (100, window, 1920), &job)?;
        println!("{name}, a call stack: {}", begin.elapsed());
    }
    Ok(())
}
