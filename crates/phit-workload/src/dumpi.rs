//! Traces of MPI calls, as `dumpi2ascii` prints traces of DUMPI: one file for each rank, `PREFIX-RANK.txt`.
//!
//! ```text
//! MPI_Send entering at walltime 8153.049300000, cputime 0.004400000 seconds in thread 0.
//! int count=100
//! MPI_Datatype datatype=11 (MPI_DOUBLE)
//! int dest=1
//! int tag=7
//! MPI_Comm comm=2 (MPI_COMM_WORLD)
//! MPI_Send returning at walltime 8153.049400000, cputime 0.004500000 seconds in thread 0.
//! ```
//!
//! The time between two calls is a calculation, in nanoseconds. The duration of the calls themselves follows from the
//! simulated network. Refused are unknown calls that communicate, communicators other than the one of all ranks, and
//! types of unknown size.
//!
//! DUMPI, the MPI profiling library of the Structural Simulation Toolkit (SST), Sandia National Laboratories.

use crate::archive;
use crate::chakra;
use crate::collective::{Algorithm, Collective, Members};
use crate::error::{Error, quoted};
use crate::program::{ANY, Operation, Program, RankProgram};
use crate::script::{Communicator, Costs, Frontier, Task, Work, one_task};
use flate2::bufread::MultiGzDecoder;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// True for the name of a trace: `PREFIX-RANK.txt`, `.ascii` or `.dumpi`, perhaps with `.gz`; or of an archive, see
/// [`archive`].
pub fn is_trace(path: &Path) -> bool {
    archive::is_archive(path) || path.file_name().is_some_and(|name| parts(&name.to_string_lossy()).is_some())
}

fn parts(name: &str) -> Option<(&str, u32, &str)> {
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    let stem = [".txt", ".ascii", ".dumpi"].iter().find_map(|end| plain.strip_suffix(end))?;
    let (prefix, rank) = stem.rsplit_once('-')?;
    Some((prefix, rank.parse().ok()?, &name[stem.len()..]))
}

/// Choices that a trace of MPI leaves open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Options {
    /// The algorithm of each collective; for collectives not listed here, the usual one.
    pub algorithms: BTreeMap<Collective, Algorithm>,
    /// Time before a collective begins, and again after each step's messages have been received, in nanoseconds.
    #[schemars(extend("x-unit" = "nanoseconds"))]
    pub delay: u64,
    /// Time for each byte that a collective combines, in nanoseconds.
    #[schemars(extend("x-unit" = "nanoseconds"))]
    pub combine: f64,
}

/// The options of any trace, if all of them apply to a trace of MPI.
impl TryFrom<&chakra::Options> for Options {
    type Error = Error;

    fn try_from(options: &chakra::Options) -> Result<Self, Error> {
        let chakra::Options { algorithms, delay, combine, .. } = options.clone();
        let own = Self { algorithms, delay, combine };
        match chakra::Options::from(own.clone()) == *options {
            true => Ok(own),
            false => Err(Error::new("a trace of MPI takes the options algorithms, delay and combine alone")),
        }
    }
}

impl From<Options> for chakra::Options {
    fn from(Options { algorithms, delay, combine }: Options) -> Self {
        Self { algorithms, delay, combine, ..Self::default() }
    }
}

/// Reads the traces of all ranks, whose names differ from `path` in the rank only, or the archive at `path`.
pub fn read_files(path: &Path, options: &Options) -> Result<Program, Error> {
    let program = |path: &Path| read_noted(path, options).map(|noted| noted.program);
    if archive::is_archive(path) { archive::read(path, program) } else { program(path) }
}

/// The position of the call that an operation comes from, as `line 7`; for an archive, its time. A program does not
/// store positions, so the traces are read again.
pub fn place_of(path: &Path, options: &Options, rank: u32, operation: u32) -> Result<Option<String>, Error> {
    let line = |path: &Path| read_noted(path, options).map(|noted| noted.line_of(rank, operation));
    if !archive::is_archive(path) {
        return Ok(line(path)?.map(|line| format!("line {line}")));
    }
    archive::read(path, |calls| {
        let place = line(calls)?.zip(files(calls)?.into_iter().nth(rank as usize));
        Ok(place.and_then(|(line, file)| archive::time_of(&file, line)).map(archive::shown))
    })
}

