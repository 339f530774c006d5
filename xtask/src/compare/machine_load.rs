//! [`Watch`]: measures the load of the machine by other processes during a measurement.

use std::fs::read_to_string;
use std::time::Instant;

/// Clock ticks per second in the counters of the kernel.
const TICKS: f64 = 100.0;

/// CPU time so far in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counts {
    all: f64,
    ours: f64,
}

/// Measurement of the load by other processes over a period of time.
pub(crate) struct Watch {
    counts: Option<Counts>,
    started: Instant,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Watch {
            counts: counts(),
            started: Instant::now(),
        }
    }

    /// Returns the average number of cores that other processes used since the start. Time that the
    /// host of a virtual machine took away counts as well. `None` if the system does not report CPU
    /// times.
    pub(crate) fn cores(&self) -> Option<f64> {
        let (before, after) = (self.counts?, counts()?);
        let others = (after.all - before.all) - (after.ours - before.ours);
        let seconds = self.started.elapsed().as_secs_f64().max(1.0 / TICKS);
        Some((others / TICKS / seconds).max(0.0))
    }
}

fn counts() -> Option<Counts> {
    let all = read_to_string("/proc/stat").ok()?;
    let ours = read_to_string("/proc/self/stat").ok()?;
    Some(Counts {
        all: everybody(&all)?,
        ours: own(&ours)?,
    })
}

/// Parses the CPU time of all processes from `/proc/stat`: all fields except idle time and waiting
/// for disks.
fn everybody(text: &str) -> Option<f64> {
    let fields = text.lines().next()?.strip_prefix("cpu ")?;
    let fields = fields.split_whitespace().take(8);
    let fields: Vec<f64> = fields.map_while(|field| field.parse().ok()).collect();
    let [user, nice, system, _, _, interrupts, soft, stolen] = fields[..] else {
        return None;
    };
    Some(user + nice + system + interrupts + soft + stolen)
}

/// Parses the user and system time of a process and of its finished children from `/proc/PID/stat`,
/// fields 14 to 17.
fn own(text: &str) -> Option<f64> {
    // The name of the program, in parentheses, may contain spaces.
    let (_, rest) = text.rsplit_once(") ")?;
    let times = rest.split(' ').skip(11).take(4);
    let times: Vec<f64> = times.map_while(|field| field.parse().ok()).collect();
    (times.len() == 4).then(|| times.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_the_kernel_writes_them() {
        let text = "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        assert_eq!(everybody(text), Some(171.0));
        assert_eq!(everybody("cpu 1 2\n"), None);
        let text = "77 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0 1 0 9 9";
        assert_eq!(own(text), Some(11.0 + 12.0 + 13.0 + 14.0));
        assert_eq!(own("77 (a) S 1"), None);
    }
}
