//! Slow ranks and phases at the server, from the sums that ranks send.

use super::*;
use perf_anomaly::Monitor;
use perf_anomaly::server::Sum;

/// Exchange that sends each delta twice, and decodes its bytes.
#[derive(Debug)]
pub(super) struct Twice(pub(super) Local);

impl Exchange for Twice {
    fn send(&mut self, delta: &Delta) -> Result<()> {
        self.0.send(&Delta::decode(&delta.encode())?)?;
        self.0.send(delta)
    }

    fn receive(&mut self) -> Result<Option<View>> {
        self.0.receive()
    }
}

/// Runs eight ranks with 100 calls of 5 ms of `solve` in each of `steps` steps. `factor` returns the
/// factor of the run time by rank and step; `look` is called after each step.
fn run(
    local: &Local,
    steps: u64,
    factor: impl Fn(u32, u64) -> f64,
    mut look: impl FnMut(u64, &Local),
) {
    let order = (0..steps).flat_map(|step| (0..8).map(move |rank| (rank, step)));
    run_in_order(local, order, factor, |rank, step, local| {
        if rank == 7 {
            look(step, local);
        }
    });
}

/// Runs eight ranks like [`run`], with ranks and steps in the given order.
fn run_in_order(
    local: &Local,
    order: impl Iterator<Item = (u32, u64)>,
    factor: impl Fn(u32, u64) -> f64,
    mut look: impl FnMut(u32, u64, &Local),
) {
    let mut random = Random::new(5);
    let mut watches: Vec<_> = (0..8)
        .map(|rank| {
            let client = Client::new(u64::from(rank), Twice(local.clone()));
            Watch::new(Monitor::default().share(client), 0, rank).period(Nanos(0))
        })
        .collect();
    for (rank, step) in order {
        let watch = &mut watches[rank as usize];
        // The first function of a rank is not that of another rank.
        let names = if rank % 2 == 0 {
            ["solve", "MPI_Recv"]
        } else {
            ["MPI_Recv", "solve"]
        };
        let regions = names.map(|name| (name, watch.region(name)));
        let mut at = 3_000_000_000 * step as i64;
        for _ in 0..100 {
            for (name, region) in regions {
                let usual = if name == "solve" {
                    factor(rank, step)
                } else {
                    2.0
                };
                watch.enter(0, region, Nanos(at));
                at += (5e6 * usual * (1.0 + 0.05 * random.normal())) as i64;
                watch.exit(0, region, Nanos(at));
            }
        }
        watch.end_step();
        look(rank, step, local);
    }
    for watch in watches {
        watch.into_sink().finish().expect("the server takes all");
    }
}

#[test]
fn a_slow_rank_is_named_when_ranks_report_one_after_another() {
    // The fifth rank is the last one, then the first one.
    for ranks in [[0, 1, 2, 3, 4, 6, 7, 5], [5, 0, 1, 2, 3, 4, 6, 7]] {
        let local = Local::new(server(Server::params()));
        let order = ranks
            .iter()
            .flat_map(|rank| (0..30).map(|step| (*rank, step)));
        let slow = |rank, _| if rank == 5 { 1.3 } else { 1.0 };
        run_in_order(&local, order, slow, |_, _, _| {});
        let ranks = local.server(|server| server.slow_ranks()).unwrap();
        let [one] = ranks[..] else {
            panic!("{ranks:?}")
        };
        assert_eq!((one.rank, one.first, one.last, one.lasts), (5, 0, 29, true));
        let lost = one.lost.0 as f64 / (0.3 * 100.0 * 5e6 * 30.0);
        assert!((0.95..1.05).contains(&lost), "{lost}");
    }
}