/// A program, and the lines of the calls that its operations come from.
struct Noted {
    program: Program,
    /// By rank: the first operation of each call that has any, and the call's line.
    lines: Vec<Vec<(u32, u64)>>,
}

impl Noted {
    fn line_of(&self, rank: u32, operation: u32) -> Option<u64> {
        let lines = self.lines.get(rank as usize)?;
        let (_, line) = lines.get(lines.partition_point(|(first, _)| *first <= operation).checked_sub(1)?)?;
        Some(*line)
    }
}

fn read_noted(path: &Path, options: &Options) -> Result<Noted, Error> {
    if !(options.combine >= 0.0 && options.combine.is_finite()) {
        return Err(Error::key("combine", options.combine, "expected 0 or more"));
    }
    let files = files(path)?;
    let mut ranks = vec![];
    for (rank, file) in (0..).zip(&files) {
        let calls = open(file).and_then(|input| calls(input, files.len() as u32));
        ranks.push(calls.map_err(|error| error.of(rank).within(file))?);
    }
    let ended = ranks.iter().position(|calls| calls.ended);
    if let (Some(whole), Some(cut)) = (ended, ranks.iter().position(|calls| !calls.ended)) {
        let what = match ranks[cut].all.len() {
            0 => "no call of MPI".into(),
            count => format!("ends after {count} calls without MPI_Finalize, which rank {whole} has"),
        };
        return Err(Error::new(format!("{what}; expected a whole trace")).of(cut as u32).within(&files[cut]));
    }
    let ranks = ranks.into_iter().map(|calls| calls.all).collect();
    assemble(ranks, options).map_err(|error| {
        let file = error.rank.and_then(|rank| files.get(rank as usize));
        match file {
            Some(file) => error.within(file),
            None => error.within(path),
        }
    })
}

/// The files of the ranks, in their order, or the files of an archive.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if archive::is_archive(path) {
        return archive::files(path);
    }
    found(path).map_err(|error| error.within(path))
}

fn open(file: &Path) -> Result<Box<dyn BufRead>, Error> {
    let mut input = BufReader::new(File::open(file)?);
    Ok(match input.fill_buf()?.starts_with(&crate::goal::GZIP) {
        true => Box::new(BufReader::new(MultiGzDecoder::new(input))),
        false => Box::new(input),
    })
}

fn found(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some((prefix, _, end)) = parts(&name) else { return Err(Error::new("expected a file PREFIX-RANK.txt")) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some((own, rank, ending)) = parts(&name)
            && (own, ending) == (prefix, end)
        {
            found.insert(rank, entry.path());
        }
    }
    match (0..).zip(found.keys()).find(|(expected, rank)| expected != *rank) {
        Some((missing, _)) => Err(Error::new(format!("its file is missing, of {}", found.len())).of(missing)),
        None => Ok(found.into_values().collect()),
    }
}

/// The effect of a call.
#[derive(Debug, Clone, PartialEq)]
enum Does {
    /// Sends or receives. With a request, a separate call waits for its end.
    Message { operation: Operation, request: Option<i64> },
    /// Sends and receives at once.
    Exchange(Operation, Operation),
    /// Waits for requests.
    Wait(Vec<i64>),
    /// Takes part in a collective of all ranks.
    Collective { collective: Collective, bytes: u64, root: u32 },
    /// Has no effect on other ranks.
    Nothing,
}

/// A call of a rank.
#[derive(Debug)]
struct Call {
    line: u64,
    /// Time since the call before, in nanoseconds.
    calc: u64,
    does: Does,
}

/// A call in the form of the file.
#[derive(Debug, Default)]
struct Text {
    name: String,
    line: u64,
    start: u64,
    /// Values by name, with the text in brackets that follows them.
    values: BTreeMap<String, (String, String)>,
}

/// Calls without an effect on other ranks. A name that ends in an underscore stands for all names that begin with it.
const SILENT: &[&str] = &[
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Initialized",
    "MPI_Finalize",
    "MPI_Finalized",
    "MPI_Comm_rank",
    "MPI_Comm_size",
    "MPI_Comm_get_",
    "MPI_Comm_set_",
    "MPI_Errhandler_",
    "MPI_Get_",
    "MPI_Wtime",
    "MPI_Wtick",
    "MPI_Type_",
    "MPI_Op_",
    "MPI_Attr_",
    "MPI_Keyval_",
    "MPI_Buffer_",
    "MPI_Pcontrol",
    "MPI_Address",
    "MPI_Error_",
    "MPI_Iprobe",
    "MPI_Probe",
    "MPI_Pack",
    "MPI_Pack_",
    "MPI_Unpack",
];

