//! [`Operation`]: one timed operation of a training job with its step, stage and rank;
//! [`OperationKind`]: computation, transfer, reduction or optimizer step, by name.

use perf_core::Nanos;

/// Kind of an operation, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum OperationKind {
    /// Forward pass of a micro-batch.
    ForwardCompute,
    /// Backward pass of a micro-batch.
    BackwardCompute,
    /// Send of activations to the next stage.
    ForwardSend,
    /// Receive of activations from the previous stage.
    ForwardReceive,
    /// Send of gradients to the previous stage.
    BackwardSend,
    /// Receive of gradients from the next stage.
    BackwardReceive,
    /// Garbage collection.
    GarbageCollection,
    /// Reduction of the gradients of layer norms.
    LayernormGradients,
    /// Reduction of the gradients of embeddings between the first and the last stage.
    EmbeddingGradients,
    /// Reduction of gradients that are kept apart.
    SeparateGradients,
    /// Reduction and distribution of gradients over the data-parallel ranks.
    GradientsReduceScatter,
    /// Clipping of gradients over all ranks.
    ClipGradients,
    /// Optimizer.
    Optimizer,
    /// Gathering of parameters over the data-parallel ranks.
    ParametersAllGather,
}

impl OperationKind {
    /// All kinds.
    pub const ALL: [OperationKind; 14] = [
        OperationKind::ForwardCompute,
        OperationKind::BackwardCompute,
        OperationKind::ForwardSend,
        OperationKind::ForwardReceive,
        OperationKind::BackwardSend,
        OperationKind::BackwardReceive,
        OperationKind::GarbageCollection,
        OperationKind::LayernormGradients,
        OperationKind::EmbeddingGradients,
        OperationKind::SeparateGradients,
        OperationKind::GradientsReduceScatter,
        OperationKind::ClipGradients,
        OperationKind::Optimizer,
        OperationKind::ParametersAllGather,
    ];

    /// Returns the name in recordings.
    pub fn name(self) -> &'static str {
        match self {
            OperationKind::ForwardCompute => "forward-compute",
            OperationKind::BackwardCompute => "backward-compute",
            OperationKind::ForwardSend => "forward-send",
            OperationKind::ForwardReceive => "forward-recv",
            OperationKind::BackwardSend => "backward-send",
            OperationKind::BackwardReceive => "backward-recv",
            OperationKind::GarbageCollection => "gc",
            OperationKind::LayernormGradients => "layernorm-grads-all-reduce",
            OperationKind::EmbeddingGradients => "embedding-grads-all-reduce",
            OperationKind::SeparateGradients => "separate-grads-all-reduce",
            OperationKind::GradientsReduceScatter => "grads-reduce-scatter",
            OperationKind::ClipGradients => "optimizer-clip-main-grad",
            OperationKind::Optimizer => "optimizer",
            OperationKind::ParametersAllGather => "params-all-gather",
        }
    }

    /// Returns the kind of this name; `None` for a name that is unknown.
    ///
    /// ```
    /// use perf_wait::training::OperationKind;
    /// assert_eq!(OperationKind::of("gc"), Some(OperationKind::GarbageCollection));
    /// assert_eq!(OperationKind::of("dataloader"), None);
    /// ```
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the name under which slowdowns are reported: sends and receives of one direction share one.
    pub fn group(self) -> &'static str {
        match self {
            OperationKind::ForwardSend | OperationKind::ForwardReceive => "forward-pp-comm",
            OperationKind::BackwardSend | OperationKind::BackwardReceive => "backward-pp-comm",
            other => other.name(),
        }
    }

    /// Returns one fixed kind for each [`group`](Self::group): the send stands for the send and the receive.
    pub(super) fn group_kind(self) -> Self {
        match self {
            OperationKind::ForwardReceive => OperationKind::ForwardSend,
            OperationKind::BackwardReceive => OperationKind::BackwardSend,
            other => other,
        }
    }

    /// Returns `true` for computation. Its ideal duration is the mean of all operations of the kind, and the median
    /// for other kinds.
    pub fn is_computation(self) -> bool {
        matches!(
            self,
            OperationKind::ForwardCompute
                | OperationKind::BackwardCompute
                | OperationKind::GarbageCollection
                | OperationKind::Optimizer
        )
    }
}

/// A recorded operation of a training job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Operation {
    /// Kind.
    pub kind: OperationKind,
    /// Training step.
    pub step: u64,
    /// Data-parallel rank.
    pub data_rank: u32,
    /// Pipeline stage.
    pub stage: u32,
    /// Number among the operations of its kind, rank, stage and step.
    pub sequence: u32,
    /// Model chunk, where the recording has it.
    pub chunk: Option<u32>,
    /// Begin.
    pub start: Nanos,
    /// Duration. For communication, the time since the last participant began. It may be slightly negative.
    pub duration: Nanos,
}
