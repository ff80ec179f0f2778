//! GOAL, the schedules of LogGOPSim: as text ([`text`]) and in its binary form ([`binary`]), also compressed by gzip.
//!
//! T. Hoefler, C. Siebert and A. Lumsdaine, "Group Operation Assembly Language: A Flexible Way to Express Collective
//! Communication", ICPP 2009.

pub mod binary;
pub mod text;

use crate::error::Error;
use crate::program::{Program, RankProgram, RankSink};
use flate2::bufread::MultiGzDecoder;
use std::io::{BufRead, BufReader, Read};

/// Reads a schedule in either form, compressed or not.
pub fn read(input: impl Read) -> Result<Program, Error> {
    let mut program = Program::new(0);
    any_form(input, &mut program)?;
    program.check()?;
    program.shrink();
    Ok(program)
}

/// Reads a schedule in either form, compressed or not, and passes on its ranks in the order of the file. At most one
/// rank is stored.
pub fn each_rank(input: impl Read, ranks: &mut dyn RankSink) -> Result<(), Error> {
    any_form(input, &mut Checked { ranks })
}

/// The line of an operation in a text, compressed or not, from 1. A program does not store lines, so the text is read
/// again. `None` for a binary schedule.
pub fn line_of(input: impl Read, rank: u32, operation: u32) -> Result<Option<u64>, Error> {
    let of = |mut input: Box<dyn BufRead + '_>| match is_binary(input.fill_buf()?) {
        true => Ok(None),
        false => text::line_of(input, rank, operation),
    };
    let mut input = BufReader::with_capacity(BUFFER, input);
    match input.fill_buf()?.starts_with(&GZIP) {
        true => of(Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(input)))),
        false => of(Box::new(input)),
    }
}

/// The error with the line of the operation that it names. `again` opens the schedule once more.
pub fn with_line<R: Read>(error: Error, again: impl FnOnce() -> Option<R>) -> Error {
    let named = error.rank.zip(error.operation);
    let line = named.and_then(|(rank, operation)| line_of(again()?, rank, operation).ok()?);
    // A reader may already have named the line where the rank ends, at which it found the error.
    Error { line: line.or(error.line), ..error }
}

fn is_binary(start: &[u8]) -> bool {
    [binary::MAGIC, binary::SPOILT].iter().any(|magic| start.starts_with(&magic.to_le_bytes()))
}

const BUFFER: usize = 1 << 16;
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];

fn any_form(input: impl Read, ranks: &mut dyn RankSink) -> Result<(), Error> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    if input.fill_buf()?.starts_with(&GZIP) {
        return plain(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(input)), ranks);
    }
    plain(input, ranks)
}

fn plain(mut input: impl BufRead, ranks: &mut dyn RankSink) -> Result<(), Error> {
    if is_binary(input.fill_buf()?) { binary::each_rank(input, ranks) } else { text::each_rank(input, ranks) }
}

/// Refuses ranks whose operations wait for one another.
struct Checked<'r> {
    ranks: &'r mut dyn RankSink,
}

impl RankSink for Checked<'_> {
    fn begin(&mut self, ranks: u32) -> Result<(), Error> {
        self.ranks.begin(ranks)
    }

    fn rank(&mut self, rank: u32, list: RankProgram) -> Result<(), Error> {
        let mut one = Program::new(1);
        one.set(0, list.clone());
        one.check_order(0)?;
        self.ranks.rank(rank, list)
    }
}
