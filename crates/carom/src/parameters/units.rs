//! Units of parameters.
//!
//! The catalogue lists the units of an attribute's components; the last one holds for all that follow. Those of joints are given for joints
//! that slide "or" turn.

use super::resolve::Element;
use crate::model::{JointKind, Structure, Transmission};
use crate::quantity::{ElementKind, unit_of_component};

/// The unit of a component of some elements. Where they are joints that slide and turn, or act on both, it names both.
pub(super) fn unit(structure: &Structure, elements: &[Element], component: usize) -> &'static str {
    let Some(first) = elements.first() else {
        return "";
    };
    let own = unit_of_component(first.attribute.unit, component);
    let Some((sliding, turning)) = own.split_once(" or ") else {
        return own;
    };
    let is_sliding = |element: &Element| {
        let joint = joint_of(structure, element)?;
        match structure.joints.kind[joint] {
            JointKind::Slide => Some(true),
            JointKind::Hinge | JointKind::Ball => Some(false),
            JointKind::Free => None,
        }
    };
    match is_sliding(first) {
        Some(slides) if elements.iter().all(|one| is_sliding(one) == Some(slides)) => {
            if slides {
                sliding
            } else {
                turning
            }
        }
        _ => own,
    }
}

/// The joint whose motion an element's numbers are about.
fn joint_of(structure: &Structure, element: &Element) -> Option<usize> {
    match element.attribute.element {
        ElementKind::Joint => Some(element.id),
        ElementKind::Actuator => match structure.actuators.transmission[element.id] {
            Transmission::Joint(joint) => Some(joint),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Parameters;
    use crate::testing::model_from_mjcf;

    fn units(selectors: &[&str]) -> Vec<&'static str> {
        let model = model_from_mjcf(
            "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/>
               <body><joint name='lift' type='slide' damping='1'/><geom name='cart' size='0.1'/>
                 <body pos='0 0 1'><joint name='turn' damping='1' limited='true' range='-1 1'/><geom name='bob' size='0.1'/></body></body></worldbody>
             <actuator><position name='a' joint='lift' kp='1'/><position name='b' joint='turn' kp='1'/></actuator></mujoco>",
        );
        let parameters = Parameters::select(&model, selectors).unwrap();
        parameters.units().collect()
    }

    #[test]
    fn components_have_their_own() {
        let impedance = ["1", "1", "m", "1", "1"];
        assert_eq!(units(&["geom.bob.solimp"]), impedance);
        assert_eq!(units(&["geom.*.solimp tied"]), impedance);
        assert_eq!(units(&["geom.bob.solimp[2] tied"]), ["m"]);
        assert_eq!(units(&["geom.bob.solref"]), ["s", "1"]);
        assert_eq!(units(&["geom.bob.friction"]), ["1", "m", "m"]);
        assert_eq!(units(&["geom.bob.pos"]), ["m", "m", "m"]);
    }

    #[test]
    fn joints_that_slide_and_turn_differ() {
        assert_eq!(units(&["joint.lift.armature"]), ["kg"]);
        assert_eq!(units(&["joint.turn.armature"]), ["kg·m²"]);
        assert_eq!(units(&["joint.turn.solimplimit[2]"]), ["rad"]);
        assert_eq!(units(&["joint.*.armature"]), ["kg", "kg·m²"]);
        assert_eq!(units(&["joint.*.armature tied"]), ["kg or kg·m²"]);
        assert_eq!(units(&["actuator.*.kp"]), ["N/m", "N·m/rad"]);
    }
}
