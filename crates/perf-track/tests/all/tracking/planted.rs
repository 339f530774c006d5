//! Synthetic series with known truth.

use crate::planted;

use perf_core::Job;
use perf_testdata::xorshift::Xorshift;
use perf_track::tracking::{
    Evaluator, Event, LinkKind, Mode, Observation, Tracking, regroup_by_position,
};
use perf_track::{ClusterId, Points};
use planted::{
    Phase, Planted, alone, assert_pure, moved, order, phase, track, truths, twelve, unit,
};

#[test]
fn twelve_of_twelve() {
    // 128 and 256 tasks; instructions are halved, which is nearly invisible in a joint space.
    let phases = twelve();
    let experiments = [
        Planted::new(1, &alone(&phases, &order(12, 5))),
        Planted::new(2, &alone(&moved(&phases, [0.004, -0.006]), &order(12, 6))),
    ];
    for mode in [Mode::Optimal, Mode::Published] {
        let tracking = track(&experiments, Tracking::params().mode(mode));
        assert_pure(&tracking, &experiments, 12);
        assert!(
            tracking
                .experiments
                .iter()
                .all(|experiment| experiment.coverage > 0.999)
        );
        assert!(
            tracking
                .regions
                .iter()
                .all(|region| region.confidence > 0.85),
            "{mode:?}"
        );
        assert!(
            tracking
                .regions
                .iter()
                .all(|region| region.events.is_empty())
        );
    }
}

#[test]
fn displaced_together() {
    // All phases move by more than the distance of neighbours.
    let phases = twelve();
    let experiments = [
        Planted::new(1, &alone(&phases, &order(12, 5))),
        Planted::new(2, &alone(&moved(&phases, [0.3, -0.25]), &order(12, 6))),
        Planted::new(3, &alone(&moved(&phases, [0.6, -0.5]), &order(12, 7))),
    ];
    let tracking = track(&experiments, Tracking::params());
    assert_pure(&tracking, &experiments, 12);
    let pair = tracking.pair(0, 1).expect("compared");
    assert!(
        (pair.displacement[0] - 0.3).abs() < 0.005,
        "{:?}",
        pair.displacement
    );
    assert!(
        (pair.displacement[1] + 0.25).abs() < 0.005,
        "{:?}",
        pair.displacement
    );
    // Without removing the displacement tracking fails.
    let still = track(&experiments, Tracking::params().displace(false));
    let pure = truths(&still, &experiments).into_iter().filter(|region| {
        let mut all = region.concat();
        all.dedup();
        all.len() == 1 && region.iter().all(|experiment| experiment.len() == 1)
    });
    assert!(pure.count() < 12);
}

#[test]
fn split_and_merged() {
    let phases = twelve();
    // In the second experiment phase 3 has two modes, and phases 7 and 8 merge.
    let mut second = alone(&phases, &order(12, 6));
    let at = second.iter().position(|p| p[0].truth == 3).expect("there");
    let mut halves = [second[at][0].clone(), second[at][0].clone()];
    halves[0].centre[0] -= 0.03;
    halves[1].centre[0] += 0.03;
    halves.iter_mut().for_each(|half| half.bursts = 30);
    let [left, right] = halves;
    second[at] = vec![left];
    second.push(vec![right]);
    let mut wide = phases.clone();
    wide[3].spread = 0.03;
    let experiments = [
        Planted::new(1, &alone(&wide, &order(12, 5))),
        Planted::new(2, &second),
    ];
    let tracking = track(&experiments, Tracking::params());
    assert_pure(&tracking, &experiments, 12);
    let split: Vec<_> = tracking
        .regions
        .iter()
        .filter(|o| !o.events.is_empty())
        .collect();
    assert_eq!(split.len(), 1);
    assert_eq!(split[0].members[1].len(), 2);
    let expected = Event::Split {
        experiment: 1,
        from: split[0].members[0][0],
        into: split[0].members[1].clone(),
    };
    assert_eq!(split[0].events, [expected]);
    assert!(
        split[0]
            .links
            .iter()
            .any(|link| link.kind == LinkKind::Splits)
    );

    // The opposite order.
    let back = [experiments[1].clone(), experiments[0].clone()];
    let tracking = track(&back, Tracking::params());
    assert_pure(&tracking, &back, 12);
    let merged = tracking
        .regions
        .iter()
        .find(|o| !o.events.is_empty())
        .expect("one");
    let expected = Event::Merge {
        experiment: 1,
        from: merged.members[0].clone(),
        into: merged.members[1][0],
    };
    assert_eq!(merged.events, [expected]);
}

