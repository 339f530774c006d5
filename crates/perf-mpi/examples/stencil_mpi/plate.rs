//! Plate: the computation of the program.

use crate::Plan;
use mpi::collective::SystemOperation;
use mpi::point_to_point::send_receive_into;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};

/// Part of the plate: own rows, and one row of each neighbour.
pub(crate) struct Plate {
    old: Vec<f64>,
    new: Vec<f64>,
    columns: usize,
}

impl Plate {
    pub(crate) fn new(plan: &Plan, rank: usize) -> Self {
        let cells = (plan.rows + 2) * plan.columns;
        let heat = |at: usize| f64::from(u32::from((at + rank).is_multiple_of(97)));
        let old: Vec<f64> = (0..cells).map(heat).collect();
        Plate {
            new: old.clone(),
            old,
            columns: plan.columns,
        }
    }

    /// Exchanges edges with both neighbours.
    pub(crate) fn exchange(&mut self, world: &SimpleCommunicator) {
        let (rank, size, width) = (world.rank(), world.size(), self.columns);
        let above = world.process_at_rank((rank + size - 1) % size);
        let below = world.process_at_rank((rank + 1) % size);
        let last = self.old.len() - width;
        let (inner, halo) = self.old.split_at_mut(last);
        send_receive_into(&inner[width..2 * width], &above, halo, &below);
        let (halo, inner) = self.old.split_at_mut(width);
        let from = inner.len() - 2 * width;
        send_receive_into(&inner[from..from + width], &below, halo, &above);
    }

    pub(crate) fn sweep(&mut self) {
        let width = self.columns;
        let rows = self.old.len() / width;
        for row in 1..rows - 1 {
            let above = &self.old[(row - 1) * width..row * width];
            let here = &self.old[row * width..(row + 1) * width];
            let below = &self.old[(row + 1) * width..(row + 2) * width];
            let to = &mut self.new[row * width + 1..(row + 1) * width - 1];
            let beside = above[1..].iter().zip(&below[1..]);
            for ((to, (above, below)), here) in to.iter_mut().zip(beside).zip(here.windows(3)) {
                let around = above + below + here[0] + here[2];
                *to = 0.5 * here[1] + 0.125 * around;
            }
        }
    }

    pub(crate) fn residual(&self, world: &SimpleCommunicator) -> f64 {
        let pairs = self.old.iter().zip(&self.new);
        let own = pairs.fold(0.0_f64, |most, (old, new)| most.max((old - new).abs()));
        let mut all = 0.0_f64;
        world.all_reduce_into(&own, &mut all, SystemOperation::max());
        all
    }

    /// Makes the computed values the input of the next step.
    pub(crate) fn turn(&mut self) {
        std::mem::swap(&mut self.old, &mut self.new);
    }
}
