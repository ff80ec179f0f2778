//! Files of programs with changes: GOAL as text and in the binary form, Chakra traces.

use phit_engine::engine::Rng;
use phit_workload::goal;
use std::fs;
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Goal,
    Chakra,
}

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
        let words = "num_ranks rank { } l1: send recv calc b to from tag cpu nic requires irequires 0 1 4294967296 \
                     18446744073709551616 -1 /* // \u{feff} \u{0} # 99999999999999999999b";
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
