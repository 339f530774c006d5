//! Labels of many ranks that share, and of one detector that sees all calls.

use super::*;
use perf_core::Job;

type Labels = HashMap<(u32, u64), Label>;

/// Makes a detector that knows nothing.
type Make = fn() -> Box<dyn Detector>;

/// Ranks with `steps` steps of the same functions, some calls of them slow; each function has its own
/// usual run time.
fn programs(ranks: u32, steps: usize) -> Vec<Vec<Vec<(&'static str, i64)>>> {
    const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut random = Random::new(5);
    let mut step = || {
        let mut call = |at: usize| {
            let usual = 2e4 * (1 + at % 8) as f64 * (0.2 * random.normal()).exp();
            // What goes wrong takes another time each time.
            let slow = match random.below(500) {
                0 => 8.0 * 20.0_f64.powf(random.unit()),
                _ => 1.0,
            };
            (NAMES[at % 8], (slow * usual) as i64)
        };
        (0..24).map(&mut call).collect::<Vec<_>>()
    };
    (0..ranks)
        .map(|_| (0..steps).map(|_| step()).collect())
        .collect()
}

fn labels(calls: &Calls, judgements: &[Judgement], into: &mut Labels) {
    for (call, judgement) in calls.batch().calls().iter().zip(judgements) {
        let rank = calls.stream_key(call.stream).expect("it has one").rank;
        into.insert((rank, call.number), judgement.label);
    }
}

/// One detector for all ranks.
fn single(make: Make, program: &[Vec<Vec<(&str, i64)>>]) -> (Labels, Model) {
    let (mut calls, mut detector) = (sink(), make());
    let mut all = Labels::new();
    let mut at = vec![0; program.len()];
    let mut each: Vec<_> = program.iter().map(|steps| steps.iter()).collect();
    for step in 0..program[0].len() as u64 {
        for (rank, steps) in each.iter_mut().enumerate() {
            let step = steps.next().expect("all have as many");
            push(&mut calls, rank as u32, step, &mut at[rank]);
        }
        calls.end_step(step);
        let mut judgements = Vec::new();
        detector
            .detect(calls.batch().samples(), &mut judgements, &Job::default())
            .expect("not cancelled");
        labels(&calls, &judgements, &mut all);
    }
    (all, detector.snapshot())
}

/// One a rank, and a server.
fn distributed(make: Make, program: &[Vec<Vec<(&str, i64)>>], every: u64) -> (Labels, Model) {
    let local = Local::new(server(Server::params()));
    let mut ranks: Vec<_> = (0..program.len())
        .map(|rank| {
            let wire = Wire {
                server: Some(local.clone()),
                ..Wire::default()
            };
            let schedule = Schedule::every(every)
                .expect("not 0")
                .staggered(rank as u32);
            let client = Client::new(rank as u64, wire).schedule(schedule);
            (client, sink(), make(), 0)
        })
        .collect();
    let mut all = Labels::new();
    let mut each: Vec<_> = program.iter().map(|steps| steps.iter()).collect();
    for step in 0..program[0].len() as u64 {
        let both = ranks.iter_mut().zip(&mut each);
        for (rank, ((client, calls, detector, at), steps)) in both.enumerate() {
            let own = steps.next().expect("all have as many");
            push(calls, rank as u32, own, at);
            calls.end_step(step);
            let mut judgements = Vec::new();
            detector
                .detect(calls.batch().samples(), &mut judgements, &Job::default())
                .expect("not cancelled");
            labels(calls, &judgements, &mut all);
            let synced = client.step(calls, &judgements, &mut **detector);
            synced.expect("the wire is sound");
        }
    }
    for (client, calls, detector, _) in &mut ranks {
        client
            .sync(calls, &mut **detector)
            .expect("the wire is sound");
    }
    let model = local.server(|server| server.model().cloned());
    (
        all,
        model.expect("nobody panicked").expect("it has learned"),
    )
}

#[test]
fn labels_of_80_ranks_are_those_of_one() {
    let program = programs(80, 120);
    let makes: [(Make, &str); 2] = [
        (|| Box::new(tail()), "tail"),
        (|| Box::new(Sstd::default()), "sstd"),
    ];
    for (make, name) in makes {
        let (one, alone) = single(make, &program);
        for every in [1, 3] {
            let (many, together) = distributed(make, &program, every);
            assert_eq!(one.len(), many.len());
            let share = |from: u64| {
                let counted = one.iter().filter(|((_, number), _)| *number >= from);
                let same = counted
                    .clone()
                    .filter(|(call, label)| many[call] == **label);
                same.count() as f64 / counted.count() as f64
            };
            let of = |labels: &Labels| labels.values().filter(|one| one.is_anomaly()).count();
            println!(
                "{name}, every {every}: {:.3} % of {} labels equal, {:.3} % from the second step on; \
                 {} and {} anomalies",
                100.0 * share(0),
                one.len(),
                100.0 * share(24),
                of(&one),
                of(&many)
            );
            // In the first step nobody knows of anybody else.
            assert!(share(24) >= 0.99, "{name} every {every}: {}", share(24));
            if every == 1 {
                assert!(share(0) >= 0.99, "{name}: {}", share(0));
            }
            assert!(of(&one) > 150, "what was planted is found");
            if let (Model::Tail(_), Model::Tail(_)) = (&alone, &together) {
                assert_eq!(alone, together, "the model of all is the same to the bit");
            }
        }
    }
}
