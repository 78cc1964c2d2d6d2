//! Contact pairs and exclusions.

use super::Reader;
use super::attribute::Attributes;
use super::geom::read_contact_dimension;
use crate::model_spec::{ExcludeSpec, ModelSpec, PairSpec, Reference};
use crate::xml::Element;

/// Reads the attributes of a pair over the values of its class.
pub(super) fn read_pair(a: &Attributes<'_, '_>, pair: &mut PairSpec) {
    a.set("name", &mut pair.name);
    a.set("geom1", &mut pair.geom1);
    a.set("geom2", &mut pair.geom2);
    read_contact_dimension(a, &mut pair.contact_dimension);
    a.set_leading("friction", &mut pair.friction);
    a.set_leading("solref", &mut pair.solver_reference);
    a.set_leading("solreffriction", &mut pair.friction_solver_reference);
    a.set_leading("solimp", &mut pair.solver_impedance);
    a.set("gap", &mut pair.gap);
    a.set("margin", &mut pair.margin);
    a.set("adhesion", &mut pair.adhesion);
}

impl Reader<'_> {
    pub(super) fn read_contacts(&self, section: Element<'_>, spec: &mut ModelSpec) {
        for element in self.tree.children(section) {
            let a = self.attributes(element);
            match element.tag() {
                "pair" => {
                    let mut pair = self.class_of(element).pair.clone();
                    pair.span = element.span();
                    read_pair(&a, &mut pair);
                    for name in ["geom1", "geom2"] {
                        a.require::<Reference>(name);
                    }
                    spec.pairs.push(pair);
                }
                "exclude" => {
                    let mut name = String::new();
                    a.set("name", &mut name);
                    let bodies = (a.require("body1"), a.require("body2"));
                    if let (Some(body1), Some(body2)) = bodies {
                        spec.excludes.push(ExcludeSpec {
                            name,
                            span: element.span(),
                            body1,
                            body2,
                        });
                    }
                }
                _ => {}
            }
        }
    }
}
