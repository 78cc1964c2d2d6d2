//! The torque (or force) that a joint transmits along its axis, as a sensor on the link side of the gear feels it.
//!
//!   τ = s·f                                                                                        (1)
//!
//! with the axis s of the joint and the force f between its body and the parent, both about the tree's centre of mass. It
//! is what drives, brakes and holds the joint, less what accelerates the rotor (`armature`). The adjoint:
//!
//!   s̄ += f·τ̄,   f̄ += s·τ̄                                                                           (1̄)

use super::backward::Reverse;
use super::measure::Reader;
use crate::scalar::Scalar;

impl<T: Scalar> Reader<'_, T> {
    /// The torque of a hinge or slide. (1)
    pub(super) fn joint_torque(&self, joint: usize) -> T {
        let joints = &self.model.structure.joints;
        let force = self.sensing.interaction_force[joints.body[joint]];
        self.stages.kinematics.dof_axis[joints.dof[joint]].dot(force)
    }
}

impl Reverse<'_> {
    /// The adjoint of [`Reader::joint_torque`]. (1̄)
    pub(super) fn joint_torque(&mut self, joint: usize, bar: f64) {
        let joints = &self.model.structure.joints;
        let (body, dof) = (joints.body[joint], joints.dof[joint]);
        let axes_bar = &mut self.bars.data.kinematics.dof_axis;
        axes_bar[dof] += self.sensing.interaction_force[body] * bar;
        self.bar.interaction_force[body] += self.stages.kinematics.dof_axis[dof] * bar;
    }
}

#[cfg(test)]
mod tests {
    use crate::data::Data;
    use crate::dynamics;
    use crate::testing::stage_check::random_point;
    use crate::testing::{model_from_mjcf, step_check};

    /// An arm on a motor with a heavy rotor and a damper, and a slide at its end.
    const ARM: &str = r#"<mujoco><worldbody>
      <body><joint name="turn" axis="0 1 0" armature=".3" damping=".2"/><geom size=".1" pos=".4 .1 0"/>
        <body pos=".5 0 0"><joint name="lift" type="slide" axis="0 .6 .8" stiffness="20"/><geom size=".08" pos="0 .1 0"/>
        </body></body></worldbody>
      <actuator><motor joint="turn" gear="3"/></actuator>
      <custom><text name="carom/sensor/gear" data="kind=jointtorque; joint=turn"/>
        <text name="carom/sensor/guide" data="kind=jointtorque; joint=lift; noise=0.1"/></custom></mujoco>"#;

    #[test]
    fn the_link_feels_what_drives_the_joint_less_what_the_rotor_takes() {
        let model = model_from_mjcf(ARM);
        assert_eq!(model.structure.names.sensors, ["gear", "guide"]);
        for seed in 0..4 {
            let mut point = random_point(model.clone(), seed);
            // Forces on bodies and dofs are not of the joint.
            point.input.force.fill(0.0);
            let mut data = Data::new(&model);
            dynamics::forward_and_sense(&model, &point.state, &point.input, &mut data);
            let (passive, actuation) = (&data.passive.total, &data.actuation.force);
            for dof in 0..2 {
                let rotor = model.dofs.armature[dof] * data.solve.qacc[dof];
                let expected = passive[dof] + actuation[dof] - rotor;
                let found = data.sensing.values[dof];
                let bound = 1e-12 * expected.abs().max(1.0);
                assert!(
                    (found - expected).abs() < bound,
                    "dof {dof}: {found}, {expected}"
                );
            }
        }
    }

    #[test]
    fn its_cotangents_are_those_of_dual_numbers() {
        for seed in 0..4 {
            step_check::check(&random_point(model_from_mjcf(ARM), seed));
        }
    }
}
