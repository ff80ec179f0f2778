//! Hot-spot traffic.

use super::{Pattern, PatternKind, PatternParams, part_seed};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::topology::{Lookup, Named, Topology};
use crate::traffic::Destinations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// Hot spot: a share of every endpoint's packets goes to a few target endpoints, drawn uniformly among them; the rest
/// follows another pattern. A target never draws itself. A target without another target follows the other pattern
/// only. Fits every topology that has the targets. (Pfister and Norton, "Hot spot contention and combining in
/// multistage interconnection networks", IEEE Transactions on Computers 34(10), 1985.)
///
/// ```toml
/// [traffic.pattern]
/// kind = "hotspot"
/// targets = [3]
/// share = 0.1
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hotspot {
    /// Target endpoints, at least one, each once, by their numbers or names.
    #[schemars(length(min = 1))]
    pub targets: Vec<Named>,
    /// Share of each endpoint's packets that goes to the targets, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub share: f64,
    /// Pattern of the other packets.
    #[serde(default)]
    pub background: Box<PatternKind>,
}

impl PatternParams for Hotspot {
    fn build(&self, topology: &dyn Topology, seed: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        let mut targets = Lookup::new(topology).listed_endpoints("targets", &self.targets)?;
        let mut seen = HashSet::new();
        if let Some(index) = targets.iter().position(|target| !seen.insert(*target)) {
            let path = format!("targets[{index}]");
            return Err(ScenarioError::new(path, &self.targets[index], "this endpoint is listed twice"));
        }
        targets.sort_unstable();
        let background = self.background.build(topology, part_seed(seed, 0)).map_err(|e| e.under("background"))?;
        Ok(Arc::new(Spots { targets, share: self.share, background }))
    }
}

#[derive(Debug)]
struct Spots {
    /// Targets in ascending order.
    targets: Vec<u32>,
    share: f64,
    background: Arc<dyn Pattern>,
}

impl Pattern for Spots {
    fn destination(&self, source: u32, rng: &mut Rng) -> Option<u32> {
        if rng.chance(self.share) {
            let n = self.targets.len() as u32;
            match self.targets.binary_search(&source) {
                Err(_) => return Some(self.targets[rng.below(n) as usize]),
                Ok(own) if n > 1 => {
                    let drawn = rng.below(n - 1) as usize;
                    return Some(self.targets[drawn + usize::from(drawn >= own)]);
                }
                Ok(_) => {}
            }
        }
        self.background.destination(source, rng)
    }

    fn words(&self, source: u32) -> Option<u32> {
        let alone = self.targets == [source];
        let background = || self.background.words(source).map(|words| 1 + words);
        match self.share {
            _ if alone => background(),
            share if share >= 1.0 => Some(2),
            share if share <= 0.0 => background(),
            // One of either kind takes a word more.
            _ => background().filter(|words| *words == 2),
        }
    }

    fn destinations(&self, source: u32) -> Option<Destinations> {
        let others = self.background.destinations(source)?;
        let targets = Destinations::evenly(self.targets.iter().copied().filter(|&target| target != source));
        match (self.share, targets, others) {
            (0.0, _, others) | (_, Destinations::Nothing, others) => Some(others),
            (1.0, targets, _) => Some(targets),
            // Packets not drawn for a target would not be sent at all, so the load would be too low.
            (_, _, Destinations::Nothing) => None,
            (share, these, others) => Some(Destinations::Split { share, these: these.into(), others: others.into() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;
    use crate::traffic::patterns::toy::Toy;
    use serde_json::{Value, json};

    fn build(value: Value) -> Result<Arc<dyn Pattern>, ScenarioError> {
        PatternKind::from_value("", &value)?.build(&Toy::new(5, 4, 1), 1)
    }

    fn counts(pattern: &dyn Pattern, source: u32) -> Vec<f64> {
        let mut rng = Rng::new(1, Stream::Source, u64::from(source));
        let mut counts = vec![0.0; 20];
        for _ in 0..100_000 {
            counts[pattern.destination(source, &mut rng).unwrap() as usize] += 1e-5;
        }
        counts
    }

    #[test]
    fn the_share_is_split_evenly_over_the_targets() {
        let hot = json!({ "kind": "hotspot", "targets": [17, 3], "share": 0.4, "background": { "kind": "shift" } });
        let pattern = build(hot).unwrap();
        // A share of 0.2 in 100000 draws has a standard deviation of 0.0013.
        let from_5 = counts(&*pattern, 5);
        assert!((from_5[3] - 0.2).abs() < 0.005 && (from_5[17] - 0.2).abs() < 0.005, "{from_5:?}");
        assert!((from_5[6] - 0.6).abs() < 0.006);
        let from_3 = counts(&*pattern, 3);
        assert_eq!(from_3[3], 0.0);
        assert!((from_3[17] - 0.4).abs() < 0.006);
    }

    #[test]
    fn an_only_target_sends_background() {
        let pattern = build(json!({ "kind": "hotspot", "targets": [3], "share": 1.0 })).unwrap();
        assert_eq!(counts(&*pattern, 3)[3], 0.0);
        assert!((counts(&*pattern, 4)[3] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn impossible_targets_and_shares_are_refused() {
        let table = |targets: Value, share: f64| json!({ "kind": "hotspot", "targets": targets, "share": share });
        assert_eq!(build(table(json!([20]), 0.5)).unwrap_err().path, "targets[0]");
        assert_eq!(build(table(json!([]), 0.5)).unwrap_err().path, "targets");
        assert_eq!(build(table(json!([4, 4]), 0.5)).unwrap_err().value.as_deref(), Some("4"));
        assert_eq!(build(table(json!([4]), 1.5)).unwrap_err().path, "share");
        let mut nested = table(json!([4]), 0.5);
        nested["background"] = json!({ "kind": "transpose" });
        assert_eq!(build(nested.clone()).unwrap_err().path, "background");
        nested["background"] = json!({ "kind": "unifrom" });
        let error = build(nested).unwrap_err();
        assert_eq!((error.path.as_str(), error.nearest.as_deref()), ("background.kind", Some("uniform")));
    }
}
