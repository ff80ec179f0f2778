//! Traces as files: one for each rank, `PREFIX.RANK.et`, perhaps compressed, or `PREFIX.RANK.json`.

use super::build::{built, noted};
use super::options::Options;
use crate::error::Error;
use crate::program::Program;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// True for a folder, and for a file with the name of a trace.
pub fn is_trace(path: &Path) -> bool {
    path.is_dir() || path.file_name().is_some_and(|name| parts(&name.to_string_lossy()).is_some())
}

/// The prefix of a name, the rank, and the suffix.
fn parts(name: &str) -> Option<(&str, Option<u32>, &str)> {
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    let stem = plain.strip_suffix(".et").or_else(|| plain.strip_suffix(".json"))?;
    let end = &name[stem.len()..];
    let numbered = stem.rsplit_once('.').and_then(|(prefix, rank)| Some((prefix, Some(rank.parse().ok()?), end)));
    Some(numbered.unwrap_or((stem, None, end)))
}

/// Reads the traces of all ranks: those in a folder, or those whose names differ from `path` in the rank only.
pub fn read_files(path: &Path, options: &Options) -> Result<Program, Error> {
    opened(path, |files| Ok(built(files, options, false)?.program))
}

/// Facts about the traces that a reader should know besides the program.
pub fn notes(path: &Path, options: &Options) -> Result<Vec<String>, Error> {
    opened(path, |files| noted(files, options))
}

/// The node that an operation comes from. A program does not store nodes, so the traces are read again.
pub fn place_of(path: &Path, options: &Options, rank: u32, operation: u32) -> Result<Option<String>, Error> {
    opened(path, |files| Ok(built(files, options, true)?.place_of(rank, operation)))
}

/// Calls `read` with the files of a trace, of which one is open at a time.
fn opened<T>(
    path: &Path,
    read: impl FnOnce(&mut dyn ExactSizeIterator<Item = Result<File, Error>>) -> Result<T, Error>,
) -> Result<T, Error> {
    let files = files(path)?;
    read(&mut files.iter().map(|file| File::open(file).map_err(|error| Error::from(error).within(file)))).map_err(
        |error| match error.key {
            Some(_) => error,
            None => {
                let file = error.rank.and_then(|rank| files.get(rank as usize)).cloned();
                error.within(&file.unwrap_or_else(|| path.into()))
            }
        },
    )
}

/// The files of the ranks, in their order.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    found(path).map_err(|error| error.within(path))
}

fn found(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let own = match path.is_dir() {
        true => None,
        false => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match parts(&name) {
                Some((prefix, Some(_), end)) => Some((prefix.to_string(), end.to_string())),
                _ => return Ok(vec![path.into()]),
            }
        }
    };
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found: BTreeMap<(String, String), BTreeMap<u32, PathBuf>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some((prefix, Some(rank), end)) = parts(&name) {
            let key = (prefix.to_string(), end.to_string());
            if own.as_ref().is_none_or(|own| *own == key)
                && let Some(other) = found.entry(key).or_default().insert(rank, entry.path())
            {
                return Err(Error::new(format!("{} has the same rank", other.display())).of(rank));
            }
        }
    }
    if found.len() > 1 {
        let names: Vec<String> = found.keys().take(4).map(|(prefix, end)| format!("{prefix}.*{end}")).collect();
        return Err(Error::new(format!("holds several traces ({}): name a file of one", names.join(", "))));
    }
    let Some((_, ranks)) = found.pop_first() else {
        return Err(Error::new("no files named PREFIX.RANK.et or PREFIX.RANK.json"));
    };
    match (0..).zip(ranks.keys()).find(|(expected, rank)| expected != *rank) {
        Some((missing, _)) => Err(Error::new(format!("its file is missing, of {}", ranks.len())).of(missing)),
        None => Ok(ranks.into_values().collect()),
    }
}
