//! Archives of the Open Trace Format 2, as Score-P records the calls of MPI programs.
//!
//! Nothing here reads them. Whoever can (the Python package, with the format's own reader) makes itself known once, and
//! writes their calls as those of DUMPI stand in files: what a call does is said in one place.

use crate::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Writes the calls of the archive at a path as files of DUMPI's text, a file a rank, and returns that of rank 0. Times
/// are those since the first event. The files stay as long as the process needs them.
pub type Reader = fn(&Path) -> Result<PathBuf, Error>;

static READER: OnceLock<Reader> = OnceLock::new();

/// Makes known who reads archives. The first is asked.
pub fn register(reader: Reader) {
    let _ = READER.set(reader);
}

/// True of a file whose name is that of an archive's anchor, `NAME.otf2`.
pub(crate) fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "otf2")
}

/// The files of which an archive consists: its anchor, its definitions `NAME.def`, and what is in the folder `NAME`.
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

/// What `read` makes of the calls of an archive, of which it is told the file of rank 0. What it refuses names the
/// archive, the rank and the time of the call.
pub(crate) fn read<T>(path: &Path, read: impl FnOnce(&Path) -> Result<T, Error>) -> Result<T, Error> {
    let none = || Error::new("expected the Python package, which reads archives of OTF2");
    let calls = READER.get().ok_or_else(none).and_then(|reader| reader(path));
    read(&calls.map_err(|error| error.within(path))?).map_err(|error| within(path, error))
}

/// An error about a file of calls, as one about the archive that it was made of.
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

/// When the call begins to which a line of a file of calls belongs.
pub(crate) fn time_of(file: &Path, line: u64) -> Option<u64> {
    let lines = BufReader::new(File::open(file).ok()?).lines();
    let calls = lines.take(line as usize).map_while(Result::ok).filter_map(|line| {
        let (_, time) = line.split_once(" entering at walltime ")?;
        crate::dumpi::time(time).ok()
    });
    calls.last()
}