#[test]
fn born_and_dead() {
    // Phase 4 ends after the first experiment, phase 12 begins in the second one.
    let mut phases = twelve();
    let new = phase(12, [0.95, 0.95]);
    let first = alone(&phases, &order(12, 5));
    phases.push(new);
    let later: Vec<usize> = order(13, 6).into_iter().filter(|&at| at != 4).collect();
    let experiments = [
        Planted::new(1, &first),
        Planted::new(2, &alone(&phases, &later)),
        Planted::new(3, &alone(&phases, &later)),
    ];
    let tracking = track(&experiments, Tracking::params());
    assert_pure(&tracking, &experiments, 13);
    let events: Vec<_> = tracking
        .regions
        .iter()
        .flat_map(|o| o.events.clone())
        .collect();
    assert_eq!(events.len(), 2);
    assert!(events.contains(&Event::Death { experiment: 0 }));
    assert!(events.contains(&Event::Birth { experiment: 1 }));
}

#[test]
fn swapped_callers() {
    // Phases 0 and 1 exchange their positions; only their callers show it.
    const SITES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let mut phases = twelve();
    for (phase, caller) in phases.iter_mut().zip(SITES) {
        phase.caller = caller;
    }
    let mut swapped = phases.clone();
    (swapped[0].centre, swapped[1].centre) = (phases[1].centre, phases[0].centre);
    let experiments = [
        Planted::new(1, &alone(&phases, &order(12, 5))),
        Planted::new(2, &alone(&swapped, &order(12, 6))),
    ];
    assert_pure(&track(&experiments, Tracking::params()), &experiments, 12);
    let published = Tracking::params().mode(Mode::Published).use_callers(true);
    assert_pure(&track(&experiments, published), &experiments, 12);
    // Space alone is wrong about the two, and right about the others.
    let blind = track(&experiments, Tracking::params().use_callers(false));
    let pure = truths(&blind, &experiments)
        .iter()
        .filter(|o| o[0] == o[1])
        .count();
    assert_eq!(pure, 10);
    // A caller shared by all is not informative, and does no harm.
    for phase in phases.iter_mut() {
        phase.caller = "wrapper";
    }
    let experiments = [
        Planted::new(1, &alone(&phases, &order(12, 5))),
        Planted::new(2, &alone(&phases, &order(12, 6))),
    ];
    let tracking = track(&experiments, Tracking::params());
    assert_pure(&tracking, &experiments, 12);
    // The published heuristic is not misled either as long as distance is used.
    let published = Tracking::params().mode(Mode::Published).use_callers(true);
    assert_pure(&track(&experiments, published), &experiments, 12);
}

#[test]
fn thirty_clusters() {
    let mut random = Xorshift::new(30);
    let place = |index: usize| {
        [
            0.08 + 0.16 * (index % 6) as f64,
            0.1 + 0.19 * (index / 6) as f64,
        ]
    };
    let mut phases = Vec::new();
    for index in 0..30 {
        let centre = place(index).map(|value| value + 0.04 * (unit(&mut random) - 0.5));
        phases.push(phase(index, centre));
    }
    let experiments: Vec<Planted> = (0..5)
        .map(|experiment| {
            // They drift independently, by up to a quarter of their distance in total.
            let mut drifted = phases.clone();
            for (index, phase) in drifted.iter_mut().enumerate() {
                let angle = index as f64;
                let far = 0.01 * experiment as f64;
                phase.centre[0] += far * angle.cos();
                phase.centre[1] += far * angle.sin();
            }
            Planted::new(
                experiment as u64,
                &alone(&drifted, &order(30, 90 + experiment as u64)),
            )
        })
        .collect();
    let tracking = track(&experiments, Tracking::params());
    assert_pure(&tracking, &experiments, 30);
    assert!(
        tracking
            .regions
            .iter()
            .all(|region| region.experiments() == 5)
    );
    assert_pure(
        &track(&experiments, Tracking::params().mode(Mode::Published)),
        &experiments,
        30,
    );
}

