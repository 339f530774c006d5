//! Tests of the memory budget with many or long names.

use super::*;

#[test]
fn memory_is_limited() {
    let mut sql = String::from(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
             globalPid, shortName);
         BEGIN;",
    );
    for at in 0..10_000 {
        sql += &format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({at}, {at}, 0, 1, 7, {at}, 0, 1);"
        );
    }
    let path = database("many.sqlite", &(sql + "COMMIT;"));
    let options = OpenOptions::new().limits(Limits::default().with_memory(50_000));
    assert!(matches!(
        nsys::open(&[&path], &options, &Job::default()),
        Err(Error::Limit { .. })
    ));
    assert_eq!(read(&path).trace().unwrap().len(), 20_000);
}

#[test]
fn one_long_form_of_many_kernels_takes_no_more_than_the_memory_budget() {
    let mut sql = format!(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
         INSERT INTO StringIds VALUES (0, '{}');
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
             globalPid, demangledName, shortName);
         BEGIN;",
        "x".repeat(1000)
    );
    for at in 1..=400 {
        sql += &format!(
            "INSERT INTO StringIds VALUES ({at}, 'k{at}');
             INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({at}, {at}, 0, 1, 7, {at}, 0, 0, {at});"
        );
    }
    let path = database("forms.sqlite", &(sql + "COMMIT;"));
    let forms = |limits: Limits| {
        let recording = nsys::open(
            &[&path],
            &OpenOptions::new().limits(limits),
            &Job::default(),
        )
        .unwrap();
        let regions = &recording.trace().unwrap().definitions().regions;
        let with_form = regions.iter().filter(|it| it.canonical.len() == 1000);
        (
            with_form.count(),
            recording.diagnostics.count(nsys::rules::DEFINITIONS),
        )
    };
    assert_eq!(forms(Limits::default()), (400, 0));
    assert_eq!(forms(Limits::default().with_string(1000)), (256, 144));
}

/// Returns a database of 400 kernels. The texts are numbered, and number 0 has 1,000 bytes. `names`
/// are the text numbers of long form and name of kernel `i`.
fn kernels(file: &str, texts: &str, names: &str) -> PathBuf {
    let sql = format!(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
         INSERT INTO StringIds VALUES (0, '{}');
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
             globalPid, demangledName, shortName); {} {}",
        "x".repeat(1000),
        many(400, "StringIds", &format!("i + 1, {texts}")),
        many(
            400,
            "CUPTI_ACTIVITY_KIND_KERNEL",
            &format!("i, i, 0, 1, 7, i, 0, {names}")
        ),
    );
    database(file, &sql)
}

/// Returns kernels named by a letter and a number that share the long text as their long form.
fn forms(file: &str, letter: char) -> PathBuf {
    kernels(file, &format!("'{letter}' || i"), "0, i + 1")
}

#[test]
fn long_forms_of_several_databases_take_no_more_than_the_memory_budget_together() {
    let (first, other) = (
        forms("rank_0.forms.sqlite", 'k'),
        forms("rank_1.forms.sqlite", 'j'),
    );
    let again = forms("rank_2.forms.sqlite", 'k');
    let with_form = |paths: &[&PathBuf], threads: usize| {
        let limits = Limits::default().with_string(1000);
        let options = OpenOptions::new().limits(limits).threads(threads);
        let recording = nsys::open(paths, &options, &Job::default()).unwrap();
        let regions = &recording.trace().unwrap().definitions().regions;
        let with_form = regions.iter().filter(|it| it.canonical.len() == 1000);
        (
            with_form.count(),
            recording.diagnostics.count(nsys::rules::DEFINITIONS),
        )
    };
    for threads in [1, 2] {
        assert_eq!(with_form(&[&first, &other], threads), (256, 144 + 400));
        // Known kernels share their texts.
        assert_eq!(with_form(&[&first, &again], threads), (256, 2 * 144));
    }
}

/// The reverse case: the name is also copied for each region.
#[test]
fn one_name_of_many_long_forms_takes_no_more_than_the_memory_budget() {
    let path = kernels("one-name.sqlite", "1000 + i", "i + 1, 0");
    let options = OpenOptions::new().limits(Limits::default().with_string(1000));
    let recording = nsys::open(&[&path], &options, &Job::default()).unwrap();
    // The first takes 4 bytes, each further one 1,004 of 256,000; all others share one region.
    assert_eq!(
        recording.diagnostics.count(nsys::rules::DEFINITIONS),
        400 - 255
    );
    let regions = &recording.trace().unwrap().definitions().regions;
    assert_eq!(
        regions.iter().filter(|it| it.name.len() == 1000).count(),
        256
    );
}

/// An activity inside another of the same name has a second region of that name.
#[test]
fn names_of_work_within_work_take_no_more_than_the_memory_budget() {
    let kernels = "i, 1000 - i, 2, 1, 7, i, 16777216, 2";
    let sql = format!(
        "{OLD} INSERT INTO StringIds VALUES (2, '{}'); {}",
        "x".repeat(1000),
        many(200, "CUPTI_ACTIVITY_KIND_KERNEL", kernels),
    );
    let path = database("within.sqlite", &sql);
    let named = |limits: Limits| {
        let recording = nsys::open(
            &[&path],
            &OpenOptions::new().limits(limits),
            &Job::default(),
        )
        .unwrap();
        let trace = recording.trace().unwrap();
        let regions = trace.definitions().regions.iter();
        let named = regions.filter(|it| it.name.len() == 1000).count();
        let left_out = recording.diagnostics.count(nsys::rules::DEFINITIONS);
        let calls: u64 = by_name(trace).values().map(|it| it.0).sum();
        (named, left_out, calls)
    };
    assert_eq!(named(Limits::default()), (200, 0, 202));
    // Name and long form of each copy: 128 times 2,000 bytes.
    assert_eq!(named(Limits::default().with_string(1000)), (129, 71, 202));
}

#[test]
fn databases_share_the_memory_budget_for_strings() {
    let paths = [0, 1, 2].map(|rank| {
        let sql = format!(
            "{OLD} INSERT INTO StringIds VALUES (2, '{}')",
            "x".repeat(10_000)
        );
        database(&format!("rank_{rank}.strings.sqlite"), &sql)
    });
    for threads in [1, 2] {
        let limits = Limits::default().with_memory(25_000);
        let options = OpenOptions::new().limits(limits).threads(threads);
        assert!(nsys::open(&paths[..2], &options, &Job::default()).is_ok());
        assert!(matches!(
            nsys::open(&paths, &options, &Job::default()),
            Err(Error::Limit { .. })
        ));
    }
}
