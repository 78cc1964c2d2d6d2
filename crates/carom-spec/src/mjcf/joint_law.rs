//! Laws of joints in `<custom>`: texts that MuJoCo reads and ignores.
//!
//! ```xml
//! <custom>
//!   <text name="carom/joint/motor" data="law=cogging; joint=elbow; cogging=0.02; cogging_periods=12"/>
//! </custom>
//! ```
//!
//! Each text puts one law on one joint that slides or turns. The names of laws are those of [`JointLawKind`], their keys
//! those of their numbers. A joint may have several laws whose numbers have different names.

use super::codes;
use super::extension::{self, Data, Extension};
use crate::model_spec::{JointLawKind, JointLawSpec, ModelSpec};

/// The family of the texts.
const FAMILY: &str = "joint";

impl Extension<'_, '_> {
    /// Reads a law of a joint.
    pub(super) fn read_joint_law(&self, spec: &mut ModelSpec) {
        if spec.joint_laws.iter().any(|law| law.name == self.label) {
            let message = format!("two laws of joints are called '{}'", self.name);
            let problems = &self.reader.problems;
            problems.error(codes::REPEATED_NAME, self.place, message);
        }
        let all = JointLawKind::ALL;
        let name = |kind: JointLawKind| kind.description().name;
        let Some(kind) = self.kind(("law", "a law of joints"), all, name) else {
            return;
        };
        let own = kind.description().numbers.iter();
        let keys = ["law", "joint"].into_iter();
        let keys = keys.chain(own.clone().map(|own| own.name));
        self.check_keys("law of joints", &keys);
        let Some(joint) = self.reference("joint", "joint") else {
            let message = format!("'{}' does not say which joint it is for", self.name);
            self.refuse(message, "give it a 'joint'");
            return;
        };
        let mut numbers = kind.defaults();
        for (own, number) in own.zip(&mut numbers) {
            self.number(own.name, number);
        }
        spec.joint_laws.push(JointLawSpec {
            name: self.label.to_owned(),
            span: self.span,
            kind,
            joint,
            numbers,
        });
    }
}

/// Name and text of the element that says what the law says.
pub(super) fn write(law: &JointLawSpec) -> (String, String) {
    let description = law.kind.description();
    let mut data = Data::default();
    data.push("law", description.name);
    data.push("joint", &law.joint.name);
    for (own, &number) in description.numbers.iter().zip(&law.numbers) {
        data.numbers(own.name, &[number], &[own.default]);
    }
    (extension::name(FAMILY, &law.name), data.0)
}
