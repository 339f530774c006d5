//! Abnormal ranks, steps, functions and calls.
