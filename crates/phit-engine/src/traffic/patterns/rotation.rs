//! The rotation of a grid's coordinates.

use super::{Pattern, PatternParams, Table, unfit};
use crate::error::ScenarioError;
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Rotation of the coordinates of a torus or mesh: (x, y, z) sends to (y, z, x), which transposes data spread over
/// three dimensions, as in a 3D-FFT. In two dimensions it transposes the grid. Endpoints of a router keep their
/// position. Fits grids whose sides are equal.
///
/// ```toml
/// [traffic.pattern]
/// kind = "rotation"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rotation {}

impl PatternParams for Rotation {
    fn build(&self, topology: &dyn Topology, _: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        let sides = topology.grid().ok_or_else(|| unfit("rotation", "this pattern fits tori and meshes"))?;
        let side = sides[0];
        if sides.iter().any(|other| *other != side) {
            let reason = format!("this pattern fits grids whose sides are equal; this one has {sides:?}");
            return Err(unfit("rotation", reason));
        }
        let each = topology.endpoints() / topology.routers();
        // The lowest digit of the router's number becomes the highest.
        let highest = topology.routers() / side;
        let rotated = |router: u32| router / side + router % side * highest;
        Ok(Arc::new(Table((0..topology.endpoints()).map(|e| rotated(e / each) * each + e % each).collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Rng, Stream};
    use crate::topology::TopologyKind;
    use serde_json::json;

    #[test]
    fn coordinates_move_up() {
        let torus = json!({ "kind": "torus", "dims": [4, 4, 4], "endpoints_per_router": 2 });
        let torus = TopologyKind::from_value("", &torus).unwrap().build().unwrap();
        let pattern = Rotation {}.build(&*torus, 1).unwrap();
        let endpoint = |x: u32, y: u32, z: u32| 2 * (x + 4 * y + 16 * z) + 1;
        let mut rng = Rng::new(1, Stream::Source, 0);
        assert_eq!(pattern.destination(endpoint(1, 2, 3), &mut rng), Some(endpoint(2, 3, 1)));
        let uneven =
            TopologyKind::from_value("", &json!({ "kind": "torus", "dims": [4, 2] })).unwrap().build().unwrap();
        assert!(Rotation {}.build(&*uneven, 1).unwrap_err().expected.contains("[4, 2]"));
    }
}
