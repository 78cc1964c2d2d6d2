//! Directions in which configurations and the numbers of a model may move.

use super::{Model, Quantity};
use crate::integrate::{add_scaled, dot, quat_at, vector_at};
use crate::laws::servo::Servo;
use crate::quantity::Role;
use crate::scalar::Scalar;

impl Model {
    /// The rates of qpos, nq, along a direction in tangent space, nv.
    pub fn qpos_rates(&self, qpos: &[f64], tangent: &[f64]) -> Vec<f64> {
        let mut rates = vec![0.0; qpos.len()];
        let joints = &self.structure.joints;
        for (address, dof) in joints.straight() {
            rates[address] = tangent[dof];
        }
        for (address, dof) in joints.rotations() {
            let rate = quat_at(qpos, address).derivative(vector_at(tangent, dof));
            rates[address..address + 4].copy_from_slice(&rate.0);
        }
        rates
    }

    /// The direction in tangent space, nv, of rates of qpos, nq.
    pub fn qpos_tangent(&self, qpos: &[f64], rates: &[f64]) -> Vec<f64> {
        let mut tangent = vec![0.0; self.counts().nv];
        let joints = &self.structure.joints;
        for (address, dof) in joints.straight() {
            tangent[dof] = rates[address];
        }
        for (address, dof) in joints.rotations() {
            let [quat, rate] = [qpos, rates].map(|numbers| quat_at(numbers, address));
            let turn = quat.conjugate().mul(rate).parts().1.scale(2.0);
            tangent[dof..dof + 3].copy_from_slice(&turn.0);
        }
        tangent
    }

    /// Leaves of a direction of one quantity, row-major, what keeps unit quaternions and axes unit, settings as they are, and
    /// absent friction, delays and forces of a fluid on geoms absent.
    pub fn project(&self, quantity: Quantity, direction: &mut [f64]) {
        let (row, numbers) = (quantity.row(), self.numbers(quantity));
        let pairs = (direction.chunks_mut(row.width)).zip(numbers.chunks(row.width));
        for (element, (direction, own)) in pairs.enumerate() {
            if row.role == Role::Setting {
                direction.fill(0.0);
            } else if row.is_unit_vector {
                let along = dot(own, direction);
                add_scaled(direction, own, -along);
            }
            for (component, (direction, &own)) in direction.iter_mut().zip(own).enumerate() {
                if own == 0.0 && self.is_absent_at_zero(quantity, element, component) {
                    *direction = 0.0;
                }
            }
        }
    }

    /// Whether a zero says that there is no such thing, and not that it is small.
    fn is_absent_at_zero(&self, quantity: Quantity, element: usize, component: usize) -> bool {
        match quantity {
            Quantity::DofFrictionloss
            | Quantity::TendonFrictionloss
            | Quantity::ActuatorDelay
            | Quantity::SensorDelay => true,
            // Limits and effects of motors and controllers.
            Quantity::ActuatorGain | Quantity::ActuatorBias | Quantity::ActuatorDynamics => {
                Servo::of(&self.structure.actuators, element).is_some()
            }
            // Another kind of fluid forces would take their place.
            Quantity::GeomFluid => component == 0,
            _ => false,
        }
    }
}

impl<T: Scalar> Model<T> {
    /// Makes quaternions and axes unit again: a finite step along a tangent leaves the sphere, dual numbers do not.
    pub fn normalize(&mut self) {
        let quats = (self.bodies.quat.iter_mut())
            .chain(&mut self.bodies.inertial_quat)
            .chain(&mut self.geoms.quat)
            .chain(&mut self.sites.quat)
            .chain(&mut self.cameras.quat);
        for quat in quats {
            *quat = quat.normalized();
        }
        for axis in &mut self.joints.axis {
            *axis = axis.normalized().0;
        }
    }
}
