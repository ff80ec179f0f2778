//! Errors of workloads, with their position.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A workload that cannot be read, or that no run can execute.
#[derive(Debug, thiserror::Error)]
pub struct Error {
    /// The line of a text, from 1.
    pub line: Option<u64>,
    /// The number of bytes before it in a file that is no text.
    pub byte: Option<u64>,
    /// The rank.
    pub rank: Option<u32>,
    /// The number of an operation of that rank.
    pub operation: Option<u32>,
    /// The file.
    pub file: Option<PathBuf>,
    /// The wrong parameter, if there is one.
    pub key: Option<&'static str>,
    /// The problem and the expectation.
    pub message: String,
}

impl Error {
    /// An error without a position.
    pub fn new(message: impl Into<String>) -> Self {
        Self { line: None, byte: None, rank: None, operation: None, file: None, key: None, message: message.into() }
    }

    /// An error about a parameter's value.
    pub fn key(key: &'static str, value: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Self { key: Some(key), ..Self::new(format!("{key} = {value}: {expected}")) }
    }

    /// This error with a line, unless it has one.
    pub fn at(self, line: u64) -> Self {
        Self { line: self.line.or(Some(line)), ..self }
    }

    /// This error with a file, unless it has one.
    pub fn within(self, file: &Path) -> Self {
        Self { file: self.file.or_else(|| Some(file.into())), ..self }
    }

    /// This error with a rank, unless it has one.
    pub fn of(self, rank: u32) -> Self {
        Self { rank: self.rank.or(Some(rank)), ..self }
    }
}

/// `sweep.goal: line 7, rank 2: ...`.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        let line = self.line.map(|line| format!("line {line}"));
        let byte = self.byte.map(|byte| format!("byte {byte}"));
        let rank = self.rank.map(|rank| format!("rank {rank}"));
        let place: Vec<String> = [line, byte, rank].into_iter().flatten().collect();
        match place.is_empty() {
            true => f.write_str(&self.message),
            false => write!(f, "{}: {}", place.join(", "), self.message),
        }
    }
}

impl Error {
    /// The error that none of `ranks` ranks has an operation.
    pub(crate) fn empty(ranks: u32) -> Self {
        let whose = if ranks == 1 { "its only rank".into() } else { format!("any of {ranks} ranks") };
        Self::new(format!("no operation of {whose}; expected a program that calculates, sends or receives"))
    }

    /// A file cannot be written.
    pub(crate) fn writing(error: io::Error) -> Self {
        Self::new(format!("cannot be written: {error}"))
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::new(format!("cannot be read: {error}"))
    }
}

/// Words of a file, shortened, for messages.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}
