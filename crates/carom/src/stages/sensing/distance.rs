//! Distances between geoms, or between the geoms of bodies: how far, in which direction, from where to where.

use carom_spec::model_spec::SensorNeed;

use super::Sensing;
use super::backward::Reverse;
use super::forward::clip;
use crate::math::Vec3;
use crate::model::{Model, Sensor, SensorGeoms, SensorKind};
use crate::scalar::Scalar;
use crate::stages::collision::{self, GeomDistance, Manifold};
use crate::stages::kinematics::Kinematics;
use std::ops::Range;

/// Evaluates the sensors of distances. They run colliders, whose work area is that of the collision stage.
pub fn measure_distances<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    work: &mut Manifold<T>,
    out: &mut Sensing<T>,
) {
    let sensors = &model.structure.sensors;
    if model.settings.disable.sensor || !sensors.needs.distance {
        return;
    }
    for (index, sensor) in sensors.list.iter().enumerate() {
        if sensor.kind.row().need != SensorNeed::Distance {
            continue;
        }
        let cutoff = model.sensors.cutoff[index];
        let (distance, [from, to], _) = shortest(model, kinematics, sensor.geoms(), cutoff, work);
        let values = &mut out.values[sensors.address[index]..][..sensors.dimension[index]];
        match sensor.kind {
            SensorKind::GeomDistance => values[0] = distance,
            SensorKind::GeomNormal => values.copy_from_slice(&direction(to - from).0),
            _ => {
                let (start, end) = values.split_at_mut(3);
                start.copy_from_slice(&from.0);
                end.copy_from_slice(&to.0);
            }
        }
        clip(model, index, values);
    }
}

/// The unit vector along a segment; zero for a segment without length.
fn direction<T: Scalar>(segment: Vec3<T>) -> Vec3<T> {
    if segment.0.map(T::value) == [0.0; 3] {
        Vec3::ZERO
    } else {
        segment.normalized().0
    }
}

/// The shortest distance below the cutoff, its end points and its geoms; the cutoff, zeros and none where all geoms are
/// farther.
fn shortest<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    [first, second]: [SensorGeoms; 2],
    cutoff: T,
    work: &mut Manifold<T>,
) -> (T, [Vec3<T>; 2], Option<[usize; 2]>) {
    let mut best = (cutoff, [Vec3::ZERO; 2], None);
    for geom1 in geoms(model, first) {
        for geom2 in geoms(model, second) {
            let pair = [geom1, geom2];
            let found = collision::distance(model, kinematics, pair, cutoff.value(), work);
            if let Some(found) = found
                && found.distance.value() < best.0.value()
            {
                best = (found.distance, found.points, Some(pair));
            }
        }
    }
    best
}

fn geoms<T: Scalar>(model: &Model<T>, side: SensorGeoms) -> Range<usize> {
    match side {
        SensorGeoms::Geom(geom) => geom..geom + 1,
        SensorGeoms::Body(body) => model.structure.bodies.geoms[body].clone(),
    }
}

impl Reverse<'_> {
    /// The adjoint of [`measure_distances`] for one sensor: adds the cotangents of the geoms' poses and shapes, and of the
    /// cutoff.
    pub(super) fn distance(&mut self, index: usize, sensor: &Sensor, bars: &[f64]) {
        if bars.iter().all(|&bar| bar == 0.0) {
            return;
        }
        let (model, kinematics) = (self.model, self.stages.kinematics);
        let (sides, cutoff) = (sensor.geoms(), model.sensors.cutoff[index]);
        let work = self.bars.data.collision.manifold_mut();
        let (_, points, geoms) = shortest(model, kinematics, sides, cutoff, work);
        let segment = points[1] - points[0];
        let mut found_bar = GeomDistance {
            distance: 0.0,
            points: [Vec3::ZERO; 2],
            normal: Vec3::ZERO,
        };
        let vector = |first: usize| Vec3(std::array::from_fn(|k| bars[first + k]));
        match sensor.kind {
            SensorKind::GeomDistance => found_bar.distance = bars[0],
            SensorKind::GeomNormal if segment == Vec3::ZERO => {}
            SensorKind::GeomNormal => {
                segment.normalized_vjp(vector(0), 0.0, &mut found_bar.points[1]);
                found_bar.points[0] = -found_bar.points[1];
            }
            _ => found_bar.points = [vector(0), vector(3)],
        }
        if let Some(geoms) = geoms {
            collision::distance_backward(model, kinematics, geoms, cutoff, &found_bar, self.bars);
        } else {
            self.bars.model.sensors.cutoff[index] += found_bar.distance;
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

    const SCENE: &str = r#"<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <geom name="wall" type="box" size=".1 1 1" pos="2 0 1"/>
      <body name="dumbbell" pos="0 0 1"><freejoint/><geom name="left" size=".1" pos="-.5 0 0"/>
        <geom name="right" size=".2" pos=".5 0 .3"/></body></worldbody>
      <sensor>
        <distance geom1="right" geom2="wall" cutoff="5"/> <normal geom1="right" geom2="wall" cutoff="5"/>
        <fromto geom1="right" geom2="wall" cutoff="5"/> <distance body1="dumbbell" geom2="floor" cutoff="5"/>
        <fromto geom1="floor" body2="dumbbell" cutoff="5"/> <distance geom1="left" geom2="wall" cutoff="1"/>
        <normal geom1="left" geom2="wall" cutoff="1"/> </sensor></mujoco>"#;

    fn sense(model: &Model, state: &State) -> Vec<f64> {
        let mut data = Data::new(model);
        dynamics::forward_and_sense(model, state, &Input::zeros(model), &mut data);
        data.sensing.values
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        let errors = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
        assert!(errors.fold(0.0, f64::max) < 1e-12, "{found:?} {expected:?}");
    }

    #[test]
    fn the_nearest_geoms_of_bodies_count() {
        let model = model_from_mjcf(SCENE);
        let values = sense(&model, &State::reference(&model));
        assert_near(&values[..1], &[1.2]);
        assert_near(&values[1..4], &[1.0, 0.0, 0.0]);
        assert_near(&values[4..10], &[0.7, 0.0, 1.3, 1.9, 0.0, 1.3]);
        // The lower ball is nearest to the floor.
        assert_near(&values[10..11], &[0.9]);
        assert_near(&values[11..17], &[-0.5, 0.0, 0.0, -0.5, 0.0, 0.9]);
        // Beyond the cutoff there is nothing but the cutoff.
        assert_near(&values[17..], &[1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn in_penetration_the_segment_turns_round() {
        let model = model_from_mjcf(SCENE);
        let mut state = State::reference(&model);
        state.qpos[0] = 1.25;
        let values = sense(&model, &state);
        assert_near(&values[..1], &[-0.05]);
        assert_near(&values[1..4], &[-1.0, 0.0, 0.0]);
        let segment =
            Vec3([values[7], values[8], values[9]]) - Vec3([values[4], values[5], values[6]]);
        assert_near(&segment.0, &[-0.05, 0.0, 0.0]);
    }
}
