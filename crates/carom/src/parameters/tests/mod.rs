//! Tests of parameters: against compiling again, against differences, and of what is refused.

mod compiled;
mod gradient;
mod refusals;
mod showing;

use super::Parameters;
use crate::model::Model;
use crate::testing::model_from_mjcf;

/// A mechanism that uses most features.
pub(super) const RICH: &str = r#"<mujoco>
  <default><geom contype="0" conaffinity="0"/></default>
  <option tolerance="0" density="1.2" viscosity="0.01" wind="0.5 0.1 0"/>
  <asset><mesh name="wedge" vertex="0 0 0 0.2 0 0 0 0.3 0 0 0 0.25 0.2 0.2 0.1"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 1"/>
    <body name="trunk" pos="0 0 0.6" euler="5 10 20"><freejoint name="root"/>
      <geom name="hull" type="box" size="0.1 0.15 0.2" pos="0.01 0.02 0" density="700" fluidshape="ellipsoid"/>
      <geom name="nose" type="capsule" size="0.04 0.1" pos="0.15 0 0" euler="0 80 0" mass="0.3"/>
      <site name="hip" pos="0 0.1 -0.1"/>
      <body name="thigh" pos="0 0.15 -0.15" euler="10 0 0">
        <joint name="knee" axis="0 1 0.2" pos="0 0 0.02" damping="0.3" stiffness="2" armature="0.01" frictionloss="0.05" range="-1 1"/>
        <inertial pos="0.01 0 -0.1" mass="0.8" fullinertia="0.01 0.012 0.004 0.0005 0.0003 -0.0002"/>
        <geom name="shin" type="cylinder" size="0.03 0.1" pos="0 0 -0.12"/>
        <site name="imu" pos="0 0.02 -0.1" euler="10 20 30"/>
        <body name="foot" pos="0 0 -0.25"><joint name="ankle" type="slide" axis="0 0 1" springdamper="0.2 0.9"/>
          <geom name="sole" type="mesh" mesh="wedge" pos="0.01 0 0" euler="0 20 10"/>
          <geom name="ball" type="sphere" size="0.03" pos="0 0 -0.05"/></body>
      </body>
    </body>
    <body name="box" pos="1 0 0.3"><joint name="turn" type="ball" damping="0.1"/>
      <geom name="cube" type="box" size="0.1 0.1 0.1" pos="0.2 0 0"/>
      <geom name="egg" type="ellipsoid" size="0.05 0.06 0.07" pos="-0.1 0 0"/><site name="hook" pos="0 0 0.1"/></body>
    <body name="still" pos="2 0 0"><joint name="rail" type="slide" axis="1 0 0"/><geom name="weight" size="0.1"/></body>
  </worldbody>
  <equality><connect name="tie" body1="box" body2="still" anchor="0.1 0 0.2"/><weld name="glue" body1="thigh" body2="still"/></equality>
  <tendon>
    <spatial name="cord" stiffness="3" damping="0.2"><site site="hip"/><site site="imu"/><site site="hook"/></spatial>
    <fixed name="sum" armature="0.02"><joint joint="knee" coef="0.7"/><joint joint="ankle" coef="-0.4"/></fixed>
  </tendon>
  <actuator>
    <position name="servo" joint="knee" kp="20" dampratio="0.7" gear="1.5" armature="0.003" damping="0.02" inheritrange="0.9"/>
    <motor name="pull" tendon="cord" gear="2"/>
    <general name="push" site="imu" gear="0.1 0.2 1 0 0.3 0"/>
  </actuator>
  <sensor><gyro site="imu"/><framepos objtype="body" objname="thigh"/><framequat objtype="xbody" objname="foot"/><accelerometer site="imu"/></sensor>
</mujoco>"#;

/// Every number by name.
pub(super) fn numbers(model: &Model) -> Vec<(String, f64)> {
    let mut numbers = Vec::new();
    model.for_each(|quantity, element, component, number| {
        numbers.push((format!("{quantity} {element} {component}"), number));
    });
    numbers
}

/// Parameters of an MJCF text.
pub(super) fn parameters(text: &str, selectors: &[&str]) -> Parameters {
    let model = model_from_mjcf(text);
    Parameters::select(&model, selectors).unwrap_or_else(|error| panic!("{error}"))
}

/// Selectors of all kinds of numbers of [`RICH`] from which others follow, and of some from which none do.
pub(super) const SELECTORS: &[&str] = &[
    "geom.hull.size log",
    "geom.hull.pos",
    "geom.hull.quat",
    "geom.hull.density",
    "geom.nose.mass softplus",
    "geom.nose.size",
    "geom.ball.size bounds(0.01,0.1)",
    "geom.sole.pos",
    "geom.sole.quat",
    "geom.sole.density",
    "geom.cube.size",
    "geom.egg.size",
    "geom.*.friction[0] tied",
    "body.thigh.pos",
    "body.thigh.quat",
    "body.thigh.mass",
    "body.thigh.ipos",
    "body.thigh.iquat",
    "body.thigh.inertia",
    "body.trunk.pos",
    "body.trunk.gravcomp",
    "joint.knee.axis",
    "joint.knee.pos",
    "joint.knee.damping",
    "joint.knee.stiffness",
    "joint.*.armature",
    "joint.knee.frictionloss",
    "joint.knee.range",
    "joint.knee.ref",
    "joint.ankle.springdamper",
    "site.*.pos",
    "site.imu.quat",
    "equality.tie.anchor",
    "equality.glue.anchor",
    "tendon.cord.stiffness",
    "tendon.sum.armature",
    "tendon.sum.coef",
    "actuator.servo.kp",
    "actuator.servo.dampratio",
    "actuator.servo.gear",
    "actuator.servo.armature",
    "actuator.servo.damping",
    "actuator.push.gear",
    "option.gravity",
    "option.timestep",
    "option.density",
];
