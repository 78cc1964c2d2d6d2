//! Contact sensors: which contacts match, which of them are reported, and what of each.
//!
//! A sensor names up to two sides (geom, body, subtree, or the volume of a site); a contact matches when both are part
//! of it. The normal is reported from the first side to the second: where the contact has it the other way round its
//! frame is turned half about the second tangent, which changes the sign of normal, tangent and of the third component
//! of what is given in the frame.

use super::measure::Reader;
use crate::contact_force::{ContactForce, contact_force};
use crate::math::{MIN_LENGTH, Spatial, Vec3};
use crate::model::{ContactMatch, ContactReduction, ContactSensor};
use crate::scalar::Scalar;
use crate::stages::collision::Contact;

/// A contact that a sensor looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    pub(super) contact: usize,
    /// Whether the sensor's first side is the contact's second.
    pub(super) flipped: bool,
    /// Smaller comes first; equal ones in the order of the contacts.
    rank: f64,
}

impl Match {
    fn comes_before(&self, other: &Self) -> bool {
        (self.rank, self.contact) < (other.rank, other.contact)
    }
}

impl<T: Scalar> Reader<'_, T> {
    /// Fills the slots of a contact sensor; those without a contact are zero.
    pub(super) fn contacts(&self, sensor: &ContactSensor, values: &mut [T]) {
        values.fill(T::ZERO);
        let count = self.matches(sensor).count();
        if count == 0 {
            return;
        }
        if sensor.report.reduction == ContactReduction::NetForce {
            self.net_force(sensor, count, values);
            return;
        }
        let mut last: Option<Match> = None;
        for slot in values.chunks_exact_mut(sensor.slot_size()) {
            let Some(found) = self.next_match(sensor, last) else {
                break;
            };
            self.report(sensor, found, count, slot);
            last = Some(found);
        }
    }

    /// The next match by rank: a scan of its own for each of the few slots needs no list of the matches.
    pub(super) fn next_match(&self, sensor: &ContactSensor, last: Option<Match>) -> Option<Match> {
        let mut next: Option<Match> = None;
        for candidate in self.matches(sensor) {
            let is_left = last.is_none_or(|last| last.comes_before(&candidate));
            if is_left && next.is_none_or(|next| candidate.comes_before(&next)) {
                next = Some(candidate);
            }
        }
        next
    }

    /// The contacts that match, in their order.
    pub(super) fn matches(&self, sensor: &ContactSensor) -> impl Iterator<Item = Match> {
        let contacts = self.stages.collision.contacts.iter().enumerate();
        contacts.filter_map(|(index, contact)| {
            let flipped = self.is_flipped(sensor, contact)?;
            let rank = match sensor.report.reduction {
                ContactReduction::None | ContactReduction::NetForce => 0.0,
                ContactReduction::MinimalDistance => contact.distance.value(),
                ContactReduction::MaximalForce => {
                    -self.contact_force(index).force.norm_squared().value()
                }
            };
            Some(Match {
                contact: index,
                flipped,
                rank,
            })
        })
    }

    /// Whether a contact that matches has the sensor's sides in the other order; none where it does not match.
    fn is_flipped(&self, sensor: &ContactSensor, contact: &Contact<T>) -> Option<bool> {
        let [first, second] = [sensor.first, sensor.second];
        if let ContactMatch::Site(site) = first
            && !self.site_contains(site, contact.position)
        {
            return None;
        }
        let matches = |side: ContactMatch, end: usize| self.side_matches(side, contact.geoms[end]);
        let regular = matches(first, 0) && matches(second, 1);
        let reverse = matches(first, 1) && matches(second, 0);
        (regular || reverse).then_some(!regular)
    }

    fn side_matches(&self, side: ContactMatch, geom: usize) -> bool {
        let structure = &self.model.structure;
        let body = structure.geoms.body[geom];
        match side {
            // The place of the contact was looked at before.
            ContactMatch::Any | ContactMatch::Site(_) => true,
            ContactMatch::Geom(wanted) => geom == wanted,
            ContactMatch::Body(wanted) => body == wanted,
            ContactMatch::Subtree(root) => {
                let mut ancestor = body;
                while ancestor > root {
                    ancestor = structure.bodies.parent[ancestor];
                }
                ancestor == root
            }
        }
    }

    pub(super) fn contact_force(&self, contact: usize) -> ContactForce<T> {
        let stages = self.stages;
        contact_force(stages.collision, stages.constraint, stages.solve, contact)
    }

    /// Writes the chosen fields of one contact.
    fn report(&self, sensor: &ContactSensor, found: Match, count: usize, slot: &mut [T]) {
        let contact = &self.stages.collision.contacts[found.contact];
        let turned = |vector: Vec3<T>| if found.flipped { -vector } else { vector };
        let mirrored = |Vec3([x, y, z]): Vec3<T>| Vec3([x, y, if found.flipped { -z } else { z }]);
        let force = if sensor.reads_force() {
            self.contact_force(found.contact)
        } else {
            ContactForce::ZERO
        };
        let velocity = if sensor.reads_velocity() {
            self.slip(contact)
        } else {
            Spatial::ZERO
        };
        let fields = Fields {
            found: T::from(count as f64),
            force: mirrored(force.force),
            torque: mirrored(force.torque),
            distance: contact.distance,
            position: contact.position,
            normal: turned(contact.frame.row(0)),
            tangent: turned(contact.frame.row(1)),
            linear_velocity: mirrored(velocity.linear()),
            angular_velocity: mirrored(velocity.angular()),
        };
        fields.write(sensor, slot);
    }

    /// Velocity of the second body relative to the first at the contact point, in the world.
    pub(super) fn world_slip(&self, contact: &Contact<T>) -> Spatial<T> {
        let structure = &self.model.structure;
        let [first, second] = contact.geoms.map(|geom| {
            let body = structure.geoms.body[geom];
            let center = self.stages.kinematics.subtree_com[structure.bodies.root[body]];
            self.stages.velocity.body[body].shift_motion(contact.position - center)
        });
        second - first
    }

    /// The same in the contact's frame.
    fn slip(&self, contact: &Contact<T>) -> Spatial<T> {
        let relative = self.world_slip(contact);
        Spatial::new(
            contact.frame.mul_vec(relative.angular()),
            contact.frame.mul_vec(relative.linear()),
        )
    }

    /// The centre of all matching contacts weighted by force, and the sum of the weights.
    pub(super) fn center_of_force(&self, sensor: &ContactSensor) -> (Vec3<T>, T) {
        let contacts = &self.stages.collision.contacts;
        let (mut center, mut weight) = (Vec3::ZERO, T::ZERO);
        for found in self.matches(sensor) {
            let strength = self.contact_force(found.contact).force.norm();
            center += contacts[found.contact].position * strength;
            weight += strength;
        }
        let weight = weight.max(T::from(MIN_LENGTH));
        (center * weight.recip(), weight)
    }

    /// Writes one contact that does what all matching ones do together: world axes, at their centre weighted by force.
    fn net_force(&self, sensor: &ContactSensor, count: usize, values: &mut [T]) {
        let contacts = &self.stages.collision.contacts;
        let (center, _) = self.center_of_force(sensor);
        let [mut force, mut torque] = [Vec3::ZERO; 2];
        for found in self.matches(sensor) {
            let contact = &contacts[found.contact];
            let mut one = self.contact_force(found.contact).to_world(&contact.frame);
            if found.flipped {
                one = ContactForce {
                    force: -one.force,
                    torque: -one.torque,
                };
            }
            force += one.force;
            torque += one.torque + (contact.position - center).cross(one.force);
        }
        let fields = Fields {
            found: T::from(count as f64),
            force,
            torque,
            distance: T::ZERO,
            position: center,
            normal: Vec3([T::ONE, T::ZERO, T::ZERO]),
            tangent: Vec3([T::ZERO, T::ONE, T::ZERO]),
            linear_velocity: Vec3::ZERO,
            angular_velocity: Vec3::ZERO,
        };
        fields.write(sensor, values);
    }
}

