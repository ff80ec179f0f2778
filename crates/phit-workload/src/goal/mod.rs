//! GOAL, the schedules of LogGOPSim: as text ([`text`]) and in its binary form ([`binary`]), also compressed by gzip.
//!
//! T. Hoefler, C. Siebert and A. Lumsdaine, "Group Operation Assembly Language: A Flexible Way to Express Collective
//! Communication", ICPP 2009.

pub mod binary;
pub mod text;

use crate::error::Error;
use crate::program::Program;
use flate2::bufread::MultiGzDecoder;
use std::io::{BufRead, BufReader, Read};

/// Reads a schedule in either form, compressed or not.
pub fn read(input: impl Read) -> Result<Program, Error> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    if input.fill_buf()?.starts_with(&GZIP) {
        return plain(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(input)));
    }
    plain(input)
}

const BUFFER: usize = 1 << 16;
const GZIP: [u8; 2] = [0x1f, 0x8b];

fn plain(mut input: impl BufRead) -> Result<Program, Error> {
    let start = input.fill_buf()?;
    let is_binary = [binary::MAGIC, binary::SPOILT].iter().any(|magic| start.starts_with(&magic.to_le_bytes()));
    let program = if is_binary { binary::read(input)? } else { text::read(input)? };
    program.check()?;
    Ok(program)
}
