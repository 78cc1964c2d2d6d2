//! Custom data and keyframes.

use super::Reader;
use super::codes;
use crate::model_spec::{
    KeyframeSpec, ModelSpec, NumericSpec, ObjectReference, TextSpec, TupleElement, TupleSpec,
};
use crate::xml::Element;

/// Largest size of a custom array.
const MAX_NUMERIC: usize = 500;

impl Reader<'_> {
    pub(super) fn read_custom(&self, section: Element<'_>, spec: &mut ModelSpec) {
        for element in self.tree.children(section) {
            let a = self.attributes(element);
            let span = element.span();
            let name = match element.tag() {
                "numeric" | "text" | "tuple" => a.require::<String>("name").unwrap_or_default(),
                _ => continue,
            };
            match element.tag() {
                "numeric" => spec.numerics.extend(self.read_numeric(element, name)),
                "text" if self.read_extension(element, &name, spec) => {}
                "text" => {
                    if let Some(data) = a.require("data") {
                        spec.texts.push(TextSpec { name, span, data });
                    }
                }
                _ => {
                    let elements = self.read_tuple(element);
                    spec.tuples.push(TupleSpec {
                        name,
                        span,
                        elements,
                    });
                }
            }
        }
    }

    fn read_numeric(&self, element: Element<'_>, name: String) -> Option<NumericSpec> {
        let a = self.attributes(element);
        let data: Vec<f64> = a.get("data").unwrap_or_default();
        let size = match a.get::<u32>("size") {
            Some(size) => size as usize,
            None => data.len(),
        };
        if size == 0 || size > MAX_NUMERIC {
            let place = if a.has("size") { "size" } else { "data" };
            a.error(
                codes::VALUE_RANGE,
                place,
                "gives a custom array a size not in 1 … 500",
            );
            return None;
        }
        if data.len() > size {
            a.error(
                codes::VALUE_COUNT,
                "data",
                &format!("needs at most {size} values"),
            );
            return None;
        }
        Some(NumericSpec {
            name,
            span: element.span(),
            size,
            data,
        })
    }

    fn read_tuple(&self, tuple: Element<'_>) -> Vec<TupleElement> {
        let mut list = Vec::new();
        for element in self.tree.children(tuple) {
            if element.tag() != "element" {
                continue;
            }
            let a = self.attributes(element);
            let parameter = a.get("prm").unwrap_or(0.0);
            let object = (a.require("objtype"), a.require("objname"));
            if let (Some(kind), Some(reference)) = object {
                let object = ObjectReference { kind, reference };
                list.push(TupleElement { object, parameter });
            }
        }
        list
    }

    pub(super) fn read_keyframes(&self, section: Element<'_>, spec: &mut ModelSpec) {
        for element in self.tree.children(section) {
            if element.tag() != "key" {
                continue;
            }
            let a = self.attributes(element);
            let mut key = KeyframeSpec {
                span: element.span(),
                ..KeyframeSpec::default()
            };
            a.set("name", &mut key.name);
            a.set("time", &mut key.time);
            a.set("qpos", &mut key.qpos);
            a.set("qvel", &mut key.qvel);
            a.set("act", &mut key.activation);
            a.set("mpos", &mut key.mocap_position);
            a.set("mquat", &mut key.mocap_quaternion);
            a.set("ctrl", &mut key.control);
            if a.has("plastic") {
                let message = "plastic springs are not supported";
                self.problems
                    .unsupported(codes::SPRING_YIELD, a.place("plastic"), message);
            }
            spec.keyframes.push(key);
        }
    }
}
