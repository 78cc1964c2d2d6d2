//! Contacts from a map against those of the formula for the same shapes.

use std::sync::Arc;

use super::backward::{Checked, point, scene};
use crate::error::ErrorKind;
use crate::math::{Quat, Vec3};
use crate::model::Model;
use crate::stages::collision::{ContactMap, ContactPoint, MapInput, MapInputBar};
use crate::state::State;
use crate::testing::stage_check::{Point, check};
use crate::testing::{Random, model_from_mjcf, step_check};

/// Corners of a box, the first geom, on a plane, the second one. The corners are the map's own numbers, in half sizes.
///
/// With the plane's normal n and origin p in the frame of the box, a corner c has the distance d = (c − p)·n, the position
/// c − n·d/2, and the normal from the box to the plane is −n.
#[derive(Debug)]
struct Corners {
    shares: Vec<Vec3>,
}

impl Corners {
    fn of_box() -> Self {
        let sign = |corner: usize, axis: usize| if corner >> axis & 1 == 1 { 1.0 } else { -1.0 };
        let corner = |corner: usize| Vec3(std::array::from_fn(|axis| sign(corner, axis)));
        Self {
            shares: (0..8).map(corner).collect(),
        }
    }

    /// The corners that touch: their share of the sizes, their place and their distance.
    fn touching<'a>(&'a self, input: &'a MapInput) -> impl Iterator<Item = (Vec3, Vec3, f64)> + 'a {
        let normal = input.rotation.column(2);
        let placed = self.shares.iter().map(move |&share| {
            let corner = share.component_mul(input.sizes[0]);
            (share, corner, (corner - input.position).dot(normal))
        });
        placed.filter(|&(_, _, distance)| distance <= input.reach)
    }
}

impl ContactMap for Corners {
    fn contacts(&self, input: &MapInput, found: &mut dyn FnMut(ContactPoint)) {
        let normal = input.rotation.column(2);
        for (_, corner, distance) in self.touching(input) {
            found(ContactPoint {
                distance,
                position: corner - normal * (0.5 * distance),
                normal: -normal,
                // Not the map's to choose.
                tangent: Vec3::X,
            });
        }
    }

    fn vjp(&self, input: &MapInput, points_bar: &[ContactPoint], input_bar: &mut MapInputBar) {
        let normal = input.rotation.column(2);
        for ((share, corner, distance), bar) in self.touching(input).zip(points_bar) {
            let distance_bar = bar.distance - 0.5 * bar.position.dot(normal);
            let normal_bar = (corner - input.position) * distance_bar
                - bar.normal
                - bar.position * (0.5 * distance);
            let corner_bar = bar.position + normal * distance_bar;
            input_bar.position -= normal * distance_bar;
            input_bar.turn += normal.cross(normal_bar);
            input_bar.sizes[0] += corner_bar.component_mul(share);
        }
    }
}

fn mapped(model: Model) -> Model {
    model
        .with_contact_map([1, 0], Arc::new(Corners::of_box()))
        .unwrap()
}

/// A box that is tilted, with one to four corners in a tilted plane.
fn points() -> Vec<Point> {
    let plane = r#"type="plane" size="2 2 1" euler="4 7 0" pos=".1 .2 -.05""#;
    let model = scene(plane, r#"type="box" size=".1 .13 .16""#, "");
    let mut random = Random::new(8);
    let mut found = Vec::new();
    while found.len() < 8 {
        let mut state = State::reference(&model);
        let Quat(quat) = random.quat();
        state.qpos[..3].copy_from_slice(&[0.1 * random.next(), 0.1 * random.next(), 0.1]);
        state.qpos[3..7].copy_from_slice(&quat);
        state.qvel = random.vector(6);
        let point = point(model.clone(), state);
        let corners = &point.data.collision.contacts;
        // Where more corners touch than the formula takes, both differ by choice.
        if (1..4).contains(&corners.len()) {
            found.push(point);
        }
    }
    found
}

#[test]
fn a_map_finds_the_contacts_of_the_formula() {
    for at in points() {
        let other = point(mapped(at.model.clone()), at.state.clone());
        let [expected, found] = [&at, &other].map(|point| &point.data.collision.contacts);
        assert_eq!(expected.len(), found.len());
        for (expected, found) in expected.iter().zip(found) {
            assert_eq!(found.geoms, [1, 0]);
            assert!((expected.distance - found.distance).abs() < 1e-14);
            assert!((expected.position - found.position).norm() < 1e-14);
            assert!((expected.frame.row(0) + found.frame.row(0)).norm() < 1e-14);
            assert_eq!(expected.friction, found.friction);
        }
    }
}

#[test]
fn gradients_of_a_map_are_those_of_dual_numbers_and_differences() {
    for at in points() {
        let mut model = mapped(at.model);
        // The frames that coincide here part when bodies change.
        Arc::make_mut(&mut model.structure).coincidences.clear();
        let at = point(model, at.state);
        // Poses, sizes, and all at once.
        assert!(check::<Checked>(&at).moving >= 3);
        step_check::check(&at);
    }
}

#[test]
fn maps_that_cannot_be_are_refused() {
    let text = |law: &str| {
        format!(
            r#"<mujoco><worldbody><geom type="plane" size="1 1 1" condim="1"/>
              <body pos="0 0 1"><freejoint/><geom name="b" type="box" size=".1 .1 .1" condim="1"/></body></worldbody>
              <custom><text name="carom/contact/b" data="{law}; geom1=b"/></custom></mujoco>"#
        )
    };
    let refused = |law: &str, geoms: [usize; 2]| {
        let model = model_from_mjcf(&text(law));
        model
            .with_contact_map(geoms, Arc::new(Corners::of_box()))
            .err()
    };
    assert_eq!(refused("law=soft", [1, 0]), None);
    assert_eq!(refused("law=hunt_crossley", [0, 1]), None);
    let cases = [
        ("law=soft", [0, 2], ErrorKind::Name),
        ("law=soft", [1, 1], ErrorKind::Value),
        ("law=impulse", [0, 1], ErrorKind::Unsupported),
        ("law=soft; grid=0.1", [0, 1], ErrorKind::Unsupported),
    ];
    for (law, geoms, expected) in cases {
        let error = refused(law, geoms).unwrap();
        assert_eq!(error.kind(), &expected);
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn the_last_map_of_a_pair_counts() {
    let model = mapped(points().remove(0).model);
    let nothing = Arc::new(Corners { shares: Vec::new() });
    let model = model.with_contact_map([0, 1], nothing).unwrap();
    let state = points().remove(0).state;
    assert!(point(model, state).data.collision.contacts.is_empty());
}
