//! Contact laws: which contacts they hold for, and what is refused.

use std::path::Path;

use carom_spec::mjcf;
use carom_spec::model_spec::{ContactLaw, LawValue};
use carom_spec::source::{MemorySource, SourceMap};

use crate::compile::compile;
use crate::model::{Counts, LawKind, LawLevel, LawNumbers, Model};
use crate::testing::model_from_mjcf;

/// A plane and two balls with an option element and custom texts.
fn text(option: &str, custom: &str) -> String {
    format!(
        r#"<mujoco><option {option}/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
          <body><freejoint/><geom name="a" size="0.1"/></body>
          <body><freejoint/><geom name="b" type="box" size="0.1 0.1 0.1" condim="4"/></body></worldbody>
          <custom>{custom}</custom></mujoco>"#
    )
}

/// The messages and the advice of all errors.
fn refusals(option: &str, custom: &str) -> Vec<String> {
    let path = Path::new("laws.xml");
    let files = MemorySource::new().with(path, text(option, custom));
    let (settings, mut sources) = (mjcf::ReadSettings::default(), SourceMap::new());
    let (spec, problems) = mjcf::read(path, &files, &settings, &mut sources);
    assert!(problems.is_empty(), "{problems:?}");
    let (model, problems) = compile(&spec);
    assert_eq!(
        model.is_none(),
        problems.iter().any(carom_spec::Diagnostic::is_error)
    );
    problems
        .iter()
        .map(|problem| format!("{}: {}", problem.code, problem.message))
        .collect()
}

fn law(label: &str, data: &str) -> String {
    format!(r#"<text name="carom/contact{label}" data="{data}"/>"#)
}

#[test]
fn the_closest_law_wins() {
    let custom = [
        law("/pair", "law=complementarity; geom1=a; geom2=floor"),
        law("", "law=complementarity; restitution=0.3; iterations=7"),
        law("/first", "law=complementarity; geom1=a"),
        law("/second", "law=complementarity; geom1=a"),
    ];
    let model: Model = model_from_mjcf(&text("", &custom.concat()));
    let laws = &model.structure.laws;
    let geom = |name: &str| {
        model
            .structure
            .names
            .geoms
            .iter()
            .position(|n| n == name)
            .unwrap()
    };
    let label = |first: &str, second: &str| {
        let law = laws.find([geom(first), geom(second)]).unwrap();
        laws.label[law].as_str()
    };
    assert_eq!(label("floor", "a"), "pair");
    assert_eq!(label("b", "a"), "second");
    assert_eq!(label("floor", "b"), "");
    assert_eq!(laws.of_rows, Some(1));
    assert_eq!(laws.iterations[1], 7);
    assert_eq!(model.laws.restitution[1], 0.3);
    let plain = model_from_mjcf(&text("", &law("", "law=soft")));
    assert_eq!(plain.structure.laws.kind_of(Some(0)), LawKind::Soft);
    assert!(!plain.structure.laws.acts_on(LawLevel::Impulse));
}

#[test]
fn nonsense_is_refused_with_a_way_out() {
    let rigid = law("", "law=complementarity");
    let cases = [
        (
            r#"integrator="RK4""#,
            rigid.clone(),
            "C033: the contact law of the model is complementarity, which gives impulses for a whole step, but the \
             integrator is RK4",
        ),
        (
            "",
            law("/a", "law=complementarity; geom1=a"),
            "C033: contact law 'a' is complementarity and the law of all other contacts is soft: a step is solved \
             for impulses or for forces, not for both",
        ),
        (
            "",
            rigid.clone() + &law("/a", "law=soft; geom1=a"),
            "C033: the contact law of the model is complementarity and contact law 'a' is soft: a step is solved \
             for impulses or for forces, not for both",
        ),
        (
            "",
            law("", "law=hunt_crossley"),
            "C033: the contact law of the model has no torsional or rolling friction, but geom 'b' has condim 4",
        ),
        (
            "",
            law("/a", "law=hunt_crossley; geom1=a; grid=0.02"),
            "C033: contact law 'a' asks for a grid on geom 'a', which is not a box with sizes of its own",
        ),
        (
            "",
            law("/a", "law=hunt_crossley; geom1=a; points=0 0 0.2"),
            "C033: a contact point of contact law 'a' lies outside of geom 'a'",
        ),
        (
            "",
            law("/a", "law=hunt_crossley; geom1=c"),
            "C003: contact law 'a' refers to a geom 'c' that does not exist",
        ),
        (
            "",
            law("/a", "law=hunt_crossley; geom1=a; exponent=0.5"),
            "C033: exponent of contact law 'a' must be at least 1, not 0.5",
        ),
        (
            "",
            law("", "law=complementarity; restitution=1.5"),
            "C033: restitution of the contact law of the model must be 0 to 1, not 1.5",
        ),
        (
            "",
            law("/b", "law=soft; geom1=b; grid=1e-9"),
            "C033: a grid of 0.000000001 m in contact law 'b' has no sensible number of points",
        ),
    ];
    for (option, custom, expected) in cases {
        assert_eq!(refusals(option, &custom), [expected]);
    }
    // Force-level contacts go with anything.
    let mixture = rigid + &law("/a", "law=hunt_crossley; geom1=a");
    assert_eq!(refusals("", &mixture), Vec::<String>::new());
    let springs = law("/a", "law=hunt_crossley; geom1=a; geom2=floor");
    assert_eq!(
        refusals(r#"integrator="RK4""#, &springs),
        Vec::<String>::new()
    );
}

/// What compiling and parameters rely on when they look numbers up by the names that laws declare.
#[test]
fn every_number_of_a_law_has_an_array() {
    let counts = Counts {
        nlaw: 1,
        ..Counts::default()
    };
    for &kind in LawKind::ALL {
        for (number, value) in ContactLaw::new(kind).values() {
            let LawValue::Numbers(values) = value else {
                continue;
            };
            let mut held = 0;
            let numbers = LawNumbers::<f64>::zeros(&counts);
            numbers.for_each(|field, _, _, _| held += usize::from(field == number.name));
            assert_eq!(held, values.len(), "{} of {kind:?}", number.name);
        }
    }
}
