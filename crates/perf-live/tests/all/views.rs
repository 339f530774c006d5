//! Views of a server: one number for all clients, and a size independent of their number.
#![cfg(feature = "server")]

use crate::common;

use common::Rank;
use perf_anomaly::provenance::Memory;
use perf_anomaly::server::{Client, Delta, Exchange, View};
use perf_live::hub::{Hub, HubParams, Message};
use perf_live::wire::Push;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Statistics of the messages of a test.
#[derive(Debug, Default)]
struct Heard {
    /// Numbers of the views.
    numbers: BTreeSet<u64>,
    /// Number of views.
    views: usize,
    /// Largest delta in bytes.
    delta: usize,
    /// Largest view in bytes.
    view: usize,
    /// Largest number of functions of a view.
    functions: usize,
}

/// Exchange without HTTP.
#[derive(Debug)]
struct Straight {
    /// Server.
    hub: Hub,
    /// Statistics.
    heard: Arc<Mutex<Heard>>,
    /// Last delta.
    last: u64,
    /// View that was not received yet.
    view: Option<View>,
}

impl Exchange for Straight {
    fn send(&mut self, delta: &Delta) -> perf_anomaly::Result<()> {
        let push = Push {
            client: delta.client,
            view: self.last,
            delta: Some(delta.clone()),
            records: None,
        };
        let bytes = push.encode();
        let message = Message::push(&bytes).expect("it was just written");
        let told = self.hub.say(message, bytes.len());
        let told = told.map_err(|error| perf_anomaly::Error::Exchange(error.to_string()))?;
        let mut heard = self.heard.lock().expect("nobody panics");
        heard.delta = heard.delta.max(bytes.len());
        heard.numbers.insert(told.number);
        if let Some(view) = told.view {
            assert_eq!(view.number, told.number);
            heard.views += 1;
            heard.view = heard.view.max(view.encode().len());
            heard.functions = heard.functions.max(view.model().functions().len());
            self.last = told.number;
            self.view = Some(view);
        }
        Ok(())
    }

    fn receive(&mut self) -> perf_anomaly::Result<Option<View>> {
        Ok(self.view.take())
    }
}

/// Lets ranks share through a server, and returns statistics of the last steps.
fn share(name: &str, ranks: u32, steps: usize, params: HubParams) -> Heard {
    let path: PathBuf =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("perf-live-views-{name}.sqlite"));
    let clear = || {
        for end in ["", "-wal", "-shm", ".lock"] {
            let mut name = path.clone().into_os_string();
            name.push(end);
            let _ = std::fs::remove_file(name);
        }
    };
    clear();
    let hub = Hub::open(&path, params.check().expect("in range")).expect("it can be made");
    let heard = Arc::<Mutex<Heard>>::default();
    let rank = |rank| {
        let straight = Straight {
            hub: hub.clone(),
            heard: Arc::clone(&heard),
            last: 0,
            view: None,
        };
        let client = Client::new(u64::from(rank) + 1, straight);
        Rank::new(0, rank, client, Box::new(Memory::new()))
    };
    let mut all: Vec<Rank> = (0..ranks).map(rank).collect();
    for step in 0..steps {
        if step == steps / 2 {
            // From here on all names are known.
            let mut heard = heard.lock().expect("nobody panics");
            (heard.delta, heard.view) = (0, 0);
        }
        for rank in &mut all {
            rank.step();
            assert!(rank.error().is_none());
        }
    }
    hub.close();
    clear();
    std::mem::take(&mut *heard.lock().expect("nobody panics"))
}

/// Ranks have views of different ages, and get the changes since then; still each view has one
/// number, and is not sent again to clients that have it.
#[test]
fn a_view_has_one_number_for_all() {
    let heard = share("numbers", 3, 12, Hub::params().publish(9));
    // 36 deltas make four views after the existing one.
    assert_eq!(heard.numbers.len(), 5);
    assert!(
        heard.views <= 3 * heard.numbers.len(),
        "{} views",
        heard.views
    );
}

/// The size of a rank's messages in a step depends on its functions. With more ranks only counts
/// have more digits, and calls more distinct times.
#[test]
fn messages_do_not_grow_with_the_number_of_ranks() {
    let [few, many] =
        [(4, "few"), (64, "many")].map(|(ranks, name)| share(name, ranks, 10, Hub::params()));
    assert_eq!(few.functions, many.functions, "as many are adopted");
    let (few, many) = ((few.delta, few.view), (many.delta, many.view));
    assert!(2 * many.0 <= 3 * few.0, "{few:?} {many:?}");
    assert!(many.1 <= 3 * few.1, "{few:?} {many:?}");
}
