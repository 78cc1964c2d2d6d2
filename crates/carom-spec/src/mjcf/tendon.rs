//! Tendons.

use super::Reader;
use super::attribute::Attributes;
use super::codes;
use crate::model_spec::{ModelSpec, TendonPath, TendonSpec, WrapSpec};
use crate::xml::Element;

/// Reads the attributes of a tendon over the values of its class.
pub(super) fn read_common(a: &Attributes<'_, '_>, tendon: &mut TendonSpec) {
    a.set("name", &mut tendon.name);
    a.set("group", &mut tendon.group);
    a.set("limited", &mut tendon.limited);
    a.set("actuatorfrclimited", &mut tendon.actuator_force_limited);
    a.set_range("range", &mut tendon.range);
    a.set_range("actuatorfrcrange", &mut tendon.actuator_force_range);
    a.set_leading("solreflimit", &mut tendon.limit_solver_reference);
    a.set_leading("solimplimit", &mut tendon.limit_solver_impedance);
    a.set_leading("solreffriction", &mut tendon.friction_solver_reference);
    a.set_leading("solimpfriction", &mut tendon.friction_solver_impedance);
    a.set("frictionloss", &mut tendon.friction_loss);
    let mut lengths = [0.0; 2];
    match a.set_leading("springlength", &mut lengths) {
        0 => {}
        1 => tendon.spring_length = automatic_length([lengths[0]; 2]),
        _ => tendon.spring_length = automatic_length(lengths),
    }
    a.set("springyield", &mut tendon.spring_yield);
    a.set("width", &mut tendon.width);
    a.set("material", &mut tendon.material);
    a.set("margin", &mut tendon.margin);
    a.set_leading("stiffness", &mut tendon.stiffness);
    a.set_leading("damping", &mut tendon.damping);
    a.set("armature", &mut tendon.armature);
    a.set("rgba", &mut tendon.rgba);
    a.set("user", &mut tendon.user);
}

/// Minus one stands for the length in the initial configuration.
fn automatic_length(lengths: [f64; 2]) -> Option<[f64; 2]> {
    (lengths != [-1.0; 2]).then_some(lengths)
}

impl Reader<'_> {
    pub(super) fn read_tendons(&self, section: Element<'_>, spec: &mut ModelSpec) {
        for element in self.tree.children(section) {
            let path = match element.tag() {
                "spatial" => TendonPath::Spatial(self.read_path(element)),
                "fixed" => self.read_fixed(element),
                _ => continue,
            };
            let mut tendon = self.class_of(element).tendon.clone();
            tendon.span = element.span();
            tendon.path = path;
            read_common(&self.attributes(element), &mut tendon);
            if std::mem::take(&mut tendon.spring_yield) != 0.0 {
                let message = "plastic springs (springyield) are not supported";
                self.problems
                    .unsupported(codes::SPRING_YIELD, tendon.span, message);
            }
            spec.tendons.push(tendon);
        }
    }

    fn read_path(&self, tendon: Element<'_>) -> Vec<WrapSpec> {
        let mut path = Vec::new();
        for element in self.tree.children(tendon) {
            let a = self.attributes(element);
            let span = element.span();
            path.extend(match element.tag() {
                "site" => a.require("site").map(|site| WrapSpec::Site { site, span }),
                "geom" => {
                    let side_site = a.get("sidesite");
                    a.require("geom").map(|geom| WrapSpec::Geom {
                        geom,
                        side_site,
                        span,
                    })
                }
                "pulley" => a
                    .require("divisor")
                    .map(|divisor| WrapSpec::Pulley { divisor, span }),
                _ => None,
            });
        }
        path
    }

    fn read_fixed(&self, tendon: Element<'_>) -> TendonPath {
        let mut terms = Vec::new();
        for element in self.tree.children(tendon) {
            if element.tag() == "joint" {
                let a = self.attributes(element);
                if let (Some(joint), Some(coefficient)) = (a.require("joint"), a.require("coef")) {
                    terms.push((joint, coefficient));
                }
            }
        }
        TendonPath::Fixed(terms)
    }
}
