//! Tests of growing and incomplete files, in BP4.

use super::*;
use perf_core::Job;
use std::time::Instant;

#[test]
fn a_growing_file_is_followed_until_its_writer_closes_it() {
    let folder = copy("grows");
    let steps = folder.join("md.idx");
    let mut open = fs::read(&steps).unwrap();
    open[38] = 1;
    fs::write(&steps, &open[..128]).unwrap();
    let writer = std::thread::spawn(move || {
        let mut file = fs::OpenOptions::new().write(true).open(steps).unwrap();
        let parts = [(128, 150), (150, 192), (192, 320)];
        for (start, end) in parts {
            std::thread::sleep(Duration::from_millis(20));
            file.seek(SeekFrom::Start(start)).unwrap();
            file.write_all(&open[start as usize..end]).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
        file.seek(SeekFrom::Start(38)).unwrap();
        file.write_all(&[0]).unwrap();
    });
    let follow = Follow::default().poll(Duration::from_millis(2));
    let mut source = Adios::open(&[&folder], &OpenOptions::new())
        .unwrap()
        .follow(follow);
    let seen = read(&mut source).unwrap();
    writer.join().unwrap();
    assert_eq!(seen.steps(), [0, 1, 2, 3]);
    assert_eq!(source.diagnostics().count(rules::UNFINISHED), 0);
}

#[test]
fn without_following_the_steps_there_are_are_all() {
    let folder = copy("stays");
    let mut bytes = fs::read(folder.join("md.idx")).unwrap();
    bytes[38] = 1;
    fs::write(folder.join("md.idx"), &bytes[..64 + 128 + 5]).unwrap();
    let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
    assert_eq!(read(&mut source).unwrap().steps(), [0, 1]);
    // Waiting ends when the job is cancelled, or after the idle time.
    let job = Job::default();
    job.cancel();
    let mut source = Adios::open(&[&folder], &OpenOptions::new())
        .unwrap()
        .follow(Follow::default());
    assert_eq!(read_in(&mut source, &job).unwrap().steps(), [0, 1]);
    let follow = Follow::default().idle(Duration::from_millis(5));
    let mut source = Adios::open(&[&folder], &OpenOptions::new())
        .unwrap()
        .follow(follow);
    assert_eq!(read(&mut source).unwrap().steps(), [0, 1]);
    assert_eq!(source.diagnostics().count(rules::GIVEN_UP), 1);
    // A writer that ended within a record.
    bytes[38] = 0;
    fs::write(folder.join("md.idx"), &bytes[..64 + 128 + 5]).unwrap();
    let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
    assert_eq!(read(&mut source).unwrap().steps(), [0, 1]);
    assert_eq!(source.diagnostics().count(rules::UNFINISHED), 1);
}

#[test]
fn a_table_that_is_cut_off_is_left_out_and_counted() {
    let folder = copy("cut");
    let data = fs::read(folder.join("data.0")).unwrap();
    fs::write(folder.join("data.0"), &data[..data.len() - 5000]).unwrap();
    let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
    let seen = read(&mut source).unwrap();
    assert_eq!(seen.steps(), [0, 1, 2, 3]);
    let whole = read(&mut Adios::open(&[copy("whole")], &OpenOptions::new()).unwrap()).unwrap();
    let (left, all) = (seen.events().len(), whole.events().len());
    assert!(left > 200 && left < all, "{left} of {all}");
    let found = source.diagnostics();
    assert!(found.count(rules::DAMAGED_TABLE) >= 1, "{found}");
    assert_eq!(found.count(rules::DAMAGED_STEP), 0);
    let mut strict = Adios::open(&[&folder], &OpenOptions::new().strict(true)).unwrap();
    let error = read(&mut strict).unwrap_err().to_string();
    assert!(
        error.contains("unnamed"),
        "the first thing that is wrong: {error}"
    );
}

/// Returns the bytes of the index of steps of a file that is still being written, up to `steps`
/// steps.
fn active(folder: &Path, steps: usize) -> Vec<u8> {
    let mut bytes = fs::read(folder.join("md.idx")).unwrap();
    bytes[38] = 1;
    bytes.truncate(64 + 64 * steps);
    bytes
}

/// Runs `work`, which writes files, while a reader follows `root`. Returns the events and the
/// source.
pub(super) fn followed(root: &Path, work: impl FnOnce() + Send) -> (Seen, Adios) {
    let follow = Follow::default()
        .poll(Duration::from_millis(1))
        .patience(Duration::from_millis(60))
        .idle(Duration::from_secs(2));
    let mut source = Adios::following(&[root], follow, &OpenOptions::new()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(work);
        let seen = read(&mut source).unwrap();
        (seen, source)
    })
}

