//! HammingMesh: boards that are meshes, joined along rows and columns by switches.

use super::Size;
use crate::error::ScenarioError;
use crate::topology::graph::{Link, Wiring};
use crate::topology::{Faults, Topology, TopologyParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A HammingMesh (Hoefler, Bonato, De Sensi, Di Girolamo, Li, Heddes, Belk, Goel, Castro and Scott, "HammingMesh: a
/// network topology for large-scale deep learning", SC 2022). Accelerators stand on boards of `board` = [a, b], each
/// board a mesh, and there are `boards` = [x, y] of them. A row of accelerators crosses x boards; on each, its first
/// and its last accelerator are linked to the switch of that row. Columns have switches likewise. This is one plane of
/// the paper's four.
///
/// Where a row or a column has more ends than a switch has ports, a fat tree of two levels takes the switch's place.
///
/// Accelerators are routers with one endpoint. They come first, row by row of the whole machine: accelerator (column,
/// row) has the number row a x + column. The switches of the rows follow, row by row, and then the switches of the
/// columns. Links on boards are of class `board`, links to switches `line`, links of fat trees `tree`.
///
/// ```toml
/// [topology]
/// kind = "hamming_mesh"
/// board = [2, 2]      # Hx2Mesh
/// boards = [4, 4]     # 64 accelerators
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HammingMesh {
    /// Accelerators of a board, along a row and along a column.
    #[schemars(inner(range(min = 1)))]
    pub board: [u32; 2],
    /// Boards along a row and along a column.
    #[schemars(inner(range(min = 1)))]
    pub boards: [u32; 2],
    /// Ports of a switch. A row has two ends on each of its boards.
    #[serde(default = "ports")]
    #[schemars(range(min = 2))]
    pub switch_ports: u32,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

fn ports() -> u32 {
    64
}

/// Classes of links.
const BOARD: u8 = 1;
const LINE: u8 = 2;
const TREE: u8 = 3;

/// The switches of a row or column: one, or a fat tree of two levels without oversubscription.
#[derive(Debug, Clone, Copy)]
struct Line {
    leaves: u64,
    spines: u64,
    /// Ends at each leaf, and links from each to above.
    half: u64,
}

impl Line {
    fn new(ends: u64, ports: u64) -> Self {
        let half = ports / 2;
        match ends <= ports {
            true => Self { leaves: 1, spines: 0, half: ends },
            false => {
                let leaves = ends.div_ceil(half);
                // The links of a leaf are dealt out to the spines in turn.
                let fits = |spines: &u64| half.div_ceil(*spines) * leaves <= ports;
                let spines = ((leaves * half).div_ceil(ports)..half).find(fits).unwrap_or(half);
                Self { leaves, spines, half }
            }
        }
    }

    fn switches(self) -> u64 {
        self.leaves + self.spines
    }
}

impl TopologyParams for HammingMesh {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let (board, boards) = (self.board.map(u64::from), self.boards.map(u64::from));
        let sides = [0, 1].map(|d| board[d].saturating_mul(boards[d]));
        let lines = [0, 1].map(|d| Line::new(2 * boards[d], self.switch_ports.into()));
        let switches = [0, 1].map(|d| sides[1 - d].saturating_mul(lines[d].switches()));
        let size = Size {
            of: ("boards", format!("{:?}", self.boards)),
            each: "boards",
            routers: sides[0].saturating_mul(sides[1]).saturating_add(switches[0]).saturating_add(switches[1]),
            links: u64::from(self.switch_ports),
            said: None,
            else_endpoints: 1,
        };
        let (count, _) = size.check()?;
        for (d, line) in lines.iter().enumerate() {
            if line.leaves > u64::from(self.switch_ports) {
                let expected = format!(
                    "{} ends of a row or column need more than two levels of switches of {} ports; expected fewer \
                     boards, or more ports",
                    2 * boards[d],
                    self.switch_ports
                );
                return Err(ScenarioError::new("boards", format!("{:?}", self.boards), expected));
            }
        }
        let (columns, rows) = (sides[0] as u32, sides[1] as u32);
        let at = |column: u32, row: u32| row * columns + column;
        let mut links = Vec::new();
        let mut link = |a: u32, b: u32, class: u8| links.push(Link { ends: [a, b], class, ports: None });
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            if (column + 1) % self.board[0] != 0 {
                link(at(column, row), at(column + 1, row), BOARD);
            }
            if (row + 1) % self.board[1] != 0 {
                link(at(column, row), at(column, row + 1), BOARD);
            }
        }
        let mut first = columns * rows;
        for (d, line) in lines.into_iter().enumerate() {
            for across in 0..sides[1 - d] as u32 {
                let place = |along: u32| if d == 0 { at(along, across) } else { at(across, along) };
                for end in 0..2 * self.boards[d] {
                    let along = end / 2 * self.board[d] + if end % 2 == 0 { 0 } else { self.board[d] - 1 };
                    link(place(along), first + end / line.half as u32, LINE);
                }
                let (leaves, spines) = (line.leaves as u32, line.spines as u32);
                if spines > 0 {
                    for (leaf, up) in (0..leaves).flat_map(|leaf| (0..line.half as u32).map(move |up| (leaf, up))) {
                        link(first + leaf, first + leaves + up % spines, TREE);
                    }
                }
                first += line.switches() as u32;
            }
        }
        let endpoints = (0..count).map(|router| u32::from(router < columns * rows)).collect();
        let classes = ["board", "line", "tree"].map(str::to_owned).to_vec();
        Ok(Arc::new(Wiring { classes, endpoints, bandwidth: Vec::new(), links, group: 1 }.build()?))
    }
}