#[test]
fn a_phase_lost_in_noise() {
    let phases = twelve();
    let lost: Vec<usize> = order(12, 6).into_iter().filter(|&at| at != 8).collect();
    let experiments = [
        Planted::new(1, &alone(&phases, &order(12, 5))),
        Planted::new(2, &alone(&phases, &lost)),
        Planted::new(3, &alone(&phases, &order(12, 7))),
    ];
    let tracking = track(&experiments, Tracking::params());
    assert_pure(&tracking, &experiments, 12);
    let region = tracking
        .regions
        .iter()
        .find(|o| !o.events.is_empty())
        .expect("one has a gap");
    let expected = Event::Gap {
        experiment: 1,
        hidden_in: None,
    };
    assert_eq!(region.events, [expected]);
    assert_eq!(
        region.members.iter().map(Vec::len).collect::<Vec<_>>(),
        [1, 0, 1]
    );
    assert!(
        region
            .links
            .iter()
            .any(|link| link.kind == LinkKind::Bridges)
    );
    // Without comparing the next experiment but one it is two tracked regions.
    assert_eq!(
        track(&experiments, Tracking::params().bridge(false))
            .regions
            .len(),
        13
    );
    // The published heuristic joins it to the nearest cluster.
    let published = track(&experiments, Tracking::params().mode(Mode::Published));
    assert_eq!(published.regions.len(), 11);
    let two = published
        .regions
        .iter()
        .filter(|region| region.members[0].len() == 2);
    assert_eq!(two.count(), 1);
}

#[test]
fn a_region_is_as_sure_as_the_links_it_needs() {
    // Phase 8 is off to one side in the second experiment, and a little to the other in the third.
    let phases = twelve();
    let off = |by: f64| {
        let mut phases = phases.clone();
        phases[8].centre[0] += by;
        phases
    };
    let experiments = [
        Planted::new(1, &alone(&phases, &order(12, 5))),
        Planted::new(2, &alone(&off(0.07), &order(12, 6))),
        Planted::new(3, &alone(&off(-0.03), &order(12, 7))),
    ];
    let [with, without] = [true, false].map(|bridge| {
        let tracking = track(&experiments, Tracking::params().bridge(bridge));
        assert_pure(&tracking, &experiments, 12);
        let truths = truths(&tracking, &experiments);
        let at = truths.iter().position(|region| region[0] == [8]);
        tracking.regions[at.expect("it is there")].clone()
    });
    let between = |from: usize, to: usize| {
        let mut links = with.links.iter();
        let found = links.find(|link| (link.from.0, link.to.0) == (from, to));
        found.expect("linked").confidence
    };
    assert!(between(1, 2) < between(0, 1).min(between(0, 2)), "{with:?}");
    assert_eq!(with.confidence, between(0, 1).min(between(0, 2)));
    assert_eq!(without.confidence, between(1, 2));
    // A bridge that is not needed is not a link.
    let all = track(&experiments, Tracking::params());
    let bridges = all.regions.iter().flat_map(|region| &region.links);
    let bridges = bridges.filter(|link| link.kind == LinkKind::Bridges);
    assert_eq!(bridges.count(), 1);
    assert!(all.regions.iter().all(|region| region.events.is_empty()));
}

#[test]
fn unlinked_regions_consider_bridges() {
    // Two phases of the first experiment are lost, and one appears that lies between them.
    let mut phases = twelve();
    phases[6].centre = [phases[5].centre[0] + 0.05, phases[5].centre[1]];
    let none: Vec<usize> = order(12, 6)
        .into_iter()
        .filter(|at| ![5, 6].contains(at))
        .collect();
    let mut last = phases.clone();
    last[5].centre[0] += 0.02;
    let one: Vec<usize> = order(12, 7).into_iter().filter(|&at| at != 6).collect();
    let experiments = [
        Planted::new(1, &alone(&phases, &order(12, 5))),
        Planted::new(2, &alone(&phases, &none)),
        Planted::new(3, &alone(&last, &one)),
    ];
    let alone = |bridge: bool| {
        let tracking = track(&experiments, Tracking::params().bridge(bridge));
        let truths = truths(&tracking, &experiments);
        let at = truths.iter().position(|region| region[0] == [6]);
        tracking.regions[at.expect("it is there")].clone()
    };
    let (with, without) = (alone(true), alone(false));
    assert_eq!((with.experiments(), without.experiments()), (1, 1));
    assert!(
        with.confidence < without.confidence - 0.05,
        "{with:?} {without:?}"
    );
}

#[test]
fn a_phase_hidden_in_another() {
    // In the second experiment phases 5 and 6 are one cluster; afterwards they are two again.
    let mut phases = twelve();
    phases[6].centre = [phases[5].centre[0] + 0.06, phases[5].centre[1]];
    let mut second: Vec<Vec<Phase>> = alone(&phases, &order(12, 6));
    second.retain(|cluster| ![5, 6].contains(&cluster[0].truth));
    second.push(vec![phases[5].clone(), phases[6].clone()]);
    let experiments = [
        Planted::new(1, &alone(&phases, &order(12, 5))),
        Planted::new(2, &second),
        Planted::new(3, &alone(&phases, &order(12, 7))),
    ];
    let tracking = track(&experiments, Tracking::params());
    assert_eq!(tracking.regions.len(), 12);
    let host = ClusterId(second.len() as u32);
    let hidden = tracking
        .regions
        .iter()
        .find(|o| o.members[1].is_empty())
        .expect("one");
    let expected = Event::Gap {
        experiment: 1,
        hidden_in: Some(host),
    };
    assert_eq!(hidden.events, [expected]);
    for region in truths(&tracking, &experiments) {
        assert_eq!(region[0], region[2], "{region:?}");
    }
}

