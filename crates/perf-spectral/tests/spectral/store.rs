//! Files of spectra: reopening, and errors for damaged or foreign files.

use crate::common;
use perf_core::Job;
use perf_spectral::{AxisFilter, Error, RankParams, Real, Spectra};
use proptest::prelude::*;
use std::fs::File;
use std::path::PathBuf;

/// Temporary file, removed when dropped.
struct Scrap(PathBuf);

impl Scrap {
    fn new(name: &str) -> Self {
        let name = format!("perf-spectral-{}-{name}.spectra", std::process::id());
        Scrap(std::env::temp_dir().join(name))
    }

    fn create(&self) -> File {
        let mut open = std::fs::OpenOptions::new();
        let open = open.read(true).write(true).create(true).truncate(true);
        open.open(&self.0).expect("a file")
    }

    fn open(&self) -> File {
        File::open(&self.0).expect("it was written")
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.0).expect("it was written")
    }

    /// Opens other bytes.
    fn with<T: Real>(&self, bytes: &[u8]) -> Result<Spectra<T>, Error> {
        std::fs::write(&self.0, bytes).expect("a file");
        Spectra::open(self.open())
    }
}

impl Drop for Scrap {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn views(dims: &[usize]) -> Vec<Vec<f64>> {
    let count = dims.iter().product();
    let mut views: Vec<_> = (0..9).map(|seed| common::noise(count, seed)).collect();
    views[4] = vec![3.0; count];
    views[7] = views[2].clone();
    views
}

fn saved<T: Real>(scrap: &Scrap, dims: &[usize], views: &[Vec<f64>]) -> Spectra<T> {
    let mut builder = Spectra::<T>::builder_in(dims, scrap.create()).expect("a shape");
    builder
        .extend(views, &Job::default())
        .expect("finite views");
    let names: Vec<String> = (0..views.len()).map(|at| format!("view {at}")).collect();
    builder.save(&names).expect("the disk has room")
}

/// Returns the offset and text of an error.
fn place(error: Error) -> (u64, String) {
    match error {
        Error::Store { at, .. } => (at, error.to_string()),
        other => panic!("{other}"),
    }
}

fn opens_again<T: Real>(dims: &[usize]) {
    let scrap = Scrap::new(&format!("again-{}-{}", size_of::<T>(), dims.len()));
    let all = views(dims);
    let first = saved::<T>(&scrap, dims, &all);
    let again = Spectra::<T>::open(scrap.open()).expect("it is whole");
    assert_eq!(again.plan().dims(), dims);
    assert_eq!(again.views(), first.views());
    assert_eq!(again.views()[8].name, "view 8");
    assert_eq!(again.views()[7].same_as, Some(2));
    assert!(again.views()[4].is_constant());
    for view in 0..all.len() {
        let (one, two) = (first.spectrum(view), again.spectrum(view));
        assert_eq!(one.expect("a view"), two.expect("a view"));
    }
    let filter = AxisFilter::all(dims.len());
    let params = RankParams::default().top(4).check().expect("in range");
    let list = |spectra: &Spectra<T>| {
        spectra
            .rank(0, &filter, &params, &Job::default())
            .expect("a view")
    };
    assert_eq!(list(&first), list(&again));
}

#[test]
fn a_saved_file_opens_again() {
    opens_again::<f64>(&[4, 6, 5]);
    opens_again::<f32>(&[4, 6, 5]);
    opens_again::<f64>(&[3, 5]);
    opens_again::<f32>(&[48]);
}

/// Replaces the checksums of header and table by the correct ones.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let number = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes")) as usize
    };
    let sum = |bytes: &[u8]| {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    let table = number(&bytes, 40)..number(&bytes, 40) + number(&bytes, 48);
    let table = sum(&bytes[table]);
    bytes[56..64].copy_from_slice(&table.to_le_bytes());
    let header = sum(&bytes[..192]);
    bytes[192..200].copy_from_slice(&header.to_le_bytes());
    bytes
}

#[test]
fn a_file_without_a_spectrum_cannot_have_a_large_shape() {
    let scrap = Scrap::new("empty");
    let none: [Vec<f64>; 0] = [];
    saved::<f64>(&scrap, &[6], &none);
    let whole = scrap.bytes();
    assert!(scrap.with::<f64>(&sealed(whole.clone())).is_ok());
    let mut large = whole;
    large[64..68].copy_from_slice(&(1_u32 << 28).to_le_bytes());
    let (at, text) = place(scrap.with::<f64>(&sealed(large)).expect_err("too large"));
    assert_eq!(at, 24);
    assert!(text.contains("268435456 points"), "{text}");
}

