//! GOAL as text.
//!
//! ```text
//! file      := "num_ranks" INT  { "rank" INT "{" NL  statement*  "}" }
//! statement := [label ":"] op NL | label "requires" label NL | label "irequires" label NL | comment NL | NL
//! op        := "calc" INT ["cpu" INT]
//!            | "send" INT "b" "to"   RANK        ["tag" (INT|"-1")] ["cpu" INT] ["nic" INT]
//!            | "recv" INT "b" "from" (RANK|"-1") ["tag" (INT|"-1")] ["cpu" INT] ["nic" INT]
//! ```
//!
//! A line may be indented, a label may be named before it is defined, a comment may follow a statement, and ranks may
//! come in any order: LogGOPSim allows none of these. A label that is defined twice and ranks beyond `num_ranks` are
//! errors; LogGOPSim ignores the later ones.

use crate::error::{Error, quoted};
use crate::program::{ANY, Action, MOST_OPERATIONS, Operation, RankProgram, RankSink, Transfer, Until};
use logos::Logos;
use rustc_hash::FxHashMap;
use std::io::{self, BufRead, Write};

#[derive(Logos, Debug, Clone, Copy, PartialEq)]
#[logos(skip r"[ \t\r\n\f]+")]
enum Token<'s> {
    #[regex("[A-Za-z][A-Za-z0-9_]*")]
    Word(&'s str),
    #[regex("[0-9]+")]
    Number(&'s str),
    #[token("-1")]
    Any,
    #[token(":")]
    Colon,
    #[token("{")]
    Open,
    #[token("}")]
    Close,
}

const KEYWORDS: [&str; 7] = ["num_ranks", "rank", "calc", "send", "recv", "requires", "irequires"];

/// Reads a schedule line by line and passes on its ranks in the order of the file. Only the labels of one rank are
/// stored. The dependencies as a whole are not checked, see [`crate::Program::check`].
pub fn each_rank(mut input: impl BufRead, ranks: &mut dyn RankSink) -> Result<(), Error> {
    let mut reader = Reader::new(ranks);
    let mut line = Vec::new();
    let mut number = 0;
    while input.read_until(b'\n', &mut line)? > 0 {
        number += 1;
        reader.line(&line, number).map_err(|error| error.at(number))?;
        line.clear();
    }
    reader.finish(number)
}

/// The line of an operation, from 1. A program does not store lines, so the text is read again.
pub fn line_of(mut input: impl BufRead, rank: u32, operation: u32) -> Result<Option<u64>, Error> {
    let mut forgotten = Forgotten;
    let mut reader = Reader::new(&mut forgotten);
    let mut line = Vec::new();
    let mut number = 0;
    while input.read_until(b'\n', &mut line)? > 0 {
        number += 1;
        reader.line(&line, number).map_err(|error| error.at(number))?;
        if reader.current.as_ref().is_some_and(|open| open.rank == rank && open.list.len() > operation) {
            return Ok(Some(number));
        }
        line.clear();
    }
    Ok(None)
}

/// The rank whose operations are being read.
#[derive(Debug)]
struct Open {
    rank: u32,
    /// Its first line.
    line: u64,
    list: RankProgram,
    labels: Labels,
    /// Dependencies on labels that are not defined yet: line, waiting label, label waited for, and event.
    later: Vec<(u64, Box<str>, Box<str>, Until)>,
}

struct Reader<'r> {
    ranks: &'r mut dyn RankSink,
    /// Number of ranks.
    count: Option<u32>,
    /// Which ranks have been read.
    seen: Vec<bool>,
    current: Option<Open>,
    /// True within a comment of several lines.
    comment: bool,
}

impl<'r> Reader<'r> {
    fn new(ranks: &'r mut dyn RankSink) -> Self {
        Self { ranks, count: None, seen: vec![], current: None, comment: false }
    }