/// All that a contact sensor can say of one contact.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields<T: Scalar> {
    pub(super) found: T,
    pub(super) force: Vec3<T>,
    pub(super) torque: Vec3<T>,
    pub(super) distance: T,
    pub(super) position: Vec3<T>,
    pub(super) normal: Vec3<T>,
    pub(super) tangent: Vec3<T>,
    pub(super) linear_velocity: Vec3<T>,
    pub(super) angular_velocity: Vec3<T>,
}

impl<T: Scalar> Fields<T> {
    /// Reads what [`Self::write`] wrote; fields that were not chosen are zero.
    pub(super) fn read(sensor: &ContactSensor, slot: &[T]) -> Self {
        let mut fields = Self::default();
        let all: [&mut [T]; ContactSensor::FIELDS] = [
            std::slice::from_mut(&mut fields.found),
            &mut fields.force.0,
            &mut fields.torque.0,
            std::slice::from_mut(&mut fields.distance),
            &mut fields.position.0,
            &mut fields.normal.0,
            &mut fields.tangent.0,
            &mut fields.linear_velocity.0,
            &mut fields.angular_velocity.0,
        ];
        let mut start = 0;
        for (field, numbers) in all.into_iter().enumerate() {
            if sensor.report.fields.0[field] {
                numbers.copy_from_slice(&slot[start..start + numbers.len()]);
                start += numbers.len();
            }
        }
        fields
    }