#[test]
fn an_invalid_shape_is_an_error_with_its_offset() {
    let scrap = Scrap::new("shape");
    saved::<f64>(&scrap, &[6, 2], &[vec![1.0; 12]]);
    let whole = scrap.bytes();
    for (axis, len, says) in [
        (0_usize, 0_u32, "points along axis 0"),
        (1, 0, "points along axis 1"),
        (1, u32::MAX, "at most 268435456 points"),
    ] {
        let mut damaged = whole.clone();
        let at = 64 + 4 * axis;
        damaged[at..at + 4].copy_from_slice(&len.to_le_bytes());
        let (place, text) = place(scrap.with::<f64>(&sealed(damaged)).expect_err("no grid"));
        assert_eq!(place, at as u64);
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_view_without_a_mean_takes_no_part_after_opening() {
    let scrap = Scrap::new("skipped");
    let dims = [4, 6];
    saved::<f64>(&scrap, &dims, &views(&dims));
    let mut bytes = scrap.bytes();
    let table = u64::from_le_bytes(bytes[40..48].try_into().expect("8 bytes")) as usize;
    bytes[table..table + 8].copy_from_slice(&f64::NAN.to_le_bytes());
    let spectra = scrap.with::<f64>(&sealed(bytes)).expect("it is whole");
    assert!(spectra.views()[0].is_skipped());
    let params = RankParams::default().check().expect("in range");
    let filter = AxisFilter::all(2);
    match spectra.rank(0, &filter, &params, &Job::default()) {
        Err(Error::Skipped { view, name }) => assert_eq!((view, name.as_str()), (0, "view 0")),
        other => panic!("{other:?}"),
    }
    let list = spectra
        .rank(1, &filter, &params, &Job::default())
        .expect("it takes part");
    assert_eq!(list.skipped, [0]);
}

#[test]
fn invalid_files_are_errors_with_their_offset() {
    let scrap = Scrap::new("foreign");
    let dims = [4, 6];
    saved::<f64>(&scrap, &dims, &views(&dims));
    let whole = scrap.bytes();

    let (at, text) = place(
        scrap
            .with::<f64>(b"CUBEX.INDEX and more")
            .expect_err("foreign"),
    );
    assert_eq!(at, 0);
    assert!(
        text.contains("byte 0: expected a file of spectra"),
        "{text}"
    );
    let (at, text) = place(scrap.with::<f64>(&[]).expect_err("empty"));
    assert_eq!(at, 0, "{text}");
    let (at, text) = place(scrap.with::<f32>(&whole).expect_err("doubles"));
    assert_eq!(at, 8);
    assert!(text.contains("4 bytes a number (f32), found 8"), "{text}");

    let mut later = whole.clone();
    later[7] = 9;
    let (at, text) = place(scrap.with::<f64>(&later).expect_err("another version"));
    assert!(at == 7 && text.contains("version 1, found 9"), "{text}");

    let cut = &whole[..whole.len() - 10];
    let (at, text) = place(scrap.with::<f64>(cut).expect_err("cut off"));
    assert_eq!(at, cut.len() as u64);
    assert!(text.contains("the end of the file"), "{text}");
    for length in [5, 50, 150, 199] {
        scrap
            .with::<f64>(&whole[..length])
            .expect_err("cut in the header");
    }

    let mut bent = whole.clone();
    bent[70] ^= 4;
    let (at, text) = place(scrap.with::<f64>(&bent).expect_err("damaged header"));
    assert!(at == 192 && text.contains("checksum"), "{text}");
    let mut bent = whole.clone();
    let last = bent.len() - 1;
    bent[last] ^= 1;
    let (at, text) = place(scrap.with::<f64>(&bent).expect_err("damaged table"));
    // 24 points of 8 spectra, less one constant view and one copy.
    assert_eq!(at, 4096 + 7 * 24 * 8, "{text}");
}

#[test]
fn an_interrupted_run_leaves_an_unsaved_file() {
    let scrap = Scrap::new("stopped");
    let mut builder = Spectra::<f64>::builder_in(&[4, 6], scrap.create()).expect("a shape");
    builder
        .extend(&views(&[4, 6]), &Job::default())
        .expect("finite views");
    drop(builder.finish());
    let (at, text) = place(Spectra::<f64>::open(scrap.open()).expect_err("never saved"));
    assert!(at == 40 && text.contains("never saved"), "{text}");
}

#[test]
fn names_are_one_a_view() {
    let mut builder = Spectra::<f64>::builder(&[4, 6]).expect("a shape");
    builder
        .extend(&views(&[4, 6]), &Job::default())
        .expect("finite views");
    let error = builder.save(&["one", "two"]).expect_err("there are nine");
    assert!(matches!(
        error,
        Error::Length {
            expected: 9,
            got: 2,
            ..
        }
    ));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    /// Every flipped byte of header or table, and every truncation, is detected.
    #[test]
    fn damage_is_found(at in 0_usize..1 << 20, flip in 1_u8..=255, cut in any::<bool>()) {
        let scrap = Scrap::new(&format!("damage-{at}-{flip}"));
        saved::<f32>(&scrap, &[4, 3], &views(&[4, 3]));
        let mut bytes = scrap.bytes();
        let spectra = 4096 + 7 * 12 * 4;
        if cut {
            bytes.truncate(at % bytes.len());
        } else {
            // Damages the header or the table.
            let table = bytes.len() - spectra;
            let at = at % (200 + table);
            bytes[if at < 200 { at } else { spectra + at - 200 }] ^= flip;
        }
        prop_assert!(scrap.with::<f32>(&bytes).is_err());
    }
}
