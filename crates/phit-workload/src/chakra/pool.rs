//! Texts and lists of ranks that many nodes share, each stored once.

use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Names of nodes or groups, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: FxHashMap<Box<str>, u32>,
}

impl Names {
    /// The number of a name.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                let number = self.numbers.len() as u32;
                self.numbers.insert(name.into(), number);
                number
            }
        }
    }

    /// A name by its number, for messages: it is looked for among all.
    pub(super) fn name(&self, number: u32) -> &str {
        self.numbers.iter().find(|(_, own)| **own == number).map_or("", |(name, _)| name)
    }
}

/// What the nodes of all ranks share.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Names of nodes.
    pub(super) nodes: Names,
    /// Names of groups.
    pub(super) groups: Names,
    lists: FxHashMap<Arc<[u32]>, ()>,
}

impl Pool {
    /// The stored list of ranks that is equal to `ranks`.
    pub(super) fn list(&mut self, ranks: Vec<u32>) -> Arc<[u32]> {
        if let Some((list, ())) = self.lists.get_key_value(&ranks[..]) {
            return list.clone();
        }
        let list: Arc<[u32]> = ranks.into();
        self.lists.insert(list.clone(), ());
        list
    }
}
