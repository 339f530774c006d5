//! Stragglers that are planted, and those of a published training job.

use perf_core::{Job, Merge, Nanos};
use perf_wait::Error;
use perf_wait::stragglers::{PeerSums, StragglerKind, Stragglers};
use proptest::prelude::*;

/// Random numbers with a normal distribution.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (self.uniform() * std::f64::consts::TAU).cos()
    }
}

/// Times of three functions on 16 ranks in 40 steps with 5 % noise, times a factor.
fn run(seed: u64, factor: impl Fn(u32, u32, u64) -> f64) -> (Stragglers, f64) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut sums, mut all) = (PeerSums::default(), 0.0);
    for step in 0..40 {
        for rank in 0..16 {
            for function in 0..3 {
                let typical = 1e6 * f64::from(function + 1);
                let time = typical * (0.05 * random.normal()).exp() * factor(function, rank, step);
                all += time;
                sums.add(function, rank, step, Nanos(time as i64));
            }
        }
    }
    (
        Stragglers::of(&sums, &Job::default()).expect("it is not cancelled"),
        all,
    )
}

#[test]
fn planted_stragglers_come_first() {
    let mut right = 0;
    for seed in 0..100 {
        let rank = (seed % 16) as u32;
        let step = seed % 40;
        let (found, first) = match seed % 3 {
            0 => {
                let (found, _) = run(seed, |f, r, _| if (f, r) == (1, rank) { 1.3 } else { 1.0 });
                (found, (StragglerKind::Rank, 1, Some(rank), None))
            }
            1 => {
                let (found, _) = run(seed, |f, _, s| if (f, s) == (2, step) { 1.5 } else { 1.0 });
                (found, (StragglerKind::Step, 2, None, Some(step)))
            }
            _ => {
                let is_bad = |f, r, s| (f, r, s) == (0, rank, step);
                let (found, _) = run(seed, |f, r, s| if is_bad(f, r, s) { 20.0 } else { 1.0 });
                (found, (StragglerKind::Call, 0, Some(rank), Some(step)))
            }
        };
        let own = found
            .stragglers
            .first()
            .map(|it| (it.kind, it.function, it.rank, it.step));
        right += usize::from(own == Some(first));
    }
    assert!(right >= 99, "{right} of 100");
}

#[test]
fn healthy_runs_lose_nothing() {
    for seed in 1_000..1_020 {
        let (found, all) = run(seed, |_, _, _| 1.0);
        let lost: f64 = found.stragglers.iter().map(|it| it.lost.0 as f64).sum();
        assert!(lost < all * 0.001, "{seed}: {:?}", found.stragglers);
    }
}

#[test]
fn time_lost_is_the_excess() {
    let (found, _) = run(7, |f, r, _| if (f, r) == (1, 5) { 1.3 } else { 1.0 });
    let first = found.stragglers[0];
    // 40 steps of 2 ms and 30 %.
    let planted = 40.0 * 2e6 * 0.3;
    assert!(
        (first.lost.0 as f64 / planted - 1.0).abs() < 0.1,
        "{first:?}"
    );
    let noise = found.functions[1].noise;
    assert!((noise - 0.05).abs() < 0.005, "{noise}");
}

#[test]
fn parameters_are_checked() {
    let bad = PeerSums::params().min_factor(0.5).check();
    assert!(matches!(
        bad,
        Err(Error::Parameter {
            name: "min_factor",
            ..
        })
    ));
    assert!(PeerSums::params().min_score(f64::NAN).check().is_err());
}

proptest! {
    #[test]
    fn parts_merge_to_the_whole(
        calls in prop::collection::vec((0u32..3, 0u32..4, 0u64..5, 1i64..1_000), 0..60),
        cut in 0usize..60,
    ) {
        let sums = |calls: &[(u32, u32, u64, i64)]| {
            let mut sums = PeerSums::default();
            for (function, rank, step, time) in calls {
                sums.add(*function, *rank, *step, Nanos(*time));
            }
            sums
        };
        let (first, second) = calls.split_at(cut.min(calls.len()));
        let (mut a, mut b) = (sums(first), sums(second));
        let whole = sums(&calls);
        let copy = a.clone();
        a.merge(&b);
        b.merge(&copy);
        prop_assert_eq!(&a, &whole);
        prop_assert_eq!(&b, &whole);
        a.merge(&PeerSums::default());
        prop_assert_eq!(&a, &whole);
        prop_assert!(Stragglers::of(&whole, &Job::default()).is_ok());
    }
}