/// Sizes of MPI's own types in bytes, on machines with 64 bits.
const SIZES: &[(&str, u64)] = &[
    ("MPI_CHAR", 1),
    ("MPI_SIGNED_CHAR", 1),
    ("MPI_UNSIGNED_CHAR", 1),
    ("MPI_BYTE", 1),
    ("MPI_PACKED", 1),
    ("MPI_CHARACTER", 1),
    ("MPI_INTEGER1", 1),
    ("MPI_SHORT", 2),
    ("MPI_UNSIGNED_SHORT", 2),
    ("MPI_INTEGER2", 2),
    ("MPI_WCHAR", 4),
    ("MPI_INT", 4),
    ("MPI_UNSIGNED", 4),
    ("MPI_FLOAT", 4),
    ("MPI_INTEGER", 4),
    ("MPI_INTEGER4", 4),
    ("MPI_REAL", 4),
    ("MPI_REAL4", 4),
    ("MPI_LOGICAL", 4),
    ("MPI_LONG", 8),
    ("MPI_UNSIGNED_LONG", 8),
    ("MPI_LONG_LONG", 8),
    ("MPI_LONG_LONG_INT", 8),
    ("MPI_UNSIGNED_LONG_LONG", 8),
    ("MPI_DOUBLE", 8),
    ("MPI_DOUBLE_PRECISION", 8),
    ("MPI_REAL8", 8),
    ("MPI_INTEGER8", 8),
    ("MPI_COMPLEX", 8),
    ("MPI_2INT", 8),
    ("MPI_FLOAT_INT", 8),
    ("MPI_DOUBLE_INT", 12),
    ("MPI_LONG_INT", 12),
    ("MPI_SHORT_INT", 6),
    ("MPI_DOUBLE_COMPLEX", 16),
    ("MPI_LONG_DOUBLE", 16),
];

/// The calls of a rank, and whether its trace is complete.
struct Calls {
    all: Vec<Call>,
    ended: bool,
}

/// Reads the calls of a rank.
fn calls(input: Box<dyn BufRead>, ranks: u32) -> Result<Calls, Error> {
    let mut texts: Vec<(Text, u64)> = vec![];
    let mut sizes: FxHashMap<String, u64> = FxHashMap::default();
    let mut open: Option<Text> = None;
    let mut number = 0;
    for line in input.lines() {
        number += 1;
        let line = line?;
        let event = line.split_once(" entering at walltime ").map(|(name, rest)| (name, rest, true));
        let event =
            event.or_else(|| line.split_once(" returning at walltime ").map(|(name, rest)| (name, rest, false)));
        match (event, &mut open) {
            (Some((name, rest, true)), None) => {
                let start = time(rest).map_err(|error| error.at(number))?;
                open = Some(Text { name: name.into(), line: number, start, ..Text::default() });
            }
            (Some((name, rest, false)), Some(text)) if text.name == name => {
                let end = time(rest).map_err(|error| error.at(number))?;
                texts.extend(open.take().map(|text| (text, end)));
            }
            (Some((name, ..)), Some(text)) => {
                let message = format!("{}: expected that {} returns first", quoted(name), text.name);
                return Err(Error::new(message).at(number));
            }
            (Some((name, ..)), None) => {
                return Err(Error::new(format!("{} returns, and has not been entered", quoted(name))).at(number));
            }
            (None, Some(text)) => {
                if let Some((name, value)) = line.split_once('=') {
                    // `int count`, `MPI_Request requests[2]`.
                    let name = name.rsplit(' ').next().unwrap_or(name);
                    let name = name.split('[').next().unwrap_or(name);
                    let (value, named) = value.split_once(" (").unwrap_or((value, ""));
                    let named = named.trim_end().trim_end_matches(')');
                    text.values.insert(name.into(), (value.trim().into(), named.into()));
                }
            }
            (None, None) => {
                // `Datatype 27 (user-defined) has size 12`, after all calls, if the trace was asked for it.
                if let Some((datatype, size)) = line.strip_prefix("Datatype ").and_then(|l| l.split_once(" has size "))
                {
                    let datatype = datatype.split(' ').next().unwrap_or(datatype);
                    let size = size.trim().parse().map_err(|_| Error::new("expected a size").at(number))?;
                    sizes.insert(datatype.into(), size);
                }
            }
        }
    }
    if let Some(text) = open {
        return Err(Error::new(format!("{} never returns", quoted(&text.name))).at(text.line));
    }
    let mut before = None;
    let mut all = vec![];
    let ended = texts.iter().any(|(text, _)| text.name == "MPI_Finalize");
    for (text, end) in texts {
        let calc = before.map_or(0, |before| text.start.saturating_sub(before));
        before = Some(end);
        let does = text
            .does(&sizes, ranks)
            .map_err(|error| Error { message: format!("{}: {}", text.name, error.message), ..error }.at(text.line))?;
        all.push(Call { line: text.line, calc, does });
    }
    Ok(Calls { all, ended })
}

