//! Generated text of a Paraver trace of any size, as Extrae writes it for MPI programs with
//! counters.

use crate::xorshift::Xorshift;
use std::fmt::Write as _;

/// Returns a trace of `tasks` tasks that alternate between computation and MPI calls, `calls` times
/// each: states, events with eight counters and three levels of callers, and messages; about 460
/// bytes for each call. Equal arguments give equal text.
pub fn text(tasks: u32, calls: u32) -> String {
    let counters = [
        42_000_050, 42_000_059, 42_000_000, 42_000_002, 42_000_008, 42_000_055, 42_000_046,
        42_001_047,
    ];
    let mut random = Xorshift::new(3);
    // Durations of bursts and calls by task: time advances in steps of all tasks.
    let step = 2_000_000_u64;
    let mut text = format!(
        "#Paraver (01/01/2020 at 10:00):{}_ns:1({tasks}):1:{tasks}(",
        u64::from(calls) * step
    );
    for task in 0..tasks {
        text.push_str(if task == 0 { "1:1" } else { ",1:1" });
    }
    text.push_str("),1\n");
    let _ = write!(text, "c:1:1:{tasks}");
    for task in 1..=tasks {
        let _ = write!(text, ":{task}");
    }
    text.push('\n');
    for call in 0..u64::from(calls) {
        let begin = call * step;
        let middle = |task: u32| begin + 1_000_000 + u64::from(task) * 100;
        for task in 1..=tasks {
            let who = format!("{task}:1:{task}:1");
            let _ = writeln!(text, "1:{who}:{begin}:{}:1", middle(task));
            if call > 0 {
                let _ = write!(text, "2:{who}:{begin}:50000001:0");
                for counter in counters {
                    let _ = write!(text, ":{counter}:{}", random.below(5_000));
                }
                text.push('\n');
            }
        }
        for task in 1..=tasks {
            let (who, at) = (format!("{task}:1:{task}:1"), middle(task));
            let _ = writeln!(text, "1:{who}:{at}:{}:16", begin + step);
            let _ = write!(text, "2:{who}:{at}:50000001:41");
            for counter in counters {
                let _ = write!(text, ":{counter}:{}", random.below(3_000_000));
            }
            for level in 1..=3 {
                let (function, line) = (3 + random.below(30), 3 + random.below(200));
                let _ = write!(text, ":7000000{level}:{function}:8000000{level}:{line}");
            }
            text.push('\n');
            let to = task % tasks + 1;
            let (sent, received) = (at, begin + step - 7);
            let _ = writeln!(
                text,
                "3:{who}:{sent}:{sent}:{to}:1:{to}:1:{}:{received}:41360:0",
                middle(to)
            );
        }
    }
    text
}
