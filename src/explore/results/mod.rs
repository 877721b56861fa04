//! What a sweep found, as lines that are written while it works, and as a summary that reports are made of.
//!
//! - [`Line`]: one result. Each is true by itself, whatever stands beside it.
//! - [`Recorder`]: from what a sweep tells to lines.
//! - [`Summary`]: from a *set* of lines to what a report says. So the order of lines, and how often one stands there,
//!   cannot matter; a sweep makes its own report out of lines, too.
//!
//! Nothing here is about time, threads or shards of one machine: many small sweeps give what a large one gives.

mod batches;
mod files;
mod line;
mod record;
mod summary;

pub use files::{Made, make, needs_file};
pub use line::{
    BatchLine, Broke, Counts, CoverageLine, DivergenceLine, FORMAT, FailingCount, FailureLine, FileLine, Line, Minimum,
    MinimumCount, Missed, PanicLine, ReadLines, ScenarioEntry, Shrinking, StaleLine, SweepLine, WRITTEN_BY, WrongLine,
    read_lines,
};
pub use record::{Recorder, Swept, identity, of_findings};
pub use summary::{Compared, FailureSummary, SampleSummary, ScenarioSummary, Summary, SummaryError};

#[cfg(test)]
mod tests;
