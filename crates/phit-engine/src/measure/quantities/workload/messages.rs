//! Messages that have arrived.

use super::{NUMBERED, TIME};
use crate::measure::Reading;
use crate::measure::declare::{Cells, Column, Table, When, list, unit};
use phit_workload::host::Message;
use phit_workload::rails::Rails;
use serde::{Deserialize, Serialize};

/// A message that has arrived, with times in ticks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRow {
    /// The rank that sent it.
    pub source: u32,
    /// The rank that it went to.
    pub destination: u32,
    /// The number of the send.
    pub send: u32,
    /// Bytes.
    pub bytes: u64,
    /// Tag.
    pub tag: u32,
    /// Its rail, if ranks have several.
    pub rail: Option<u8>,
    /// When its first byte left the host.
    pub posted: u64,
    /// When the first of its packets left an injection queue; `None` for a message from a rank to itself.
    pub injected: Option<u64>,
    /// When its first phit reached the endpoint.
    pub first: Option<u64>,
    /// When its last phit reached the endpoint.
    pub last: Option<u64>,
    /// When a receive matched it.
    pub matched: Option<u64>,
    /// Packets that arrived after a later packet of the message.
    pub overtaken: u32,
}

impl MessageRow {
    /// A message before its departure. `rails`: the rails of its ranks, if they have several.
    pub fn new(message: &Message, rails: Option<Rails>) -> Self {
        let &Message { source, destination, number: send, bytes, tag, nic, left: posted, .. } = message;
        let (rail, injected, first, last, matched) = (rails.map(|_| nic), None, None, None, None);
        Self { source, destination, send, bytes, tag, rail, posted, injected, first, last, matched, overtaken: 0 }
    }
}

impl Reading<'_> {
    fn of_messages<T: Serialize>(&self, value: impl Fn(&MessageRow) -> T) -> Cells {
        list(self.programs().messages.iter().map(value))
    }

    fn message_times(&self, time: impl Fn(&MessageRow) -> Option<u64>) -> Cells {
        self.of_messages(|row| time(row).map(|ticks| self.in_cycles(ticks)))
    }
}

pub(super) const TABLE: Table = Table {
    name: "messages",
    about: "One row for each message of a workload that has arrived, in the order of posting.",
    there: When::Some("with `measure.messages`"),
    asked: |at| at.messages,
    columns: &[
        Column {
            name: "source",
            words: "source",
            about: "The rank that sent the message.",
            values: |at| at.of_messages(|row| row.source),
            ..NUMBERED
        },
        Column {
            name: "destination",
            words: "destination",
            about: "The rank that the message is for.",
            values: |at| at.of_messages(|row| row.destination),
            ..NUMBERED
        },
        Column {
            name: "send",
            words: "number of the send",
            about: "The number of the send among the operations of its source.",
            values: |at| at.of_messages(|row| row.send),
            ..NUMBERED
        },
        Column {
            name: "bytes",
            words: "size",
            unit: unit::BYTES,
            about: "Size of the message.",
            values: |at| at.of_messages(|row| row.bytes),
            ..NUMBERED
        },
        Column {
            name: "tag",
            words: "tag",
            about: "Tag of the message.",
            values: |at| at.of_messages(|row| row.tag),
            ..NUMBERED
        },
        Column {
            name: "rail",
            words: "rail",
            about: "The rail that it took; `null` where ranks have one endpoint each.",
            values: |at| at.of_messages(|row| row.rail),
            ..NUMBERED
        },
        Column {
            name: "posted",
            words: "posted",
            about: "When its first byte left the host.",
            values: |at| at.message_times(|row| Some(row.posted)),
            ..TIME
        },
        Column {
            name: "injected",
            words: "injected",
            about: "When the first of its packets left an injection queue; `null` for a message from a rank to itself.",
            values: |at| at.message_times(|row| row.injected),
            ..TIME
        },
        Column {
            name: "first",
            words: "first phit",
            about: "When its first phit reached the endpoint. For packets of several flits, this is computed back from \
                    the tail as if the phits had followed without a gap.",
            values: |at| at.message_times(|row| row.first),
            ..TIME
        },
        Column {
            name: "last",
            words: "last phit",
            about: "When its last phit reached the endpoint.",
            values: |at| at.message_times(|row| row.last),
            ..TIME
        },
        Column {
            name: "matched",
            words: "matched",
            about: "When a receive matched the message.",
            values: |at| at.message_times(|row| row.matched),
            ..TIME
        },
        Column {
            name: "out_of_order",
            words: "packets out of order",
            about: "Packets that arrived after a later packet of the message.",
            values: |at| at.of_messages(|row| row.overtaken),
            ..NUMBERED
        },
    ],
};
