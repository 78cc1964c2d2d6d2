//! Contact pairs, exclusions, equality constraints and tendons.

use super::tag::{Output, Tag};
use crate::model_spec::{
    EqualityKind, EqualityObjects, EqualitySpec, ModelSpec, PairSpec, TendonPath, TendonSpec,
    WrapSpec,
};

pub(super) fn write_contacts(out: &mut Output, spec: &ModelSpec) {
    for pair in &spec.pairs {
        out.empty(&pair_tag(pair, &PairSpec::default()));
    }
    for exclude in &spec.excludes {
        out.empty(
            &Tag::new("exclude")
                .text("name", &exclude.name)
                .reference("body1", &exclude.body1)
                .reference("body2", &exclude.body2),
        );
    }
}

/// The attributes that differ from those of `default`.
pub(in super::super) fn pair_tag(pair: &PairSpec, default: &PairSpec) -> Tag {
    Tag::new("pair")
        .text("name", &pair.name)
        .reference("geom1", &pair.geom1)
        .reference("geom2", &pair.geom2)
        .integer_unless("condim", pair.contact_dimension, default.contact_dimension)
        .numbers_unless("friction", &pair.friction, &default.friction)
        .numbers_unless("solref", &pair.solver_reference, &default.solver_reference)
        .numbers_unless(
            "solreffriction",
            &pair.friction_solver_reference,
            &default.friction_solver_reference,
        )
        .numbers_unless("solimp", &pair.solver_impedance, &default.solver_impedance)
        .number_unless("margin", pair.margin, default.margin)
        .number_unless("gap", pair.gap, default.gap)
        .number_unless("adhesion", pair.adhesion, default.adhesion)
}

pub(super) fn write_equalities(out: &mut Output, spec: &ModelSpec) {
    for equality in &spec.equalities {
        out.empty(&equality_tag(equality, &EqualitySpec::default()));
    }
}

/// What it couples, and the attributes that differ from those of `default`.
pub(in super::super) fn equality_tag(equality: &EqualitySpec, default: &EqualitySpec) -> Tag {
    coupling_tag(equality)
        .word_unless("active", equality.active, default.active)
        .numbers_unless(
            "solref",
            &equality.solver_reference,
            &default.solver_reference,
        )
        .numbers_unless(
            "solimp",
            &equality.solver_impedance,
            &default.solver_impedance,
        )
}

fn coupling_tag(equality: &EqualitySpec) -> Tag {
    let named = |tag: &'static str| Tag::new(tag).text("name", &equality.name);
    let identity = [0.0, 1.0, 0.0, 0.0, 0.0];
    match &equality.kind {
        EqualityKind::Connect { objects, anchor } => {
            let tag = objects_of(named("connect"), objects);
            match objects {
                EqualityObjects::Bodies { .. } => tag.numbers("anchor", anchor),
                EqualityObjects::Sites { .. } => tag,
            }
        }
        EqualityKind::Weld {
            objects,
            anchor,
            relative_pose,
            torque_scale,
        } => objects_of(named("weld"), objects)
            .numbers_unless("anchor", anchor, &[0.0; 3])
            .numbers(
                "relpose",
                relative_pose.as_ref().map_or(&[], |pose| &pose[..]),
            )
            .number_unless("torquescale", *torque_scale, 1.0),
        EqualityKind::Joint {
            first,
            second,
            polynomial,
        } => named("joint")
            .reference("joint1", first)
            .reference("joint2", second)
            .leading_unless("polycoef", polynomial, &identity),
        EqualityKind::Tendon {
            first,
            second,
            polynomial,
        } => named("tendon")
            .reference("tendon1", first)
            .reference("tendon2", second)
            .leading_unless("polycoef", polynomial, &identity),
    }
}

fn objects_of(tag: Tag, objects: &EqualityObjects) -> Tag {
    match objects {
        EqualityObjects::Bodies { first, second } => {
            tag.reference("body1", first).reference("body2", second)
        }
        EqualityObjects::Sites { first, second } => {
            tag.reference("site1", first).reference("site2", second)
        }
    }
}

pub(super) fn write_tendons(out: &mut Output, spec: &ModelSpec) {
    for tendon in &spec.tendons {
        match &tendon.path {
            TendonPath::Fixed(joints) => {
                out.open(&tendon_tag(
                    Tag::new("fixed"),
                    tendon,
                    &TendonSpec::default(),
                ));
                for (joint, coefficient) in joints {
                    let tag = Tag::new("joint").reference("joint", joint);
                    out.empty(&tag.number("coef", *coefficient));
                }
            }
            TendonPath::Spatial(path) => {
                let default = TendonSpec::default();
                out.open(
                    &tendon_tag(Tag::new("spatial"), tendon, &default)
                        .number_unless("width", tendon.width, default.width)
                        .reference("material", &tendon.material)
                        .numbers_unless("rgba", &tendon.rgba, &default.rgba),
                );
                for wrap in path {
                    out.empty(&wrap_tag(wrap));
                }
            }
        }
        out.close();
    }
}

fn wrap_tag(wrap: &WrapSpec) -> Tag {
    match wrap {
        WrapSpec::Site { site, .. } => Tag::new("site").reference("site", site),
        WrapSpec::Geom {
            geom, side_site, ..
        } => Tag::new("geom")
            .reference("geom", geom)
            .reference("sidesite", side_site),
        WrapSpec::Pulley { divisor, .. } => Tag::new("pulley").number("divisor", *divisor),
    }
}

/// The attributes of both kinds of tendon that differ from those of `default`.
pub(in super::super) fn tendon_tag(tag: Tag, tendon: &TendonSpec, default: &TendonSpec) -> Tag {
    tag.text("name", &tendon.name)
        .integer_unless("group", tendon.group, default.group)
        .leading_unless("stiffness", &tendon.stiffness, &default.stiffness)
        .numbers(
            "springlength",
            tendon
                .spring_length
                .as_ref()
                .map_or(&[], |range| &range[..]),
        )
        .number_unless("springyield", tendon.spring_yield, default.spring_yield)
        .leading_unless("damping", &tendon.damping, &default.damping)
        .number_unless("frictionloss", tendon.friction_loss, default.friction_loss)
        .numbers_unless(
            "solreffriction",
            &tendon.friction_solver_reference,
            &default.friction_solver_reference,
        )
        .numbers_unless(
            "solimpfriction",
            &tendon.friction_solver_impedance,
            &default.friction_solver_impedance,
        )
        .number_unless("armature", tendon.armature, default.armature)
        .word_unless("limited", tendon.limited, default.limited)
        .numbers_unless("range", &tendon.range, &default.range)
        .number_unless("margin", tendon.margin, default.margin)
        .numbers_unless(
            "solreflimit",
            &tendon.limit_solver_reference,
            &default.limit_solver_reference,
        )
        .numbers_unless(
            "solimplimit",
            &tendon.limit_solver_impedance,
            &default.limit_solver_impedance,
        )
        .word_unless(
            "actuatorfrclimited",
            tendon.actuator_force_limited,
            default.actuator_force_limited,
        )
        .numbers_unless(
            "actuatorfrcrange",
            &tendon.actuator_force_range,
            &default.actuator_force_range,
        )
        .numbers("user", &tendon.user)
}
