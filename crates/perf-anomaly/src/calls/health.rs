//! [`StreamHealth`]: counts of the events of a stream, its defects and their repairs.

use perf_core::Merge;

macro_rules! health {
    ($($(#[$doc:meta])* $field:ident: $name:literal, $fault:literal;)*) => {
        /// Counts of the events of a stream, and of its defects and repairs.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        #[non_exhaustive]
        pub struct StreamHealth {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Merge for StreamHealth {
            fn merge(&mut self, other: &Self) {
                $(self.$field = self.$field.saturating_add(other.$field);)*
            }
        }

        impl StreamHealth {
            /// Returns name and value of every count, for reports.
            pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$(($name, self.$field)),*].into_iter()
            }

            /// Returns name and value of the counts of defects that occurred.
            pub fn faults(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                let all = [$(($name, self.$field, $fault)),*];
                all.into_iter()
                    .filter(|(_, count, fault)| *fault && *count > 0)
                    .map(|(name, count, _)| (name, count))
            }
        }
    };
}

health! {
    /// Enters and exits.
    functions: "functions", false;
    /// Messages sent and received.
    messages: "messages", false;
    /// Counter values, including those of the node.
    counters: "counters", false;
    /// Completed calls, including those closed by a repair.
    calls: "calls", false;
    /// Events that were earlier than a preceding event in the same step. The step was sorted by
    /// time; events at equal times stay in order of arrival.
    out_of_order: "out-of-order", true;
    /// Enters and exits that were earlier than the last enter or exit; moved to the time of the
    /// latter.
    late: "late", true;
    /// Events with an implausible time, far from the events before and after them; moved to the
    /// time of the preceding event.
    wrong_time: "wrong-time", true;
    /// Permanent backward jumps of the clock of a stream; time continues from there.
    clock_back: "clock-went-back", true;
    /// Messages and counter values that were earlier than the last enter or exit; assigned to the
    /// innermost open call that had been entered by their time.
    late_notes: "late-messages-or-counters", true;
    /// Exits without an open call; ignored.
    empty_stack: "exit-on-empty-stack", true;
    /// Exits of an outer call; all inner calls were closed with it.
    nearest: "exit-of-outer-call", true;
    /// Calls closed by the exit of an outer call.
    implicit: "closed-by-outer-exit", true;
    /// Exits of a region without an open call or, with strict repair, of a region other than that
    /// of the innermost call; ignored at first.
    wrong_exit: "exit-of-other-region", true;
    /// Calls whose end was taken from an exit of another region, because of the following events.
    renamed: "closed-by-other-name", true;
    /// Exits earlier than the enter of their call.
    backwards: "exit-before-entry", true;
    /// Enters and exits of an unknown region; ignored.
    unknown_region: "unknown-region", true;
    /// Values of an unknown counter; ignored.
    unknown_counter: "unknown-counter", true;
    /// Messages and counter values outside of any call.
    outside: "outside-any-call", false;
    /// Calls closed because the stack exceeded its limit.
    too_deep: "stack-too-deep", true;
    /// Calls whose path is unknown because there were too many paths.
    path_limit: "too-many-paths", true;
    /// Calls that were open at the end of the stream.
    open_at_end: "open-at-end", true;
    /// Calls on an accelerator without a launch.
    unmatched_gpu: "gpu-call-without-launch", true;
    /// Correlation ids of launches without a call on an accelerator.
    unmatched_launch: "launch-without-gpu-call", true;
    /// Additional correlation ids of a call on an accelerator; ignored.
    extra_correlation: "extra-correlation-id", true;
    /// Events of an unregistered stream; ignored.
    unknown_stream: "unknown-stream", true;
    /// Requests for streams with an implausible program, rank or thread number, or beyond the limit
    /// of streams.
    corrupt_stream: "corrupt-stream", true;
    /// Events of corrupt streams; ignored.
    corrupt_event: "event-of-corrupt-stream", true;
    /// Properties of the stream that were dropped because there were too many.
    lost_metadata: "too-many-metadata", true;
    /// Regions and counters without a name of their own because there were too many.
    name_limit: "too-many-names", true;
}

impl StreamHealth {
    /// Returns the number of accepted events: enters, exits, messages and counter values.
    pub fn events(&self) -> u64 {
        self.functions
            .saturating_add(self.messages)
            .saturating_add(self.counters)
    }

    /// Returns the number of ignored events: of unknown regions, counters or streams, of corrupt
    /// streams, and exits without an open call.
    pub fn ignored(&self) -> u64 {
        [
            self.empty_stack,
            self.wrong_exit,
            self.unknown_region,
            self.unknown_counter,
            self.unknown_stream,
            self.corrupt_event,
        ]
        .iter()
        .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns `true` if there were no defects.
    pub fn is_sound(&self) -> bool {
        self.faults().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_counts_of_defects() {
        let mut health = StreamHealth {
            functions: 10,
            outside: 3,
            ..Default::default()
        };
        assert!(health.is_sound());
        health.merge(&StreamHealth {
            wrong_exit: 2,
            messages: 1,
            ..Default::default()
        });
        assert_eq!(
            health.faults().collect::<Vec<_>>(),
            [("exit-of-other-region", 2)]
        );
        assert_eq!(health.events(), 11);
    }
}
