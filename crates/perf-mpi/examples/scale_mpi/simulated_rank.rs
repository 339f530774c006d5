//! Simulated ranks of a program.

use perf_anomaly::calls::Calls;
use perf_anomaly::server::{Client, Schedule};
use perf_anomaly::{Detector, Error, Judgement, Tail};
use perf_core::{EventSink, Job, Nanos, StreamEvent, StreamKey};
use perf_mpi::Mailbox;

/// Size of the simulated program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) ranks: u32,
    pub(crate) steps: u64,
    pub(crate) functions: u64,
    /// Number of calls of each function in a step.
    pub(crate) calls: u64,
}

/// Label of a call: none, normal, or abnormal.
pub(crate) type Label = u8;
const NOTHING: Label = 0;
const NORMAL: Label = 1;
pub(crate) const ABNORMAL: Label = 2;

fn label(judgement: &Judgement) -> Label {
    match judgement.label {
        perf_anomaly::Label::NotEnoughData => NOTHING,
        label if label.is_anomaly() => ABNORMAL,
        _ => NORMAL,
    }
}

/// Simulated rank with its calls, its detector and its client.
pub(crate) struct Rank {
    number: u32,
    calls: Calls,
    detector: Tail,
    client: Client<Mailbox>,
    judgements: Vec<Judgement>,
    pub(crate) labels: Vec<Label>,
    now: i64,
}

impl Rank {
    pub(crate) fn new(
        number: u32,
        shape: &Shape,
        mailbox: Mailbox,
        every: u64,
    ) -> Result<Self, Error> {
        let calls = shape.steps * shape.functions * shape.calls;
        let schedule = Schedule::every(every)?.staggered(number);
        Ok(Rank {
            number,
            calls: Calls::default(),
            detector: tail()?,
            client: Client::new(number.into(), mailbox).schedule(schedule),
            judgements: Vec::new(),
            labels: Vec::with_capacity(calls as usize),
            now: 0,
        })
    }

    /// Generates the calls of a step.
    pub(crate) fn play(&mut self, step: u64, shape: &Shape) {
        push(&mut self.calls, self.number, step, shape, &mut self.now);
        self.calls.end_step(step);
    }

    /// Judges the calls of the step.
    pub(crate) fn judge(&mut self) {
        self.judgements.clear();
        let samples = self.calls.batch().samples();
        self.detector
            .detect(samples, &mut self.judgements, &Job::default())
            .expect("nothing cancels the job");
        self.labels.extend(self.judgements.iter().map(label));
    }

    /// Sends the new statistics.
    pub(crate) fn share(&mut self) -> Result<(), Error> {
        self.client
            .step(&self.calls, &self.judgements, &mut self.detector)?;
        Ok(())
    }

    /// Receives the statistics that other ranks have learned in the step.
    pub(crate) fn hear(&mut self) -> Result<(), Error> {
        self.client.receive(&self.calls, &mut self.detector)?;
        Ok(())
    }

    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.client.finish(&self.calls, &mut self.detector)?;
        Ok(())
    }
}

fn tail() -> Result<Tail, Error> {
    // The first call of a function is learned, because there is no warm-up in the simulation.
    Ok(Tail::new(Tail::params().learn_first(true).check()?))
}

/// Returns the labels of one detector that sees all ranks, by rank; empty unless they are wanted.
pub(crate) fn single(shape: &Shape, is_wanted: bool) -> Result<Vec<Vec<Label>>, Error> {
    let mut labels = vec![Vec::new(); shape.ranks as usize];
    if !is_wanted {
        return Ok(labels);
    }
    let mut calls = Calls::default();
    let mut detector = tail()?;
    let mut now = vec![0; labels.len()];
    let mut judgements = Vec::new();
    for step in 0..shape.steps {
        for (rank, now) in (0..).zip(&mut now) {
            push(&mut calls, rank, step, shape, now);
        }
        calls.end_step(step);
        judgements.clear();
        detector.detect(calls.batch().samples(), &mut judgements, &Job::default())?;
        for (call, judgement) in calls.batch().calls().iter().zip(&judgements) {
            let rank = calls.stream_key(call.stream).unwrap_or_default().rank;
            if let Some(labels) = labels.get_mut(rank as usize) {
                labels.push(label(judgement));
            }
        }
    }
    Ok(labels)
}

/// Generates the calls of a step: functions one after the other, each with its own run time and
/// some noise. One call in 500 takes 5 to 100 times as long.
fn push(calls: &mut Calls, rank: u32, step: u64, shape: &Shape, now: &mut i64) {
    let stream = calls.stream(StreamKey {
        program: 0,
        rank,
        thread: 0,
    });
    let mut random = Random::new(1 + u64::from(rank) * 1_000_003 + step * 7919);
    for call in 0..shape.functions * shape.calls {
        let function = call % shape.functions;
        let region = calls.region(0, &format!("f{function}"));
        let usual = 20_000 * (1 + function % 8) as i64;
        let noise = (0..3).map(|_| random.below(4000)).sum::<u64>() as i64;
        let slow = match random.below(500) {
            0 => 5 + random.below(95) as i64,
            _ => 1,
        };
        calls.push(stream, Nanos(*now), StreamEvent::Enter(region));
        *now += slow * (usual * (9_000 + noise) / 15_000);
        calls.push(stream, Nanos(*now), StreamEvent::Exit(region));
        *now += 100;
    }
}

/// Deterministic random numbers.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}
