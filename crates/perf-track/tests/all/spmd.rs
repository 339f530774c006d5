//! SPMD scores and alignments: on constructed data, compared with the corpus, and on sequences with
//! known edits.

use crate::reference;

use perf_core::{Job, Nanos};
use perf_testdata::cancel::checks;
use perf_testdata::xorshift::Xorshift;
use perf_track::{
    Align, AlignMethod, Alignment, Burst, Bursts, ClusterId, Error, Kind, Labels, Sequences,
    Thread, time_shares,
};

fn ids(ids: &[u32]) -> Vec<ClusterId> {
    ids.iter().map(|id| ClusterId(*id)).collect()
}

/// Parses `1 2 - 0`: a gap is `-`, noise 0.
fn row(text: &str) -> Vec<Option<ClusterId>> {
    let cell = |cell: &str| cell.parse().ok().map(ClusterId);
    text.split_whitespace().map(cell).collect()
}

fn align(sequences: Vec<Vec<ClusterId>>, shares: &[f64]) -> Alignment {
    let align = Align::default();
    let sequences = Sequences::new(sequences);
    let alignment = align
        .align(&sequences, shares, &Job::default())
        .expect("it is valid");
    check(&alignment);
    alignment
}

/// Checks that rows without gaps are the sequences, that columns count the clusters of the rows,
/// and that no column is empty.
fn check(alignment: &Alignment) {
    for thread in 0..alignment.threads() {
        let row = alignment.row(thread).expect("it is valid");
        let without_gaps: Vec<ClusterId> = row.iter().flatten().copied().collect();
        assert_eq!(
            Some(without_gaps.as_slice()),
            alignment.sequences().get(thread)
        );
        let places = alignment.places(thread).expect("it is valid");
        assert!(places.iter().zip(places.iter().skip(1)).all(|(a, b)| a < b));
    }
    for column in 0..alignment.columns() {
        let mut counted = std::collections::BTreeMap::new();
        for thread in 0..alignment.threads() {
            if let Some(id) = alignment.row(thread).expect("it is valid")[column] {
                *counted.entry(id).or_insert(0) += 1;
            }
        }
        assert_eq!(
            alignment.column(column),
            counted.into_iter().collect::<Vec<_>>()
        );
        assert!(alignment.gaps(column) < alignment.threads());
    }
}

#[test]
fn scores_of_alignments_made_by_hand() {
    // Four threads. Cluster 1 is in columns 0 (4 of 4) and 2 (3 of 4), cluster 2 in 1 (2 of 4) and
    // 2 (1 of 4), noise in 1 (1 of 4).
    let rows = ["1 2 1", "1 2 1", "1 0 1", "1 - 2"].map(row);
    let alignment = Alignment::from_rows(&rows).unwrap();
    let score = alignment.score(&[0.1, 0.6, 0.3]);
    let of = |cluster: usize| {
        (
            score.clusters[cluster].score,
            score.clusters[cluster].columns,
        )
    };
    assert_eq!(of(0), (0.25, 1));
    assert_eq!(of(1), (0.875, 2));
    assert_eq!(of(2), (0.375, 2));
    assert!((score.global - (0.1 * 0.25 + 0.6 * 0.875 + 0.3 * 0.375)).abs() < 1e-15);
    assert_eq!(alignment.gaps(1), 1);
    assert_eq!(alignment.consensus(), ids(&[1, 2, 1]));
    assert_eq!(alignment.pivots(), [(0, ClusterId(1))]);
    let both = alignment.simultaneity(2);
    // Of the two columns with 1, one has 2; of the two columns with 2, one has 1 and one noise.
    assert_eq!(both[1], [0.0, 100.0, 50.0]);
    assert_eq!(both[2], [50.0, 50.0, 100.0]);
    assert_eq!(both[0], [100.0, 0.0, 100.0]);
    let ragged = [row("1 2"), row("1")];
    assert!(matches!(
        Alignment::from_rows(&ragged),
        Err(Error::Length { .. })
    ));
}