#[test]
fn callers_split_mixed_clusters() {
    // At first phases 5 and 6 are at one position with two callers; later they separate.
    let mut phases = twelve();
    for phase in &mut phases {
        phase.caller = ["a", "b", "c", "d"][phase.truth % 4];
    }
    phases[6].centre = phases[5].centre;
    phases[6].bursts = 8;
    let mut first = alone(&phases, &order(12, 5));
    first.retain(|cluster| ![5, 6].contains(&cluster[0].truth));
    first.insert(0, vec![phases[5].clone(), phases[6].clone()]);
    let mut apart = phases.clone();
    apart[6].centre[0] += 0.09;
    let experiments = [
        Planted::new(1, &first),
        Planted::new(2, &alone(&apart, &order(12, 6))),
    ];

    // Without splitting, the tracker reports that one cluster became two.
    let tracking = track(&experiments, Tracking::params());
    assert_eq!(tracking.regions.len(), 11);
    let event = tracking.regions.iter().flat_map(|o| &o.events).next();
    assert!(matches!(event, Some(Event::Split { .. })), "{event:?}");

    // Split by callers first, there are two separate regions.
    let seen: Vec<_> = experiments.iter().map(|planted| planted.seen(4)).collect();
    let parts = regroup_by_position(&seen).expect("it splits");
    assert_eq!(parts[0].of, [ClusterId(1)]);
    assert!(parts[1].of.is_empty());
    let seen: Vec<_> = seen
        .into_iter()
        .zip(&parts)
        .map(|(seen, parts)| seen.with_labels(&parts.labels).expect("labels"))
        .collect();
    let params = Tracking::params().check().expect("defaults");
    let tracking = Tracking::of(&seen, &params, &Job::default()).expect("it tracks");
    assert_eq!(tracking.regions.len(), 12);
    assert!(
        tracking
            .regions
            .iter()
            .all(|region| region.events.is_empty())
    );
    assert!(
        tracking
            .regions
            .iter()
            .all(|region| region.experiments() == 2)
    );
}

#[test]
fn the_order_of_points_changes_nothing() {
    let mut phases = twelve();
    for phase in &mut phases {
        phase.caller = ["a", "b", "c", "d", "e"][phase.truth % 5];
    }
    let experiments = [
        Planted::new(1, &alone(&phases, &order(12, 5))),
        Planted::new(2, &alone(&moved(&phases, [0.02, 0.01]), &order(12, 6))),
        Planted::new(3, &alone(&moved(&phases, [0.05, 0.01]), &order(12, 7))),
    ];
    for mode in [Mode::Optimal, Mode::Published] {
        let params = || Tracking::params().mode(mode).use_callers(true);
        let once = track(&experiments, params());
        for seed in 0..4 {
            let shuffled: Vec<_> = experiments
                .iter()
                .map(|planted| planted.shuffled(seed))
                .collect();
            // To the last bit, including every matrix.
            assert_eq!(
                format!("{once:?}"),
                format!("{:?}", track(&shuffled, params()))
            );
        }
    }
}

#[test]
fn every_vote_is_shown() {
    let mut phases = twelve();
    for phase in &mut phases {
        phase.caller = ["a", "b", "c", "d"][phase.truth % 4];
    }
    let experiments = [
        Planted::new(1, &alone(&phases, &order(12, 5))),
        Planted::new(2, &alone(&phases, &order(12, 6))),
    ];
    let tracking = track(&experiments, Tracking::params());
    let link = &tracking.regions[0].links[0];
    let who: Vec<Evaluator> = link.votes.iter().map(|vote| vote.0).collect();
    let expected = [
        Evaluator::Forward,
        Evaluator::Backward,
        Evaluator::Centroid,
        Evaluator::CallersBefore,
        Evaluator::Duration,
        Evaluator::Density,
    ];
    assert_eq!(who, expected);
    let pair = tracking.pair(0, 1).expect("compared");
    let forward = pair
        .vote(Evaluator::Forward, link.from.1, link.to.1)
        .expect("it has a say");
    assert_eq!(Some(forward), link.votes.first().map(|vote| vote.1));
    let row: f64 = pair.cross[0].row(0).expect("a row").iter().sum();
    assert!((row - 1.0).abs() < 1e-12);
}

