//! [`WindowRecord`]: event of one-sided communication reduced to what wait states need, sent to
//! another rank ([`Wire`]) and appended to its events; [`used`]: the windows of each location.

use crate::{Reader, Result, Wire};
use perf_core::{
    Definitions, Event, Events, Job, KindId, LocationId, RmaOp, Ticks, TraceView, WindowId,
};
use std::collections::{BTreeMap, BTreeSet};

/// Names of the records that wait states depend on, other than accesses.
pub(super) const WINDOW_RECORDS: [&str; 5] = [
    "RmaGroupSync",
    "RmaAcquireLock",
    "RmaReleaseLock",
    "RmaCollectiveBegin",
    "RmaCollectiveEnd",
];

/// Code of an access, in place of the number of a name.
const ACCESS: u8 = WINDOW_RECORDS.len() as u8;

/// Record of one-sided communication.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WindowRecord {
    /// Access to a rank of a window.
    Access { window: WindowId, remote: u32 },
    /// Synchronisation: place of the name in [`WINDOW_RECORDS`], and the first arguments.
    Synchronisation {
        name: u8,
        count: u8,
        args: [u64; Self::ARGS],
    },
}

impl WindowRecord {
    /// Number of arguments that wait states depend on.
    const ARGS: usize = 4;

    /// Returns the record of an event; `None` for an event of another kind.
    pub(super) fn of(event: Event<'_>, definitions: &Definitions) -> Option<Self> {
        let (kind, args) = match event {
            Event::Rma { window, remote, .. } => {
                return Some(WindowRecord::Access { window, remote });
            }
            Event::Other { kind, args } => (kind, args),
            _ => return None,
        };
        let name = definitions.kinds.get(kind.index())?;
        let name = WINDOW_RECORDS.iter().position(|it| it == name)?;
        let mut first = [0; Self::ARGS];
        first
            .iter_mut()
            .zip(args)
            .for_each(|(to, from)| *to = *from);
        Some(WindowRecord::Synchronisation {
            name: name as u8,
            count: args.len().min(Self::ARGS) as u8,
            args: first,
        })
    }

    /// Returns the window of an access.
    pub(super) fn accessed(&self) -> Option<u32> {
        match self {
            WindowRecord::Access { window, .. } => Some(window.0),
            WindowRecord::Synchronisation { .. } => None,
        }
    }

    /// Returns the window that a post, start, complete or wait synchronises.
    pub(super) fn synchronised(&self) -> Option<u32> {
        self.argument("RmaGroupSync", 1)
    }

    /// Returns the window, if the record names it.
    fn window(&self) -> Option<u32> {
        self.accessed()
            .or_else(|| self.synchronised())
            .or_else(|| self.argument("RmaAcquireLock", 0))
            .or_else(|| self.argument("RmaReleaseLock", 0))
            .or_else(|| self.argument("RmaCollectiveEnd", 2))
    }

    /// Returns the window from an argument of a record of this name.
    fn argument(&self, of: &str, place: usize) -> Option<u32> {
        let WindowRecord::Synchronisation { name, count, args } = self else {
            return None;
        };
        let is_name = WINDOW_RECORDS.get(usize::from(*name)) == Some(&of);
        let given = args.get(..usize::from(*count))?;
        // Wait states use the lower 32 bits as well.
        given.get(place).filter(|_| is_name).map(|it| *it as u32)
    }

    /// Appends the record. `kinds` has the kind of each name.
    pub(super) fn push(&self, at: Ticks, events: &mut Events, kinds: &[KindId]) -> Result<()> {
        match self {
            WindowRecord::Access { window, remote } => {
                let (window, remote) = (*window, *remote);
                // Wait states do not depend on the operation and its length.
                events.push(
                    at,
                    Event::Rma {
                        op: RmaOp::Put,
                        window,
                        remote,
                        bytes: 0,
                        matching: 0,
                    },
                )?;
            }
            WindowRecord::Synchronisation { name, count, args } => {
                let kind = kinds.get(usize::from(*name)).copied();
                let args = args.get(..usize::from(*count)).unwrap_or(args);
                if let Some(kind) = kind {
                    events.push(at, Event::Other { kind, args })?;
                }
            }
        }
        Ok(())
    }

    /// Returns records of all kinds.
    #[cfg(test)]
    pub(super) fn samples() -> [Self; 2] {
        let access = WindowRecord::Access {
            window: WindowId(3),
            remote: 7,
        };
        let lock = WindowRecord::Synchronisation {
            name: 1,
            count: 4,
            args: [3, 7, u64::MAX, 1],
        };
        [access, lock]
    }
}

impl Wire for WindowRecord {
    const LEAST: usize = 1 + 4 + 4;

    fn write(&self, to: &mut Vec<u8>) {
        match self {
            WindowRecord::Access { window, remote } => {
                ACCESS.write(to);
                (window.0, *remote).write(to);
            }
            WindowRecord::Synchronisation { name, count, args } => {
                (*name, *count).write(to);
                args.iter().for_each(|arg| arg.write(to));
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let name = u8::read(from)?;
        if name == ACCESS {
            let (window, remote): (u32, u32) = Wire::read(from)?;
            return Ok(WindowRecord::Access {
                window: WindowId(window),
                remote,
            });
        }
        let count = Wire::read(from)?;
        let mut args = [0; Self::ARGS];
        for arg in &mut args {
            *arg = Wire::read(from)?;
        }
        Ok(WindowRecord::Synchronisation { name, count, args })
    }
}

/// Returns the kind of each of [`WINDOW_RECORDS`]. Adds the kinds that `definitions` does not have, because the numbers
/// of kinds differ between ranks.
pub(super) fn kinds(definitions: &mut Definitions) -> Vec<KindId> {
    let kinds = &mut definitions.kinds;
    let kind = |name: &str| {
        let known = kinds.iter().position(|it| it == name);
        let place = known.unwrap_or_else(|| {
            kinds.push(name.into());
            kinds.len() - 1
        });
        KindId::from_index(place).unwrap_or_default()
    };
    WINDOW_RECORDS.map(kind).to_vec()
}

/// Returns the windows that the records of each location of a view name, by location.
pub(super) fn used(view: TraceView<'_>, job: &Job) -> Result<BTreeMap<LocationId, BTreeSet<u32>>> {
    let mut found: BTreeMap<LocationId, BTreeSet<u32>> = BTreeMap::new();
    let mut checks = job.checks();
    for location in view.locations() {
        for (_, event) in location.iter() {
            checks.next(1)?;
            let record = WindowRecord::of(event, view.definitions());
            if let Some(window) = record.and_then(|it| it.window()) {
                found.entry(location.id()).or_default().insert(window);
            }
        }
    }
    Ok(found)
}