#[test]
fn shares_and_sequences_are_those_of_complete_bursts() {
    let mut bursts = Bursts::new([]);
    for process in 0..2 {
        bursts
            .add_thread(Thread {
                process,
                ..Thread::default()
            })
            .unwrap();
    }
    for (thread, begin, end) in [(0, 0, 10), (0, 20, 50), (1, 0, 20), (1, 30, 70)] {
        let (begin, end) = (Nanos(begin), Nanos(end));
        bursts
            .push(
                Burst {
                    thread,
                    begin,
                    end,
                    ..Burst::default()
                },
                &[],
            )
            .unwrap();
    }
    let mut kinds = vec![Kind::Complete; 4];
    kinds[0] = Kind::Duration;
    bursts.set_kinds(kinds).unwrap();
    let labels = Labels::new(ids(&[0, 1, 0, 1]));
    assert_eq!(
        time_shares(&bursts, &labels).unwrap(),
        [20.0 / 90.0, 70.0 / 90.0]
    );
    let sequences = Sequences::of(&bursts, &labels).unwrap();
    assert_eq!(sequences.get(0), Some(&ids(&[1])[..]));
    assert_eq!(sequences.get(1), Some(&ids(&[0, 1])[..]));
    assert_eq!(sequences.get(2), None);
    let few = Labels::new(ids(&[0]));
    assert!(Sequences::of(&bursts, &few).is_err() && time_shares(&bursts, &few).is_err());
    // One share for each number up to the highest, which is bounded by the number of bursts.
    let far = |id| time_shares(&bursts, &Labels::new(ids(&[0, 1, 0, id])));
    assert_eq!(far(4).unwrap().len(), 5);
    assert!(matches!(far(5), Err(Error::Unknown { id: 5, .. })));
    assert!(matches!(far(u32::MAX), Err(Error::Unknown { .. })));
}

#[test]
fn equal_threads_need_no_gap() {
    let alignment = align(vec![ids(&[1, 2, 3, 0, 1]); 500], &[0.1, 0.5, 0.2, 0.2]);
    assert_eq!(
        (alignment.columns(), alignment.sequences().distinct()),
        (5, 1)
    );
    assert!((alignment.score(&[0.1, 0.5, 0.2, 0.2]).global - 1.0).abs() < 1e-12);
}

#[test]
fn nothing_is_aligned_with_nothing() {
    assert_eq!(align(vec![], &[]).columns(), 0);
    let none = align(vec![vec![], vec![]], &[1.0]);
    assert_eq!((none.threads(), none.columns()), (2, 0));
    let one = align(vec![vec![], ids(&[1]), vec![]], &[0.0, 1.0]);
    assert!((one.score(&[0.0, 1.0]).global - 1.0 / 3.0).abs() < 1e-12);
}

#[test]
fn clusters_without_number_limit() {
    // 5,000 clusters, each computed once by each of three threads; one thread skips every tenth.
    let all: Vec<u32> = (1..=5_000).collect();
    let some: Vec<u32> = all.iter().copied().filter(|id| id % 10 > 0).collect();
    let shares = vec![1.0 / 5_001.0; 5_001];
    let alignment = align(vec![ids(&all), ids(&some), ids(&all)], &shares);
    assert_eq!(alignment.columns(), 5_000);
    assert_eq!(alignment.score(&shares).clusters[10].score, 2.0 / 3.0);
}

#[test]
fn bursts_shared_by_few_threads_are_aligned() {
    // Half of the threads do additional work in between, and one of them even more.
    let plain = ids(&[1, 2, 1, 2, 1, 2]);
    let with = ids(&[1, 2, 1, 3, 4, 3, 2, 1, 2]);
    let odd = ids(&[1, 2, 1, 3, 5, 4, 3, 2, 1, 2]);
    let alignment = align(
        vec![plain.clone(), with.clone(), plain.clone(), odd, with, plain],
        &[1.0; 6],
    );
    assert_eq!(alignment.columns(), 10);
    assert_eq!(alignment.score(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]).global, 0.5);
    assert_eq!(alignment.score(&[0.0, 0.0, 0.0, 0.0, 1.0, 0.0]).global, 0.5);
    assert_eq!(alignment.consensus().len(), 9);
}

/// Copies of one sequence with edits: the clusters of each, with the position in the original
/// unless inserted; and the shares of the clusters.
type Edited = Vec<Vec<(ClusterId, Option<usize>)>>;

fn edited(threads: usize, length: usize, edits: usize) -> (Edited, Vec<f64>) {
    let mut random = Xorshift::new(7);
    let clusters = 12;
    let base: Vec<u32> = (0..length)
        .map(|_| 1 + random.below(clusters) as u32)
        .collect();
    let copies = (0..threads).map(|_| {
        let places = base.iter().enumerate();
        let mut own: Vec<_> = places.map(|(at, id)| (ClusterId(*id), Some(at))).collect();
        for _ in 0..edits {
            let at = random.below(own.len() as u64) as usize;
            let id = ClusterId(random.below(clusters + 1) as u32);
            match random.below(3) {
                0 => own.insert(at, (id, None)),
                1 => drop(own.remove(at)),
                _ => own[at].0 = id,
            }
        }
        own
    });
    let share = |id| match id {
        0 => 0.05,
        _ => 0.95 / clusters as f64,
    };
    (copies.collect(), (0..=clusters).map(share).collect())
}

