//! Links: inertia, collision and visual geometry.

use std::collections::{BTreeMap, BTreeSet};

use super::geometry::GeometryReader;
use super::read::{Context, require_child, unique_child, warn_misspelling};
use crate::mjcf::attribute::Attributes;
use crate::mjcf::orientation::{AngleNotation, IDENTITY, Pose, rotate};
use crate::mjcf::problems::Problems;
use crate::model_spec::{BodySpec, GeomSpec, InertiaSpec, InertialSpec, MeshSpec};
use crate::xml::Element;

type Color = [f64; 4];

/// Reads links one by one and remembers what they share.
pub(super) struct LinkReader<'a> {
    context: &'a Context<'a>,
    geometry: GeometryReader<'a>,
    materials: BTreeMap<String, Color>,
    geom_names: BTreeSet<String>,
}

impl<'a> LinkReader<'a> {
    pub(super) fn new(context: &'a Context<'a>, root: Element<'_>) -> Self {
        Self {
            context,
            geometry: GeometryReader::new(context),
            materials: materials(root, context.problems),
            geom_names: BTreeSet::new(),
        }
    }

    /// Fills a body with the content of its link.
    pub(super) fn read(
        &mut self,
        link: Element<'_>,
        body: &mut BodySpec,
        meshes: &mut Vec<MeshSpec>,
    ) {
        let problems = self.context.problems;
        if let Some(element) = unique_child(link, "inertial", problems) {
            body.inertial = inertial(element, problems);
        }
        // A collision takes the colour of the last visual before it.
        let mut color = None;
        for element in link.children() {
            warn_misspelling(element, &["inertial", "visual", "collision"], problems);
            match element.tag() {
                "visual" => {
                    color = self.color(element).or(color);
                    if !self.context.discard_visual {
                        let geom = GeomSpec {
                            contype: 0,
                            conaffinity: 0,
                            group: 1,
                            density: 0.0,
                            ..GeomSpec::default()
                        };
                        self.geom(element, geom, color, body, meshes);
                    }
                }
                "collision" => self.geom(element, GeomSpec::default(), color, body, meshes),
                _ => {}
            }
        }
    }

    fn geom(
        &mut self,
        element: Element<'_>,
        mut geom: GeomSpec,
        color: Option<Color>,
        body: &mut BodySpec,
        meshes: &mut Vec<MeshSpec>,
    ) {
        let problems = self.context.problems;
        geom.span = element.span();
        geom.rgba = color.unwrap_or(geom.rgba);
        let pose = origin(element, problems);
        (geom.position, geom.quaternion) = (pose.position, pose.quaternion);
        if let Some(name) = element.value("name").filter(|name| !name.is_empty()) {
            if self.geom_names.insert(name.to_owned()) {
                name.clone_into(&mut geom.name);
            } else {
                let message = format!("the name '{name}' is taken; this geom has none");
                problems.warning(super::codes::NO_EFFECT, element.span(), message);
            }
        }
        if self.geometry.read(element, &mut geom, meshes) {
            body.geoms.push(geom);
        }
    }

    /// The colour of a visual: written in place, or that of a named material.
    fn color(&self, visual: Element<'_>) -> Option<Color> {
        let material = unique_child(visual, "material", self.context.problems)?;
        match unique_child(material, "color", self.context.problems) {
            Some(color) => Attributes::new(color, self.context.problems).require("rgba"),
            None => self.materials.get(material.value("name")?).copied(),
        }
    }
}

/// All named colours, wherever they stand; the first of a name counts.
fn materials(root: Element<'_>, problems: &Problems<'_>) -> BTreeMap<String, Color> {
    let mut materials = BTreeMap::new();
    let mut pending = vec![root];
    while let Some(element) = pending.pop() {
        if element.tag() == "material"
            && let Some(name) = element.value("name")
            && !materials.contains_key(name)
            && let Some(color) = element.child("color")
            && let Some(rgba) = Attributes::new(color, problems).require::<Color>("rgba")
        {
            materials.insert(name.to_owned(), rgba);
        }
        let first = pending.len();
        pending.extend(element.children());
        pending[first..].reverse();
    }
    materials
}

/// Position and orientation of an `<origin>`; angles are roll, pitch and yaw about fixed axes.
pub(super) fn origin(element: Element<'_>, problems: &Problems<'_>) -> Pose {
    let mut pose = Pose::IDENTITY;
    if let Some(origin) = unique_child(element, "origin", problems) {
        let a = Attributes::new(origin, problems);
        a.set("xyz", &mut pose.position);
        if let Some(angles) = a.get::<[f64; 3]>("rpy") {
            let notation = AngleNotation {
                degrees: false,
                euler_sequence: *b"XYZ",
            };
            pose.quaternion = notation.euler(angles);
        }
    }
    pose
}

fn inertial(element: Element<'_>, problems: &Problems<'_>) -> Option<InertialSpec> {
    let pose = origin(element, problems);
    let mass = require_child(element, "mass", problems)
        .and_then(|mass| Attributes::new(mass, problems).require::<f64>("value"));
    let matrix = require_child(element, "inertia", problems).and_then(|inertia| {
        let a = Attributes::new(inertia, problems);
        let entries = ["ixx", "iyy", "izz", "ixy", "ixz", "iyz"].map(|name| a.require::<f64>(name));
        let [xx, yy, zz, xy, xz, yz] = entries;
        Some([xx?, yy?, zz?, xy?, xz?, yz?])
    });
    let matrix = matrix?;
    let inertia = if matrix == [0.0; 6] {
        // Many files have zeros for bodies that never move.
        InertiaSpec::Diagonal {
            quaternion: pose.quaternion,
            diagonal: [0.0; 3],
        }
    } else {
        InertiaSpec::Full(rotated(matrix, pose.quaternion))
    };
    Some(InertialSpec {
        span: element.span(),
        position: pose.position,
        mass: mass?,
        inertia,
    })
}

/// R·I·Rᵀ of a symmetric matrix xx, yy, zz, xy, xz, yz.
fn rotated(matrix: [f64; 6], quaternion: [f64; 4]) -> [f64; 6] {
    if quaternion == IDENTITY {
        return matrix;
    }
    let [xx, yy, zz, xy, xz, yz] = matrix;
    // R·I column by column (I is symmetric), then R·(R·I)ᵀ.
    let columns = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]].map(|c| rotate(quaternion, c));
    let row = |i: usize| rotate(quaternion, [columns[0][i], columns[1][i], columns[2][i]]);
    let [x, y, z] = [row(0), row(1), row(2)];
    [x[0], y[1], z[2], x[1], x[2], y[2]]
}
