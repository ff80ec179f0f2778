//! Files of programs: their contents decide how they are read, and their names how they are written.

use crate::chakra;
use crate::dumpi;
use crate::error::Error;
use crate::goal::{self, binary, text};
use crate::program::{Program, RankSink};
use crate::script::Scripts;
use crate::totals::Totals;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A source of ranks that can be read one by one, and repeatedly.
#[derive(Debug, Clone, Copy)]
pub enum Input<'p> {
    /// A file, or a folder of traces.
    File(&'p Path, &'p chakra::Options),
    /// A program.
    Program(&'p Program),
    /// Scripts, which generate one rank at a time.
    Scripts(&'p Scripts),
}

impl Input<'_> {
    /// Passes on the ranks one by one. For GOAL and scripts, at most one rank is stored.
    pub fn each_rank(&self, ranks: &mut dyn RankSink) -> Result<(), Error> {
        match self {
            Self::File(path, options) if is_trace(path) => {
                let program = match chakra::is_trace(path) {
                    true => chakra::read_files(path, options)?,
                    false => {
                        let options = dumpi::Options::try_from(*options).map_err(|error| error.within(path))?;
                        dumpi::read_files(path, &options)?
                    }
                };
                program.refuse_empty().map_err(|error| error.within(path))?;
                program.each_rank(ranks)
            }
            Self::File(path, _) => {
                let input = File::open(path).map_err(|error| Error::from(error).within(path))?;
                let again = || File::open(path).ok();
                let mut counted = Counted { ranks, count: 0, operations: 0 };
                goal::each_rank(input, &mut counted).map_err(|error| goal::with_line(error, again).within(path))?;
                match counted.operations {
                    0 => Err(Error::empty(counted.count).within(path)),
                    _ => Ok(()),
                }
            }
            Self::Program(program) => program.each_rank(ranks),
            Self::Scripts(scripts) => {
                ranks.begin(scripts.ranks)?;
                (0..scripts.ranks).try_for_each(|rank| ranks.rank(rank, scripts.rank(rank)))
            }
        }
    }

    /// The whole program.
    pub fn read(&self) -> Result<Program, Error> {
        let mut program = Program::new(0);
        self.each_rank(&mut program)?;
        Ok(program)
    }

    /// Its totals.
    pub fn totals(&self) -> Result<Totals, Error> {
        let mut totals = Totals::default();
        self.each_rank(&mut totals)?;
        Ok(totals)
    }

    /// Writes it as GOAL: in the binary form if the name ends in `.bin`, otherwise as text; compressed if `.gz`
    /// follows. The file appears under its name only when it is complete.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let partial = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
        let written =
            self.write_to(&partial, &name).and_then(|()| std::fs::rename(&partial, path).map_err(Error::writing));
        if written.is_err() {
            let _ = std::fs::remove_file(&partial);
        }
        written.map_err(|error| error.within(path))
    }

    fn write_to(&self, path: &Path, name: &str) -> Result<(), Error> {
        let out = BufWriter::new(File::create(path).map_err(Error::writing)?);
        match name.strip_suffix(".gz") {
            Some(name) => {
                let mut out = GzEncoder::new(out, Compression::default());
                self.write_plain(&mut out, name)?;
                out.finish().and_then(|mut out| out.flush()).map_err(Error::writing)
            }
            None => {
                let mut out = out;
                self.write_plain(&mut out, name)?;
                out.flush().map_err(Error::writing)
            }
        }
    }

    fn write_plain(&self, out: &mut impl Write, name: &str) -> Result<(), Error> {
        // A file whose ranks stand in another order must be stored.
        let held = match self {
            Self::File(path, _) if is_trace(path) => Some(self.read()?),
            Self::File(..) if !self.is_in_order()? => Some(self.read()?),
            _ => None,
        };
        let source = match &held {
            Some(program) => Input::Program(program),
            None => *self,
        };
        match name.ends_with(".bin") {
            true => binary::write(out, |ranks| source.each_rank(ranks)),
            false => source.each_rank(&mut text::Writer::new(out)),
        }
    }

    fn is_in_order(&self) -> Result<bool, Error> {
        let mut order = Order { next: 0, kept: true };
        self.each_rank(&mut order)?;
        Ok(order.kept)
    }
}

/// The files that a program is read from: all files of a trace, or the single file of GOAL.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    match () {
        () if chakra::is_trace(path) => chakra::files(path),
        () if dumpi::is_trace(path) => dumpi::files(path),
        () => Ok(vec![path.into()]),
    }
}

/// True for the name of a trace. All other files are GOAL.
fn is_trace(path: &Path) -> bool {
    chakra::is_trace(path) || dumpi::is_trace(path)
}

/// Counts ranks and operations as they pass.
struct Counted<'r> {
    ranks: &'r mut dyn RankSink,
    count: u32,
    operations: u64,
}

impl RankSink for Counted<'_> {
    fn begin(&mut self, ranks: u32) -> Result<(), Error> {
        self.count = ranks;
        self.ranks.begin(ranks)
    }

    fn rank(&mut self, rank: u32, list: crate::RankProgram) -> Result<(), Error> {
        self.operations += u64::from(list.len());
        self.ranks.rank(rank, list)
    }
}

/// Checks whether ranks come in their order.
struct Order {
    next: u32,
    kept: bool,
}

impl RankSink for Order {
    fn begin(&mut self, _ranks: u32) -> Result<(), Error> {
        Ok(())
    }

    fn rank(&mut self, rank: u32, _list: crate::RankProgram) -> Result<(), Error> {
        self.kept &= rank == self.next;
        self.next = rank + 1;
        Ok(())
    }
}
