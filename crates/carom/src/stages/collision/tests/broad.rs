//! The broad phase loses no contact.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::model::{GeomKind, Model};
use crate::stages::collision::forward::rank;
use crate::stages::collision::{Manifold, narrow, posed_shape};
use crate::state::State;
use crate::testing::{Random, model_from_mjcf};
use crate::{Data, dynamics};

const SHAPES: [&str; 5] = ["sphere", "capsule", "ellipsoid", "cylinder", "box"];

/// Free bodies of all shapes, some with two geoms, some with margins, above a tilted plane.
fn scattered(count: usize) -> Model {
    let mut random = Random::at(23);
    let mut bodies = String::new();
    for body in 0..count {
        let shape = SHAPES[body % SHAPES.len()];
        let size: Vec<String> = (0..3)
            .map(|_| format!("{:.3}", 0.05 + 0.1 * f64::abs(random.next())))
            .collect();
        let margin = if body % 3 == 0 { 0.03 } else { 0.0 };
        let _ = write!(
            bodies,
            r#"<body><freejoint/>
              <geom type="{shape}" size="{0}" margin="{margin}"/>
              <geom type="capsule" size="0.02 0.1" pos="0.1 0 0"/></body>"#,
            size.join(" ")
        );
    }
    model_from_mjcf(&format!(
        r#"<mujoco><worldbody><geom type="plane" size="1 1 1" euler="10 0 0"/>{bodies}</worldbody></mujoco>"#
    ))
}

/// Pairs of geoms with contacts when every pair is examined.
fn by_force(model: &Model, data: &Data) -> BTreeSet<[usize; 2]> {
    let geoms = &model.structure.geoms;
    let mut found = BTreeSet::new();
    for first in 0..model.counts().ngeom {
        for second in first + 1..model.counts().ngeom {
            let pair = if rank(geoms.kind[first]) > rank(geoms.kind[second]) {
                [second, first]
            } else {
                [first, second]
            };
            let kinds = pair.map(|geom| geoms.kind[geom]);
            let Some(collide) = narrow::collider::<f64>(kinds[0], kinds[1]) else {
                continue;
            };
            if geoms.body[first] == geoms.body[second] || kinds == [GeomKind::Plane; 2] {
                continue;
            }
            let [a, b] = pair.map(|geom| posed_shape(model, &data.kinematics, geom));
            let mut out = Manifold::default();
            let margin = model.geoms.margin[first] + model.geoms.margin[second];
            collide(&a, &b, margin, &mut out);
            if !out.points().is_empty() {
                found.insert(pair);
            }
        }
    }
    found
}

#[test]
fn all_pairs_examined_give_the_same_contacts() {
    let model = scattered(40);
    let mut random = Random::at(29);
    let mut data = Data::new(&model);
    let mut state = State::reference(&model);
    let mut total = 0;
    // The cloud stretches along one axis after the other, so that the sweep turns.
    for stretch in [
        [1.0, 0.2, 0.2],
        [0.9, 0.3, 0.2],
        [0.1, 0.1, 1.0],
        [0.2, 1.5, 0.2],
        [0.3; 3],
    ] {
        for pose in state.qpos.chunks_exact_mut(7) {
            for (axis, number) in pose.iter_mut().enumerate() {
                let extent = stretch.get(axis).map_or(1.0, |stretch| 0.7 * stretch);
                *number = extent * random.next();
            }
        }
        dynamics::forward_position(&model, &state, &mut data);
        let found: BTreeSet<_> = data
            .collision
            .contacts
            .iter()
            .map(|contact| contact.geoms)
            .collect();
        assert_eq!(found, by_force(&model, &data));
        total += found.len();
    }
    assert!(total > 200, "{total}");
}
