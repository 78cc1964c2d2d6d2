//! Compiler, option, size, statistic, visual, keyframes and custom data.

use super::super::{collision_map, contact_law, joint_law, learned_term, simulation};
use super::sensor;
use super::tag::{Output, Tag};
use crate::model_spec::{
    CompilerSettings, Flags, LengthRangeSettings, ModelSpec, OptionSpec, SizeSpec,
};

pub(super) fn write(out: &mut Output, spec: &ModelSpec) {
    write_compiler(out, &spec.compiler);
    write_option(out, &spec.option);
    write_size(out, &spec.size);
    let statistic = &spec.statistic;
    let mut tag = Tag::new("statistic");
    for (name, value) in [
        ("meaninertia", statistic.mean_inertia),
        ("meanmass", statistic.mean_mass),
        ("meansize", statistic.mean_size),
        ("extent", statistic.extent),
    ] {
        if let Some(value) = value {
            tag = tag.number(name, value);
        }
    }
    let center = statistic
        .center
        .as_ref()
        .map_or(&[][..], |center| &center[..]);
    out.unless_bare(&tag.numbers("center", center));
    out.section("visual", |out| write_visual(out, spec));
}

fn write_compiler(out: &mut Output, compiler: &CompilerSettings) {
    let default = CompilerSettings::default();
    let tag = Tag::new("compiler")
        .text("angle", "radian")
        .word_unless("autolimits", compiler.auto_limits, default.auto_limits)
        .number_unless("boundmass", compiler.bound_mass, default.bound_mass)
        .number_unless(
            "boundinertia",
            compiler.bound_inertia,
            default.bound_inertia,
        )
        .number_unless(
            "settotalmass",
            compiler.set_total_mass.unwrap_or(-1.0),
            -1.0,
        )
        .word_unless(
            "balanceinertia",
            compiler.balance_inertia,
            default.balance_inertia,
        )
        .word_unless(
            "fitaabb",
            compiler.fit_bounding_box,
            default.fit_bounding_box,
        )
        .word_unless(
            "discardvisual",
            compiler.discard_visual,
            default.discard_visual,
        )
        .word_unless("fusestatic", compiler.fuse_static, default.fuse_static)
        .word_unless(
            "inertiafromgeom",
            compiler.inertia_from_geom,
            default.inertia_from_geom,
        )
        .numbers_unless(
            "inertiagrouprange",
            &compiler.inertia_group_range.map(f64::from),
            &default.inertia_group_range.map(f64::from),
        )
        .word_unless(
            "saveinertial",
            compiler.save_inertial,
            default.save_inertial,
        )
        .word_unless("alignfree", compiler.align_free, default.align_free);
    let length_range = length_range_tag(&compiler.length_range);
    if length_range.is_bare() {
        out.empty(&tag);
    } else {
        out.open(&tag);
        out.empty(&length_range);
        out.close();
    }
}

fn length_range_tag(settings: &LengthRangeSettings) -> Tag {
    let default = LengthRangeSettings::default();
    Tag::new("lengthrange")
        .word_unless("mode", settings.mode, default.mode)
        .word_unless("useexisting", settings.use_existing, default.use_existing)
        .word_unless("uselimit", settings.use_limit, default.use_limit)
        .number_unless("accel", settings.acceleration, default.acceleration)
        .number_unless("maxforce", settings.max_force, default.max_force)
        .number_unless("timeconst", settings.time_constant, default.time_constant)
        .number_unless("timestep", settings.timestep, default.timestep)
        .number_unless("inttotal", settings.total_time, default.total_time)
        .number_unless("interval", settings.interval, default.interval)
        .number_unless("tolrange", settings.tolerance, default.tolerance)
}

fn write_option(out: &mut Output, option: &OptionSpec) {
    let tag = option_tag(option, &OptionSpec::default());
    let flags = flag_tag(&option.flags);
    if flags.is_bare() {
        out.unless_bare(&tag);
    } else {
        out.open(&tag);
        out.empty(&flags);
        out.close();
    }
}