/// `8153.049300000, cputime ...` in nanoseconds.
pub(crate) fn time(rest: &str) -> Result<u64, Error> {
    let text = rest.split(',').next().unwrap_or(rest).trim();
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let whole = seconds.parse::<u64>().ok().and_then(|seconds| seconds.checked_mul(1_000_000_000));
    let sum = whole.zip(digits.parse::<u64>().ok()).and_then(|(whole, part)| whole.checked_add(part));
    sum.ok_or_else(|| Error::new(format!("{}: expected a time in seconds", quoted(text))))
}

impl Text {
    fn value(&self, name: &str) -> Result<&(String, String), Error> {
        self.values.get(name).ok_or_else(|| Error::new(format!("has no {name}")))
    }

    fn number(&self, name: &str) -> Result<i64, Error> {
        let (value, _) = self.value(name)?;
        value.parse().map_err(|_| Error::new(format!("{name} = {}: expected a whole number", quoted(value))))
    }

    /// Bytes of `count` elements of a type.
    fn bytes(&self, count: &str, datatype: &str, sizes: &FxHashMap<String, u64>) -> Result<u64, Error> {
        let elements = self.number(count)?;
        let elements =
            u64::try_from(elements).map_err(|_| Error::new(format!("{count} = {elements}: expected 0 or more")))?;
        let (number, name) = self.value(datatype)?;
        let own = SIZES.iter().find(|(known, _)| known == name).map(|(_, size)| *size);
        let size = sizes.get(number).copied().or(own).ok_or_else(|| {
            let what = "expected a type of known size (dumpi2ascii -X prints the sizes)";
            Error::new(format!("{datatype} = {number} ({name}): {what}"))
        })?;
        elements.checked_mul(size).ok_or_else(|| Error::new(format!("{count} = {elements}: too many bytes")))
    }

    fn on_all(&self) -> Result<(), Error> {
        let (number, name) = self.value("comm")?;
        match name == "MPI_COMM_WORLD" {
            true => Ok(()),
            false => Err(Error::new(format!("comm = {number} ({name}): expected MPI_COMM_WORLD"))),
        }
    }

    /// A rank; `ANY` for a receive from any rank, and `None` for MPI's null process.
    fn peer(&self, name: &str, ranks: u32) -> Result<Option<u32>, Error> {
        let (value, named) = self.value(name)?;
        match (named.as_str(), self.number(name)?) {
            ("MPI_PROC_NULL", _) => Ok(None),
            ("MPI_ANY_SOURCE", _) if name == "source" => Ok(Some(ANY)),
            (_, number) if (0..i64::from(ranks)).contains(&number) => Ok(Some(number as u32)),
            _ => Err(Error::new(format!("{name} = {value} ({named}): expected a rank, 0 to {}", ranks - 1))),
        }
    }

    /// Tags of messages differ from tags of collectives.
    fn tag(&self, name: &str) -> Result<u32, Error> {
        let (value, named) = self.value(name)?;
        match (named.as_str(), self.number(name)?) {
            ("MPI_ANY_TAG", _) => Ok(ANY),
            (_, number) if (0..1 << 31).contains(&number) && number < (1 << 31) - 1 => Ok(number as u32 + (1 << 31)),
            _ => Err(Error::new(format!("{name} = {value} ({named}): expected a tag, 0 to {}", (1u32 << 31) - 2))),
        }
    }