pub(super) fn pause() {
    std::thread::sleep(Duration::from_millis(15));
}

#[test]
fn what_is_not_there_yet_is_waited_for() {
    let whole = copy("comes-whole");
    let expected = read(&mut Adios::open(&[&whole], &OpenOptions::new()).unwrap()).unwrap();
    let root = scratch("comes");
    let file = root.join("later/tau-metrics-miniapp-0.bp");
    let (seen, source) = followed(&root.join("later"), || {
        pause();
        // A folder of files, a folder without a file, a truncated header, and a header without an
        // index.
        fs::create_dir_all(&file).unwrap();
        pause();
        fs::write(file.join("md.idx"), b"").unwrap();
        pause();
        fs::write(file.join("md.idx"), &active(&whole, 0)[..40]).unwrap();
        pause();
        fs::write(file.join("md.idx"), active(&whole, 0)).unwrap();
        pause();
        fs::copy(whole.join("md.0"), file.join("md.0")).unwrap();
        pause();
        // A step with missing data, and one with incomplete data.
        fs::write(file.join("md.idx"), active(&whole, 1)).unwrap();
        pause();
        let data = fs::read(whole.join("data.0")).unwrap();
        fs::write(file.join("data.0"), &data[..500]).unwrap();
        pause();
        fs::write(file.join("data.0"), &data).unwrap();
        pause();
        fs::write(file.join("md.idx"), active(&whole, 4)).unwrap();
        pause();
        fs::copy(whole.join("md.idx"), file.join("md.idx")).unwrap();
    });
    assert_eq!(seen.steps(), [0, 1, 2, 3]);
    assert_eq!(seen.events(), expected.events());
    // The row of a timer without a name, as in the complete file.
    let found = source.diagnostics();
    assert_eq!(found.iter().count(), 1, "{found}");
}

#[test]
fn files_that_come_later_are_read_too() {
    let root = scratch("joins");
    let from = bundled();
    let put = |rank: u32, steps: Option<usize>| {
        let name = format!("tau-metrics-miniapp-{rank}.bp");
        let (from, to) = (from.join(&name), root.join(&name));
        fs::create_dir_all(&to).unwrap();
        for member in ["md.0", "data.0"] {
            fs::copy(from.join(member), to.join(member)).unwrap();
        }
        match steps {
            Some(steps) => fs::write(to.join("md.idx"), active(&from, steps)).unwrap(),
            None => fs::copy(from.join("md.idx"), to.join("md.idx"))
                .map(drop)
                .unwrap(),
        }
    };
    put(0, Some(1));
    let (seen, source) = followed(&root, || {
        pause();
        put(1, Some(1));
        pause();
        put(1, None);
        pause();
        put(0, None);
    });
    let whole = read(&mut Adios::open(&[bundled()], &OpenOptions::new()).unwrap()).unwrap();
    fn sorted(seen: &Seen) -> Vec<&str> {
        let mut events = seen.events();
        events.sort_unstable();
        events
    }
    assert_eq!(sorted(&seen), sorted(&whole));
    // The steps of a rank ascend, and those of the late one keep their numbers.
    let mut steps = seen.steps();
    steps.sort_unstable();
    steps.dedup();
    assert_eq!(steps, whole.steps());
    assert!(source.diagnostics().count(rules::GIVEN_UP) == 0);
}

