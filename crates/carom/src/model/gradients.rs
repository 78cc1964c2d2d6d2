//! What of a model has no backward pass.

use super::Model;
use crate::scalar::Scalar;

impl<T: Scalar> Model<T> {
    /// Why a backward pass through whole steps of this model would be wrong, in a sentence; none if nothing is in its
    /// way. Derivatives over dual numbers do not have these limits.
    pub fn gradient_refusal(&self) -> Option<String> {
        let part = if self.settings.noslip_iterations > 0 {
            "the noslip sweeps (noslip_iterations)".to_owned()
        } else {
            return None;
        };
        Some(format!("there is no backward pass yet through {part}"))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::model_from_mjcf;

    fn refusal(option: &str, rest: &str) -> Option<String> {
        let model = model_from_mjcf(&format!(
            r#"<mujoco><option {option}/><worldbody><geom type="plane" size="1 1 1"/>
              <body pos="0 0 1"><joint name="j" type="slide" axis="0 0 1"/><geom size="0.1"/></body></worldbody>
              {rest}</mujoco>"#
        ));
        model.gradient_refusal()
    }

    #[test]
    fn what_has_no_backward_pass_is_named() {
        let motor =
            |more: &str| format!(r#"<actuator><motor name="m" joint="j" {more}/></actuator>"#);
        let law = |law: &str| {
            format!(r#"<custom><text name="carom/contact" data="law={law}"/></custom>"#)
        };
        let held = r#"<equality><joint joint1="j"/></equality>"#;
        let sentence = refusal(r#"noslip_iterations="3""#, "").unwrap_or_default();
        assert!(sentence.contains("noslip"), "'{sentence}'");
        for history in ["", r#"nsample="3" delay="0.004""#] {
            assert_eq!(refusal("", &motor(history)), None);
        }
        for kind in ["soft", "complementarity", "hunt_crossley"] {
            assert_eq!(refusal("", &(law(kind) + held)), None);
        }
    }
}
