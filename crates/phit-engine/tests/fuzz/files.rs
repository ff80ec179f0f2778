//! Files of programs with changes: GOAL as text and in the binary form, Chakra traces, traces of MPI.

use phit_engine::engine::Rng;
use phit_workload::goal;
use std::fs;
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Goal,
    Chakra,
    Mpi,
}

/// A trace of a rank that talks to itself.
const MPI: &str = "\
MPI_Init entering at walltime 1.000000000, cputime 0.000000000 seconds in thread 0.
int argc=1
MPI_Init returning at walltime 1.000010000, cputime 0.000000000 seconds in thread 0.
MPI_Irecv entering at walltime 1.000015000, cputime 0.000000000 seconds in thread 0.
int count=100
MPI_Datatype datatype=11 (MPI_DOUBLE)
int source=-1 (MPI_ANY_SOURCE)
int tag=-1 (MPI_ANY_TAG)
MPI_Comm comm=2 (MPI_COMM_WORLD)
MPI_Request request=[5]
MPI_Irecv returning at walltime 1.000016000, cputime 0.000000000 seconds in thread 0.
MPI_Send entering at walltime 1.000018000, cputime 0.000000000 seconds in thread 0.
int count=100
MPI_Datatype datatype=11 (MPI_DOUBLE)
int dest=0
int tag=7
MPI_Comm comm=2 (MPI_COMM_WORLD)
MPI_Send returning at walltime 1.000050000, cputime 0.000000000 seconds in thread 0.
MPI_Waitall entering at walltime 1.000050000, cputime 0.000000000 seconds in thread 0.
int count=2
MPI_Request requests[2]=[5, 0]
MPI_Status statuses[2]=<IGNORED>
MPI_Waitall returning at walltime 1.000060000, cputime 0.000000000 seconds in thread 0.
MPI_Allreduce entering at walltime 1.000070000, cputime 0.000000000 seconds in thread 0.
int count=8
MPI_Datatype datatype=11 (MPI_DOUBLE)
MPI_Op op=3 (MPI_SUM)
MPI_Comm comm=2 (MPI_COMM_WORLD)
MPI_Allreduce returning at walltime 1.000080000, cputime 0.000000000 seconds in thread 0.
MPI_Finalize entering at walltime 1.000090000, cputime 0.000000000 seconds in thread 0.
MPI_Finalize returning at walltime 1.000091000, cputime 0.000000000 seconds in thread 0.
";

pub struct Program {
    pub kind: Kind,
    pub bytes: Vec<u8>,
}

pub struct Corpus {
    files: Vec<(Kind, Vec<u8>)>,
    words: Vec<Vec<u8>>,
}

impl Corpus {
    /// The files of the tests of programs that are not too long.
    pub fn new() -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../phit-workload/tests");
        let mut files = Vec::new();
        let mut open = vec![folder];
        while let Some(folder) = open.pop() {
            let mut entries: Vec<PathBuf> =
                fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            entries.sort();
            for path in entries {
                let name = path.to_string_lossy().into_owned();
                let kind = match () {
                    () if path.is_dir() => {
                        open.push(path);
                        continue;
                    }
                    () if name.ends_with(".goal") => Kind::Goal,
                    () if name.ends_with(".et") => Kind::Chakra,
                    () => continue,
                };
                if let Some(bytes) = fs::read(&path).ok().filter(|bytes| bytes.len() < 4000) {
                    if let (Kind::Goal, Ok(program)) = (kind, goal::read(&*bytes)) {
                        let mut binary = std::io::Cursor::new(Vec::new());
                        if goal::binary::write(&mut binary, |ranks| program.each_rank(ranks)).is_ok() {
                            files.push((Kind::Goal, binary.into_inner()));
                        }
                    }
                    files.push((kind, bytes));
                }
            }
        }
        assert!(files.len() > 10, "{} files", files.len());
        // As often as one in ten of the other files.
        (0..files.len().div_ceil(10)).for_each(|_| files.push((Kind::Mpi, MPI.into())));
        let words = "num_ranks rank { } l1: send recv calc b to from tag cpu nic requires irequires 0 1 4294967296 \
                     18446744073709551616 -1 /* // \u{feff} \u{0} # 99999999999999999999b \
                     MPI_Send MPI_Recv MPI_Bcast MPI_Alltoallv MPI_Wait MPI_Comm_split entering returning count=-1 \
                     count=4294967296 datatype=99 dest=1 requests[2]=[5, walltime";
        Self { files, words: words.split(' ').map(|word| word.as_bytes().to_vec()).collect() }
    }

    pub fn draw(&self, rng: &mut Rng) -> Program {
        let (kind, bytes) = &self.files[rng.below(self.files.len() as u32) as usize];
        let mut bytes = bytes.clone();
        for _ in 0..rng.below(5) {
            let at = rng.below(bytes.len() as u32 + 1) as usize;
            let span = at..(at + 1 + rng.below(12) as usize).min(bytes.len()).max(at);
            match rng.below(7) {
                0 => drop(bytes.drain(span)),
                1 => {
                    let part = bytes[span].to_vec();
                    let to = rng.below(bytes.len() as u32 + 1) as usize;
                    drop(bytes.splice(to..to, part));
                }
                2 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
                3 if at < bytes.len() => bytes[at] = rng.bits() as u8,
                4 => bytes.truncate(at),
                5 => {
                    let (_, other) = &self.files[rng.below(self.files.len() as u32) as usize];
                    let from = rng.below(other.len() as u32 + 1) as usize;
                    bytes.truncate(at);
                    bytes.extend(&other[from..]);
                }
                _ => {
                    let word = &self.words[rng.below(self.words.len() as u32) as usize];
                    drop(bytes.splice(at..at, [b" ", &**word, b" "].concat()));
                }
            }
        }
        Program { kind: *kind, bytes }
    }
}
