//! Damaged BP5 files: each part is read, or something is reported.

use super::bp5::{LINES, made5, opened};
use super::*;

#[test]
fn damaged_records_of_steps_do_not_hide_the_others() {
    let folder = scratch("bp5-records");
    let files = made5().files();
    files.write(&folder);
    let steps = &files.files[0].1;
    // Type, length and number of flushes of the second step.
    for at in [0, 1, 9 + 16] {
        let mut bytes = steps.clone();
        bytes[files.records[1] + at] ^= 0x40;
        fs::write(folder.join("md.idx"), bytes).unwrap();
        let (seen, source) = opened(&folder).unwrap();
        assert_eq!(seen.steps(), [0, 1, 2], "{at}");
        let found = source.diagnostics();
        assert_eq!(found.count(rules::DAMAGED_STEP), 1, "{at}: {found}");
        assert!(found.to_string().contains("md.idx, byte"), "{found}");
    }
    // Neither the length nor the type says where the next record begins.
    let mut bytes = steps.clone();
    (bytes[files.records[1]], bytes[files.records[1] + 1]) = (b'x', 0x7f);
    fs::write(folder.join("md.idx"), bytes).unwrap();
    let (seen, source) = opened(&folder).unwrap();
    assert_eq!(seen.steps(), [0, 1]);
    let found = source.diagnostics().to_string();
    assert!(found.contains("so the rest is skipped"), "{found}");
    // The writers are described again before each step in which they changed.
    let (before, after) = steps.split_at(files.records[1]);
    let again = [before, &steps[64..files.records[0]], after].concat();
    fs::write(folder.join("md.idx"), again).unwrap();
    assert_eq!(opened(&folder).unwrap().0.lines, LINES);
    // Records of the same metadata take no more memory than the file has.
    let record = &steps[files.records[2]..];
    let many = [&steps[..], &record.repeat(500)].concat();
    fs::write(folder.join("md.idx"), many).unwrap();
    let (seen, source) = opened(&folder).unwrap();
    assert_eq!(seen.events().len(), 6);
    assert_eq!(source.diagnostics().count(rules::DAMAGED_STEP), 500);
}

#[test]
fn damaged_bp5_files_give_a_located_error_or_a_count() {
    check_damage("bp5-damage", "GenericAttributes");
    check_damage("bp5-damaged-fields", "Attributes");
}

/// Damages each file of a recording with attributes in a format.
fn check_damage(folder: &str, attributes: &'static str) {
    let folder = scratch(folder);
    let mut made = made5();
    made.attributes = attributes;
    let files = made.files();
    files.write(&folder);
    for (name, whole) in &files.files {
        // Returns `true` if all is read or something is reported.
        let check = |bytes: &[u8], what: &str| -> bool {
            fs::write(folder.join(name), bytes).unwrap();
            match opened(&folder) {
                Ok((seen, source)) => seen.lines == LINES || !source.diagnostics().is_empty(),
                Err(error) => {
                    let is_header = name == "md.idx" && what != "cut";
                    let is_unsupported = matches!(error, Error::Unsupported { .. });
                    assert!(is_header || is_unsupported, "{name} {what}: {error}");
                    assert!(error.place().is_some(), "{error}");
                    true
                }
            }
        };
        let every = if name == "md.idx" { 1 } else { 5 };
        for cut in (0..whole.len()).step_by(every) {
            // A prefix of whole records is not damage.
            let is_whole = name == "md.idx" && (cut == 64 || files.records.contains(&cut));
            assert!(
                check(&whole[..cut], "cut") || is_whole,
                "{name} cut at {cut}"
            );
        }
        let mut unseen = 0;
        for at in (0..whole.len()).step_by(3) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x11;
            unseen += 3 * usize::from(!check(&bytes, "flip"));
        }
        // Flipped times and names are valid values, as are unused fields.
        let most = if name == "data.0" { 1 } else { 3 };
        assert!(
            unseen * most < whole.len(),
            "{name}: {unseen} of {}",
            whole.len()
        );
        for bytes in damage::all(whole, 200, 3) {
            check(&bytes, "damage");
        }
        fs::write(folder.join(name), whole).unwrap();
    }
}
