//! [`StreamHealth`]: what was wrong with a stream, counted.

use perf_core::Merge;

macro_rules! health {
    ($($(#[$doc:meta])* $field:ident: $name:literal, $fault:literal;)*) => {
        /// What came on a stream, and what was wrong with it and mended.
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
            /// Name and count of everything that is counted, for reports.
            pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$(($name, self.$field)),*].into_iter()
            }

            /// Name and count of what was wrong; without those that never happened.
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
    /// Messages, sent and received.
    messages: "messages", false;
    /// Counter values, those of the node among them.
    counters: "counters", false;
    /// Calls that were completed, those that had to be closed among them.
    calls: "calls", false;
    /// Events that were earlier than one before in the same step; the step was sorted by time,
    /// equal times in the order in which they came.
    out_of_order: "out-of-order", true;
    /// Enters and exits that were earlier than one of an earlier step; taken at the time of that.
    late: "late", true;
    /// Events whose time is far from that of those before and after them, so that it cannot be; taken at
    /// the time of the one before.
    wrong_time: "wrong-time", true;
    /// How often the clock of a stream went far back and stayed there; time goes on from there.
    clock_back: "clock-went-back", true;
    /// Messages and counters that were earlier than an enter or exit of an earlier step; given to
    /// the innermost open call that had been entered by then.
    late_notes: "late-messages-or-counters", true;
    /// Exits with no call open; ignored.
    empty_stack: "exit-on-empty-stack", true;
    /// Exits of a call further out than the innermost one; what lay inside was closed with it.
    nearest: "exit-of-outer-call", true;
    /// Calls that such an exit closed.
    implicit: "closed-by-outer-exit", true;
    /// Exits of a region of which no call is open, or in strict mode is not innermost; ignored.
    wrong_exit: "exit-of-other-region", true;
    /// Calls that were closed by such an exit after all, as what followed showed.
    renamed: "closed-by-other-name", true;
    /// Exits that were earlier than their enter.
    backwards: "exit-before-entry", true;
    /// Events of a region that nobody named; ignored.
    unknown_region: "unknown-region", true;
    /// Values of a counter that nobody named; ignored.
    unknown_counter: "unknown-counter", true;
    /// Messages and counter values with no call open at their time.
    outside: "outside-any-call", false;
    /// Calls that were closed since the stack had grown over its limit, which no program does.
    too_deep: "stack-too-deep", true;
    /// Calls whose path could not be told from others, since there were too many paths.
    path_limit: "too-many-paths", true;
    /// Calls that were open at the end of the stream.
    open_at_end: "open-at-end", true;
    /// Calls on an accelerator whose launch never came.
    unmatched_gpu: "gpu-call-without-launch", true;
    /// Correlation ids of launches that no call on an accelerator had.
    unmatched_launch: "launch-without-gpu-call", true;
    /// Further correlation ids of a call on an accelerator that had one; ignored.
    extra_correlation: "extra-correlation-id", true;
    /// Events of a stream that nobody asked an id for; ignored.
    unknown_stream: "unknown-stream", true;
    /// Streams whose program, rank or thread is no sane number, or one too many: each time an id
    /// was asked for.
    corrupt_stream: "corrupt-stream", true;
    /// Events of such streams; ignored.
    corrupt_event: "event-of-corrupt-stream", true;
    /// Facts about the stream that were not kept, since there were too many.
    lost_metadata: "too-many-metadata", true;
    /// Regions and counters that got no name of their own, since there were too many.
    name_limit: "too-many-names", true;
}

impl StreamHealth {
    /// Events that were taken: enters, exits, messages and counter values.
    pub fn events(&self) -> u64 {
        self.functions
            .saturating_add(self.messages)
            .saturating_add(self.counters)
    }

    /// Events that are in no call: of what nobody named, of streams that are corrupt, and exits of calls
    /// that were not open.
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

    /// Whether nothing was wrong.
    pub fn is_sound(&self) -> bool {
        self.faults().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_what_was_wrong() {
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
