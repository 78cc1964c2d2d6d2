//! What differs between two models: numbers by name, in units, and everything discrete in words.
//!
//! Elements are matched by their names, those without by their order among such. Numbers go by the table of
//! [quantities](carom::quantity): each is called as parameters are, `joint.elbow.damping[0]`, and what follows from others
//! is left out. Inertias of bodies count as given ones, wherever a file has them from.
//!
//! ```
//! # use carom_spec::builder;
//! let load = |text: &str| {
//!     let files = carom_spec::MemorySource::new().with("model.xml", text);
//!     let read = carom_spec::read::read("model.xml".as_ref(), &files, &Default::default());
//!     carom::load::compiled(read).unwrap().model
//! };
//! let text = "<mujoco><worldbody><body name='rod'><joint name='pivot' damping='0.1'/><geom size='1'/></body></worldbody></mujoco>";
//! let found = carom_tasks::diff::diff(&load(text), &load(&text.replace("0.1", "0.2")));
//! assert_eq!(found.numbers[0].name, "joint.pivot.damping[0]");
//! assert_eq!((found.numbers[0].old, found.numbers[0].new), (0.1, 0.2));
//! assert_eq!(found.numbers[0].unit, "N·m·s/rad");
//! assert!(found.structure.is_empty());
//! ```

use std::collections::BTreeMap;
use std::fmt::Debug;

use carom::Model;
use carom::model::{GeomShape, JointKind, Structure};
use carom::quantity::{Attribute, ElementKind, Over, Quantity, Role};

/// Numbers that differ by less than this part are the same: files round, and convert angles.
const SAME: f64 = 1e-12;
/// More numbers of one attribute of one element than this are summed up.
const MAX_LISTED: usize = 12;

/// What differs between two models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// Everything discrete, in sentences.
    pub structure: Vec<String>,
    /// Numbers, in the order of the table of quantities.
    pub numbers: Vec<Change>,
    /// Attributes of which many numbers differ, such as the vertices of a mesh.
    pub many: Vec<ManyChanges>,
}

impl Difference {
    /// Whether the models are the same.
    pub fn is_empty(&self) -> bool {
        self.structure.is_empty() && self.numbers.is_empty() && self.many.is_empty()
    }
}

/// A number that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Element and attribute, as parameters are called.
    pub name: String,
    /// What the quantity is.
    pub about: &'static str,
    /// Its unit.
    pub unit: String,
    /// In the first model.
    pub old: f64,
    /// In the second.
    pub new: f64,
}

impl Change {
    /// The second over the first; none where that says nothing.
    pub fn ratio(&self) -> Option<f64> {
        let ratio = self.new / self.old;
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }
}

/// Many numbers of one attribute that differ.
#[derive(Clone, Debug, PartialEq)]
pub struct ManyChanges {
    /// Element and attribute.
    pub name: String,
    /// The unit.
    pub unit: String,
    /// How many numbers differ, and of how many.
    pub count: [usize; 2],
    /// The greatest difference.
    pub greatest: f64,
}

/// Compares two models.
pub fn diff(old: &Model, new: &Model) -> Difference {
    let mut found = Difference::default();
    settings(old, new, &mut found.structure);
    for &kind in ElementKind::ALL {
        let elements = matched(kind, [old, new], &mut found.structure);
        for pair in &elements {
            structure_of(kind, [old, new], pair, &mut found.structure);
        }
        let mut offset: BTreeMap<&str, usize> = BTreeMap::new();
        for &quantity in Quantity::ALL {
            let row = quantity.row();
            let Some(attribute) = row.attribute.filter(|own| own.element == kind) else {
                continue;
            };
            // Quantities of the same attribute follow each other in it.
            let first = *offset.entry(attribute.name).or_insert(0);
            let width = attribute.components.map_or(row.width, |(_, count)| count);
            *offset.entry(attribute.name).or_insert(0) += width;
            if !matches!(row.role, Role::Derived(_)) {
                let of = |model| by_element(model, quantity, attribute);
                let numbers = [of(old), of(new)];
                for pair in &elements {
                    compare(
                        quantity,
                        (attribute, first),
                        (old, pair),
                        &numbers,
                        &mut found,
                    );
                }
            }
        }
    }
    found
}

/// An element of both models.
struct Pair {
    /// Name in selectors.
    name: String,
    ids: [usize; 2],
}

