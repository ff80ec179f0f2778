//! GOAL in the binary form that LogGOPSim's `txt2bin` writes, version 4223: little-endian, without padding.
//!
//! ```text
//! u64 magic, u32 ranks, u8 largest CPU, u8 largest interface
//! ranks x { u64 start, u64 end }                                  counted from byte 8
//! per rank at 8 + start:
//!   u32 operations, u32 roots, roots x u32
//!   operations x { u32 waits for, u8 type, u32 peer, u64 size or time, u32 tag, u8 cpu, u8 nic,
//!                  u32 successors, u32 first, u32 successors of its start, u32 first }
//!   u32 for each successor: those of an operation's end, then those of its start, operation by operation
//! ```

use crate::error::Error;
use crate::program::{Action, MOST_OPERATIONS, Operation, Program, RankProgram, RankSink, Transfer, Until};
use std::io::{self, Read, Write};

/// The first number of a file.
pub(crate) const MAGIC: u64 = 4223;

/// The first number of a file that LogGOPSim has changed while it ran, to save memory.
pub(crate) const SPOILT: u64 = 2342;

const HEAD: u64 = 8 + 4 + 2;
const OPERATION: u64 = 39;
const TYPES: [&str; 3] = ["send", "recv", "calc"];

/// Reads a schedule and passes on its ranks one by one; they stand in order in the file. The dependencies as a whole
/// are not checked, see [`Program::check`].
pub fn each_rank(input: impl Read, sink: &mut dyn RankSink) -> Result<(), Error> {
    let mut input = Bytes { input, at: 0 };
    match input.u64()? {
        MAGIC => {}
        SPOILT => return Err(Error::new("LogGOPSim has overwritten this file while it ran (--save-mem)")),
        magic => return Err(Error::new(format!("begins with {magic}, expected {MAGIC}"))),
    }
    let ranks = input.u32()?;
    let (cpu, nic) = (input.u8()?, input.u8()?);
    let mut places = Vec::new();
    for rank in 0..ranks {
        let (start, end) = (input.u64()?, input.u64()?);
        if end < start {
            return Err(Error::new(format!("ends at byte {end}, before it starts at {start}")).of(rank));
        }
        places.push((start, end));
    }
    sink.begin(ranks)?;
    for (rank, (start, end)) in (0..).zip(places) {
        let list = input.rank(start, end, ranks).map_err(|error| error.of(rank))?;
        if list.operations().any(|operation| operation.cpu > cpu || operation.nic > nic) {
            let message = format!("operations name a CPU above {cpu} or an interface above {nic}");
            return Err(Error::new(message).of(rank));
        }
        sink.rank(rank, list).map_err(|error| error.of(rank))?;
    }
    Ok(())
}

struct Bytes<R> {
    input: R,
    at: u64,
}

impl<R: Read> Bytes<R> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::new(format!("the file ends after byte {}", self.at)),
            _ => error.into(),
        })?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn u8(&mut self) -> Result<u8, Error> {
        Ok(self.take::<1>()?[0])
    }

    fn u32(&mut self) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn u64(&mut self) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn skip_to(&mut self, start: u64) -> Result<(), Error> {
        let Some(gap) = (start + 8).checked_sub(self.at) else {
            return Err(Error::new(format!("starts at byte {}, within the rank before it", start + 8)));
        };
        io::copy(&mut self.input.by_ref().take(gap), &mut io::sink())?;
        self.at += gap;
        Ok(())
    }

    fn rank(&mut self, start: u64, end: u64, ranks: u32) -> Result<RankProgram, Error> {
        self.skip_to(start)?;
        let (count, roots) = (self.u32()?, self.u32()?);
        let left = (end - start).checked_sub(8 + 4 * u64::from(roots) + OPERATION * u64::from(count));
        let left = left.filter(|left| left % 4 == 0 && roots <= count && (count as usize) < MOST_OPERATIONS);
        let Some(left) = left else {
            let message = format!("{count} operations and {roots} roots do not fit in {} bytes", end - start);
            return Err(Error::new(message));
        };
        let mut rooted = Vec::new();
        for _ in 0..roots {
            rooted.push(self.u32()?);
        }
        let mut list = RankProgram::default();
        let mut waits = Vec::new();
        let mut parts = Vec::new();
        for number in 0..count {
            waits.push(self.u32()?);
            list.push(self.operation(ranks).map_err(|e| Error::new(format!("operation {number}: {}", e.message)))?);
            parts.push([(self.u32()?, self.u32()?), (self.u32()?, self.u32()?)]);
        }
        let mut edges = Vec::new();
        for _ in 0..left / 4 {
            edges.push(self.u32()?);
        }
        for (number, part) in (0..).zip(parts) {
            for ((successors, first), until) in part.into_iter().zip([Until::Done, Until::Started]) {
                let range = first as usize..first as usize + successors as usize;
                let successors = edges.get(range).ok_or_else(|| {
                    Error::new(format!("operation {number}: its successors stand beyond the end of the rank"))
                })?;
                for &successor in successors {
                    let Some(waiting) = waits.get_mut(successor as usize) else {
                        return Err(Error::new(format!("operation {number}: there is no operation {successor}")));
                    };
                    *waiting = waiting.wrapping_sub(1);
                    list.order(number, successor, until);
                }
            }
        }
        match waits.iter().position(|waiting| *waiting != 0) {
            None => Ok(list),
            Some(number) => Err(Error::new(format!(
                "operation {number} does not wait for as many others as have it among their successors"
            ))),
        }
    }

    fn operation(&mut self, ranks: u32) -> Result<Operation, Error> {
        let (kind, peer, amount, tag) = (self.u8()?, self.u32()?, self.u64()?, self.u32()?);
        let (cpu, nic) = (self.u8()?, self.u8()?);
        let transfer = Transfer { bytes: amount, peer, tag };
        let action = match kind {
            1 => Action::Send(transfer),
            2 => Action::Recv(transfer),
            3 => Action::Calc(amount),
            _ => return Err(Error::new(format!("type {kind}: expected 1 to 3 ({})", TYPES.join(", ")))),
        };
        let any = matches!(action, Action::Recv(_)) && peer == crate::ANY;
        if kind != 3 && peer >= ranks && !any {
            return Err(Error::new(format!(
                "{} with rank {peer}: expected 0 to {}",
                TYPES[kind as usize - 1],
                ranks - 1
            )));
        }
        Ok(Operation { action, cpu: cpu.min(u8::MAX - 1), nic: nic.min(u8::MAX - 1) })
    }
}

