//! [`Event`]: one event of a location, such as an enter, a metric sample or a [`Transfer`];
//! [`CollectiveOp`], [`RmaOp`]: kinds of operations; [`AttributeValue`]: attribute of an event.

use crate::{
    AttributeId, CallPathId, CommId, KindId, MetricSetId, RegionId, Ticks, Value, WindowId,
};

/// Collective operation of a communicator.
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
    /// Another operation, by its number in OTF2.
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

    /// Returns `true` for operations in which each member depends on all other members: no rank
    /// that receives data leaves before all ranks that send data have entered.
    ///
    /// `Alltoallv` and `Alltoallw` are excluded, because two members may exchange no data.
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

    /// Returns the operation of a name from MPI, NCCL or `torch.distributed`, given without its
    /// prefix such as `MPI_`. Returns `None` for other names. Case, underscores and text after the
    /// name are ignored.
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

    /// Returns the operation with the number `code` in OTF2.
    pub fn from_code(code: u8) -> Self {
        let named = Self::NAMED.get(usize::from(code)).copied();
        named.unwrap_or(CollectiveOp::Other(code))
    }

    /// Returns the number of the operation in OTF2.
    pub fn code(self) -> u8 {
        match self {
            CollectiveOp::Other(code) => code,
            named => Self::NAMED.iter().position(|op| *op == named).unwrap_or(0) as u8,
        }
    }
}

/// Operation of a remote memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RmaOp {
    /// Write to the remote memory.
    Put,
    /// Read from the remote memory.
    Get,
    /// Atomic read and write of the remote memory. The `bytes` of the event are the bytes sent.
    Atomic {
        /// Operation (swap, add, ...), by its number in OTF2.
        code: u8,
        /// Bytes received.
        received: u64,
    },
}

/// Kind of completion of a remote memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RmaCompletion {
    /// A blocking call returned.
    Blocking,
    /// A wait for a non-blocking operation returned.
    NonBlocking,
    /// A test reported that the access is not complete yet.
    Test,
    /// The access is complete at the remote side.
    Remote,
}

/// Point-to-point message, as recorded by one of the two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// Rank of the other end in `comm`.
    pub peer: u32,
    /// Communicator.
    pub comm: CommId,
    /// Message tag.
    pub tag: u32,
    /// Length in bytes.
    pub bytes: u64,
    /// Request of a non-blocking call; `None` for a blocking call.
    pub request: Option<u64>,
}

/// End of a collective operation on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Collective {
    /// Operation.
    pub op: CollectiveOp,
    /// Communicator.
    pub comm: CommId,
    /// Rank of the root in `comm`, or `None` if the operation has no root.
    pub root: Option<u32>,
    /// Bytes sent by this rank.
    pub sent: u64,
    /// Bytes received by this rank.
    pub received: u64,
    /// Request of a non-blocking collective; `None` for a blocking collective.
    pub request: Option<u64>,
}

/// One event of a location. Borrows lists from the trace and is `Copy`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A region was entered.
    Enter {
        /// Region.
        region: RegionId,
    },
    /// A region was left.
    Leave {
        /// Recorded region, which need not be the innermost open region; see
        /// [`replay`](crate::replay).
        region: RegionId,
    },
    /// A message was sent or, if there is a request, a non-blocking send was started.
    Send(Transfer),
    /// A non-blocking send is complete.
    SendComplete {
        /// Request of the [`Send`](Event::Send).
        request: u64,
    },
    /// A receive was posted. Its [`Recv`](Event::Recv) contains the message.
    RecvPost {
        /// Request.
        request: u64,
    },
    /// A message was received. If there is a request, it completes a posted receive.
    Recv(Transfer),
    /// A request was tested and was not complete.
    RequestTest {
        /// Request.
        request: u64,
    },
    /// A request was cancelled.
    RequestCancelled {
        /// Request.
        request: u64,
    },
    /// A collective operation begins on this location.
    CollectiveBegin,
    /// A non-blocking collective was started.
    CollectivePost {
        /// Request.
        request: u64,
    },
    /// A collective operation ends on this location.
    CollectiveEnd(Collective),
    /// Remote memory access starts.
    Rma {
        /// Operation.
        op: RmaOp,
        /// Window.
        window: WindowId,
        /// Rank of the remote side in the window's communicator.
        remote: u32,
        /// Length in bytes.
        bytes: u64,
        /// Id that the completion has too.
        matching: u64,
    },
    /// A remote memory access is complete.
    RmaComplete {
        /// Kind of completion.
        by: RmaCompletion,
        /// Window.
        window: WindowId,
        /// Id that the start of the access has too.
        matching: u64,
    },
    /// Metrics were sampled.
    Metric {
        /// Set of metrics.
        set: MetricSetId,
        /// Values as bits, in the order of [`MetricSet::members`](crate::MetricSet::members);
        /// [`Value::from_bits`] converts them with the type of each metric.
        values: &'a [u64],
    },
    /// Recording was switched on or off on this location.
    Measuring {
        /// `true` if recording is on from this event.
        on: bool,
    },
    /// The measurement system flushed its buffer. Events before the end of the flush are lost or
    /// distorted.
    Flush {
        /// End of the flush.
        until: Ticks,
    },
    /// The location was interrupted and its call path sampled.
    Sample {
        /// Call path in [`Definitions::contexts`](crate::Definitions::contexts).
        context: CallPathId,
    },
    /// Event of another kind, which no analysis uses. It is stored as recorded.
    Other {
        /// Name of the kind of event, in [`Definitions::kinds`](crate::Definitions::kinds).
        kind: KindId,
        /// Arguments.
        args: &'a [u64],
    },
}

/// Attribute value of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttributeValue {
    /// Definition of the attribute.
    pub attribute: AttributeId,
    /// Type in the recording, by its number in OTF2.
    pub type_code: u8,
    /// Value. A reference into a table of the recording is stored as its id.
    pub value: Value,
}
