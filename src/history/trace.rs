//! The JSON-lines form of a history: a header line, then one line per record.

use std::io::{self, BufRead, Write};

use super::{Header, Record};

/// What is wrong with a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// It could not be read.
    #[error("the trace cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A line is no record.
    #[error("line {line} of the trace: {error}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// There is no header.
    #[error("the trace is empty: its first line must be the header")]
    Empty,
}

/// Writes the header line.
///
/// # Errors
/// When the writer fails.
pub fn write_header(to: &mut dyn Write, header: &Header) -> io::Result<()> {
    serde_json::to_writer(&mut *to, header)?;
    to.write_all(b"\n")
}

/// Writes the line of one record.
///
/// # Errors
/// When the writer fails.
pub fn write_record(to: &mut dyn Write, record: &Record) -> io::Result<()> {
    serde_json::to_writer(&mut *to, record)?;
    to.write_all(b"\n")
}

/// Reads a whole trace.
///
/// # Errors
/// When the reader fails, there is no header, or a line is no record.
pub fn read_trace(from: &mut dyn BufRead) -> Result<(Header, Vec<Record>), TraceError> {
    let mut lines = from.lines().enumerate();
    let (_, first) = lines.next().ok_or(TraceError::Empty)?;
    let header = serde_json::from_str(&first?).map_err(|error| TraceError::Line { line: 1, error })?;
    let mut records = Vec::new();
    for (place, line) in lines {
        let record = serde_json::from_str(&line?).map_err(|error| TraceError::Line { line: place + 1, error })?;
        records.push(record);
    }
    Ok((header, records))
}
