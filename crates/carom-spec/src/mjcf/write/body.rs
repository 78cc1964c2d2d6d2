//! The tree of bodies with everything attached to them.

use super::tag::{Output, Tag};
use crate::model_spec::with_parents;
use crate::model_spec::{
    BodySpec, CameraSpec, GeomSpec, InertiaSpec, InertialSpec, JointKind, JointSpec, LightSpec,
    SiteSpec,
};

const NO_ROTATION: [f64; 4] = [1.0, 0.0, 0.0, 0.0];

/// Writes the tree depth first, with an explicit stack: specs made by hand can be deep.
pub(super) fn write(out: &mut Output, bodies: &[BodySpec]) {
    let mut children = vec![Vec::new(); bodies.len()];
    for (index, body) in with_parents(bodies) {
        if let Some(list) = children.get_mut(body.parent) {
            list.push(index);
        }
    }
    let Some(world) = bodies.first() else { return };
    out.open(&Tag::new("worldbody"));
    write_content(out, world);
    // The children of every open body that are still to be written, last one first.
    let mut pending: Vec<Vec<usize>> = vec![reversed(&children[0])];
    while let Some(siblings) = pending.last_mut() {
        if let Some(index) = siblings.pop() {
            out.open(&body_tag(&bodies[index], &BodySpec::default()));
            write_content(out, &bodies[index]);
            pending.push(reversed(&children[index]));
        } else {
            out.close();
            pending.pop();
        }
    }
}

fn reversed(list: &[usize]) -> Vec<usize> {
    list.iter().rev().copied().collect()
}

/// The attributes that differ from those of `default`.
pub(in super::super) fn body_tag(body: &BodySpec, default: &BodySpec) -> Tag {
    let tag = Tag::new("body")
        .text("name", &body.name)
        .numbers_unless("pos", &body.position, &default.position)
        .numbers_unless("quat", &body.quaternion, &default.quaternion)
        .word_unless("mocap", body.mocap, default.mocap)
        .number_unless(
            "gravcomp",
            body.gravity_compensation,
            default.gravity_compensation,
        )
        .word_unless("sleep", body.sleep, default.sleep);
    let tag = if body.allow_simple {
        tag
    } else {
        tag.text("simple", "false")
    };
    let tag = if body.allow_fuse {
        tag
    } else {
        tag.text("fuse", "false")
    };
    tag.numbers("user", &body.user)
}

fn write_content(out: &mut Output, body: &BodySpec) {
    if let Some(inertial) = &body.inertial {
        out.empty(&inertial_tag(inertial));
    }
    for joint in &body.joints {
        out.empty(&joint_tag(joint, &JointSpec::default()));
    }
    for geom in &body.geoms {
        out.empty(&geom_tag(geom, &GeomSpec::default()));
    }
    for site in &body.sites {
        out.empty(&site_tag(site, &SiteSpec::default()));
    }
    for camera in &body.cameras {
        out.empty(&camera_tag(camera));
    }
    for light in &body.lights {
        out.empty(&light_tag(light));
    }
}

pub(in super::super) fn inertial_tag(inertial: &InertialSpec) -> Tag {
    let tag = Tag::new("inertial")
        .numbers("pos", &inertial.position)
        .number("mass", inertial.mass);
    match &inertial.inertia {
        InertiaSpec::Diagonal {
            quaternion,
            diagonal,
        } => tag
            .numbers_unless("quat", quaternion, &NO_ROTATION)
            .numbers("diaginertia", diagonal),
        InertiaSpec::Full(matrix) => tag.numbers("fullinertia", matrix),
    }
}