fn without_places(edited: &Edited) -> Vec<Vec<ClusterId>> {
    let all = edited.iter();
    all.map(|own| own.iter().map(|(id, _)| *id).collect())
        .collect()
}

/// Returns the alignment that undoes the edits; insertions between two columns are placed side by
/// side.
fn truth(edited: &Edited, length: usize) -> Alignment {
    // Insertions before each position on each thread.
    let mut between = vec![vec![Vec::new(); length + 1]; edited.len()];
    let mut kept = vec![vec![None; length]; edited.len()];
    for (thread, own) in edited.iter().enumerate() {
        let mut next = 0;
        for (id, from) in own {
            match from {
                Some(at) => {
                    kept[thread][*at] = Some(*id);
                    next = at + 1;
                }
                None => between[thread][next].push(*id),
            }
        }
    }
    let wide = |slot: usize| between.iter().map(|own| own[slot].len()).max().unwrap_or(0);
    let row = |thread: usize| {
        let mut row = Vec::new();
        for (slot, own) in between[thread].iter().enumerate() {
            row.extend((0..wide(slot)).map(|at| own.get(at).copied()));
            row.extend(kept[thread].get(slot).copied());
        }
        row
    };
    Alignment::from_rows(&(0..edited.len()).map(row).collect::<Vec<_>>()).expect("it is valid")
}

#[test]
fn edits_are_undone() {
    for (threads, length, edits) in [(48, 150, 6), (7, 300, 60), (200, 40, 2)] {
        let (edited, shares) = edited(threads, length, edits);
        let alignment = align(without_places(&edited), &shares);
        let score = alignment.score(&shares).global;
        let truth = truth(&edited, length).score(&shares).global;
        println!("{threads} x {length}, {edits} edits: {score:.4}, truth {truth:.4}");
        // Undoing the edits does not yield the highest score, nor does a star alignment find it.
        assert!(score >= 0.98 * truth, "{score} {truth}");
        let consensus = alignment.consensus().len();
        assert!(consensus.abs_diff(length) <= 1 + length / 50, "{consensus}");
    }
}

#[test]
fn little_memory_gives_the_same_score() {
    let (edited, shares) = edited(12, 200, 25);
    let sequences = Sequences::new(without_places(&edited));
    let with = |memory| {
        let align = Align::params().memory(memory).check().unwrap();
        align.align(&sequences, &shares, &Job::default()).unwrap()
    };
    let (much, little) = (with(1 << 26), with(0));
    check(&little);
    // Paths of equal worth may differ, and with them the bursts between columns.
    let (much, little) = (much.score(&shares).global, little.score(&shares).global);
    assert!((much - little).abs() < 0.02, "{much} {little}");
}

#[test]
fn wrong_input_is_an_error() {
    assert!(matches!(
        Align::params().rounds(0).check(),
        Err(Error::Parameter { .. })
    ));
    let align = Align::default();
    let sequences = Sequences::new(vec![ids(&[1, 2]), ids(&[2])]);
    let job = Job::default();
    let nan = align.align(&sequences, &[0.0, f64::NAN], &job);
    assert!(matches!(nan, Err(Error::NotFinite { point: 1, .. })));
    job.cancel();
    let cancelled = align.align(&sequences, &[], &job);
    assert!(matches!(cancelled, Err(Error::Cancelled(_))));
    let long = Sequences::new(vec![ids(&[1]).repeat((1 << 20) + 1)]);
    let long = align.align(&long, &[], &Job::default());
    assert!(matches!(long, Err(Error::TooMany { .. })));
}

#[test]
fn scores_of_the_corpus_from_its_own_alignments() {
    for name in ["e2", "e4", "e16"] {
        let (Some(data), Some(rows), Some((clusters, global))) = (
            reference::data(name),
            reference::rows(name),
            reference::scores(name),
        ) else {
            return;
        };
        let shares = reference::shares(&data);
        let score = Alignment::from_rows(&rows).unwrap().score(&shares);
        assert_eq!(score.clusters.len(), clusters.len(), "{name}");
        for (own, (theirs, columns, weighted)) in score.clusters.iter().zip(&clusters) {
            assert!(
                (own.score - theirs).abs() < 6e-6,
                "{name}: {own:?} {theirs}"
            );
            assert_eq!(own.columns, *columns, "{name}: {own:?}");
            assert!(
                (own.weighted() - weighted).abs() < 6e-6,
                "{name}: {own:?} {weighted}"
            );
        }
        assert!(
            (score.global - global).abs() < 6e-6,
            "{name}: {} {global}",
            score.global
        );
    }
}

