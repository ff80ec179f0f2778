//! Archives of the Open Trace Format 2, in which Score-P records the calls of MPI programs.
//!
//! This crate cannot read them. A program that can (the Python package, with the format's own reader) registers a
//! reader once. The reader writes the calls as text files of DUMPI, so calls are interpreted in one place only.

use crate::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Writes the calls of the archive at a path as files of DUMPI's text, one for each rank, and returns the file of rank
/// 0. Times count from the first event. The files remain as long as the process needs them.
pub type Reader = fn(&Path) -> Result<PathBuf, Error>;

static READER: OnceLock<Reader> = OnceLock::new();

/// Registers a reader of archives. The first one registered is used.
pub fn register(reader: Reader) {
    let _ = READER.set(reader);
}

/// True for the name of an archive's anchor file, `NAME.otf2`.
pub(crate) fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "otf2")
}

/// The files of an archive: its anchor, its definitions `NAME.def`, and the contents of the folder `NAME`.
pub(crate) fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let missing = || Error::new("no such file").within(path);
    let mut files = vec![path.is_file().then(|| path.to_path_buf()).ok_or_else(missing)?];
    files.extend([path.with_extension("def")].into_iter().filter(|definitions| definitions.is_file()));
    let folder = path.with_extension("");
    if folder.is_dir() {
        let entries = std::fs::read_dir(&folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let entries = entries.map_err(|error| Error::from(error).within(&folder))?;
        let mut events: Vec<PathBuf> =
            entries.iter().map(|entry| entry.path()).filter(|entry| entry.is_file()).collect();
        events.sort_unstable();
        files.extend(events);
    }
    Ok(files)
}

/// The result of `read` for the calls of an archive, given as the file of rank 0. Errors name the archive, the rank and
/// the time of the call.
pub(crate) fn read<T>(path: &Path, read: impl FnOnce(&Path) -> Result<T, Error>) -> Result<T, Error> {
    let none = || Error::new("expected the Python package, which reads archives of OTF2");
    let calls = READER.get().ok_or_else(none).and_then(|reader| reader(path));
    read(&calls.map_err(|error| error.within(path))?).map_err(|error| within(path, error))
}

/// Turns an error about a file of calls into one about the archive that the file was made from.
fn within(path: &Path, error: Error) -> Error {
    let time = error.file.as_deref().zip(error.line).and_then(|(file, line)| time_of(file, line));
    let message = match (error.rank, time) {
        (Some(rank), Some(time)) => format!("rank {rank}, {}: {}", shown(time), error.message),
        _ => error.message,
    };
    let rank = if time.is_some() { None } else { error.rank };
    Error { file: Some(path.into()), line: None, rank, message, ..error }
}

/// A time since the first event.
pub(crate) fn shown(time: u64) -> String {
    format!("{time} ns after the first event")
}

/// When the call begins that contains this line of a file of calls.
pub(crate) fn time_of(file: &Path, line: u64) -> Option<u64> {
    let lines = BufReader::new(File::open(file).ok()?).lines();
    let calls = lines.take(line as usize).map_while(Result::ok).filter_map(|line| {
        let (_, time) = line.split_once(" entering at walltime ")?;
        crate::dumpi::time(time).ok()
    });
    calls.last()
}