    /// Writes the fields that the sensor chooses, one after the other.
    fn write(&self, sensor: &ContactSensor, slot: &mut [T]) {
        let all: [&[T]; ContactSensor::FIELDS] = [
            &[self.found],
            &self.force.0,
            &self.torque.0,
            &[self.distance],
            &self.position.0,
            &self.normal.0,
            &self.tangent.0,
            &self.linear_velocity.0,
            &self.angular_velocity.0,
        ];
        let mut start = 0;
        for (field, numbers) in all.into_iter().enumerate() {
            if sensor.report.fields.0[field] {
                slot[start..start + numbers.len()].copy_from_slice(numbers);
                start += numbers.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::data::Data;
    use crate::dynamics;
    use crate::math::Vec3;
    use crate::model::Model;
    use crate::state::{Input, State};
    use crate::testing::model_from_mjcf;

    fn sense(text: &str, qvel: &[f64]) -> (Model, Data) {
        let model = model_from_mjcf(text);
        let mut state = State::reference(&model);
        state.qvel[..qvel.len()].copy_from_slice(qvel);
        let mut data = Data::new(&model);
        dynamics::forward_and_sense(&model, &state, &Input::zeros(&model), &mut data);
        (model, data)
    }

    fn ball(height: f64, sensors: &str) -> String {
        format!(
            r#"<mujoco><option tolerance="0"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
              <body name="ball" pos="0 0 {height}"><freejoint/><geom name="ball" size=".1"/></body></worldbody>
              <sensor>{sensors}</sensor></mujoco>"#
        )
    }

    /// MuJoCo's numbers.
    #[test]
    fn a_flipped_contact_is_reported_from_the_first_side_to_the_second() {
        let sensor = r#"<contact geom1="ball" data="found force torque dist pos normal tangent linvel angvel"/>"#;
        let (_, data) = sense(&ball(0.099, sensor), &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
        let expected = [
            1.0,
            5.457_470_32,
            -5.457_470_32,
            0.0,
            0.0,
            0.0,
            0.0,
            -0.001,
            0.0,
            0.0,
            -0.0005,
            0.0,
            0.0,
            -1.0,
            0.0,
            -1.0,
            0.0,
            0.3,
            0.2398,
            0.05025,
            0.6,
            0.5,
            0.4,
        ];
        for (index, (value, expected)) in data.sensing.values.iter().zip(expected).enumerate() {
            assert!(
                (value - expected).abs() < 1e-8,
                "{index}: {value} {expected}"
            );
        }
    }

    #[test]
    fn without_contact_all_slots_are_zero() {
        let sensors = r#"<contact geom1="ball" data="found normal" reduce="netforce"/>
            <contact data="found dist normal" num="2" reduce="mindist"/>"#;
        let (_, data) = sense(&ball(0.2, sensors), &[]);
        assert!(data.sensing.values.iter().all(|&value| value == 0.0));
    }

    const PILE: &str = r#"<mujoco><option tolerance="0" cone="elliptic"/><worldbody>
      <geom name="floor" type="plane" size="1 1 1"/>
      <body name="train" pos="0 0 .1"><freejoint/><geom name="a" size=".1" pos="-.3 0 -.002"/>
        <geom name="b" size=".1" pos="0 0 -.001"/><geom name="c" size=".1" pos=".3 0 -.004"/>
        <site name="right" type="box" size=".1 .2 .2" pos=".3 0 0"/></body></worldbody>
      <sensor> <contact num="4" data="found dist" reduce="mindist"/>
        <contact num="2" data="force dist" reduce="maxforce" body1="train"/>
        <contact data="found force torque pos" reduce="netforce" body2="train"/>
        <contact num="2" data="found pos" site="right"/>
        <contact num="4" data="dist"/></sensor></mujoco>"#;

    #[test]
    fn reductions_choose_and_sum() {
        let (model, data) = sense(PILE, &[0.1]);
        let sensors = &model.structure.sensors;
        let values = |sensor: usize| {
            &data.sensing.values[sensors.address[sensor]..][..sensors.dimension[sensor]]
        };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        let closest = values(0);
        let found: Vec<f64> = closest.iter().step_by(2).copied().collect();
        assert_eq!(found, [3.0, 3.0, 3.0, 0.0]);
        assert!(near(closest[1], -0.004) && near(closest[3], -0.002) && near(closest[5], -0.001));
        assert_eq!(closest[7], 0.0, "an empty slot");
        // The deepest contacts push most.
        let strongest = values(1);
        assert!(near(strongest[3], -0.004) && near(strongest[7], -0.002));
        assert!(strongest[0] > strongest[4]);
        // The floor's net force on the train, about its point, is that of all contacts.
        let net = values(2);
        let (force, torque) = (
            Vec3([net[1], net[2], net[3]]),
            Vec3([net[4], net[5], net[6]]),
        );
        let point = Vec3([net[7], net[8], net[9]]);
        let [mut forces, mut torques] = [Vec3::ZERO; 2];
        for (index, contact) in data.collision.contacts.iter().enumerate() {
            let one = data.contact_force_world(index);
            forces += one.force;
            torques += one.torque + contact.position.cross(one.force);
        }
        assert!((force - forces).norm() < 1e-9 * forces.norm() && forces[2] > 1.0);
        assert!((torque + point.cross(force) - torques).norm() < 1e-9 * forces.norm());
        let inside = values(3);
        assert!(inside[0] == 1.0 && near(inside[1], 0.3) && inside[4] == 0.0);
        let in_order: Vec<f64> = data.collision.contacts.iter().map(|c| c.distance).collect();
        assert_eq!(values(4)[..3], in_order[..]);
    }

    #[test]
    fn a_contact_in_the_gap_is_reported_without_force() {
        let text = r#"<mujoco><worldbody><geom type="plane" size="1 1 1"/>
          <body pos="0 0 .11"><freejoint/><geom size=".1" gap=".02"/></body></worldbody>
          <sensor><contact data="found force dist"/></sensor></mujoco>"#;
        let (_, data) = sense(text, &[]);
        let [found, x, y, z, distance] = data.sensing.values[..] else {
            panic!("five values");
        };
        assert_eq!([found, x, y, z], [1.0, 0.0, 0.0, 0.0]);
        assert!((distance - 0.01).abs() < 1e-15);
    }
}