    fn line(&mut self, line: &[u8], number: u64) -> Result<(), Error> {
        let line = std::str::from_utf8(line).map_err(|_| Error::new("expected text in UTF-8"))?;
        if !self.comment && !line.as_bytes().contains(&b'/') {
            return match line.trim_ascii().is_empty() {
                true => Ok(()),
                false => self.statement(&mut Words { lexer: Token::lexer(line) }, number),
            };
        }
        let (mut rest, mut code) = (line, None);
        // The text before the first comment, or after a comment that ends in this line.
        loop {
            if self.comment {
                let Some(end) = rest.find("*/") else { break };
                self.comment = false;
                rest = &rest[end + 2..];
            }
            let end = ["//", "/*"].iter().filter_map(|mark| rest.find(mark)).min().unwrap_or(rest.len());
            if !rest[..end].trim().is_empty() && code.replace(&rest[..end]).is_some() {
                return Err(Error::new("expected one statement on a line"));
            }
            self.comment = rest[end..].starts_with("/*");
            if !self.comment {
                break;
            }
            rest = &rest[end + 2..];
        }
        match code {
            Some(code) => self.statement(&mut Words { lexer: Token::lexer(code) }, number),
            None => Ok(()),
        }
    }

    fn statement(&mut self, words: &mut Words<'_>, line: u64) -> Result<(), Error> {
        let first = words.next()?;
        match (first, self.current.is_some()) {
            (Some(Token::Word("num_ranks")), _) => self.ranks(words)?,
            (Some(Token::Word("rank")), false) => self.open(words, line)?,
            (Some(Token::Close), true) => self.close()?,
            (Some(Token::Word(word)), true) => self.in_rank(word, words, line)?,
            (_, true) => return Err(words.wrong("an operation, a label or \"}\"")),
            (_, false) => return Err(words.wrong(r#""num_ranks" or "rank""#)),
        }
        match words.next()? {
            None => Ok(()),
            Some(_) => Err(words.wrong("the end of the line")),
        }
    }

    fn ranks(&mut self, words: &mut Words<'_>) -> Result<(), Error> {
        if self.count.is_some() {
            return Err(Error::new("a second \"num_ranks\""));
        }
        let ranks = words.number("a number of ranks", u64::from(ANY) - 1)? as u32;
        self.seen = vec![false; ranks as usize];
        self.count = Some(ranks);
        self.ranks.begin(ranks)
    }

    fn open(&mut self, words: &mut Words<'_>, line: u64) -> Result<(), Error> {
        let rank = words.number("a rank", u64::from(ANY) - 1)? as u32;
        words.expect(Token::Open, "\"{\"")?;
        let Some(count) = self.count else {
            return Err(Error::new("expected \"num_ranks\" before the first rank"));
        };
        if rank >= count {
            return Err(Error::new(format!("rank {rank}: expected a rank below num_ranks = {count}")));
        }
        if std::mem::replace(&mut self.seen[rank as usize], true) {
            return Err(Error::new(format!("rank {rank} is given a second time")));
        }
        let (list, labels, later) = Default::default();
        self.current = Some(Open { rank, line, list, labels, later });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        let Some(open) = self.current.take() else { return Ok(()) };
        let Open { rank, line: _, mut list, labels, later } = open;
        for (line, after, before, until) in later {
            let find = |label: &str| {
                let undefined = || Error::new(format!("label {} is not defined", quoted(label))).of(rank).at(line);
                labels.get(label).ok_or_else(undefined)
            };
            list.order(find(&before)?, find(&after)?, until);
        }
        self.ranks.rank(rank, list).map_err(|error| error.of(rank))
    }

    fn in_rank(&mut self, word: &str, words: &mut Words<'_>, line: u64) -> Result<(), Error> {
        let ranks = self.count.unwrap_or(0);
        let Some(open) = &mut self.current else { return Ok(()) };
        let rank = open.rank;
        if let Some(operation) = words.operation(word, ranks).map_err(|error| error.of(rank))? {
            return open.push(operation).map(drop);
        }
        if KEYWORDS.contains(&word) {
            return Err(words.wrong("an operation, a label or \"}\"").of(rank));
        }
        match words.next()? {
            Some(Token::Colon) => {
                let Some(Token::Word(kind)) = words.next()? else { return Err(words.wrong(OPERATION).of(rank)) };
                let operation = words.operation(kind, ranks).map_err(|error| error.of(rank))?;
                let number = open.push(operation.ok_or_else(|| words.wrong(OPERATION).of(rank))?)?;
                match open.labels.insert(word, number) {
                    None => Ok(()),
                    Some(_) => Err(Error::new(format!("label {} is defined a second time", quoted(word))).of(rank)),
                }
            }
            Some(Token::Word(how @ ("requires" | "irequires"))) => {
                let until = if how == "requires" { Until::Done } else { Until::Started };
                let Some(Token::Word(before)) = words.next()? else { return Err(words.wrong("a label").of(rank)) };
                match (open.labels.get(before), open.labels.get(word)) {
                    (Some(before), Some(after)) => open.list.order(before, after, until),
                    _ => open.later.push((line, word.into(), before.into(), until)),
                }
                Ok(())
            }
            _ => Err(words.wrong(r#"":", "requires" or "irequires""#).of(rank)),
        }
    }

    fn finish(self, lines: u64) -> Result<(), Error> {
        if let Some(open) = self.current {
            return Err(Error::new("its \"}\" is missing").of(open.rank).at(open.line));
        }
        if self.comment {
            return Err(Error::new("expected \"*/\": a comment does not end").at(lines));
        }
        let count = self.count.ok_or_else(|| Error::new("expected \"num_ranks\""))?;
        match self.seen.iter().position(|seen| !seen) {
            None => Ok(()),
            Some(rank) => {
                let message = format!("it is missing: num_ranks says {count}");
                Err(Error::new(message).of(rank as u32))
            }
        }
    }
}

/// Operations by label. Short labels are stored as numbers, without an allocation.
#[derive(Debug, Default)]
struct Labels {
    short: FxHashMap<u128, u32>,
    long: FxHashMap<Box<str>, u32>,
}

/// A label as a number made of its bytes, none of which is 0.
fn short(label: &str) -> Option<u128> {
    let mut bytes = [0; 16];
    bytes.get_mut(..label.len())?.copy_from_slice(label.as_bytes());
    Some(u128::from_le_bytes(bytes))
}

impl Labels {
    /// The operation of a label.
    fn get(&self, label: &str) -> Option<u32> {
        match short(label) {
            Some(short) => self.short.get(&short).copied(),
            None => self.long.get(label).copied(),
        }
    }

    /// Defines a label; returns its earlier definition, if there is one.
    fn insert(&mut self, label: &str, number: u32) -> Option<u32> {
        match short(label) {
            Some(short) => self.short.insert(short, number),
            None => self.long.insert(label.into(), number),
        }
    }
}

impl Open {
    fn push(&mut self, operation: Operation) -> Result<u32, Error> {
        match (self.list.len() as usize) < MOST_OPERATIONS {
            true => Ok(self.list.push(operation)),
            false => Err(Error::new(format!("expected at most {MOST_OPERATIONS} operations")).of(self.rank)),
        }
    }
}

const OPERATION: &str = r#""calc", "send" or "recv""#;

/// The words of a line, one after another.
struct Words<'s> {
    lexer: logos::Lexer<'s, Token<'s>>,
}

impl<'s> Words<'s> {
    fn next(&mut self) -> Result<Option<Token<'s>>, Error> {
        self.lexer.next().transpose().map_err(|()| self.wrong("a word or a number"))
    }

    /// The error that the last word was not the expected one.
    fn wrong(&self, expected: &str) -> Error {
        let found = match self.lexer.slice().trim() {
            "" => "the line ends".to_string(),
            found => quoted(found),
        };
        Error::new(format!("{found}: expected {expected}"))
    }

    fn expect(&mut self, token: Token<'_>, words: &str) -> Result<(), Error> {
        match self.next()? {
            Some(found) if found == token => Ok(()),
            _ => Err(self.wrong(words)),
        }
    }

    fn number(&mut self, what: &str, most: u64) -> Result<u64, Error> {
        let wrong = |words: &Self| words.wrong(&format!("{what}, 0 to {most}"));
        match self.next()? {
            Some(Token::Number(digits)) => {
                digits.parse().ok().filter(|number| *number <= most).ok_or_else(|| wrong(self))
            }
            _ => Err(wrong(self)),
        }
    }

    /// A number or -1.
    fn number_or_any(&mut self, what: &str, most: u64) -> Result<u32, Error> {
        let mut ahead = Self { lexer: self.lexer.clone() };
        if let Ok(Some(Token::Any)) = ahead.next() {
            *self = ahead;
            return Ok(ANY);
        }
        self.number(&format!("{what} or -1"), most).map(|number| number as u32)
    }

    /// The operation whose first word is `kind`; `None` if there is no such operation.
    fn operation(&mut self, kind: &str, ranks: u32) -> Result<Option<Operation>, Error> {
        let rank = u64::from(ranks).saturating_sub(1);
        let mut options: &[&str] = &["tag", "cpu", "nic"];
        let mut action = match kind {
            "calc" => {
                options = &["cpu"];
                Action::Calc(self.number("a time", u64::MAX)?)
            }
            "send" => {
                let bytes = self.bytes()?;
                self.expect(Token::Word("to"), "\"to\"")?;
                Action::Send(Transfer { bytes, peer: self.number("a rank", rank)? as u32, tag: 0 })
            }
            "recv" => {
                let bytes = self.bytes()?;
                self.expect(Token::Word("from"), "\"from\"")?;
                Action::Recv(Transfer { bytes, peer: self.number_or_any("a rank", rank)?, tag: 0 })
            }
            _ => return Ok(None),
        };
        let (mut cpu, mut nic) = (0, 0);
        loop {
            let mut ahead = Self { lexer: self.lexer.clone() };
            let Some(Token::Word(word)) = ahead.next()? else { break };
            let Some(at) = options.iter().position(|option| *option == word) else {
                return Err(ahead.wrong(&format!("{} or the end of the line", listed(options))));
            };
            *self = ahead;
            options = &options[at + 1..];
            match (word, &mut action) {
                ("tag", Action::Send(transfer) | Action::Recv(transfer)) => {
                    transfer.tag = self.number_or_any("a tag", u64::from(ANY) - 1)?;
                }
                ("cpu", _) => cpu = self.number("a CPU", u64::from(u8::MAX) - 1)? as u8,
                _ => nic = self.number("an interface", u64::from(u8::MAX) - 1)? as u8,
            }
        }
        Ok(Some(Operation { action, cpu, nic }))
    }

    fn bytes(&mut self) -> Result<u64, Error> {
        let bytes = self.number("a size", u64::MAX)?;
        self.expect(Token::Word("b"), "\"b\" after the size")?;
        Ok(bytes)
    }
}

fn listed(options: &[&str]) -> String {
    options.iter().map(|option| format!("{option:?}")).collect::<Vec<_>>().join(", ")
}

/// Writes ranks one by one, in their order, in a form that LogGOPSim can read, too.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    next: u32,
}

impl<W: Write> Writer<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, next: 0 }
    }

    fn write(&mut self, list: &RankProgram) -> io::Result<()> {
        let out = &mut self.out;
        writeln!(out, "rank {} {{", self.next)?;
        let mut named = vec![false; list.len() as usize];
        for (before, after, _) in list.dependencies() {
            named[before as usize] = true;
            named[after as usize] = true;
        }
        for (number, operation) in list.operations().enumerate() {
            match named[number] {
                true => writeln!(out, "l{number}: {operation}")?,
                false => writeln!(out, "{operation}")?,
            }
        }
        for (before, after, until) in list.dependencies() {
            let how = if until == Until::Done { "requires" } else { "irequires" };
            writeln!(out, "l{after} {how} l{before}")?;
        }
        writeln!(out, "}}")?;
        self.next += 1;
        Ok(())
    }
}

impl<W: Write> RankSink for Writer<W> {
    fn begin(&mut self, ranks: u32) -> Result<(), Error> {
        writeln!(self.out, "num_ranks {ranks}").map_err(Error::writing)
    }

    fn rank(&mut self, rank: u32, list: RankProgram) -> Result<(), Error> {
        debug_assert_eq!(rank, self.next);
        self.write(&list).map_err(Error::writing)
    }
}

/// A reader's sink that stores nothing: only lines matter.
struct Forgotten;

impl RankSink for Forgotten {
    fn begin(&mut self, _ranks: u32) -> Result<(), Error> {
        Ok(())
    }

    fn rank(&mut self, _rank: u32, _list: RankProgram) -> Result<(), Error> {
        Ok(())
    }
}
