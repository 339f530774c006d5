//! [`Schedule`]: steps in which a rank contacts the server.

use crate::{Error, Result};

/// Contact with the server in every few steps, which may be staggered over ranks to distribute the
/// load.
///
/// The first step always contacts the server, because early knowledge of other ranks reduces the
/// number of calls that cannot be judged.
///
/// ```
/// use perf_anomaly::server::Schedule;
/// let mut schedule = Schedule::every(3)?;
/// let met: Vec<u32> = (1..=7).filter(|_| schedule.is_due()).collect();
/// assert_eq!(met, [1, 4, 7]);
/// let mut other = Schedule::every(3)?.staggered(1);
/// let met: Vec<u32> = (1..=7).filter(|_| other.is_due()).collect();
/// assert_eq!(met, [1, 3, 6]);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Period in steps.
    every: u64,
    /// Number of steps by which the rank contacts the server earlier.
    offset: u64,
    /// Number of steps so far.
    step: u64,
}

impl Default for Schedule {
    /// Returns a schedule for every step.
    fn default() -> Self {
        Schedule {
            every: 1,
            offset: 0,
            step: 0,
        }
    }
}

impl Schedule {
    /// Creates a schedule for every `steps` steps.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] for 0.
    pub fn every(steps: u64) -> Result<Self> {
        match steps {
            0 => Err(Error::Parameter {
                name: "every",
                value: "0".into(),
                range: "at least 1 step",
            }),
            every => Ok(Schedule {
                every,
                ..Self::default()
            }),
        }
    }

    /// Moves the steps with contact earlier by the number of the rank modulo the period. Default:
    /// all ranks contact the server in the same steps.
    pub fn staggered(mut self, rank: u32) -> Self {
        self.offset = u64::from(rank) % self.every;
        self
    }

    /// Returns `true` if the current step contacts the server. Must be called once for each step.
    pub fn is_due(&mut self) -> bool {
        let step = self.step;
        self.step += 1;
        step == 0 || (step + self.offset).is_multiple_of(self.every)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_its_share_of_ranks() {
        let mut ranks: Vec<_> = (0..100)
            .map(|rank| Schedule::every(10).unwrap().staggered(rank))
            .collect();
        for step in 0..50 {
            let due = ranks
                .iter_mut()
                .filter_map(|one| one.is_due().then_some(()));
            assert_eq!(due.count(), if step == 0 { 100 } else { 10 }, "step {step}");
        }
        assert!(Schedule::every(0).is_err());
    }
}