    /// `[3]`, `[3, 4]`, `3`.
    fn requests(&self, name: &str) -> Result<Vec<i64>, Error> {
        let (value, _) = self.value(name)?;
        let list = value.trim_matches(['[', ']']);
        let parse = |one: &str| one.trim().parse().map_err(|_| Error::new(format!("{name} = {}", quoted(value))));
        list.split(',').filter(|one| !one.trim().is_empty()).map(parse).collect()
    }

    fn does(&self, sizes: &FxHashMap<String, u64>, ranks: u32) -> Result<Does, Error> {
        let send = |count, datatype, tag| -> Result<Option<Operation>, Error> {
            self.on_all()?;
            let (bytes, tag) = (self.bytes(count, datatype, sizes)?, self.tag(tag)?);
            Ok(self.peer("dest", ranks)?.map(|peer| Operation::send(bytes, peer, tag)))
        };
        let recv = |count, datatype, tag| -> Result<Option<Operation>, Error> {
            self.on_all()?;
            let (bytes, tag) = (self.bytes(count, datatype, sizes)?, self.tag(tag)?);
            Ok(self.peer("source", ranks)?.map(|peer| Operation::recv(bytes, peer, tag)))
        };
        let message = |operation: Option<Operation>, request| match operation {
            Some(operation) => Does::Message { operation, request },
            None => Does::Nothing,
        };
        let one = |name| self.requests(name).map(|list| list.first().copied());
        let collective = |collective, count, datatype, root: bool| -> Result<Does, Error> {
            self.on_all()?;
            let bytes = if collective == Collective::Barrier { 1 } else { self.bytes(count, datatype, sizes)? };
            let root = if root { self.number("root")? } else { 0 };
            let found = u32::try_from(root).ok().filter(|root| *root < ranks);
            let root = found.ok_or_else(|| Error::new(format!("root = {root}: expected 0 to {}", ranks - 1)))?;
            Ok(Does::Collective { collective, bytes, root })
        };
        Ok(match self.name.as_str() {
            "MPI_Send" | "MPI_Bsend" | "MPI_Ssend" | "MPI_Rsend" => message(send("count", "datatype", "tag")?, None),
            "MPI_Recv" => message(recv("count", "datatype", "tag")?, None),
            "MPI_Isend" | "MPI_Ibsend" | "MPI_Issend" | "MPI_Irsend" => {
                message(send("count", "datatype", "tag")?, one("request")?)
            }
            "MPI_Irecv" => message(recv("count", "datatype", "tag")?, one("request")?),
            "MPI_Sendrecv" => {
                let (send, recv) =
                    (send("sendcount", "sendtype", "sendtag")?, recv("recvcount", "recvtype", "recvtag")?);
                match (send, recv) {
                    (Some(send), Some(recv)) => Does::Exchange(send, recv),
                    (send, recv) => message(send.or(recv), None),
                }
            }
            "MPI_Wait" => Does::Wait(self.requests("request")?),
            "MPI_Waitall" => Does::Wait(self.requests("requests")?),
            "MPI_Waitany" => {
                let (requests, index) = (self.requests("requests")?, self.number("index")?);
                Does::Wait(
                    usize::try_from(index).ok().and_then(|index| requests.get(index)).copied().into_iter().collect(),
                )
            }
            "MPI_Barrier" => collective(Collective::Barrier, "", "", false)?,
            "MPI_Bcast" => collective(Collective::Broadcast, "count", "datatype", true)?,
            "MPI_Reduce" => collective(Collective::Reduce, "count", "datatype", true)?,
            "MPI_Allreduce" => collective(Collective::AllReduce, "count", "datatype", false)?,
            "MPI_Gather" => collective(Collective::Gather, "sendcount", "sendtype", true)?,
            "MPI_Scatter" => collective(Collective::Scatter, "recvcount", "recvtype", true)?,
            "MPI_Allgather" => collective(Collective::AllGather, "sendcount", "sendtype", false)?,
            "MPI_Alltoall" => collective(Collective::AllToAll, "sendcount", "sendtype", false)?,
            name if SILENT.iter().any(|s| *s == name || s.ends_with('_') && name.starts_with(s)) => Does::Nothing,
            _ => return Err(Error::new("this call is not known to the reader")),
        })
    }
}

