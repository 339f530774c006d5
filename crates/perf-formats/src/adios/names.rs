//! [`Names`]: names of timers, counters, event types and programs by number, from the attributes of
//! the steps; [`Programs`]: common numbers for the programs of all files.

use super::bp_file::Step;
use super::rules;
use perf_core::Diagnostics;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Enter,
    Exit,
    Send,
    Receive,
}

/// Elements by number. Writers assign numbers in order from 0.
#[derive(Debug)]
pub(super) struct Numbered<T>(Vec<Option<T>>);

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered(Vec::new())
    }
}

impl<T> Numbered<T> {
    #[inline]
    pub(super) fn get(&self, number: u64) -> Option<&T> {
        self.0.get(usize::try_from(number).ok()?)?.as_ref()
    }

    /// Inserts an element; returns `false` if the number exceeds the limit.
    pub(super) fn insert(&mut self, number: u64, thing: T, limit: u32) -> bool {
        if number >= u64::from(limit) {
            return false;
        }
        let at = number as usize;
        if self.0.len() <= at {
            self.0.resize_with(at + 1, || None);
        }
        if let Some(place) = self.0.get_mut(at) {
            *place = Some(thing);
        }
        true
    }
}

/// Names from the attributes of the steps so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Names of timers.
    pub(super) timers: Numbered<Arc<str>>,
    /// Names of counters.
    pub(super) counters: Numbered<Arc<str>>,
    /// Kinds of events.
    pub(super) kinds: Numbered<Option<Kind>>,
    /// Names of programs.
    pub(super) programs: Numbered<Arc<str>>,
    /// Metadata of ranks that have not been pushed yet.
    pub(super) facts: Vec<Fact>,
    /// Number of attributes so far.
    count: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Fact {
    /// Program number in the file.
    pub(super) program: u64,
    /// Rank that the metadata describe.
    pub(super) rank: u32,
    /// Thread that the metadata describe.
    pub(super) thread: u32,
    /// Name of the metadata.
    pub(super) name: String,
    /// Value of the metadata.
    pub(super) value: String,
}

impl Names {
    /// Adds the attributes of a step.
    pub(super) fn learn(&mut self, step: &Step, limit: u32, found: &mut Diagnostics) {
        // Numbers are assigned in order. One far above their count is invalid and would waste
        // memory.
        self.count += step.attributes.len() as u64;
        let far = self.count.saturating_mul(16).saturating_add(65_536);
        let limit = limit.min(u32::try_from(far).unwrap_or(limit));
        for attribute in &step.attributes {
            let texts = attribute.blocks.first().map(|block| block.texts.as_slice());
            let Some([value]) = texts else { continue };
            let name = &*attribute.name;
            if let Some(fact) = name.strip_prefix("MetaData:") {
                match fact_of(fact, value) {
                    Some(fact) => self.facts.push(fact),
                    None => found.add(rules::METADATA, step.place.clone().record(name)),
                }
                continue;
            }
            let numbered = name.rsplit_once(' ');
            let Some((what, Ok(number))) = numbered.map(|(what, number)| (what, number.parse()))
            else {
                continue;
            };
            let text = || Arc::from(value.as_str());
            let is_kept = match what {
                "timer" => self.timers.insert(number, text(), limit),
                "counter" => self.counters.insert(number, text(), limit),
                "program_name" => self.programs.insert(number, text(), limit),
                "event_type" => {
                    let kind = match value.as_str() {
                        "ENTRY" => Some(Kind::Enter),
                        "EXIT" => Some(Kind::Exit),
                        "SEND" => Some(Kind::Send),
                        "RECV" => Some(Kind::Receive),
                        _ => None,
                    };
                    self.kinds.insert(number, kind, limit)
                }
                _ => true,
            };
            if !is_kept {
                found.add(rules::DEFINITIONS, step.place.clone().record(name));
            }
        }
    }
}

/// Parses `rank:thread:name`, or `program:rank:thread:name` as written in 2018.
fn fact_of(text: &str, value: &str) -> Option<Fact> {
    let (first, rest) = text.split_once(':')?;
    let (second, name) = rest.split_once(':')?;
    let old = name.split_once(':').filter(|(third, name)| {
        !name.is_empty() && !third.is_empty() && third.bytes().all(|byte| byte.is_ascii_digit())
    });
    let (program, rank, thread, name) = match old {
        Some((third, name)) => (first, second, third, name),
        None => ("0", first, second, name),
    };
    // Some versions write texts including quotes.
    let bare = value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'));
    Some(Fact {
        program: program.parse().ok()?,
        rank: rank.parse().ok()?,
        thread: thread.parse().ok()?,
        name: name.into(),
        value: bare.unwrap_or(value).into(),
    })
}

/// Numbers of the programs of all files, by name.
///
/// Each file numbers its own program 0; programs with the same name are one.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// Programs by name.
    named: HashMap<Arc<str>, u32>,
    /// Programs without a name, by their number in the file.
    unnamed: HashMap<u32, u32>,
    /// Assigned numbers.
    taken: HashSet<u32>,
    /// Lowest number that may be free.
    free: u32,
    /// Common number of all programs, if it was set.
    pub(super) all: Option<u32>,
}

impl Programs {
    pub(super) fn number(&mut self, name: Option<&Arc<str>>, column: u32) -> u32 {
        if let Some(all) = self.all {
            return all;
        }
        let known = match name {
            Some(name) => self.named.get(name),
            None => self.unnamed.get(&column),
        };
        if let Some(number) = known {
            return *number;
        }
        let mut number = column;
        if self.taken.contains(&number) {
            while self.taken.contains(&self.free) {
                self.free += 1;
            }
            number = self.free;
        }
        self.taken.insert(number);
        match name {
            Some(name) => self.named.insert(Arc::clone(name), number),
            None => self.unnamed.insert(column, number),
        };
        number
    }
}

#[cfg(test)]
mod programs {
    use super::*;

    #[test]
    fn each_program_has_a_number_of_its_own() {
        let mut programs = Programs::default();
        let [a, b]: [Arc<str>; 2] = ["a".into(), "b".into()];
        assert_eq!(programs.number(Some(&a), 0), 0);
        assert_eq!(programs.number(Some(&b), 0), 1);
        assert_eq!(programs.number(Some(&a), 0), 0);
        // Programs without a name and with the same number are equal.
        assert_eq!(programs.number(None, 1), 2);
        assert_eq!(programs.number(None, 1), 2);
        assert_eq!(programs.number(None, 7), 7);
    }

    #[test]
    fn many_programs_take_no_longer_than_others() {
        let mut programs = Programs::default();
        let numbers: HashSet<u32> = (0..100_000)
            .map(|column| programs.number(None, column))
            .collect();
        let more = (0..100_000).map(|at| {
            let name: Arc<str> = format!("program {at}").into();
            programs.number(Some(&name), at)
        });
        let more: HashSet<u32> = more.collect();
        assert_eq!((numbers.len(), more.len()), (100_000, 100_000));
        assert!(numbers.is_disjoint(&more));
    }
}