/// Elements of both models, by their names; says which are in one alone.
fn matched(kind: ElementKind, models: [&Model; 2], words: &mut Vec<String>) -> Vec<Pair> {
    let labels = models.map(|model| labels(kind, model));
    let find: BTreeMap<&str, usize> = labels[1].iter().map(String::as_str).zip(0..).collect();
    let mut pairs = Vec::new();
    for (id, name) in labels[0].iter().enumerate() {
        match find.get(name.as_str()) {
            Some(&other) => pairs.push(Pair {
                name: name.clone(),
                ids: [id, other],
            }),
            None => words.push(format!(
                "{} {name} is in the first model alone",
                kind.name()
            )),
        }
    }
    for name in labels[1].iter().filter(|name| !labels[0].contains(name)) {
        words.push(format!(
            "{} {name} is in the second model alone",
            kind.name()
        ));
    }
    let is_sorted = pairs.is_sorted_by_key(|pair| pair.ids[1]);
    if !is_sorted {
        words.push(format!(
            "elements of kind {} have another order",
            kind.name()
        ));
    }
    pairs
}

/// Names of all elements of a kind; the place among those without where there is none.
fn labels(kind: ElementKind, model: &Model) -> Vec<String> {
    let names = kind.names(&model.structure.names);
    let mut unnamed = 0;
    let label = |id: usize| match names.and_then(|names| names.get(id)) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => {
            unnamed += 1;
            format!("{}", unnamed - 1)
        }
    };
    (0..kind.count(model.counts())).map(label).collect()
}

/// The numbers of a quantity that belong to each element of the file.
fn by_element(model: &Model, quantity: Quantity, attribute: Attribute) -> Vec<Vec<f64>> {
    let structure = &*model.structure;
    let width = quantity.row().width;
    let (first, count) = attribute.components.unwrap_or((0, width));
    let numbers = model.numbers(quantity);
    let rows: Vec<&[f64]> = numbers
        .chunks(width.max(1))
        .map(|row| &row[first..first + count])
        .collect();
    let ranges = |ranges: &[std::ops::Range<usize>]| -> Vec<Vec<f64>> {
        let of = |range: &std::ops::Range<usize>| rows.get(range.clone()).unwrap_or(&[]).concat();
        ranges.iter().map(of).collect()
    };
    let joints = 0..structure.joints.kind.len();
    match attribute.over {
        Over::Element => rows.iter().map(|row| row.to_vec()).collect(),
        // All degrees of freedom have one value.
        Over::Dofs => joints
            .map(|joint| rows[structure.joints.dof[joint]].to_vec())
            .collect(),
        Over::Coordinate => joints
            .map(|joint| rows[structure.joints.qpos[joint]].to_vec())
            .collect(),
        Over::Vertices => ranges(&structure.meshes.vertices),
        Over::Elevations => ranges(&structure.height_fields.values),
        Over::Wraps => ranges(&structure.tendons.wraps),
        Over::Weights => {
            let weights = structure.learned.terms.iter();
            ranges(&weights.map(|term| term.weights.clone()).collect::<Vec<_>>())
        }
    }
}

fn compare(
    quantity: Quantity,
    (attribute, offset): (Attribute, usize),
    (model, pair): (&Model, &Pair),
    numbers: &[Vec<Vec<f64>>; 2],
    found: &mut Difference,
) {
    let row = quantity.row();
    let [Some(old), Some(new)] = [0, 1].map(|side| numbers[side].get(pair.ids[side])) else {
        return;
    };
    let name = if attribute.element == ElementKind::Option {
        format!("option.{}", attribute.name)
    } else {
        format!(
            "{}.{}.{}",
            attribute.element.name(),
            pair.name,
            attribute.name
        )
    };
    if old.len() != new.len() {
        let counts = [old.len(), new.len()];
        found.structure.push(format!(
            "{name} has {} numbers, had {}",
            counts[1], counts[0]
        ));
        return;
    }
    // A quaternion and its negative are one rotation.
    let is_turned =
        row.is_unit_vector && old.len() == 4 && old.iter().zip(new).all(|(a, b)| same(*a, -b));
    let changed = old
        .iter()
        .zip(new)
        .enumerate()
        .filter(|(_, (old, new))| !same(**old, **new));
    let changed: Vec<(usize, (&f64, &f64))> = changed.collect();
    if is_turned || changed.is_empty() {
        return;
    }
    if changed.len() > MAX_LISTED {
        let apart = changed.iter().map(|(_, (old, new))| (*old - *new).abs());
        found.many.push(ManyChanges {
            name,
            unit: unit(quantity, model, pair.ids[0], 0),
            count: [changed.len(), old.len()],
            greatest: apart.fold(0.0, f64::max),
        });
        return;
    }
    let others = Quantity::ALL
        .iter()
        .filter_map(|other| other.row().attribute);
    let is_shared = others
        .filter(|own| (own.element, own.name) == (attribute.element, attribute.name))
        .count()
        > 1;
    for (component, (&old, &new)) in changed {
        let index = offset + component;
        let is_single = numbers[0][pair.ids[0]].len() == 1 && !is_shared;
        let name = if is_single {
            name.clone()
        } else {
            format!("{name}[{index}]")
        };
        found.numbers.push(Change {
            name,
            about: row.about.trim(),
            unit: unit(quantity, model, pair.ids[0], component),
            old,
            new,
        });
    }
}

