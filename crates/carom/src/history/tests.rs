//! Histories: what they hold, what they report, and derivatives through them.

use super::*;
use crate::data::Data;
use crate::integrate::step;
use crate::model::Integrator;
use crate::testing::{model_from_mjcf, stage_check, step_check};

/// Controls and sensors with delays and intervals of every interpolation, some held by ranges, one too late to be read.
/// No read is at the time of a sample, no sensor due at the very start.
pub(crate) const DELAYED: &str = r#"<mujoco><option timestep=".01"/>
  <worldbody>
    <body> <joint name="a" axis="0 1 0" damping=".3"/> <geom type="capsule" fromto="0 0 0 .3 0 -.2" size=".05"/>
      <body pos=".3 0 -.2"> <joint name="b" axis="1 1 0"/> <geom size=".1" pos=".1 .2 0"/> <site name="tip" pos=".2 .2 .1"/>
        <body pos=".1 .3 0"> <joint name="c" type="slide" axis="0 1 1"/> <geom size=".05" pos=".1 0 .1"/> </body> </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="a" nsample="4" delay=".017"/>
    <motor joint="b" nsample="5" delay=".023" interp="linear" ctrlrange="-.3 .3"/>
    <position joint="c" nsample="5" delay=".026" interp="cubic" kp="3"/>
    <motor joint="a" nsample="6" delay=".044" interp="cubic" gear="2"/> <motor joint="c" nsample="3" delay=".013" interp="cubic"/>
    <motor joint="b" nsample="2" delay=".05" interp="linear"/> <motor joint="b" nsample="3" gear=".5"/>
    <general joint="a" nsample="4" delay=".018" interp="linear" dyntype="filter" dynprm=".2" gaintype="affine" gainprm="2 .1 -.2"/>
    <motor name="plain" joint="a"/>
  </actuator>
  <sensor>
    <jointpos joint="a"/> <framepos objtype="site" objname="tip" nsample="4" delay=".012" interp="linear"/>
    <accelerometer site="tip" nsample="5" delay=".027" interp="cubic"/> <gyro site="tip" nsample="3" delay=".014"/>
    <jointvel joint="b" nsample="3" interval=".033 -.011" interp="linear"/>
    <jointvel joint="c" nsample="3" interval=".035 -.015" delay=".021" interp="cubic" cutoff=".2"/>
    <clock nsample="3" delay=".016" interp="linear"/> <clock/> <actuatorfrc actuator="plain" nsample="2"/>
  </sensor></mujoco>"#;

fn history(samples: usize) -> History {
    let shape = HistoryShape {
        samples,
        dimension: 1,
        interpolation: Interpolation::Hold,
    };
    History::before_start(&shape, 0.1, [0.0; 2])
}

fn read(history: &History, time: f64, interpolation: Interpolation) -> f64 {
    let mut value = [f64::NAN];
    history.read(time, interpolation, &mut value);
    value[0]
}

#[test]
fn samples_are_interpolated_and_held_at_the_ends() {
    let mut past = history(4);
    for (index, value) in [1.0, 3.0, 2.0, 5.0, 4.0].into_iter().enumerate() {
        past.insert(index as f64, &[value]);
    }
    // The first sample is forgotten.
    let hold = Interpolation::Hold;
    let held = [0.5, 1.0, 1.9, 2.0, 3.5, 9.0].map(|time| read(&past, time, hold));
    assert_eq!(held, [3.0, 3.0, 3.0, 2.0, 5.0, 4.0]);
    assert_eq!(read(&past, 2.25, Interpolation::Linear), 2.75);
    // Catmull–Rom with no slope at the ends: symmetric here.
    let cubic = read(&past, 2.5, Interpolation::Cubic);
    let slopes = [(5.0 - 3.0) / 2.0, (4.0 - 2.0) / 2.0];
    assert!((cubic - (3.5 + (slopes[0] - slopes[1]) / 8.0)).abs() < 1e-15);
}

#[test]
fn samples_may_come_out_of_order_or_twice() {
    let mut past = history(3);
    for (time, value) in [(1.0, 10.0), (2.0, 20.0), (4.0, 40.0)] {
        past.insert(time, &[value]);
    }
    past.insert(3.0, &[30.0]);
    let hold = Interpolation::Hold;
    assert_eq!(
        [2.0, 3.0, 4.0].map(|t| read(&past, t, hold)),
        [20.0, 30.0, 40.0]
    );
    past.insert(3.0, &[33.0]);
    past.insert(0.5, &[5.0]);
    assert_eq!(
        [0.5, 3.0, 4.0].map(|t| read(&past, t, hold)),
        [5.0, 33.0, 40.0]
    );
}

#[test]
fn a_control_acts_when_its_delay_is_over() {
    let model = model_from_mjcf(
        r#"<mujoco><option timestep=".01" gravity="0 0 0"/><worldbody><body><joint type="slide" name="s"/>
          <geom size=".1" mass="1"/></body></worldbody>
          <actuator><motor joint="s" delay=".03" nsample="3"/></actuator>
          <sensor><actuatorfrc actuator="x"/><clock name="late" delay=".02" nsample="4" interp="linear"/>
            <clock name="seldom" interval=".03" nsample="1"/></sensor></mujoco>"#
            .replace("<motor ", "<motor name=\"x\" ")
            .as_str(),
    );
    let (mut state, mut input) = (State::reference(&model), Input::zeros(&model));
    let mut data = Data::new(&model);
    let mut seen = Vec::new();
    for index in 0..7 {
        input.ctrl[0] = f64::from(index) + 1.0;
        step(&model, &mut state, &input, &mut data);
        seen.push([
            data.sensing.values[0],
            data.sensing.values[1],
            data.sensing.values[2],
        ]);
    }
    let forces: Vec<f64> = seen.iter().map(|values| values[0]).collect();
    assert_eq!(forces, [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
    for (index, values) in seen.iter().enumerate() {
        let late = (index as f64 * 0.01 - 0.02).max(0.0);
        assert!((values[1] - late).abs() < 1e-12, "{index}: {values:?}");
        // 0.03 is reached at the step of 0.03, by rounding or the next one.
        let seldom = [0.0, 0.0, 0.0, 0.03, 0.03, 0.03, 0.06][index];
        assert!((values[2] - seldom).abs() < 1e-12, "{index}: {values:?}");
    }
}

#[test]
fn backward_is_the_adjoint_of_steps_with_histories() {
    for integrator in [
        Integrator::Euler,
        Integrator::Implicit,
        Integrator::ImplicitFast,
        Integrator::RungeKutta4,
    ] {
        // At later times sensors with intervals are due.
        for (seed, time) in [(0, 0.0), (1, 0.0), (2, 0.0237), (3, 0.0312)] {
            let mut model = model_from_mjcf(DELAYED);
            model.settings.integrator = integrator;
            let mut point = stage_check::random_point(model, seed);
            point.state.time = time;
            let (model, state, input) = (&point.model, &point.state, &point.input);
            crate::dynamics::forward_and_sense(model, state, input, &mut point.data);
            step_check::check(&point);
        }
    }
}