#[test]
fn a_slow_rank_is_named_within_two_steps() {
    let local = Local::new(server(Server::params()));
    let mut named = None;
    let slow = |rank, _| if rank == 5 { 1.3 } else { 1.0 };
    run(&local, 20, slow, |step, local| {
        let ranks = local.server(|server| server.slow_ranks()).unwrap();
        assert!(ranks.iter().all(|one| one.rank == 5), "{step}: {ranks:?}");
        if !ranks.is_empty() {
            named.get_or_insert(step);
        }
    });
    assert!(named.is_some_and(|step| step < 2), "{named:?}");
    let bytes = local.server(|server| server.encode()).unwrap();
    let again = Server::decode(Default::default(), &bytes).expect("it was just written");
    assert_eq!(again.encode(), bytes);
    let ranks = again.slow_ranks();
    assert_eq!(ranks, local.server(|server| server.slow_ranks()).unwrap());
    let [one] = ranks[..] else {
        panic!("{ranks:?}")
    };
    assert_eq!((one.rank, one.first, one.last, one.lasts), (5, 0, 19, true));
    // 30 % of 100 calls of 5 ms in each of 20 steps, although each delta arrived twice.
    let lost = one.lost.0 as f64 / (0.3 * 100.0 * 5e6 * 20.0);
    assert!((0.95..1.05).contains(&lost), "{lost}");
    assert_eq!(&*again.names()[one.function.0 as usize].name, "solve");
    assert_eq!(again.slow_phases(), []);
}

#[test]
fn a_slow_phase_is_named_within_two_steps() {
    let local = Local::new(server(Server::params()));
    let mut named = None;
    let slow = |_, step| if step >= 10 { 1.3 } else { 1.0 };
    run(&local, 20, slow, |step, local| {
        let (phases, ranks) = local
            .server(|server| (server.slow_phases(), server.slow_ranks()))
            .unwrap();
        assert_eq!(ranks, [], "{step}");
        if !phases.is_empty() {
            named.get_or_insert(step);
        }
    });
    assert!(named.is_some_and(|step| step <= 11), "{named:?}");
    let phases = local.server(|server| server.slow_phases()).unwrap();
    let [one] = phases[..] else {
        panic!("{phases:?}")
    };
    assert_eq!((one.first, one.last), (10, 19));
}

#[test]
fn ranks_of_a_sum_are_compared() {
    /// Exchange that keeps deltas for a sum.
    #[derive(Debug)]
    struct Kept(std::sync::Arc<std::sync::Mutex<Vec<Delta>>>);
    impl Exchange for Kept {
        fn send(&mut self, delta: &Delta) -> Result<()> {
            self.0.lock().unwrap().push(delta.clone());
            Ok(())
        }
        fn receive(&mut self) -> Result<Option<View>> {
            Ok(None)
        }
    }
    let kept = std::sync::Arc::default();
    let mut server = server(Server::params());
    for rank in 0..4 {
        let client = Client::new(rank, Kept(std::sync::Arc::clone(&kept))).in_flight(9);
        let mut watch = Watch::new(Monitor::default().share(client), 0, rank as u32);
        let names = if rank == 0 {
            ["other", "solve"]
        } else {
            ["solve", "last"]
        };
        let regions = names.map(|name| watch.region(name));
        for step in 0..3 {
            for call in 0..50 {
                let time = if rank == 3 { 2_000_000 } else { 1_000_000 };
                let at = 200_000_000 * step + 3_000_000 * call;
                let region = regions[usize::from(rank == 0)];
                watch.enter(0, region, Nanos(at));
                watch.exit(0, region, Nanos(at + time));
            }
            watch.end_step();
        }
    }
    let mut deltas: Vec<Delta> = kept.lock().unwrap().clone();
    deltas.sort_by_key(|delta| delta.sequence);
    for some in deltas.chunks(6) {
        let mut sum = Sum::default();
        for delta in some {
            sum.merge(&server.sum(delta).unwrap()).unwrap();
        }
        let mut of_ranks = Sum::decode(&sum.take_ranks().encode()).unwrap();
        of_ranks.merge(&Sum::default()).unwrap();
        server.add(&sum).unwrap();
        server.add(&of_ranks).unwrap();
        server.publish();
        // A sum that was added is empty when its deltas arrive again.
        assert!(
            some.iter()
                .all(|delta| server.sum(delta).unwrap().deltas() == 0)
        );
    }
    let ranks = server.slow_ranks();
    let [one] = ranks[..] else {
        panic!("{ranks:?}")
    };
    assert_eq!((one.rank, one.first, one.last), (3, 0, 2));
    assert!((one.factor - 2.0).abs() < 0.01, "{one:?}");
}
