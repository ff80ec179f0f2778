//! Conditions that the lines of an input port must satisfy at any time.

use super::Rule;
use crate::queueing::fbicm::Version;
use crate::queueing::fbicm::line::Line;

impl Rule {
    /// The first error in a virtual channel of an input port, given the phits in its queues.
    pub(super) fn check(&self, port: u32, vc: u8, held: &dyn Fn(u16) -> u32) -> Result<(), String> {
        let buffer = &self.buffers[self.buffer(port, vc)];
        let active = buffer.lines.iter().filter(|line| line.active).count() as u32;
        if active != buffer.active {
            return Err(format!("{active} active lines, {} counted", buffer.active));
        }
        if active == 0 && buffer.phits == 0 {
            return Ok(());
        }
        if held(self.nfq(vc)) != buffer.phits {
            return Err(format!("{} phits in the NFQ, {} counted", held(self.nfq(vc)), buffer.phits));
        }
        let mut seen = Vec::new();
        for (number, line) in buffer.lines.iter().enumerate() {
            self.check_line(line, number, held(self.cfq(vc, number)))?;
            if line.active {
                seen.extend_from_slice(&line.destinations);
            }
        }
        seen.sort_unstable();
        match seen.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(twice) => Err(format!("destination {} stands in two lines", twice[0])),
            None => Ok(()),
        }
    }

    /// The first error in a line whose CFQ holds `phits`.
    fn check_line(&self, line: &Line, number: usize, phits: u32) -> Result<(), String> {
        if phits != line.phits || !line.active && phits > 0 {
            return Err(format!("CFQ {number}: {phits} phits, {} counted, active: {}", line.phits, line.active));
        }
        let full = self.params.version == Version::New && line.destinations.len() > self.params.destinations as usize;
        if line.active && (full || line.destinations.is_empty() || !line.destinations.is_sorted()) {
            return Err(format!("line {number} has the destinations {:?}", line.destinations));
        }
        Ok(())
    }
}
