//! [`open`]: opens an existing store of either kind; [`merge`]: copies the entries of several
//! stores, such as those of all ranks, into one.

use super::Store;
use super::lines::{Lines, failed};
use crate::provenance::record::Entry;
use crate::{Error, Result};
use perf_core::Job;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Opens an existing store. Its first bytes show if it is a database or a file of lines.
///
/// ```
/// use perf_anomaly::provenance::{Lines, Query, open};
/// # use perf_anomaly::{Monitor, Watch};
/// # use perf_anomaly::provenance::Recorder;
/// # use perf_core::Nanos;
/// # let file = |name: &str| std::env::temp_dir().join(format!("perf-anomaly-open-{name}-{}.jsonl", std::process::id()));
/// # let run = |rank: u32, store: Lines| {
/// #     let recorder = Recorder::new(Default::default(), Box::new(store));
/// #     let mut watch = Watch::new(Monitor::default().record(recorder), 0, rank);
/// #     let solve = watch.region("solve");
/// #     for at in 0..1000 {
/// #         watch.enter(0, solve, Nanos(1_000_000 * at));
/// #         let slow = if at == 700 { 9 } else { 1 };
/// #         watch.exit(0, solve, Nanos(1_000_000 * at + slow * (50_000 + at * 37 % 1000)));
/// #     }
/// #     Ok::<_, perf_anomaly::Error>(watch.into_sink().finish()?)
/// # };
/// let path = file("run");
/// run(0, Lines::create(&path)?)?;
/// // The kind of store, lines or a database, is detected.
/// let mut store = open(&path)?;
/// assert_eq!(store.query(&Query::default())?.len(), 2);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::Store`](crate::Error::Store) if the store cannot be read, or if it is a
/// database and the feature `sqlite` is off.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn Store>> {
    let path = path.as_ref();
    let mut head = Vec::new();
    let file = File::open(path).map_err(|error| failed(path, &error))?;
    let read = file.take(16).read_to_end(&mut head);
    read.map_err(|error| failed(path, &error))?;
    if head == b"SQLite format 3\0" {
        #[cfg(feature = "sqlite")]
        return Ok(Box::new(super::Sqlite::open(path)?));
        #[cfg(not(feature = "sqlite"))]
        return Err(Error::Store {
            file: path.display().to_string(),
            what: "it is a database, and the feature `sqlite` is off".into(),
        });
    }
    Ok(Box::new(Lines::open(path)?))
}

/// Copies the entries of several stores, such as those of all ranks of a run, into one store. Equal
/// properties of runs are copied once. Models get new numbers, so that each record still refers to
/// its model. Returns the number of copied entries.
///
/// ```
/// use perf_anomaly::provenance::{Lines, Memory, Query, Store, merge, open};
/// # use perf_anomaly::{Monitor, Watch};
/// # use perf_anomaly::provenance::Recorder;
/// # use perf_core::{Job, Nanos};
/// # let file = |name: &str| std::env::temp_dir().join(format!("perf-anomaly-merge-{name}-{}.jsonl", std::process::id()));
/// # let run = |rank: u32, store: Lines| {
/// #     let recorder = Recorder::new(Default::default(), Box::new(store));
/// #     let mut watch = Watch::new(Monitor::default().record(recorder), 0, rank);
/// #     let solve = watch.region("solve");
/// #     for at in 0..1000 {
/// #         watch.enter(0, solve, Nanos(1_000_000 * at));
/// #         let slow = if at == 700 { 9 } else { 1 };
/// #         watch.exit(0, solve, Nanos(1_000_000 * at + slow * (50_000 + at * 37 % 1000)));
/// #     }
/// #     Ok::<_, perf_anomaly::Error>(watch.into_sink().finish()?)
/// # };
/// let (one, two) = (file("0"), file("1"));
/// run(0, Lines::create(&one)?)?;
/// run(1, Lines::create(&two)?)?;
/// let mut all = Memory::new();
/// let entries = merge(&mut [open(&one)?, open(&two)?], &mut all, &Job::default())?;
/// let slow = Query { severity: Some(Nanos(100_000)), ..Query::default() };
/// assert_eq!(all.query(&slow)?.len(), 2);
/// assert!(entries > 2);
/// # std::fs::remove_file(&one).ok();
/// # std::fs::remove_file(&two).ok();
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of the stores, [`Error::Entry`](crate::Error::Entry) for a model whose number
/// would exceed 2^64, or [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
/// `into` then contains a part of the entries, which are not committed.
pub fn merge(stores: &mut [Box<dyn Store>], into: &mut dyn Store, job: &Job) -> Result<u64> {
    let (mut count, mut first) = (0, 0);
    let mut runs = Vec::new();
    for store in stores {
        let mut last = 0;
        store.each(&mut |mut entry| {
            job.check()?;
            match &mut entry {
                Entry::Model(model) => {
                    last = last.max(model.id);
                    model.id = renumbered(model.id, first)?;
                }
                Entry::Call(record) if record.model > 0 => {
                    record.model = renumbered(record.model, first)?;
                }
                // Properties that are equal for all ranks are stored once, in any order.
                Entry::Run(own) => {
                    let mut facts = own.facts.clone();
                    facts.sort();
                    let told = (own.version.clone(), own.detector.clone(), facts);
                    if runs.contains(&told) {
                        return Ok(());
                    }
                    runs.push(told);
                }
                _ => {}
            }
            into.put(&entry)?;
            count += 1;
            Ok(())
        })?;
        first = first.saturating_add(last);
    }
    into.commit()?;
    Ok(count)
}

/// Returns the new number of a model, which follows the numbers of the earlier stores.
fn renumbered(id: u64, first: u64) -> Result<u64> {
    let beyond = || Error::Entry(format!("model {id} has no number behind {first} others"));
    id.checked_add(first).ok_or_else(beyond)
}
