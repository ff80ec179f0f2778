//! What isolation remembers when no packet and no notification is in the network.

use super::{Buffer, Output, Rule};
use crate::engine::{Memory, Tick};
use crate::queueing::fbicm::line::{Copy, Line};

impl Rule {
    /// Adds the state to `memory`. The lists of a line that is not in use are empty, and its other fields are set when
    /// it is allocated.
    pub(super) fn add_to(&self, memory: &mut Memory) {
        let Self {
            params: _,
            table: _,
            ticks_per_cycle: _,
            topology: _,
            places: _,
            channels: _,
            vcs: _,
            buffers,
            outputs,
            known,
            sources,
            // Scratch memory, and counts.
            hops: _,
            counts: _,
        } = self;
        buffers.iter().for_each(|buffer| add_buffer(buffer, memory));
        for Output { signatures: _, lines } in outputs {
            lines.iter().for_each(|line| add_copy(line, memory));
        }
        sources.iter().for_each(|line| add_copy(line, memory));
        memory.add_all(known.iter().copied());
    }
}

fn add_buffer(buffer: &Buffer, memory: &mut Memory) {
    let Buffer { signatures: _, phits, long, stirred, front, active, known, on_since, tending, lines } = buffer;
    memory.add_all([*phits, *active, *known, u32::from(*long), u32::from(*stirred)]);
    memory.add(*tending);
    memory.text(front);
    if *active > 0 {
        since(*on_since, memory);
    }
    lines.iter().for_each(|line| add_line(line, memory));
}

/// Adds the age of something: how long it has lasted is counted when it ends.
fn since(tick: Tick, memory: &mut Memory) {
    memory.add(memory.now() - tick);
}

fn add_line(line: &Line, memory: &mut Memory) {
    let Line {
        active,
        output,
        hops,
        destinations,
        next,
        mapped,
        sent_stop,
        unsent,
        phits,
        held,
        empty_since,
        since: allocated,
        front,
        stirred,
        // A review in this tick or before, and none is on its way.
        due: _,
    } = line;
    memory.add(u8::from(*active));
    if *active {
        memory.text(&(output, hops, destinations, next, mapped, sent_stop, unsent, phits, held, front, stirred));
        since(*empty_since, memory);
        since(*allocated, memory);
    }
}

fn add_copy(line: &Copy, memory: &mut Memory) {
    let Copy { active, stopped, hops, destinations } = line;
    memory.add(u8::from(*active));
    if *active {
        memory.text(&(stopped, hops, destinations));
    }
}
