//! [`Synthetic`]: generated events of one thread for benches, calls nested three deep of which a
//! few are slow; [`events`] returns those of 100 functions.

use perf_testdata::xorshift::Xorshift;
use perfkit::core::{EventSink, Nanos, RegionId, StreamEvent, StreamId, StreamKey};

/// Events of one thread, generated on request: calls of as many functions as there are regions, one
/// in 10,000 slow. The stream is deterministic.
#[derive(Clone, Debug)]
pub struct Synthetic {
    random: Xorshift,
    at: i64,
    calls: u64,
}

impl Default for Synthetic {
    fn default() -> Self {
        Synthetic {
            random: Xorshift::new(1),
            at: 0,
            calls: 0,
        }
    }
}

impl Synthetic {
    /// Appends ten events: a phase, three calls in it, and one in the last of them.
    pub fn phase(&mut self, regions: &[RegionId], to: &mut Vec<(Nanos, StreamEvent)>) {
        let mut open = [RegionId(0); 5];
        let mut depth = 0;
        for closes in [0, 1, 1, 0, 3] {
            let function = self.calls as usize % regions.len();
            let region = regions[function];
            self.at += 200;
            to.push((Nanos(self.at), StreamEvent::Enter(region)));
            (open[depth], depth) = (region, depth + 1);
            let usual = 10_000 + 100 * function as u64;
            let spread: u64 = (0..4).map(|_| self.random.below(usual / 10)).sum();
            self.calls += 1;
            let slow = if self.calls.is_multiple_of(10_007) {
                30
            } else {
                1
            };
            self.at += (slow * (usual + spread)) as i64;
            for _ in 0..closes {
                depth -= 1;
                self.at += 100;
                to.push((Nanos(self.at), StreamEvent::Exit(open[depth])));
            }
        }
    }
}

/// Returns `count` events of one stream, whose names are defined in `sink`.
pub fn events(count: usize, sink: &mut dyn EventSink) -> (StreamId, Vec<(Nanos, StreamEvent)>) {
    let stream = sink.stream(StreamKey::default());
    let regions: Vec<RegionId> = (0..100)
        .map(|at| sink.region(0, &format!("function_{at}")))
        .collect();
    let (mut source, mut events) = (Synthetic::default(), Vec::with_capacity(count + 10));
    while events.len() < count {
        source.phase(&regions, &mut events);
    }
    (stream, events)
}