/// The attributes that differ from those of `default`; flags are apart.
pub(in super::super) fn option_tag(option: &OptionSpec, default: &OptionSpec) -> Tag {
    let groups: Vec<f64> = (0..u32::BITS)
        .filter(|group| option.disabled_actuator_groups >> group & 1 == 1)
        .map(f64::from)
        .collect();
    Tag::new("option")
        .number_unless("timestep", option.timestep, default.timestep)
        .number_unless("impratio", option.impedance_ratio, default.impedance_ratio)
        .number_unless("tolerance", option.tolerance, default.tolerance)
        .number_unless(
            "ls_tolerance",
            option.line_search_tolerance,
            default.line_search_tolerance,
        )
        .number_unless(
            "noslip_tolerance",
            option.noslip_tolerance,
            default.noslip_tolerance,
        )
        .number_unless("ccd_tolerance", option.ccd_tolerance, default.ccd_tolerance)
        .numbers_unless("gravity", &option.gravity, &default.gravity)
        .numbers_unless("wind", &option.wind, &default.wind)
        .numbers_unless("magnetic", &option.magnetic, &default.magnetic)
        .number_unless("density", option.density, default.density)
        .number_unless("viscosity", option.viscosity, default.viscosity)
        .number_unless("o_margin", option.override_margin, default.override_margin)
        .numbers_unless(
            "o_solref",
            &option.override_solver_reference,
            &default.override_solver_reference,
        )
        .numbers_unless(
            "o_solimp",
            &option.override_solver_impedance,
            &default.override_solver_impedance,
        )
        .numbers_unless(
            "o_friction",
            &option.override_friction,
            &default.override_friction,
        )
        .word_unless("integrator", option.integrator, default.integrator)
        .word_unless("cone", option.cone, default.cone)
        .word_unless("jacobian", option.jacobian, default.jacobian)
        .word_unless("solver", option.solver, default.solver)
        .integer_unless("iterations", option.iterations, default.iterations)
        .integer_unless(
            "ls_iterations",
            option.line_search_iterations,
            default.line_search_iterations,
        )
        .integer_unless(
            "noslip_iterations",
            option.noslip_iterations,
            default.noslip_iterations,
        )
        .integer_unless(
            "ccd_iterations",
            option.ccd_iterations,
            default.ccd_iterations,
        )
        .numbers("actuatorgroupdisable", &groups)
}

fn flag_tag(flags: &Flags) -> Tag {
    let default = Flags::default();
    let switches = [
        ("constraint", flags.constraint, default.constraint),
        ("equality", flags.equality, default.equality),
        ("frictionloss", flags.friction_loss, default.friction_loss),
        ("limit", flags.limit, default.limit),
        ("contact", flags.contact, default.contact),
        ("spring", flags.spring, default.spring),
        ("damper", flags.damper, default.damper),
        ("gravity", flags.gravity, default.gravity),
        ("clampctrl", flags.clamp_control, default.clamp_control),
        ("warmstart", flags.warm_start, default.warm_start),
        ("filterparent", flags.filter_parent, default.filter_parent),
        ("actuation", flags.actuation, default.actuation),
        ("refsafe", flags.reference_safety, default.reference_safety),
        ("sensor", flags.sensor, default.sensor),
        ("midphase", flags.mid_phase, default.mid_phase),
        ("eulerdamp", flags.euler_damping, default.euler_damping),
        ("autoreset", flags.auto_reset, default.auto_reset),
        ("nativeccd", flags.native_ccd, default.native_ccd),
        ("island", flags.island, default.island),
        ("multiccd", flags.multi_ccd, default.multi_ccd),
        (
            "override",
            flags.override_contacts,
            default.override_contacts,
        ),
        ("energy", flags.energy, default.energy),
        ("fwdinv", flags.forward_inverse, default.forward_inverse),
        (
            "invdiscrete",
            flags.inverse_discrete,
            default.inverse_discrete,
        ),
        ("sleep", flags.sleep, default.sleep),
        ("diagexact", flags.exact_diagonal, default.exact_diagonal),
        ("speculative", flags.speculative, default.speculative),
    ];
    let changed = switches
        .into_iter()
        .filter(|(_, value, default)| value != default);
    changed.fold(Tag::new("flag"), |tag, (name, value, _)| {
        tag.text(name, if value { "enable" } else { "disable" })
    })
}