/// The attributes that differ from those of `default`.
pub(in super::super) fn joint_tag(joint: &JointSpec, default: &JointSpec) -> Tag {
    let plain_free = JointSpec {
        name: joint.name.clone(),
        span: joint.span,
        kind: JointKind::Free,
        group: joint.group,
        align: joint.align,
        ..default.clone()
    };
    if *joint == plain_free {
        return Tag::new("freejoint")
            .text("name", &joint.name)
            .integer_unless("group", joint.group, default.group)
            .word_unless("align", joint.align, default.align);
    }
    Tag::new("joint")
        .text("name", &joint.name)
        .word_unless("type", joint.kind, default.kind)
        .integer_unless("group", joint.group, default.group)
        .numbers_unless("pos", &joint.position, &default.position)
        .numbers_unless("axis", &joint.axis, &default.axis)
        .number_unless("ref", joint.reference_value, default.reference_value)
        .leading_unless("stiffness", &joint.stiffness, &default.stiffness)
        .number_unless(
            "springref",
            joint.spring_reference,
            default.spring_reference,
        )
        .number_unless("springyield", joint.spring_yield, default.spring_yield)
        .numbers_unless("springdamper", &joint.spring_damper, &default.spring_damper)
        .word_unless("limited", joint.limited, default.limited)
        .numbers_unless("range", &joint.range, &default.range)
        .number_unless("margin", joint.margin, default.margin)
        .numbers_unless(
            "solreflimit",
            &joint.limit_solver_reference,
            &default.limit_solver_reference,
        )
        .numbers_unless(
            "solimplimit",
            &joint.limit_solver_impedance,
            &default.limit_solver_impedance,
        )
        .word_unless(
            "actuatorfrclimited",
            joint.actuator_force_limited,
            default.actuator_force_limited,
        )
        .numbers_unless(
            "actuatorfrcrange",
            &joint.actuator_force_range,
            &default.actuator_force_range,
        )
        .word_unless(
            "actuatorgravcomp",
            joint.actuator_gravity_compensation,
            default.actuator_gravity_compensation,
        )
        .number_unless("armature", joint.armature, default.armature)
        .leading_unless("damping", &joint.damping, &default.damping)
        .number_unless("frictionloss", joint.friction_loss, default.friction_loss)
        .numbers_unless(
            "solreffriction",
            &joint.friction_solver_reference,
            &default.friction_solver_reference,
        )
        .numbers_unless(
            "solimpfriction",
            &joint.friction_solver_impedance,
            &default.friction_solver_impedance,
        )
        .numbers("user", &joint.user)
}

/// The attributes that differ from those of `default`.
pub(in super::super) fn geom_tag(geom: &GeomSpec, default: &GeomSpec) -> Tag {
    let tag = Tag::new("geom").text("name", &geom.name);
    let tag = if geom.signed_distance {
        tag.text("type", "sdf")
    } else {
        tag.word_unless("type", geom.kind, default.kind)
    };
    let tag = tag
        .numbers_unless("pos", &geom.position, &default.position)
        .numbers_unless("quat", &geom.quaternion, &default.quaternion)
        .numbers(
            "fromto",
            geom.fromto.as_ref().map_or(&[], |points| &points[..]),
        )
        .leading_unless("size", &geom.size, &default.size)
        .reference("hfield", &geom.height_field)
        .reference("mesh", &geom.mesh)
        .number_unless("fitscale", geom.fit_scale, default.fit_scale)
        .integer_unless("contype", geom.contype, default.contype)
        .integer_unless("conaffinity", geom.conaffinity, default.conaffinity)
        .integer_unless("condim", geom.contact_dimension, default.contact_dimension)
        .integer_unless("priority", geom.priority, default.priority)
        .numbers_unless("friction", &geom.friction, &default.friction)
        .number_unless("solmix", geom.solver_mix, default.solver_mix)
        .numbers_unless("solref", &geom.solver_reference, &default.solver_reference)
        .numbers_unless("solimp", &geom.solver_impedance, &default.solver_impedance)
        .number_unless("margin", geom.margin, default.margin)
        .number_unless("gap", geom.gap, default.gap)
        .numbers_unless(
            "surfacevel",
            &geom.surface_velocity,
            &default.surface_velocity,
        )
        .number_unless("adhesion", geom.adhesion, default.adhesion);
    let tag = match geom.mass {
        Some(mass) => tag.number("mass", mass),
        None => tag,
    };
    let tag = tag
        .number_unless("density", geom.density, default.density)
        .word_unless("shellinertia", geom.shell_inertia, default.shell_inertia);
    let tag = if geom.fluid_ellipsoid {
        tag.text("fluidshape", "ellipsoid")
    } else {
        tag
    };
    tag.numbers_unless(
        "fluidcoef",
        &geom.fluid_coefficients,
        &default.fluid_coefficients,
    )
    .reference("material", &geom.material)
    .numbers_unless("rgba", &geom.rgba, &default.rgba)
    .integer_unless("group", geom.group, default.group)
    .numbers("user", &geom.user)
}

