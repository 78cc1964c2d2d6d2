//! Tables that follow from the rest of the structure and make stepping fast.

use super::{BodyStructure, Sensor, SparsePattern, Structure, Transmission, Wrap};
use carom_spec::model_spec::SensorNeed;

/// Degrees of freedom by which pairs of bodies move relative to each other, with their places in sparse rows.
///
/// A rigid motion common to both bodies changes neither a distance nor an angle between them, so the row of such a
/// quantity has entries only where a degree of freedom moves one body and not the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelativeDofs {
    /// For each pair: where the dofs of the first body start, those of the second, and where they end.
    ranges: Vec<[u32; 3]>,
    /// Degree of freedom, and its place among the values of all rows.
    entries: Vec<[u32; 2]>,
}

impl RelativeDofs {
    /// Appends a pair of bodies whose relative motion is written to `row` of `pattern`. Dofs that the row does not
    /// have are left out.
    fn push(
        &mut self,
        moving_dofs: &SparsePattern,
        [first, second]: [usize; 2],
        pattern: &SparsePattern,
        row: usize,
    ) {
        let start = self.entries.len();
        self.push_side(moving_dofs, first, second, pattern, row);
        let middle = self.entries.len();
        self.push_side(moving_dofs, second, first, pattern, row);
        let end = self.entries.len();
        self.ranges.push([start, middle, end].map(index));
    }

    /// Appends a pair that never moves.
    fn push_empty(&mut self) {
        let end = index(self.entries.len());
        self.ranges.push([end; 3]);
    }

    fn push_side(
        &mut self,
        moving_dofs: &SparsePattern,
        body: usize,
        other: usize,
        pattern: &SparsePattern,
        row: usize,
    ) {
        let shared = moving_dofs.columns(other);
        for &dof in moving_dofs.columns(body) {
            if shared.contains(&dof) {
                continue;
            }
            if let Some(entry) = pattern.entry(row, dof) {
                self.entries.push([dof, entry].map(index));
            }
        }
    }

    /// Dofs that move only the first body of a pair, each with its place among the values.
    #[inline]
    pub fn first(&self, pair: usize) -> &[[u32; 2]] {
        let [start, middle, _] = self.ranges[pair];
        &self.entries[start as usize..middle as usize]
    }

    /// Dofs that move only the second body of a pair, each with its place among the values.
    #[inline]
    pub fn second(&self, pair: usize) -> &[[u32; 2]] {
        let [_, middle, end] = self.ranges[pair];
        &self.entries[middle as usize..end as usize]
    }
}

/// Indices of tables are 32 bits wide; models are far smaller.
fn index(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// What the sensors need beyond the results of the stages.
#[allow(clippy::struct_excessive_bools, reason = "independent needs")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SensorNeeds {
    /// Velocities and angular momenta of subtrees.
    pub subtree_velocity: bool,
    /// Body accelerations.
    pub acceleration: bool,
    /// Forces between bodies.
    pub interaction_force: bool,
    /// Potential or kinetic energy.
    pub energy: bool,
    /// Distances between geoms.
    pub distance: bool,
}

impl Structure {
    /// Fills the derived tables: `tendons.legs`, `tendons.joint_entry`, `actuators.lever` and `sensors.needs`. The
    /// compiler calls it last, when bodies, tendons, actuators and sensors with their sparsity patterns are complete.
    pub fn derive_tables(&mut self) {
        self.derive_tendon_tables();
        self.derive_actuator_tables();
        self.sensors.needs = sensor_needs(&self.sensors.list);
    }

    fn derive_tendon_tables(&mut self) {
        let mut legs = RelativeDofs::default();
        let mut joint_entry = vec![0; self.tendons.path.len()];
        for (tendon, range) in self.tendons.wraps.iter().enumerate() {
            let pattern = &self.tendons.jacobian;
            for position in range.clone() {
                if let Wrap::Joint(joint) = self.tendons.path[position] {
                    let dof = self.joints.dof[joint];
                    joint_entry[position] = pattern.entry(tendon, dof).unwrap_or(0);
                }
                for pair in self.leg_bodies(&self.tendons.path[position..range.end]) {
                    match pair {
                        Some(pair) => legs.push(&self.bodies.moving_dofs, pair, pattern, tendon),
                        None => legs.push_empty(),
                    }
                }
            }
        }
        self.tendons.legs = legs;
        self.tendons.joint_entry = joint_entry;
    }

    /// Bodies at the ends of the legs that start at the first element of a path: straight to the next site, to the
    /// wrapping geom in between, and from that geom to the site.
    fn leg_bodies(&self, path: &[Wrap]) -> [Option<[usize; 2]>; 3] {
        let site_body = |site: usize| self.sites.body[site];
        match *path {
            [Wrap::Site(start), Wrap::Site(end), ..] => {
                [Some([site_body(start), site_body(end)]), None, None]
            }
            [
                Wrap::Site(start),
                Wrap::Sphere { geom, .. } | Wrap::Cylinder { geom, .. },
                Wrap::Site(end),
                ..,
            ] => {
                let [start, end] = [start, end].map(site_body);
                let body = self.geoms.body[geom];
                [Some([start, end]), Some([start, body]), Some([body, end])]
            }
            _ => [None; 3],
        }
    }

    fn derive_actuator_tables(&mut self) {
        let mut lever = RelativeDofs::default();
        for (actuator, transmission) in self.actuators.transmission.iter().enumerate() {
            let site_body = |site: usize| self.sites.body[site];
            let pair = match *transmission {
                Transmission::Site { site, reference } => {
                    [site_body(site), reference.map_or(0, site_body)]
                }
                Transmission::SliderCrank { crank, slider } => {
                    [site_body(crank), site_body(slider)]
                }
                Transmission::SiteOrientation { site, reference } => {
                    [site_body(site), site_body(reference)]
                }
                _ => {
                    for _ in self.actuators.outputs[actuator].clone() {
                        lever.push_empty();
                    }
                    continue;
                }
            };
            let pattern = &self.actuators.moment;
            for output in self.actuators.outputs[actuator].clone() {
                lever.push(&self.bodies.moving_dofs, pair, pattern, output);
            }
        }
        self.actuators.lever = lever;
    }
}

fn sensor_needs(sensors: &[Sensor]) -> SensorNeeds {
    let mut needs = SensorNeeds::default();
    for sensor in sensors {
        match sensor.kind.row().need {
            SensorNeed::SubtreeVelocity => needs.subtree_velocity = true,
            SensorNeed::Acceleration => needs.acceleration = true,
            SensorNeed::InteractionForce => {
                needs.acceleration = true;
                needs.interaction_force = true;
            }
            SensorNeed::Energy => needs.energy = true,
            SensorNeed::Distance => needs.distance = true,
            SensorNeed::Motion
            | SensorNeed::ConstraintForce
            | SensorNeed::Rays
            | SensorNeed::Contacts => {}
        }
    }
    needs
}

impl BodyStructure {
    /// Dofs that move one of two bodies but not both, increasing: the sparsity of their relative motion.
    pub fn relative_dofs(&self, first: usize, second: usize) -> Vec<usize> {
        let (a, b) = (
            self.moving_dofs.columns(first),
            self.moving_dofs.columns(second),
        );
        let mut dofs: Vec<usize> = a
            .iter()
            .filter(|dof| !b.contains(dof))
            .chain(b.iter().filter(|dof| !a.contains(dof)))
            .copied()
            .collect();
        dofs.sort_unstable();
        dofs
    }
}
