//! Conversion of the statistics of ranks, steps and functions to tables.

use super::{FunctionName, FunctionStats, RankSummary, StepStats};
use crate::{Loss, Moments};
use perf_core::Table;

impl RankSummary {
    /// Returns ranks as a table, one row each, in the given order.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `program`, `rank` | unsigned | program, and rank in it |
    /// | `calls`, `anomalies`, `in slow calls`, ... | | those of [`Loss::columns`] |
    /// | `anomalies per step count`, `anomalies per step mean`, ... | | those of [`Moments::columns`]; the count is that of steps |
    ///
    /// ```
    /// use perf_anomaly::Loss;
    /// use perf_anomaly::server::{RankSummary, Ranking, Ranks, StepStats};
    /// use perf_core::Cell;
    /// let mut ranks = Ranks::default();
    /// for (rank, too_slow) in [(0, 1), (1, 7), (2, 0)] {
    ///     let mut step = StepStats::default();
    ///     (step.rank, step.loss) = (rank, Loss { calls: 100, too_slow, ..Loss::default() });
    ///     ranks.add(&step, 64, 1024);
    /// }
    /// let table = RankSummary::table(&ranks.ranked(Ranking::Total));
    /// assert_eq!(table.cell(0, "rank"), Some(Cell::Unsigned(1)));
    /// assert_eq!(table.cell(0, "anomalies per step maximum"), Some(Cell::Float(7.0)));
    /// ```
    pub fn table(ranks: &[RankSummary]) -> Table {
        let losses: Vec<Loss> = ranks.iter().map(|rank| rank.loss).collect();
        let moments: Vec<Moments> = ranks.iter().map(|rank| rank.anomalies).collect();
        let table = Table::new("ranks by anomalies", "Anomalies of ranks in each step.")
            .unsigned("program", "", ranks.iter().map(|rank| rank.program))
            .unsigned("rank", "", ranks.iter().map(|rank| rank.rank));
        Moments::columns(
            Loss::columns(table, &losses),
            "anomalies per step",
            "",
            &moments,
        )
    }
}

impl StepStats {
    /// Returns steps of ranks as a table, one row each, in the given order.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `program`, `rank`, `step` | unsigned | rank and step |
    /// | `start`, `end` | time | first entry and last exit of a call that was completed in the step |
    /// | `calls`, `anomalies`, `in slow calls`, ... | | those of [`Loss::columns`] |
    /// | `score count`, `score mean`, ... | | scores of the anomalies, those of [`Moments::columns`] |
    ///
    /// ```
    /// use perf_anomaly::server::StepStats;
    /// use perf_core::Cell;
    /// let mut step = StepStats::default();
    /// (step.rank, step.loss.calls) = (3, 100);
    /// let table = StepStats::table(&[step]);
    /// assert_eq!(table.cell(0, "rank"), Some(Cell::Unsigned(3)));
    /// assert_eq!(table.cell(0, "score mean"), Some(Cell::Missing));
    /// ```
    pub fn table<'a>(steps: impl IntoIterator<Item = &'a StepStats>) -> Table {
        let steps: Vec<&StepStats> = steps.into_iter().collect();
        let losses: Vec<Loss> = steps.iter().map(|step| step.loss).collect();
        let scores: Vec<Moments> = steps.iter().map(|step| step.scores).collect();
        let table = Table::new(
            "steps of ranks",
            "Calls and anomalies of each rank and step.",
        )
        .unsigned("program", "", steps.iter().map(|step| step.program))
        .unsigned("rank", "", steps.iter().map(|step| step.rank))
        .unsigned("step", "", steps.iter().map(|step| step.step))
        .times("start", steps.iter().map(|step| step.start))
        .times("end", steps.iter().map(|step| step.end));
        Moments::columns(Loss::columns(table, &losses), "score", "", &scores)
    }
}

impl FunctionStats {
    /// Returns functions as a table, one row each, in the given order.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `program` | unsigned | program of the function |
    /// | `function` | text | name |
    /// | `calls`, `anomalies`, `in slow calls`, ... | | those of [`Loss::columns`] |
    /// | `exclusive time count`, ... | | exclusive run times, those of [`Moments::columns`] |
    /// | `inclusive time count`, ... | | inclusive run times |
    /// | `score count`, ... | | scores of the anomalies |
    /// | `severity count`, ... | | time lost by each anomaly |
    /// | `first step`, `last step` | unsigned | steps with an anomaly, missing without any |
    ///
    /// ```
    /// use perf_anomaly::server::{FunctionName, FunctionStats};
    /// use perf_core::Cell;
    /// let mut stats = FunctionStats::default();
    /// stats.exclusive.extend([1_000.0, 3_000.0]);
    /// let name = FunctionName { program: 0, name: "solve".into() };
    /// let table = FunctionStats::table([(&name, &stats)]);
    /// assert_eq!(table.text_of(0, "exclusive time mean"), "2.00 us");
    /// assert_eq!(table.cell(0, "function"), Some(Cell::Text("solve")));
    /// ```
    pub fn table<'a>(
        named: impl IntoIterator<Item = (&'a FunctionName, &'a FunctionStats)>,
    ) -> Table {
        let named: Vec<_> = named.into_iter().collect();
        let moments = |of: fn(&FunctionStats) -> Moments| -> Vec<Moments> {
            named.iter().map(|(_, stats)| of(stats)).collect()
        };
        let losses: Vec<Loss> = named.iter().map(|(_, stats)| stats.loss).collect();
        let table = Table::new("functions", "Calls and anomalies of each function.")
            .unsigned("program", "", named.iter().map(|(name, _)| name.program))
            .text("function", named.iter().map(|(name, _)| &*name.name));
        let table = Loss::columns(table, &losses);
        let table = Moments::columns(table, "exclusive time", "ns", &moments(|it| it.exclusive));
        let table = Moments::columns(table, "inclusive time", "ns", &moments(|it| it.inclusive));
        let table = Moments::columns(table, "score", "", &moments(|it| it.scores));
        let table = Moments::columns(table, "severity", "ns", &moments(|it| it.severities));
        let steps = |of: fn((u64, u64)) -> u64| named.iter().map(move |it| it.1.steps.map(of));
        table
            .unsigned("first step", "", steps(|steps| steps.0))
            .unsigned("last step", "", steps(|steps| steps.1))
    }
}