/// A rank whose operations are being put together.
#[derive(Debug, Default)]
struct Rank {
    list: RankProgram,
    /// The operations that the next operation waits for.
    frontier: Frontier,
    requests: FxHashMap<i64, u32>,
    /// See [`Noted`].
    lines: Vec<(u32, u64)>,
}

impl Rank {
    fn calc(&mut self, time: u64) {
        if time > 0 {
            self.frontier = vec![self.list.after(&self.frontier, Operation::calc(time))];
        }
    }

    fn add(&mut self, does: Does) {
        match does {
            Does::Message { operation, request } => {
                let number = self.list.after(&self.frontier, operation);
                match request {
                    Some(request) => drop(self.requests.insert(request, number)),
                    None => self.frontier = vec![number],
                }
            }
            Does::Exchange(send, recv) => {
                self.frontier = [send, recv].map(|operation| self.list.after(&self.frontier, operation)).into();
            }
            Does::Wait(requests) => {
                // A null request waits for nothing, nor does a request of the null process.
                self.frontier.extend(requests.iter().filter_map(|request| self.requests.remove(request)));
                self.frontier.sort_unstable();
                self.frontier.dedup();
            }
            Does::Collective { .. } | Does::Nothing => {}
        }
    }
}

/// Ranks proceed independently up to their next collective, which they perform together.
fn assemble(ranks: Vec<Vec<Call>>, options: &Options) -> Result<Noted, Error> {
    let count = ranks.len() as u32;
    let all: Arc<[u32]> = (0..count).collect();
    let costs = Costs { start: options.delay, step: options.delay, combine: options.combine };
    let mut calls: Vec<_> = ranks.into_iter().map(IntoIterator::into_iter).collect();
    let mut ranks: Vec<Rank> = (0..count).map(|_| Rank::default()).collect();
    loop {
        // The first rank's collective decides; `None` is the end.
        let mut common: Option<Option<(Collective, u64, u32)>> = None;
        for (number, (rank, calls)) in (0..).zip(ranks.iter_mut().zip(&mut calls)) {
            let mut own = None;
            for Call { line, calc, does } in calls.by_ref() {
                rank.lines.push((rank.list.len(), line));
                rank.calc(calc);
                if let Does::Collective { collective, bytes, root } = does {
                    own = Some((line, (collective, bytes, root)));
                    break;
                }
                rank.add(does);
            }
            let what = own.map(|(_, what)| what);
            // Counts of a scatter or a gather differ between types. The kind of collective and its root may not differ.
            let kind = |what: Option<(Collective, u64, u32)>| what.map(|(collective, _, root)| (collective, root));
            match common {
                None => common = Some(what),
                Some(first) if kind(first) == kind(what) => {}
                Some(first) => {
                    let said = |what: Option<(Collective, u64, u32)>| match what {
                        Some((collective, _, root)) => format!("{collective} with root {root}"),
                        None => "the end".into(),
                    };
                    let message = format!("comes to {}, and rank 0 to {}", said(what), said(first));
                    let error = Error::new(message).of(number);
                    return Err(match own {
                        Some((line, _)) => error.at(line),
                        None => error,
                    });
                }
            }
        }
        let Some(Some((collective, bytes, root))) = common else { break };
        let algorithm = options.algorithms.get(&collective).copied().unwrap_or(collective.usual());
        let steps = Members { root, ..Members::new(collective, algorithm, count, bytes) }.steps()?;
        let communicator = Arc::new(Communicator { ranks: all.clone(), steps, costs });
        for (member, rank) in (0..).zip(&mut ranks) {
            let start = std::mem::take(&mut rank.frontier);
            let task = Task::new(Work::Collective(communicator.clone(), member));
            rank.frontier = one_task(&mut rank.list, &task, 0, start);
        }
    }
    let mut program = Program::new(count);
    let mut lines = vec![];
    for (number, Rank { list, lines: own, .. }) in (0..).zip(ranks) {
        program.set(number, list);
        lines.push(own);
    }
    Ok(Noted { program, lines })
}

#[cfg(test)]
mod tests;