#[test]
fn own_alignments_of_the_corpus_score_as_high() {
    for name in ["e2", "e4", "e16"] {
        let (Some(data), Some(rows), Some((_, global))) = (
            reference::data(name),
            reference::rows(name),
            reference::scores(name),
        ) else {
            return;
        };
        let shares = reference::shares(&data);
        let sequences = rows
            .into_iter()
            .map(|row| row.into_iter().flatten().collect());
        let alignment = align(sequences.collect(), &shares);
        let score = alignment.score(&shares).global;
        println!(
            "{name}: {score:.5}, theirs {global:.5}, {} columns",
            alignment.columns()
        );
        assert!(score >= global, "{name}: {score} {global}");
    }
}

#[test]
fn progressive_alignments_score_as_the_established_tool() {
    for name in ["e2", "e4", "e16"] {
        let (Some(data), Some(rows), Some((clusters, global))) = (
            reference::data(name),
            reference::rows(name),
            reference::scores(name),
        ) else {
            return;
        };
        let shares = reference::shares(&data);
        let sequences = rows.into_iter().map(|row| row.into_iter().flatten());
        let sequences = Sequences::new(sequences.map(Iterator::collect).collect());
        // With little memory rows are recomputed.
        for memory in [1 << 26, 1] {
            let align = Align::params()
                .method(AlignMethod::Progressive)
                .memory(memory);
            let align = align.check().unwrap();
            let alignment = align.align(&sequences, &shares, &Job::default());
            let alignment = alignment.unwrap();
            check(&alignment);
            let score = alignment.score(&shares);
            assert!((score.global - global).abs() < 6e-6, "{name}: {score:?}");
            // Clusters without time may be placed anywhere: in ties the tools differ.
            let all = score.clusters.iter().zip(&clusters);
            for (own, (theirs, columns, _)) in all.filter(|(own, _)| own.share >= 0.01) {
                assert!((own.score - theirs).abs() < 6e-6, "{name}: {own:?}");
                assert_eq!(own.columns, *columns, "{name}: {own:?}");
            }
        }
    }
}

#[test]
fn progressive_alignments_of_odd_sequences() {
    let align = Align::params().method(AlignMethod::Progressive);
    let align = align.check().unwrap();
    let run = |sequences: Vec<Vec<ClusterId>>, shares: &[f64]| {
        let sequences = Sequences::new(sequences);
        let found = align.align(&sequences, shares, &Job::default());
        let found = found.unwrap();
        check(&found);
        found
    };
    assert_eq!(run(Vec::new(), &[]).columns(), 0);
    assert_eq!(run(vec![Vec::new(), Vec::new()], &[]).columns(), 0);
    assert_eq!(
        run(vec![Vec::new(), ids(&[1, 2])], &[0.0, 0.5, 0.5]).columns(),
        2
    );
    // Equal threads need no gap, for any clusters.
    let many: Vec<u32> = (1..200).collect();
    assert_eq!(run(vec![ids(&many), ids(&many)], &[]).columns(), 199);
    let shares = [0.0, 0.6, 0.4];
    let found = run(vec![ids(&[1, 2, 1, 2, 1]), ids(&[2, 1, 2, 1])], &shares);
    assert_eq!(found.columns(), 5);
    let long = Sequences::new((0..5_000).map(|at| ids(&[at])).collect());
    let long = align.align(&long, &[], &Job::default());
    assert!(matches!(long, Err(Error::TooMany { .. })));
}

/// Two long sequences make a table of millions of cells within a single alignment.
#[test]
fn long_sequences_are_checked_often() {
    const LENGTH: usize = 2_000;
    let mut random = Xorshift::new(5);
    let mut sequence = || -> Vec<ClusterId> {
        let symbols = (0..LENGTH).map(|_| ClusterId(random.below(5) as u32));
        symbols.collect()
    };
    let sequences = Sequences::new(vec![sequence(), sequence()]);
    let cells = (LENGTH * LENGTH) as u64;
    // The whole table, halves of it (each cell twice, and in a band), and the published method:
    // pairs, and profiles from stored rows.
    for (method, memory, least) in [
        (AlignMethod::Star, 1 << 26, cells),
        (AlignMethod::Star, 1 << 12, cells),
        (AlignMethod::Progressive, 1 << 26, 3 * cells),
        (AlignMethod::Progressive, 1 << 16, 3 * cells),
    ] {
        let params = Align::params().method(method).rounds(1).memory(memory);
        let align = params.check().unwrap();
        let run = |job: &Job| align.align(&sequences, &[0.2; 5], job);
        let (_, checks) = checks(format!("{method:?}, {memory}"), run);
        // The interval between two checks may exceed the limit by a row.
        let expected = least / ((1 << 16) + LENGTH as u64);
        assert!(checks >= expected, "{method:?}, {memory}: {checks} checks");
    }
}
