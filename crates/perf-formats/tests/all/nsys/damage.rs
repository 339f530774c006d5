//! Tests of damaged databases, invalid values and files that are no exports.

use super::*;

#[test]
fn values_that_are_none_cost_their_row() {
    let path = database(
        "values.sqlite",
        "CREATE TABLE StringIds (id, value);
         INSERT INTO StringIds VALUES ('x', 'y'), (NULL, 'z'), (5, x'00ff'), (6, NULL), (7, 'k');
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
             globalPid, shortName);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
             (1, 2, 0, 1, 7, 1, 0, 7), ('1', 2, 0, 1, 7, 1, 0, 7), (1, NULL, 0, 1, 7, 1, 0, 7),
             (1.5, 2, 0, 1, 7, 1, 0, 7), (1, 2, NULL, 1, 7, 1, 0, 7), (1, 2, 0, 1, x'07', 1, 0, 7),
             (5, 3, 0, 1, 7, 1, 0, 7), (-9223372036854775808, 9223372036854775807, 0, 1, 7, 1, 0, 99),
             (1, 2, -1, -1, -1, -1, -1, -1), (1, 2, 0, 1, 7, 1, 0, NULL);",
    );
    let recording = read(&path);
    let found = &recording.diagnostics;
    assert_eq!(found.count(nsys::rules::VALUE), 3 + 5, "{found}");
    assert_eq!(found.count(nsys::rules::NAME), 2);
    assert_eq!(found.count(nsys::rules::NEGATIVE), 1);
    // From the minimum to the maximum of 64-bit times.
    assert_eq!(found.count(nsys::rules::OUTLIER), 1);
    let text = found.to_string();
    let places: Vec<_> = found
        .iter()
        .flat_map(|(_, it)| it.places.iter().map(ToString::to_string))
        .collect();
    assert!(
        places
            .iter()
            .any(|it| it.contains("CUPTI_ACTIVITY_KIND_KERNEL.start, row 2")),
        "{places:?} {text}"
    );
    let calls: u64 = by_name(recording.trace().unwrap())
        .values()
        .map(|it| it.0)
        .sum();
    assert_eq!(calls, 4);
}

#[test]
fn what_is_no_export_is_an_error() {
    let text = scratch("text.sqlite");
    std::fs::write(&text, "SQLite format 3\0 and then not").unwrap();
    let empty = scratch("empty.sqlite");
    std::fs::write(&empty, "").unwrap();
    let other = database("other.sqlite", "CREATE TABLE animals (legs INTEGER);");
    let views = database(
        "views.sqlite",
        "CREATE TABLE animals (legs INTEGER); CREATE VIEW StringIds AS SELECT legs AS id, legs AS value FROM animals;",
    );
    for path in [&text, &empty, &other, &views] {
        let error = nsys::open(&[path], &OpenOptions::new(), &Job::default()).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
        assert!(error.to_string().contains(".sqlite"), "{error}");
    }
    let missing = nsys::open(
        &[scratch("missing.sqlite")],
        &OpenOptions::new(),
        &Job::default(),
    );
    assert!(matches!(missing, Err(Error::Io { .. })));
    let none: [&Path; 0] = [];
    assert!(matches!(
        nsys::open(&none, &OpenOptions::new(), &Job::default()),
        Err(Error::Usage { .. })
    ));
    // Tables without rows, or without required columns.
    let bare = database(
        "bare.sqlite",
        "CREATE TABLE META_DATA_EXPORT (name, value);
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (begin INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1);",
    );
    let recording = read(&bare);
    assert_eq!(recording.diagnostics.count(nsys::rules::COLUMN), 1);
    assert!(recording.trace().unwrap().is_empty());
}

#[test]
fn what_is_left_of_a_database_that_was_cut_is_read() {
    let mut sql = String::from(NEW);
    for at in 0..2_000 {
        sql += &format!("INSERT INTO OSRT_API VALUES ({at}, {at});");
    }
    let path = database("cut.sqlite", &sql);
    let whole = std::fs::read(&path).unwrap();
    // The last pages belong to a table that is not read.
    std::fs::write(&path, &whole[..whole.len() - 2 * 4096]).unwrap();
    let recording = read(&path);
    let found = &recording.diagnostics;
    assert!(found.count(nsys::rules::DAMAGED_TABLE) >= 1, "{found}");
    assert_eq!(by_name(recording.trace().unwrap())["axpy"], (3, 90));
    // The head alone is not readable; the error contains its place.
    std::fs::write(&path, &whole[..2_000]).unwrap();
    let error = nsys::open(&[&path], &OpenOptions::new(), &Job::default()).unwrap_err();
    let place = error.place().unwrap();
    assert_eq!(place.record.as_deref(), Some("sqlite_master"), "{error}");
}

