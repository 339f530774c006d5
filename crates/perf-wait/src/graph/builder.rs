//! [`GraphBuilder`]: builds an [`ActivityGraph`] from activities, dependencies, and groups that
//! begin together, added one by one.

use super::{ActivityGraph, ActivityId};
use crate::{Error, Result};
use perf_core::{Job, Nanos};

/// Number of the group of an activity that begins alone.
const ALONE: u32 = u32::MAX;

/// Activities and dependencies of an [`ActivityGraph`] that is being built.
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    durations: Vec<Nanos>,
    groups: Vec<u32>,
    group_count: u32,
    /// Dependencies as (activity, the one it depends on).
    edges: Vec<(u32, u32)>,
}

impl GraphBuilder {
    /// Adds an activity.
    ///
    /// # Errors
    ///
    /// Returns [`Error::TooMany`] past 2^32 - 1 activities.
    pub fn add(&mut self, duration: Nanos) -> Result<ActivityId> {
        let id = u32::try_from(self.durations.len()).ok();
        let id = id.filter(|id| *id < u32::MAX).ok_or(Error::TooMany {
            what: "activities",
            limit: u64::from(u32::MAX),
        })?;
        self.durations.push(duration);
        self.groups.push(ALONE);
        Ok(ActivityId(id))
    }

    /// Lets `activity` begin no earlier than `before` ends.
    ///
    /// # Errors
    ///
    /// Returns [`Error::UnknownActivity`] if one of them was not added.
    pub fn depend(&mut self, activity: ActivityId, before: ActivityId) -> Result<()> {
        self.check(activity)?;
        self.check(before)?;
        self.edges.push((activity.0, before.0));
        Ok(())
    }

    /// Lets these activities begin together.
    ///
    /// # Errors
    ///
    /// Returns [`Error::UnknownActivity`] if one of them was not added, and [`Error::Grouped`] if one of them has a
    /// group already.
    pub fn group(&mut self, activities: &[ActivityId]) -> Result<()> {
        let group = self.group_count;
        self.group_count += 1;
        for activity in activities {
            self.check(*activity)?;
            let slot = &mut self.groups[activity.index()];
            if *slot != ALONE && *slot != group {
                return Err(Error::Grouped {
                    activity: activity.index(),
                });
            }
            *slot = group;
        }
        Ok(())
    }

    fn check(&self, activity: ActivityId) -> Result<()> {
        let count = self.durations.len();
        if activity.index() < count {
            Ok(())
        } else {
            Err(Error::UnknownActivity {
                activity: activity.index(),
                count,
            })
        }
    }

    /// Finds an order of replay.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cycle`] with the first activity that can never begin, [`Error::TooMany`] past 2^32 - 1
    /// dependencies, and [`Error::Cancelled`] if the job is cancelled.
    pub fn build(mut self, job: &Job) -> Result<ActivityGraph> {
        let count = self.durations.len();
        if u32::try_from(self.edges.len()).is_err() {
            return Err(Error::TooMany {
                what: "dependencies",
                limit: u64::from(u32::MAX),
            });
        }
        let (starts, before) = lists(count, self.edges.iter().copied(), job)?;
        // The lists have all dependencies: the largest part of the memory is free again.
        self.edges = Vec::new();
        let reversed = (0..count as u32).flat_map(|id| {
            let before = list(&starts, &before, id).iter();
            before.map(move |before| (*before, id))
        });
        let (next, after) = lists(count, reversed, job)?;
        let members = self
            .groups
            .iter()
            .zip(0..)
            .filter(|(group, _)| **group != ALONE);
        let (group_starts, grouped) = lists(
            self.group_count as usize,
            members.map(|(group, id)| (*group, id)),
            job,
        )?;
        let members = |group: u32| list(&group_starts, &grouped, group);

        // Dependencies that still miss, of an activity that begins alone or of a whole group.
        let mut missing = vec![0_u32; count];
        let mut group_missing = vec![0_u32; self.group_count as usize];
        for id in 0..count {
            let own = starts[id + 1] - starts[id];
            match self.groups[id] {
                ALONE => missing[id] = own,
                group => group_missing[group as usize] += own,
            }
        }
        let mut order: Vec<u32> = Vec::with_capacity(count);
        let mut ends: Vec<u32> = Vec::with_capacity(count);
        let mut begin = |id: u32, order: &mut Vec<u32>| {
            match self.groups[id as usize] {
                ALONE => order.push(id),
                group => order.extend_from_slice(members(group)),
            }
            ends.push(order.len() as u32);
        };
        let mut checks = job.checks();
        for id in 0..count as u32 {
            let group = self.groups[id as usize];
            let is_free = match group {
                ALONE => missing[id as usize] == 0,
                group => group_missing[group as usize] == 0 && members(group).first() == Some(&id),
            };
            if is_free {
                begin(id, &mut order);
            }
        }
        let mut at = 0;
        while let Some(id) = order.get(at).copied() {
            at += 1;
            checks.next(1)?;
            for later in list(&next, &after, id) {
                let left = match self.groups[*later as usize] {
                    ALONE => &mut missing[*later as usize],
                    group => &mut group_missing[group as usize],
                };
                *left -= 1;
                if *left == 0 {
                    begin(*later, &mut order);
                }
            }
        }
        if order.len() < count {
            let mut seen = vec![false; count];
            for id in &order {
                seen[*id as usize] = true;
            }
            let activity = seen.iter().position(|seen| !seen).unwrap_or_default();
            return Err(Error::Cycle {
                activity,
                stuck: count - order.len(),
                count,
                place: None,
            });
        }
        Ok(ActivityGraph {
            durations: self.durations,
            order,
            ends,
            starts,
            before,
        })
    }
}

/// Sorts pairs into one list for each first element: the starts of the lists, and their elements.
pub(super) fn lists(
    count: usize,
    pairs: impl Iterator<Item = (u32, u32)> + Clone,
    job: &Job,
) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut checks = job.checks();
    let mut starts = vec![0_u32; count + 1];
    for (of, _) in pairs.clone() {
        checks.next(1)?;
        starts[of as usize + 1] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut next = starts.clone();
    let mut elements = vec![0; sum as usize];
    for (of, element) in pairs {
        checks.next(1)?;
        let slot = &mut next[of as usize];
        elements[*slot as usize] = element;
        *slot += 1;
    }
    Ok((starts, elements))
}

/// Returns the list of an element from [`lists`].
pub(super) fn list<'a>(starts: &[u32], elements: &'a [u32], of: u32) -> &'a [u32] {
    let range = starts[of as usize] as usize..starts[of as usize + 1] as usize;
    &elements[range]
}