/// Writes the ranks of `source`, which is read twice: first for the sizes, which precede everything else. Ranks must
/// come in their order.
pub fn write(
    out: &mut impl Write,
    mut source: impl FnMut(&mut dyn RankSink) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut sizes = Sizes::default();
    source(&mut sizes)?;
    sizes.write(out).map_err(Error::writing)?;
    source(&mut Bodies { out })
}

/// Numbers of operations, roots and dependencies of the ranks.
#[derive(Debug, Default)]
struct Sizes {
    ranks: Vec<[u64; 3]>,
    cpu: u8,
    nic: u8,
}

impl Sizes {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&MAGIC.to_le_bytes())?;
        out.write_all(&(self.ranks.len() as u32).to_le_bytes())?;
        out.write_all(&[self.cpu, self.nic])?;
        let mut start = HEAD - 8 + 16 * self.ranks.len() as u64;
        for [operations, roots, edges] in &self.ranks {
            let end = start + 8 + 4 * (roots + edges) + OPERATION * operations;
            out.write_all(&start.to_le_bytes())?;
            out.write_all(&end.to_le_bytes())?;
            start = end;
        }
        Ok(())
    }
}

impl RankSink for Sizes {
    fn begin(&mut self, ranks: u32) -> Result<(), Error> {
        self.ranks.reserve(ranks as usize);
        Ok(())
    }

    fn rank(&mut self, _rank: u32, list: RankProgram) -> Result<(), Error> {
        for operation in list.operations() {
            self.cpu = self.cpu.max(operation.cpu);
            self.nic = self.nic.max(operation.nic);
        }
        let mut waits = vec![false; list.len() as usize];
        list.dependencies().for_each(|(_, after, _)| waits[after as usize] = true);
        let roots = waits.iter().filter(|waits| !**waits).count() as u64;
        self.ranks.push([u64::from(list.len()), roots, list.dependencies().len() as u64]);
        Ok(())
    }
}

/// The part of a file after the sizes.
struct Bodies<'w, W> {
    out: &'w mut W,
}

impl<W: Write> RankSink for Bodies<'_, W> {
    fn begin(&mut self, _ranks: u32) -> Result<(), Error> {
        Ok(())
    }

    fn rank(&mut self, _rank: u32, list: RankProgram) -> Result<(), Error> {
        let mut one = Program::new(1);
        one.set(0, list);
        rank_to(&one, 0, &one.waiting(), self.out).map_err(Error::writing)
    }
}

fn rank_to(program: &Program, rank: u32, waiting: &[u32], out: &mut impl Write) -> io::Result<()> {
    let roots: Vec<u32> = (0..).zip(waiting).filter(|(_, waits)| **waits == 0).map(|(number, _)| number).collect();
    for number in [program.len(rank), roots.len() as u32].iter().chain(&roots) {
        out.write_all(&number.to_le_bytes())?;
    }
    let mut edges: Vec<u32> = Vec::new();
    for ((number, operation), waits) in (0..).zip(program.of(rank)).zip(waiting) {
        let (kind, Transfer { bytes, peer, tag }) = match operation.action {
            Action::Send(transfer) => (1, transfer),
            Action::Recv(transfer) => (2, transfer),
            Action::Calc(time) => (3, Transfer { bytes: time, peer: 0, tag: 0 }),
        };
        out.write_all(&waits.to_le_bytes())?;
        out.write_all(&[kind])?;
        out.write_all(&peer.to_le_bytes())?;
        out.write_all(&bytes.to_le_bytes())?;
        out.write_all(&tag.to_le_bytes())?;
        out.write_all(&[operation.cpu, operation.nic])?;
        for until in [Until::Done, Until::Started] {
            let first = edges.len() as u32;
            edges.extend(program.successors(rank, number).filter(|s| s.until == until).map(|s| s.operation));
            out.write_all(&(edges.len() as u32 - first).to_le_bytes())?;
            out.write_all(&first.to_le_bytes())?;
        }
    }
    edges.iter().try_for_each(|edge| out.write_all(&edge.to_le_bytes()))
}
