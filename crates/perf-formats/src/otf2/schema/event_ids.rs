//! Ids of the event records that are converted to event types of `perf-core`.

/// The event buffer was written to the file.
pub(crate) const BUFFER_FLUSH: u8 = 10;
/// Recording was switched on or off.
pub(crate) const MEASUREMENT_ON_OFF: u8 = 11;
/// A region is entered.
pub(crate) const ENTER: u8 = 12;
/// A region is left.
pub(crate) const LEAVE: u8 = 13;
/// Blocking send.
pub(crate) const MPI_SEND: u8 = 14;
/// Start of a non-blocking send.
pub(crate) const MPI_ISEND: u8 = 15;
/// Completion of a non-blocking send.
pub(crate) const MPI_ISEND_COMPLETE: u8 = 16;
/// Start of a non-blocking receive.
pub(crate) const MPI_IRECV_REQUEST: u8 = 17;
/// Blocking receive.
pub(crate) const MPI_RECV: u8 = 18;
/// Completion of a non-blocking receive.
pub(crate) const MPI_IRECV: u8 = 19;
/// Unsuccessful test of a request.
pub(crate) const MPI_REQUEST_TEST: u8 = 20;
/// Cancellation of a request.
pub(crate) const MPI_REQUEST_CANCELLED: u8 = 21;
/// Begin of a collective operation.
pub(crate) const MPI_COLLECTIVE_BEGIN: u8 = 22;
/// End of a collective operation.
pub(crate) const MPI_COLLECTIVE_END: u8 = 23;
/// Values of metrics.
pub(crate) const METRIC: u8 = 31;
/// Remote write.
pub(crate) const RMA_PUT: u8 = 46;
/// Remote read.
pub(crate) const RMA_GET: u8 = 47;
/// Remote atomic operation.
pub(crate) const RMA_ATOMIC: u8 = 48;
/// Completion of a blocking remote operation.
pub(crate) const RMA_OP_COMPLETE_BLOCKING: u8 = 49;
/// Local completion of a non-blocking remote operation.
pub(crate) const RMA_OP_COMPLETE_NON_BLOCKING: u8 = 50;
/// Unsuccessful test of a remote operation.
pub(crate) const RMA_OP_TEST: u8 = 51;
/// Remote completion of a remote operation.
pub(crate) const RMA_OP_COMPLETE_REMOTE: u8 = 52;
/// A calling context is entered.
pub(crate) const CONTEXT_ENTER: u8 = 66;
/// A calling context is left.
pub(crate) const CONTEXT_LEAVE: u8 = 67;
/// Sample of a calling context.
pub(crate) const CONTEXT_SAMPLE: u8 = 68;
/// Start of a non-blocking collective operation.
pub(crate) const COLLECTIVE_REQUEST: u8 = 85;
/// Completion of a non-blocking collective operation.
pub(crate) const COLLECTIVE_COMPLETE: u8 = 86;