fn write_size(out: &mut Output, size: &SizeSpec) {
    let count = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
    let tag = Tag::new("size")
        .integer_unless("nuserdata", count(size.user_data), 0)
        .integer_unless("nkey", count(size.keyframes), 0);
    let tag = [
        ("nuser_body", size.body_user),
        ("nuser_jnt", size.joint_user),
        ("nuser_geom", size.geom_user),
        ("nuser_site", size.site_user),
        ("nuser_cam", size.camera_user),
        ("nuser_tendon", size.tendon_user),
        ("nuser_actuator", size.actuator_user),
        ("nuser_sensor", size.sensor_user),
    ]
    .into_iter()
    .fold(tag, |tag, (name, value)| {
        tag.integer_unless(name, value.map_or(-1, count), -1)
    });
    out.unless_bare(&tag);
}

/// The settings as they were read, collected by element.
fn write_visual(out: &mut Output, spec: &ModelSpec) {
    const ELEMENTS: [&str; 6] = ["global", "quality", "headlight", "map", "scale", "rgba"];
    for element in ELEMENTS {
        let settings = spec
            .visual
            .iter()
            .filter(|setting| setting.element == element);
        let tag = settings.fold(Tag::new(element), |tag, setting| {
            tag.text(&setting.attribute, &setting.value)
        });
        out.unless_bare(&tag);
    }
}

pub(super) fn write_keyframes(out: &mut Output, spec: &ModelSpec) {
    for key in &spec.keyframes {
        out.empty(
            &Tag::new("key")
                .text("name", &key.name)
                .number_unless("time", key.time, 0.0)
                .numbers("qpos", &key.qpos)
                .numbers("qvel", &key.qvel)
                .numbers("act", &key.activation)
                .numbers("mpos", &key.mocap_position)
                .numbers("mquat", &key.mocap_quaternion)
                .numbers("ctrl", &key.control),
        );
    }
}

pub(super) fn write_custom(out: &mut Output, spec: &ModelSpec) {
    for numeric in &spec.numerics {
        let size = i64::try_from(numeric.size).unwrap_or(i64::MAX);
        let tag = Tag::new("numeric").text("name", &numeric.name);
        out.empty(
            &tag.integer_unless("size", size, -1)
                .numbers("data", &numeric.data),
        );
    }
    let laws = spec.contact_laws.iter().map(contact_law::write);
    let laws = laws.chain(spec.joint_laws.iter().map(joint_law::write));
    let laws = laws.chain(spec.learned_terms.iter().map(learned_term::write));
    let laws = laws.chain(spec.collision_maps.iter().map(collision_map::write));
    let laws = laws.chain(spec.continuous_time.map(simulation::write));
    for (name, data) in laws.chain(sensor::extensions(spec)) {
        out.empty(&Tag::new("text").text("name", &name).text("data", &data));
    }
    for text in &spec.texts {
        out.empty(
            &Tag::new("text")
                .text("name", &text.name)
                .text("data", &text.data),
        );
    }
    for tuple in &spec.tuples {
        out.open(&Tag::new("tuple").text("name", &tuple.name));
        for element in &tuple.elements {
            out.empty(
                &Tag::new("element")
                    .word("objtype", element.object.kind)
                    .reference("objname", &element.object.reference)
                    .number_unless("prm", element.parameter, 0.0),
            );
        }
        out.close();
    }
}
