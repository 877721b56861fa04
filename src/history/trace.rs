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
    #[error("line {line} of the trace: {}", in_its_line(error))]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// The last line breaks off: whoever wrote the trace did not come to its end.
    #[error("line {line} of the trace breaks off")]
    Cut {
        /// The line, from 1.
        line: usize,
        /// What is before it.
        before: Box<(Header, Vec<Record>)>,
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

/// What is wrong with a line; its place in it by its column alone, as the line is named beside it.
fn in_its_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}

/// Reads a whole trace.
///
/// # Errors
/// When the reader fails, there is no header, a line is no record, or the last line breaks off: it has no line end,
/// and is no record for that.
pub fn read_trace(from: &mut dyn BufRead) -> Result<(Header, Vec<Record>), TraceError> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line)?;
    if line.trim_ascii().is_empty() {
        return Err(TraceError::Empty);
    }
    let header = serde_json::from_slice(&line).map_err(|error| TraceError::Line { line: 1, error })?;
    let mut records = Vec::new();
    for number in 2.. {
        line.clear();
        if from.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        match serde_json::from_slice(&line) {
            Ok(record) => records.push(record),
            Err(error) if breaks_off(&line, &error) => {
                return Err(TraceError::Cut { line: number, before: Box::new((header, records)) });
            }
            Err(error) => return Err(TraceError::Line { line: number, error }),
        }
    }
    Ok((header, records))
}

/// Whether a line that is no record is the beginning of one, perhaps up to the middle of a letter.
fn breaks_off(line: &[u8], error: &serde_json::Error) -> bool {
    let in_a_letter = std::str::from_utf8(line).is_err_and(|error| error.error_len().is_none());
    !line.ends_with(b"\n") && (error.is_eof() || in_a_letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Event, Phase};
    use crate::kernel::{Span, Timestamp};

    fn written() -> Vec<u8> {
        let start = Timestamp::from_micros(0);
        let header = Header {
            format: 1,
            scenario: "ärger".into(),
            start,
            lease: Span::from_secs(30),
            poll: Span::from_millis(50),
            timer_jitter: Span::ZERO,
            capacity: 10,
            max_lost_leases: 10,
            workers: Vec::new(),
        };
        let mut bytes = Vec::new();
        write_header(&mut bytes, &header).expect("memory takes it");
        let said = Event::Deviation {
            site: "w1 / ä".into(),
            fault: "{}".into(),
            kind: crate::history::FaultKind::Crash,
            call: crate::history::Called::Read,
            run: None,
            agent: None,
        };
        for event in [Event::Phase(Phase::Chaos), said] {
            write_record(&mut bytes, &Record { at: start, event }).expect("memory takes it");
        }
        bytes
    }

    #[test]
    fn a_trace_is_read_as_it_is_written() {
        let (header, records) = read_trace(&mut written().as_slice()).expect("it is whole");
        assert_eq!((&*header.scenario, records.len()), ("ärger", 2));
    }

    #[test]
    fn a_trace_that_is_cut_off_anywhere_says_in_which_line_and_keeps_what_is_before() {
        let whole = written();
        let ends: Vec<usize> = (0..whole.len()).filter(|place| whole[*place] == b'\n').collect();
        for length in ends[1] + 2..whole.len() - 1 {
            match read_trace(&mut &whole[..length]) {
                Err(TraceError::Cut { line: 3, before }) => assert_eq!(before.1.len(), 1),
                other => panic!("{length}: {other:?}"),
            }
        }
        assert_eq!(read_trace(&mut &whole[..whole.len() - 1]).expect("only the line end is missing").1.len(), 2);
        assert_eq!(read_trace(&mut &whole[..=ends[1]]).expect("it ends with a line").1.len(), 1);
    }

    #[test]
    fn what_is_no_trace_is_told_with_its_line() {
        let mut broken = written();
        broken.extend_from_slice(b"{\"at\":7}\n{\"at\":");
        assert!(matches!(read_trace(&mut broken.as_slice()), Err(TraceError::Line { line: 4, .. })));
        assert!(matches!(read_trace(&mut &b"{}"[..]), Err(TraceError::Line { line: 1, .. })));
        assert!(matches!(read_trace(&mut &b""[..]), Err(TraceError::Empty)));
    }
}