/// The attributes that differ from those of `default`.
pub(in super::super) fn site_tag(site: &SiteSpec, default: &SiteSpec) -> Tag {
    Tag::new("site")
        .text("name", &site.name)
        .word_unless("type", site.kind, default.kind)
        .numbers_unless("pos", &site.position, &default.position)
        .numbers_unless("quat", &site.quaternion, &default.quaternion)
        .numbers(
            "fromto",
            site.fromto.as_ref().map_or(&[], |points| &points[..]),
        )
        .numbers_unless("size", &site.size, &default.size)
        .reference("mesh", &site.mesh)
        .reference("material", &site.material)
        .numbers_unless("rgba", &site.rgba, &default.rgba)
        .integer_unless("group", site.group, default.group)
        .numbers("user", &site.user)
}

fn camera_tag(camera: &CameraSpec) -> Tag {
    let default = CameraSpec::default();
    let tag = Tag::new("camera")
        .text("name", &camera.name)
        .word_unless("mode", camera.mode, default.mode)
        .reference("target", &camera.target)
        .numbers_unless("pos", &camera.position, &default.position)
        .numbers_unless("quat", &camera.quaternion, &default.quaternion);
    let tag = if camera.orthographic {
        tag.text("projection", "orthographic")
    } else {
        tag
    };
    tag.number_unless("fovy", camera.field_of_view, default.field_of_view)
        .number_unless(
            "ipd",
            camera.inter_pupillary_distance,
            default.inter_pupillary_distance,
        )
        .numbers_unless(
            "resolution",
            &camera.resolution.map(f64::from),
            &default.resolution.map(f64::from),
        )
        .numbers_unless("sensorsize", &camera.sensor_size, &default.sensor_size)
        .numbers_unless("focal", &camera.focal_length, &default.focal_length)
        .numbers_unless("focalpixel", &camera.focal_pixels, &default.focal_pixels)
        .numbers_unless(
            "principal",
            &camera.principal_length,
            &default.principal_length,
        )
        .numbers_unless(
            "principalpixel",
            &camera.principal_pixels,
            &default.principal_pixels,
        )
        .numbers("user", &camera.user)
}

fn light_tag(light: &LightSpec) -> Tag {
    let default = LightSpec::default();
    Tag::new("light")
        .text("name", &light.name)
        .word_unless("mode", light.mode, default.mode)
        .reference("target", &light.target)
        .word_unless("type", light.kind, default.kind)
        .numbers_unless("pos", &light.position, &default.position)
        .numbers_unless("dir", &light.direction, &default.direction)
        .word_unless("active", light.active, default.active)
        .word_unless("castshadow", light.cast_shadow, default.cast_shadow)
        .numbers_unless("ambient", &light.ambient, &default.ambient)
        .numbers_unless("diffuse", &light.diffuse, &default.diffuse)
        .numbers_unless("specular", &light.specular, &default.specular)
        .numbers_unless("attenuation", &light.attenuation, &default.attenuation)
        .number_unless("cutoff", light.cutoff, default.cutoff)
        .number_unless("exponent", light.exponent, default.exponent)
}