#[test]
fn nobody_waits_long_for_the_slowest_rank() {
    let root = scratch("slow");
    let from = bundled();
    for rank in 0..2 {
        let name = format!("tau-metrics-miniapp-{rank}.bp");
        fs::create_dir_all(root.join(&name)).unwrap();
        for member in ["md.0", "data.0", "md.idx"] {
            fs::copy(from.join(&name).join(member), root.join(&name).join(member)).unwrap();
        }
    }
    // Rank 1 writes one step, and no more until rank 0 is done.
    let slow = root.join("tau-metrics-miniapp-1.bp");
    fs::write(slow.join("md.idx"), active(&slow, 1)).unwrap();
    let follow = Follow::default()
        .poll(Duration::from_millis(1))
        .patience(Duration::from_millis(20))
        .idle(Duration::from_secs(2));
    let mut source = Adios::open(&[&root], &OpenOptions::new())
        .unwrap()
        .follow(follow);
    let mut seen = Seen::default();
    for _ in 0..4 {
        assert!(source.next_step(&mut seen, &Job::default()).unwrap());
    }
    assert_eq!(seen.steps(), [0, 1, 2, 3]);
    assert_eq!(source.diagnostics().count(rules::LATE), 0);
    let early = seen.events().len();
    let name = "tau-metrics-miniapp-1.bp";
    fs::copy(from.join(name).join("md.idx"), slow.join("md.idx")).unwrap();
    while source.next_step(&mut seen, &Job::default()).unwrap() {}
    // Its later events belong to its own steps.
    assert_eq!(seen.steps(), [0, 1, 2, 3, 1, 2, 3]);
    assert_eq!(source.diagnostics().count(rules::LATE), 3);
    let whole = read(&mut Adios::open(&[bundled()], &OpenOptions::new()).unwrap()).unwrap();
    assert!(early < whole.events().len());
    assert_eq!(seen.events().len(), whole.events().len());
}

#[test]
fn what_stays_damaged_is_left_out_after_a_while() {
    let folder = copy("stays-damaged");
    let data = fs::read(folder.join("data.0")).unwrap();
    fs::write(folder.join("data.0"), &data[..data.len() - 5000]).unwrap();
    fs::write(folder.join("md.idx"), active(&folder, 4)).unwrap();
    let follow = Follow::default()
        .poll(Duration::from_millis(1))
        .patience(Duration::from_millis(20))
        .idle(Duration::from_millis(40));
    let begun = Instant::now();
    let mut source = Adios::following(&[&folder], follow, &OpenOptions::new()).unwrap();
    let seen = read(&mut source).unwrap();
    assert_eq!(seen.steps(), [0, 1, 2, 3]);
    assert!(begun.elapsed() >= Duration::from_millis(20));
    let found = source.diagnostics();
    assert!(found.count(rules::DAMAGED_TABLE) >= 1, "{found}");
    assert_eq!(found.count(rules::GIVEN_UP), 1);
    // A header that is invalid for good is an error, also while following.
    fs::write(folder.join("md.idx"), [7; 64]).unwrap();
    let mut source = Adios::following(&[&folder], follow, &OpenOptions::new()).unwrap();
    assert!(matches!(read(&mut source), Err(Error::Malformed { .. })));
    // The footer of a BP3 file is waited for.
    let single = scratch("single").join("three.bp");
    fs::write(&single, [3, 0, 0, 0]).unwrap();
    let mut source = Adios::following(&[&single], follow, &OpenOptions::new()).unwrap();
    assert!(read(&mut source).unwrap().steps().is_empty());
    assert_eq!(source.diagnostics().count(rules::GIVEN_UP), 1);
}
