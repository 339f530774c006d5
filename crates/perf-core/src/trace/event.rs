//! [`Event`]: one thing that happened on one location.

use crate::{
    AttributeId, CallPathId, CommId, KindId, MetricSetId, RegionId, Ticks, Value, WindowId,
};

/// A collective operation of a communicator.
///
/// ```
/// use perf_core::CollectiveOp;
/// assert_eq!(CollectiveOp::from_code(11), CollectiveOp::Allreduce);
/// assert_eq!(CollectiveOp::from_code(200).code(), 200);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(missing_docs, reason = "the names are MPI's own")]
#[non_exhaustive]
pub enum CollectiveOp {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Allreduce,
    Reduce,
    ReduceScatter,
    Scan,
    Exscan,
    /// Another one, by its number in OTF2.
    Other(u8),
}

impl CollectiveOp {
    const NAMED: [CollectiveOp; 16] = [
        CollectiveOp::Barrier,
        CollectiveOp::Bcast,
        CollectiveOp::Gather,
        CollectiveOp::Gatherv,
        CollectiveOp::Scatter,
        CollectiveOp::Scatterv,
        CollectiveOp::Allgather,
        CollectiveOp::Allgatherv,
        CollectiveOp::Alltoall,
        CollectiveOp::Alltoallv,
        CollectiveOp::Alltoallw,
        CollectiveOp::Allreduce,
        CollectiveOp::Reduce,
        CollectiveOp::ReduceScatter,
        CollectiveOp::Scan,
        CollectiveOp::Exscan,
    ];

    /// Returns `true` for operations in which each member needs all others: nobody that receives data leaves
    /// before all that send data have entered.
    ///
    /// `Alltoallv` and `Alltoallw` are none: two members may exchange nothing.
    ///
    /// ```
    /// use perf_core::CollectiveOp;
    /// assert!(CollectiveOp::Allreduce.is_all_to_all());
    /// assert!(!CollectiveOp::Reduce.is_all_to_all());
    /// ```
    pub fn is_all_to_all(self) -> bool {
        matches!(
            self,
            CollectiveOp::Barrier
                | CollectiveOp::Allgather
                | CollectiveOp::Allgatherv
                | CollectiveOp::Alltoall
                | CollectiveOp::Allreduce
                | CollectiveOp::ReduceScatter
        )
    }

    /// Returns the operation of a name in MPI, in NCCL or in `torch.distributed`, without its prefix; `None` for any other
    /// name. Case and underscores do not matter, and neither does what follows the name.
    ///
    /// ```
    /// use perf_core::CollectiveOp;
    /// assert_eq!(CollectiveOp::of_name("_allgather_base"), Some(CollectiveOp::Allgather));
    /// assert_eq!(CollectiveOp::of_name("AllReduce_RING_LL"), Some(CollectiveOp::Allreduce));
    /// assert_eq!(CollectiveOp::of_name("wait"), None);
    /// ```
    pub fn of_name(name: &str) -> Option<Self> {
        const NAMES: [(&str, CollectiveOp); 10] = [
            ("allreduce", CollectiveOp::Allreduce),
            ("allgather", CollectiveOp::Allgather),
            ("reducescatter", CollectiveOp::ReduceScatter),
            ("alltoall", CollectiveOp::Alltoall),
            ("broadcast", CollectiveOp::Bcast),
            ("bcast", CollectiveOp::Bcast),
            ("barrier", CollectiveOp::Barrier),
            ("gather", CollectiveOp::Gather),
            ("scatter", CollectiveOp::Scatter),
            ("reduce", CollectiveOp::Reduce),
        ];
        // The longest name has 13 letters.
        let letters = name.chars().filter(|letter| *letter != '_').take(16);
        let name: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
        let known = NAMES.iter().find(|it| name.starts_with(it.0));
        known.map(|it| it.1)
    }

    /// The operation OTF2 numbers `code`.
    pub fn from_code(code: u8) -> Self {
        let named = Self::NAMED.get(usize::from(code)).copied();
        named.unwrap_or(CollectiveOp::Other(code))
    }

    /// Its number in OTF2.
    pub fn code(self) -> u8 {
        match self {
            CollectiveOp::Other(code) => code,
            named => Self::NAMED.iter().position(|op| *op == named).unwrap_or(0) as u8,
        }
    }
}