#[test]
fn few_frames_and_empty_ones() {
    let none = track(&[], Tracking::params());
    assert!(none.regions.is_empty() && none.experiments.is_empty());
    let phases = twelve();
    let one = [Planted::new(1, &alone(&phases, &order(12, 5)))];
    let tracking = track(&one, Tracking::params());
    assert_eq!(
        (tracking.regions.len(), tracking.experiments[0].coverage),
        (12, 0.0)
    );
    let empty = [one[0].clone(), Planted::new(2, &[]), one[0].clone()];
    let tracking = track(&empty, Tracking::params());
    assert_pure(&tracking, &empty, 12);
    assert!(
        track(&empty, Tracking::params().mode(Mode::Published))
            .regions
            .is_empty()
    );
}

#[test]
fn invalid_input_is_an_error() {
    let points = [0.0, 1.0];
    let plane = Points::new(&points, 1).expect("points");
    let labels = [ClusterId(1), ClusterId(3)];
    let wrong = Observation::new("", 1, plane, &labels, &[1.0, 1.0]).expect_err("too high");
    assert_eq!(wrong.to_string(), "no cluster 3: there are only 2");
    let labels = [ClusterId(1), ClusterId(1)];
    assert!(Observation::new("", 1, plane, &labels, &[1.0, -1.0]).is_err());
    assert!(Observation::new("", 1, plane, &labels, &[1.0]).is_err());
    let seen = Observation::new("", 1, plane, &labels, &[1.0, 1.0]).expect("fine");
    let two = Observation::new(
        "",
        1,
        Points::new(&points, 2).expect("a point"),
        &labels[..1],
        &[1.0],
    );
    let params = Tracking::params().check().expect("defaults");
    let job = Job::default();
    let experiments = [seen.clone(), two.expect("fine")];
    assert!(Tracking::of(&experiments, &params, &job).is_err());
    job.cancel();
    assert!(Tracking::of(&[seen], &params, &job).is_err());
}

/// Start-up and two call sites in one tracked region: its trend is that of its composition.
#[test]
fn mixtures_of_call_sites_are_reported() {
    let named = |truth: usize, caller: &'static str, centre: [f64; 2]| Phase {
        caller,
        ..phase(truth, centre)
    };
    let (near, far) = ([0.2, 0.2], [0.7, 0.7]);
    let (a, b) = (
        named(0, "solve a.f90:7", near),
        named(1, "halo b.f90:9", near),
    );
    let init = named(2, "start main.f90:3", near);
    let apart = named(1, "halo b.f90:9", far);
    // One cluster of two call sites, each with a tracked region of its own in the other experiment.
    let experiments = [
        Planted::new(1, &[vec![a.clone(), b.clone()]]),
        Planted::new(2, &[vec![a.clone()], vec![apart.clone()]]),
    ];
    let published = Tracking::params().mode(Mode::Published);
    let tracking = track(&experiments, published.clone());
    let mixed = tracking.regions.iter().find_map(|of| of.mixture.clone());
    let mixed = mixed.expect("one cluster of two sites");
    assert_eq!(mixed.sites, ["halo b.f90:9", "solve a.f90:7"]);
    assert_eq!(mixed.experiments, [0, 1]);
    // A region that is start-up in one experiment and computation in the next.
    let experiments = [
        Planted::new(1, &[vec![init.clone()], vec![apart.clone()]]),
        Planted::new(2, &[vec![a.clone()], vec![apart.clone()]]),
    ];
    let tracking = track(&experiments, published);
    let mixed = tracking.regions[0].mixture.clone().expect("start-up");
    assert_eq!(mixed.sites, ["start main.f90:3", "solve a.f90:7"]);
    assert!(!tracking.regions[0].is_reliable && tracking.regions[1].is_reliable);
    assert_eq!(tracking.regions[1].mixture, None);
    // Without callers no mixture can be detected.
    let unnamed = |caller| named(0, caller, near);
    let experiments = [1, 2].map(|seed| Planted::new(seed, &[vec![unnamed("")]]));
    let tracking = track(&experiments, Tracking::params());
    assert_eq!(tracking.regions[0].mixture, None);
    assert!(tracking.regions[0].is_reliable);
    // The threshold is an option.
    let strict = track(&experiments, Tracking::params().min_confidence(1.0));
    assert!(!strict.regions[0].is_reliable || strict.regions[0].confidence == 1.0);
    assert!(Tracking::params().min_confidence(1.1).check().is_err());
}
