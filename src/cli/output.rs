//! Files that are written: never over what is read, and known to be writable before the work begins.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use super::Stop;

/// Refuses to write over one of the files that are read.
pub(super) fn spare<'a>(output: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<(), Stop> {
    let Ok(output_there) = output.canonicalize() else { return Ok(()) };
    let is_input = |input: &Path| input.canonicalize().is_ok_and(|input| input == output_there);
    match inputs.into_iter().find(|input| is_input(input)) {
        Some(_) => {
            let path = output.display();
            Err(Stop::Usage(format!("{path}: it is read, and would be written over: name another file")))
        }
        None => Ok(()),
    }
}

/// A file that is written when the work is done; that it can be is found out before.
pub(super) struct Output {
    path: PathBuf,
    file: File,
}

impl Output {
    /// Opens it. What it holds stays until it is written.
    pub(super) fn open(path: &Path) -> Result<Output, Stop> {
        let opened = OpenOptions::new().create(true).append(true).open(path);
        let file = opened.map_err(|error| Stop::Unwritable { path: path.to_owned(), error })?;
        Ok(Output { path: path.to_owned(), file })
    }

    /// Writes all of it.
    pub(super) fn write(mut self, text: &str) -> Result<(), Stop> {
        use std::io::Write as _;
        let written = self.file.set_len(0).and_then(|()| self.file.write_all(text.as_bytes()));
        written.map_err(|error| Stop::Unwritable { path: self.path, error })
    }
}