fn same(old: f64, new: f64) -> bool {
    old == new
        || (old - new).abs() <= SAME * old.abs().max(new.abs())
        || (old.is_nan() && new.is_nan())
}

/// The unit of a component: that for what slides, or for what turns, where the table has both.
fn unit(quantity: Quantity, model: &Model, element: usize, component: usize) -> String {
    let row = quantity.row();
    let mut units = row.unit.split(", ");
    let last = units.clone().last().unwrap_or_default();
    let unit = units.nth(component).unwrap_or(last);
    let kind = match row.attribute.map(|attribute| attribute.element) {
        Some(ElementKind::Joint) => model.structure.joints.kind.get(element),
        _ => None,
    };
    match (unit.split_once(" or "), kind) {
        (Some((sliding, _)), Some(JointKind::Slide)) => sliding.to_owned(),
        (Some((_, turning)), Some(JointKind::Hinge | JointKind::Ball)) => turning.to_owned(),
        _ => unit.to_owned(),
    }
}

/// Choices of how to simulate, as far as they differ.
fn settings(old: &Model, new: &Model, words: &mut Vec<String>) {
    let [old, new] = [old, new].map(|model| format!("{:#?}", model.settings));
    for (old, new) in old.lines().zip(new.lines()) {
        let [old, new] = [old, new].map(|line| line.trim().trim_end_matches(','));
        if old != new {
            let value = |line: &str| {
                line.split_once(": ")
                    .map_or(line, |(_, value)| value)
                    .to_owned()
            };
            let name = old.split_once(": ").map_or("a setting", |(name, _)| name);
            words.push(format!("{name} is {}, was {}", value(new), value(old)));
        }
    }
}

/// What is discrete about an element.
fn structure_of(kind: ElementKind, models: [&Model; 2], pair: &Pair, words: &mut Vec<String>) {
    let mut tell = |what: &str, of: &dyn Fn(&Structure, usize) -> String| {
        let [old, new] = [0, 1].map(|side| of(&models[side].structure, pair.ids[side]));
        if old != new {
            let element = kind.name();
            words.push(format!(
                "{what} of {element} {} is {new}, was {old}",
                pair.name
            ));
        }
    };
    let body = |structure: &Structure, body: usize| structure.names.bodies[body].clone();
    match kind {
        ElementKind::Body => tell("the parent", &|s, id| body(s, s.bodies.parent[id])),
        ElementKind::Joint => {
            tell("the kind", &|s, id| word(&s.joints.kind[id]));
            tell("the body", &|s, id| body(s, s.joints.body[id]));
            tell("limited", &|s, id| word(&s.joints.limited[id]));
        }
        ElementKind::Geom => {
            tell("the kind", &|s, id| word(&s.geoms.kind[id]));
            tell("the body", &|s, id| body(s, s.geoms.body[id]));
            tell("the mesh", &|s, id| match s.geoms.shape[id] {
                GeomShape::Mesh(mesh) => s.names.meshes[mesh].clone(),
                GeomShape::HeightField(field) => s.names.height_fields[field].clone(),
                GeomShape::Primitive => "none".to_owned(),
            });
            tell("condim", &|s, id| word(&s.geoms.condim[id]));
            tell("contype", &|s, id| word(&s.geoms.contype[id]));
            tell("conaffinity", &|s, id| word(&s.geoms.conaffinity[id]));
            tell("the priority", &|s, id| word(&s.geoms.priority[id]));
        }
        ElementKind::Site => tell("the body", &|s, id| body(s, s.sites.body[id])),
        ElementKind::Pair => {
            let geoms = |s: &Structure, id: usize| [s.pairs.geom1[id], s.pairs.geom2[id]];
            tell("the geoms", &|s, id| {
                word(&geoms(s, id).map(|geom| s.names.geoms[geom].clone()))
            });
            tell("condim", &|s, id| word(&s.pairs.condim[id]));
        }
        ElementKind::Tendon => tell("limited", &|s, id| word(&s.tendons.limited[id])),
        ElementKind::Actuator => {
            tell("the gain", &|s, id| word(&s.actuators.gain[id]));
            tell("the bias", &|s, id| word(&s.actuators.bias[id]));
            tell("the dynamics", &|s, id| word(&s.actuators.dynamics[id]));
            tell("ctrllimited", &|s, id| {
                word(&s.actuators.control_limited[id])
            });
            tell("forcelimited", &|s, id| {
                word(&s.actuators.force_limited[id])
            });
        }
        _ => {}
    }
}

fn word(value: &impl Debug) -> String {
    format!("{value:?}").to_lowercase()
}