#[test]
fn damage_is_an_error_or_counted_and_never_a_panic() {
    let whole = std::fs::read(database("whole.sqlite", NEW)).unwrap();
    let path = scratch("damaged.sqlite");
    let mut damaged = 0;
    for seed in 0..300usize {
        let mut bytes = whole.clone();
        if seed % 3 == 0 {
            bytes.truncate(seed * whole.len() / 300);
        }
        for step in 0..1 + seed % 7 {
            let at = (seed * 7_919 + step * 104_729) % bytes.len().max(1);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << (seed % 8);
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        match nsys::open(&[&path], &OpenOptions::new(), &Job::default()) {
            Ok(recording) => damaged += u64::from(recording.diagnostics.repairs() > 2),
            Err(error) => {
                assert!(error.to_string().contains("damaged.sqlite"), "{error}");
                damaged += 1;
            }
        }
    }
    assert!(damaged > 50, "{damaged}");
}

/// Fills a page of 512 bytes with repeated references to a child page.
fn interior(page: &mut [u8], child: u32) {
    let (cells, size) = (40_usize, 5);
    let start = page.len() - cells * size;
    page.fill(0);
    page[0] = 5;
    page[3..5].copy_from_slice(&(cells as u16).to_be_bytes());
    page[5..7].copy_from_slice(&(start as u16).to_be_bytes());
    page[8..12].copy_from_slice(&child.to_be_bytes());
    for cell in 0..cells {
        let at = start + cell * size;
        page[12 + 2 * cell..14 + 2 * cell].copy_from_slice(&(at as u16).to_be_bytes());
        page[at..at + 4].copy_from_slice(&child.to_be_bytes());
        page[at + 4] = cell as u8;
    }
}

#[test]
fn pages_that_stand_for_many_rows_are_not_counted_for_ever() {
    let mut sql = String::from(
        "PRAGMA page_size = 512;
         CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
         CREATE TABLE OTHER (timestamp INTEGER, value TEXT);
         CREATE TABLE PROCESSES (globalPid INTEGER, name TEXT);
         BEGIN;",
    );
    let long = "x".repeat(400);
    for at in 0..40 {
        sql += &format!(
            "INSERT INTO OTHER VALUES ({at}, '{long}'); INSERT INTO PROCESSES VALUES ({at}, '{long}');"
        );
    }
    let path = database("pages.sqlite", &(sql + "COMMIT;"));
    let root = |name: &str| -> usize {
        let connection = Connection::open(&path).unwrap();
        let sql = "SELECT rootpage FROM sqlite_master WHERE name = ?";
        let page: i64 = connection.query_row(sql, [name], |row| row.get(0)).unwrap();
        usize::try_from(page).unwrap()
    };
    let roots = [root("OTHER"), root("PROCESSES")];
    let mut bytes = std::fs::read(&path).unwrap();
    for root in roots {
        // The pages below the root: 15 levels, each with 40 references to the next.
        let page = &bytes[(root - 1) * 512..root * 512];
        let mut children: Vec<usize> = (0..u16::from_be_bytes([page[3], page[4]]) as usize)
            .map(|cell| {
                let at = u16::from_be_bytes([page[12 + 2 * cell], page[13 + 2 * cell]]) as usize;
                u32::from_be_bytes(page[at..at + 4].try_into().unwrap()) as usize
            })
            .collect();
        children.truncate(16);
        assert!(children.len() == 16, "{}", children.len());
        children.insert(0, root);
        for pair in children.windows(2) {
            interior(
                &mut bytes[(pair[0] - 1) * 512..pair[0] * 512],
                pair[1] as u32,
            );
        }
    }
    std::fs::write(&path, &bytes).unwrap();
    let recording = read(&path);
    // As many as the file has bytes.
    assert_eq!(
        recording.diagnostics.count(nsys::rules::TABLE),
        bytes.len() as u64
    );
}
