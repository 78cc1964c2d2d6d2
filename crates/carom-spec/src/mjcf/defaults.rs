//! Default classes.
//!
//! A class holds one prototype per kind of element. A nested class starts as a copy of its parent,
//! taken after the parent's own elements were read; elements start as a copy of the prototype of
//! their class. All kinds of actuator share one prototype.

use std::collections::BTreeMap;

use super::Reader;
use super::{actuator, asset, contact, equality, geom, joint, tendon, viewer};
use super::{attribute::Attributes, codes};
use crate::diagnostic::{Diagnostic, nearest_name};
use crate::model_spec::{
    ActuatorElement, ActuatorSpec, CameraSpec, EqualitySpec, GeomSpec, JointSpec, LightSpec,
    MaterialSpec, MeshSpec, PairSpec, SiteSpec, TendonSpec, TextureSpec,
};
use crate::xml::Element;

/// Most default classes of one model: each holds a prototype of every kind of element.
const MAX_CLASSES: usize = 10_000;

/// Name of the class that all others derive from.
const MAIN: &str = "main";

/// Index of the class that all others derive from.
pub(super) const MAIN_CLASS: usize = 0;

/// The prototypes of one class.
#[derive(Clone, Default)]
pub(super) struct Class {
    pub(super) joint: JointSpec,
    pub(super) geom: GeomSpec,
    pub(super) site: SiteSpec,
    pub(super) camera: CameraSpec,
    pub(super) light: LightSpec,
    pub(super) mesh: MeshSpec,
    pub(super) texture: TextureSpec,
    pub(super) material: MaterialSpec,
    pub(super) pair: PairSpec,
    pub(super) equality: EqualitySpec,
    pub(super) tendon: TendonSpec,
    pub(super) actuator: ActuatorSpec,
}

/// All classes of a model.
pub(super) struct Classes {
    list: Vec<Class>,
    /// Class around each class; that of the outermost is itself.
    parents: Vec<usize>,
    names: BTreeMap<String, usize>,
}

impl Classes {
    /// The nearest prototype from which an actuator of a class inherits its own parameters.
    pub(super) fn inherited_actuator(
        &self,
        element: ActuatorElement,
        mut class: usize,
    ) -> Option<&ActuatorSpec> {
        loop {
            let prototype = &self.list[class].actuator;
            if actuator::inherits(element, prototype) {
                return Some(prototype);
            }
            if class == MAIN_CLASS {
                return None;
            }
            class = self.parents[class];
        }
    }
}

impl Default for Classes {
    fn default() -> Self {
        Self {
            list: vec![Class::default()],
            parents: vec![MAIN_CLASS],
            names: BTreeMap::from([(MAIN.to_owned(), MAIN_CLASS)]),
        }
    }
}

impl std::ops::Index<usize> for Classes {
    type Output = Class;

    fn index(&self, index: usize) -> &Class {
        &self.list[index]
    }
}

impl Reader<'_> {
    /// Reads all sections of defaults.
    pub(super) fn read_defaults(&mut self) {
        for section in self.tree.sections("default") {
            if section
                .value("class")
                .is_some_and(|name| !name.is_empty() && name != MAIN)
            {
                let message = "must be 'main' or absent on the outermost level";
                self.attributes(section)
                    .error(codes::DEFAULT_CLASS, "class", message);
            }
            // Nested classes are read in order, each after its parent.
            let mut open = vec![(section, None)];
            while let Some((element, parent)) = open.pop() {
                let class = match parent {
                    None => MAIN_CLASS,
                    Some(parent) => self.add_class(element, parent),
                };
                let children = self.tree.children(element);
                for child in &children {
                    self.read_prototype(*child, class);
                }
                let nested = children
                    .into_iter()
                    .filter(|child| child.tag() == "default");
                let first = open.len();
                open.extend(nested.map(|child| (child, Some(class))));
                open[first..].reverse();
            }
        }
    }

    fn add_class(&mut self, element: Element<'_>, parent: usize) -> usize {
        if self.classes.list.len() >= MAX_CLASSES {
            let message = format!("more than {MAX_CLASSES} default classes");
            self.problems
                .error(codes::TOO_LARGE, element.span(), message);
            return parent;
        }
        let index = self.classes.list.len();
        let prototype = self.classes.list[parent].clone();
        self.classes.list.push(prototype);
        self.classes.parents.push(parent);
        let a = Attributes::new(element, self.problems);
        match element.value("class").unwrap_or_default() {
            "" => {
                let message = "a nested <default> needs a class name";
                self.problems
                    .error(codes::DEFAULT_CLASS, element.span(), message);
            }
            name if self.classes.names.contains_key(name) => {
                a.error(
                    codes::DEFAULT_CLASS,
                    "class",
                    &format!("repeats the class '{name}'"),
                );
            }
            name => {
                self.classes.names.insert(name.to_owned(), index);
            }
        }
        index
    }

    fn read_prototype(&mut self, element: Element<'_>, class: usize) {
        let (notation, tree) = (self.notation, self.tree);
        let a = Attributes::new(element, self.problems);
        let index = class;
        let class = &mut self.classes.list[index];
        match element.tag() {
            "mesh" => asset::read_mesh_attributes(&a, &mut class.mesh),
            "texture" => viewer::read_texture(&a, &mut class.texture),
            "material" => viewer::read_material(&a, tree, &mut class.material),
            "joint" => joint::read(&a, &mut class.joint),
            "geom" => geom::read(&a, notation, &mut class.geom),
            "site" => geom::read_site(&a, notation, &mut class.site),
            "camera" => viewer::read_camera(&a, notation, &mut class.camera),
            "light" => viewer::read_light(&a, &mut class.light),
            "pair" => contact::read_pair(&a, &mut class.pair),
            "equality" => equality::read_common(&a, &mut class.equality),
            "tendon" => tendon::read_common(&a, &mut class.tendon),
            tag => {
                if let Some(kind) = actuator::element_kind(tag) {
                    let mut prototype = class.actuator.clone();
                    let inherited = self.classes.inherited_actuator(kind, index);
                    actuator::read(&a, kind, inherited, &mut prototype);
                    self.classes.list[index].actuator = prototype;
                }
            }
        }
    }

    /// The class that an attribute names; `None` when it names none.
    pub(super) fn named_class(&self, element: Element<'_>, attribute: &str) -> Option<usize> {
        let name = element.value(attribute)?;
        let found = self.classes.names.get(name).copied();
        if found.is_none() && !self.problems.is_full() {
            let message = format!("default class '{name}' is not defined");
            let place = self.attributes(element).place(attribute);
            let mut diagnostic = Diagnostic::error(codes::UNKNOWN_CLASS, message).at(place);
            let known = self.classes.names.keys().map(String::as_str);
            if let Some(near) = nearest_name(name, known) {
                diagnostic = diagnostic.help(format!("did you mean '{near}'?"));
            }
            self.problems.push(diagnostic);
        }
        found
    }

    /// The class of an element outside the tree of bodies.
    pub(super) fn class_of(&self, element: Element<'_>) -> &Class {
        &self.classes[self.named_class(element, "class").unwrap_or(MAIN_CLASS)]
    }
}