/// What remote memory access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RmaOp {
    /// Writes to the remote.
    Put,
    /// Reads from the remote.
    Get,
    /// Reads and writes at the remote in one step; the bytes of the event are those sent.
    Atomic {
        /// Which operation (swap, add, ...), by its number in OTF2.
        code: u8,
        /// Bytes that came back.
        received: u64,
    },
}

/// How remote memory access was found to be complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RmaCompletion {
    /// A blocking call returned.
    Blocking,
    /// A non-blocking operation was waited for.
    NonBlocking,
    /// A test found it not to be complete yet.
    Test,
    /// The remote side saw it.
    Remote,
}

/// A communication between two ranks, as one of them records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// The other's rank in `comm`.
    pub peer: u32,
    /// The communicator.
    pub comm: CommId,
    /// The message tag.
    pub tag: u32,
    /// Length in bytes.
    pub bytes: u64,
    /// The request of a non-blocking call; `None` for a blocking one.
    pub request: Option<u64>,
}

/// The end of a collective operation on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Collective {
    /// What was done.
    pub op: CollectiveOp,
    /// The communicator.
    pub comm: CommId,
    /// The root's rank in `comm`, where there is one.
    pub root: Option<u32>,
    /// Bytes this rank sent.
    pub sent: u64,
    /// Bytes this rank received.
    pub received: u64,
    /// The request of a non-blocking collective; `None` for a blocking one.
    pub request: Option<u64>,
}

/// One thing that happened on one location. Borrows lists from the trace and is `Copy`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A region was entered.
    Enter {
        /// The region.
        region: RegionId,
    },
    /// A region was left.
    Leave {
        /// The region the recording names, which need not be the innermost open one; see
        /// [`replay`](crate::replay).
        region: RegionId,
    },
    /// A message was sent, or with a request: started to be sent.
    Send(Transfer),
    /// A non-blocking send is complete.
    SendComplete {
        /// The request of the [`Send`](Event::Send).
        request: u64,
    },
    /// A receive was posted; what it receives is known at its [`Recv`](Event::Recv).
    RecvPost {
        /// The request.
        request: u64,
    },
    /// A message was received; with a request: the receive that was posted is complete.
    Recv(Transfer),
    /// A request was tested and found not to be complete.
    RequestTest {
        /// The request.
        request: u64,
    },
    /// A request was cancelled.
    RequestCancelled {
        /// The request.
        request: u64,
    },
    /// A collective operation begins on this location.
    CollectiveBegin,
    /// A non-blocking collective was started.
    CollectivePost {
        /// The request.
        request: u64,
    },
    /// A collective operation ends on this location.
    CollectiveEnd(Collective),
    /// Remote memory access starts.
    Rma {
        /// What it does.
        op: RmaOp,
        /// The window.
        window: WindowId,
        /// The remote's rank in the window's communicator.
        remote: u32,
        /// Bytes.
        bytes: u64,
        /// Tells the completion that belongs to it.
        matching: u64,
    },
    /// Remote memory access is complete.
    RmaComplete {
        /// How that was found.
        by: RmaCompletion,
        /// The window.
        window: WindowId,
        /// Tells the access that belongs to it.
        matching: u64,
    },
    /// Metrics were sampled.
    Metric {
        /// Which metrics.
        set: MetricSetId,
        /// Their values as bits, in the order of [`MetricSet::members`](crate::MetricSet::members);
        /// each is read by [`Value::from_bits`] with the metric's type.
        values: &'a [u64],
    },
    /// Recording was switched on or off on this location.
    Measuring {
        /// Whether it is on from now.
        on: bool,
    },
    /// The measurement system wrote its buffer out; what happened until then is lost or distorted.
    Flush {
        /// When it was done.
        until: Ticks,
    },
    /// The location was interrupted and its call path sampled.
    Sample {
        /// The call path, in [`Definitions::contexts`](crate::Definitions::contexts).
        context: CallPathId,
    },
    /// Something no analysis here reads, kept as the recording has it.
    Other {
        /// Its name, in [`Definitions::kinds`](crate::Definitions::kinds).
        kind: KindId,
        /// Its numbers.
        args: &'a [u64],
    },
}

/// A value an event carries beside its own fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttributeValue {
    /// What it is.
    pub attribute: AttributeId,
    /// The type the recording gives it, by its number in OTF2.
    pub type_code: u8,
    /// The value; a reference into a table of the recording is its id.
    pub value: Value,
}
