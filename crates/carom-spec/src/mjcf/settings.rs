//! The sections `compiler`, `option`, `size`, `statistic` and `visual`.

use super::Reader;
use super::asset::AssetFolders;
use super::attribute::Attributes;
use super::codes;
use super::include::Tree;
use super::keywords::{Degrees, Switch};
use super::load::Loader;
use super::problems::Problems;
use crate::model_spec::{Flags, ModelSpec, OptionSpec, SizeSpec, VisualSetting};
use crate::source::{FileSource, SourceMap};
use crate::xml::Element;

/// Most settings of the viewer: there are fewer known ones.
const MAX_VISUAL: usize = 1000;

/// Highest number of an actuator group that can be switched off.
const LAST_ACTUATOR_GROUP: u32 = 30;

impl Reader<'_> {
    /// Reads all settings; they apply to the whole model wherever they stand.
    pub(super) fn read_settings(&mut self, spec: &mut ModelSpec) {
        let tree = self.tree;
        Attributes::new(tree.root(), self.problems).set("model", &mut spec.name);
        for section in tree.sections("compiler") {
            self.read_compiler(section, spec);
        }
        for section in tree.sections("option") {
            self.read_option(section, &mut spec.option);
        }
        for section in tree.sections("size") {
            read_size(&self.attributes(section), &mut spec.size);
        }
        for section in tree.sections("statistic") {
            read_statistic(&self.attributes(section), spec);
        }
        for section in tree.sections("visual") {
            self.read_visual(section, spec);
        }
    }

    fn read_compiler(&mut self, section: Element<'_>, spec: &mut ModelSpec) {
        let a = Attributes::new(section, self.problems);
        let compiler = &mut spec.compiler;
        a.set("autolimits", &mut compiler.auto_limits);
        a.set("boundmass", &mut compiler.bound_mass);
        a.set("boundinertia", &mut compiler.bound_inertia);
        if let Some(mass) = a.get::<f64>("settotalmass") {
            compiler.set_total_mass = (mass > 0.0).then_some(mass);
        }
        a.set("balanceinertia", &mut compiler.balance_inertia);
        a.set("fitaabb", &mut compiler.fit_bounding_box);
        a.set("discardvisual", &mut compiler.discard_visual);
        a.set("fusestatic", &mut compiler.fuse_static);
        a.set("inertiafromgeom", &mut compiler.inertia_from_geom);
        a.set("inertiagrouprange", &mut compiler.inertia_group_range);
        a.set("saveinertial", &mut compiler.save_inertial);
        a.set("alignfree", &mut compiler.align_free);
        // Checked, but without meaning here.
        for name in ["usethread", "savecompiled", "savecanonical"] {
            a.get::<bool>(name);
        }
        a.set("conflict", &mut self.conflict);
        a.set("strippath", &mut self.strip_path);
        if section
            .value("coordinate")
            .is_some_and(|value| value != "local")
        {
            let message = "must be 'local': global coordinates are no longer part of MJCF";
            a.error(codes::BAD_KEYWORD, "coordinate", message);
        }
        if let Some(Degrees(degrees)) = a.get("angle") {
            self.notation.degrees = degrees;
        }
        if let Some(sequence) = section.value("eulerseq") {
            match <[u8; 3]>::try_from(sequence.as_bytes()) {
                Ok(axes) if axes.iter().all(|axis| b"xyzXYZ".contains(axis)) => {
                    self.notation.euler_sequence = axes;
                }
                _ => a.error(
                    codes::BAD_KEYWORD,
                    "eulerseq",
                    "needs three of x, y, z, X, Y, Z",
                ),
            }
        }
        if a.set("assetdir", &mut self.folders.assets) {
            self.folders.meshes = None;
            self.folders.textures = None;
        }
        self.folders.meshes = a.get("meshdir").or_else(|| self.folders.meshes.take());
        self.folders.textures = a.get("texturedir").or_else(|| self.folders.textures.take());
        self.auto_limits = compiler.auto_limits;
        for child in self.tree.children(section) {
            if child.tag() == "lengthrange" {
                read_length_range(&self.attributes(child), spec);
            }
        }
    }

    fn read_option(&self, section: Element<'_>, option: &mut OptionSpec) {
        let a = self.attributes(section);
        a.set("timestep", &mut option.timestep);
        a.set("impratio", &mut option.impedance_ratio);
        a.set("tolerance", &mut option.tolerance);
        a.set("ls_tolerance", &mut option.line_search_tolerance);
        a.set("noslip_tolerance", &mut option.noslip_tolerance);
        a.set("ccd_tolerance", &mut option.ccd_tolerance);
        a.get::<f64>("sleep_tolerance");
        a.set("gravity", &mut option.gravity);
        a.set("wind", &mut option.wind);
        a.set("magnetic", &mut option.magnetic);
        a.set("density", &mut option.density);
        a.set("viscosity", &mut option.viscosity);
        a.set("o_margin", &mut option.override_margin);
        a.set_leading("o_solref", &mut option.override_solver_reference);
        a.set_leading("o_solimp", &mut option.override_solver_impedance);
        a.set_leading("o_friction", &mut option.override_friction);
        if section.value("integrator") == Some("discrete") {
            let message = "the discrete integrator is not supported";
            self.problems
                .unsupported(codes::DISCRETE, a.place("integrator"), message);
        } else {
            a.set("integrator", &mut option.integrator);
        }
        a.set("cone", &mut option.cone);
        a.set("jacobian", &mut option.jacobian);
        a.set("solver", &mut option.solver);
        a.set("iterations", &mut option.iterations);
        a.set("ls_iterations", &mut option.line_search_iterations);
        a.set("noslip_iterations", &mut option.noslip_iterations);
        a.set("ccd_iterations", &mut option.ccd_iterations);
        for name in ["sdf_iterations", "sdf_initpoints"] {
            a.get::<u32>(name);
        }
        for group in a
            .get::<Vec<i32>>("actuatorgroupdisable")
            .unwrap_or_default()
        {
            match u32::try_from(group) {
                Ok(group) if group <= LAST_ACTUATOR_GROUP => {
                    option.disabled_actuator_groups |= 1 << group;
                }
                _ => a.error(
                    codes::VALUE_RANGE,
                    "actuatorgroupdisable",
                    "needs groups between 0 and 30",
                ),
            }
        }
        if option.timestep <= 0.0 {
            a.error(codes::VALUE_RANGE, "timestep", "must be positive");
            option.timestep = OptionSpec::default().timestep;
        }
        for child in self.tree.children(section) {
            if child.tag() == "flag" {
                self.read_flags(child, &mut option.flags);
            }
        }
    }

    fn read_flags(&self, element: Element<'_>, flags: &mut Flags) {
        let a = self.attributes(element);
        let mut ipc = false;
        let switches: [(&str, &mut bool); 28] = [
            ("constraint", &mut flags.constraint),
            ("equality", &mut flags.equality),
            ("frictionloss", &mut flags.friction_loss),
            ("limit", &mut flags.limit),
            ("contact", &mut flags.contact),
            ("spring", &mut flags.spring),
            ("damper", &mut flags.damper),
            ("gravity", &mut flags.gravity),
            ("clampctrl", &mut flags.clamp_control),
            ("warmstart", &mut flags.warm_start),
            ("filterparent", &mut flags.filter_parent),
            ("actuation", &mut flags.actuation),
            ("refsafe", &mut flags.reference_safety),
            ("sensor", &mut flags.sensor),
            ("midphase", &mut flags.mid_phase),
            ("eulerdamp", &mut flags.euler_damping),
            ("autoreset", &mut flags.auto_reset),
            ("nativeccd", &mut flags.native_ccd),
            ("island", &mut flags.island),
            ("multiccd", &mut flags.multi_ccd),
            ("override", &mut flags.override_contacts),
            ("energy", &mut flags.energy),
            ("fwdinv", &mut flags.forward_inverse),
            ("invdiscrete", &mut flags.inverse_discrete),
            ("sleep", &mut flags.sleep),
            ("diagexact", &mut flags.exact_diagonal),
            ("speculative", &mut flags.speculative),
            ("ipc", &mut ipc),
        ];
        for (name, flag) in switches {
            if let Some(Switch(on)) = a.get(name) {
                *flag = on;
            }
        }
        for (on, code, name) in [
            (std::mem::take(&mut flags.sleep), codes::SLEEP, "sleep"),
            (
                std::mem::take(&mut flags.speculative),
                codes::SPECULATIVE,
                "speculative",
            ),
            (ipc, codes::IPC, "ipc"),
        ] {
            if on {
                let message = format!("the flag '{name}' is not supported");
                self.problems.unsupported(code, a.place(name), message);
            }
        }
    }

    fn read_visual(&self, section: Element<'_>, spec: &mut ModelSpec) {
        for child in self.tree.children(section) {
            for attribute in child.attributes() {
                if spec.visual.len() >= MAX_VISUAL {
                    return;
                }
                // A later setting replaces an earlier one.
                spec.visual.retain(|known| {
                    known.element != child.tag() || known.attribute != attribute.name()
                });
                spec.visual.push(VisualSetting {
                    element: child.tag().to_owned(),
                    attribute: attribute.name().to_owned(),
                    value: attribute.value().to_owned(),
                });
            }
        }
    }
}

/// Reads the `<mujoco>` extension of a URDF file; the folder of its meshes, and whether only the last
/// part of their paths counts.
pub(crate) fn read_extension(
    tree: &Tree,
    extension: Element<'_>,
    source: &dyn FileSource,
    problems: &Problems<'_>,
    spec: &mut ModelSpec,
) -> (String, bool) {
    if !super::schema::check(tree, extension, problems) {
        return (String::new(), false);
    }
    let loader = Loader::new(source, problems, SourceMap::new());
    let mut reader = Reader::new(tree, &loader, &[]);
    for section in tree.children(extension) {
        match section.tag() {
            "compiler" => reader.read_compiler(section, spec),
            "option" => reader.read_option(section, &mut spec.option),
            "size" => read_size(&reader.attributes(section), &mut spec.size),
            tag => {
                let message = format!("<{tag}> has no effect in a URDF file");
                problems.warning(codes::NO_EFFECT, section.span(), message);
            }
        }
    }
    let AssetFolders { assets, meshes, .. } = reader.folders;
    (meshes.unwrap_or(assets), reader.strip_path)
}

fn read_length_range(a: &Attributes<'_, '_>, spec: &mut ModelSpec) {
    let settings = &mut spec.compiler.length_range;
    a.set("mode", &mut settings.mode);
    a.set("useexisting", &mut settings.use_existing);
    a.set("uselimit", &mut settings.use_limit);
    a.set("accel", &mut settings.acceleration);
    a.set("maxforce", &mut settings.max_force);
    a.set("timeconst", &mut settings.time_constant);
    a.set("timestep", &mut settings.timestep);
    a.set("inttotal", &mut settings.total_time);
    a.set("interval", &mut settings.interval);
    a.set("tolrange", &mut settings.tolerance);
}

fn read_statistic(a: &Attributes<'_, '_>, spec: &mut ModelSpec) {
    let statistic = &mut spec.statistic;
    for (name, target) in [
        ("meaninertia", &mut statistic.mean_inertia),
        ("meanmass", &mut statistic.mean_mass),
        ("meansize", &mut statistic.mean_size),
        ("extent", &mut statistic.extent),
    ] {
        *target = a.get(name).or(*target);
    }
    statistic.center = a.get("center").or(statistic.center);
    if statistic.extent.is_some_and(|extent| extent <= 0.0) {
        a.error(codes::VALUE_RANGE, "extent", "must be positive");
        statistic.extent = None;
    }
}

fn read_size(a: &Attributes<'_, '_>, size: &mut SizeSpec) {
    let count = |name: &str| -> Option<Option<usize>> {
        let number = a.get::<i32>(name)?;
        if number < -1 {
            a.error(codes::VALUE_RANGE, name, "must be -1 or more");
        }
        Some(usize::try_from(number).ok())
    };
    size.user_data = count("nuserdata").flatten().unwrap_or(size.user_data);
    size.keyframes = count("nkey").flatten().unwrap_or(size.keyframes);
    for (name, target) in [
        ("nuser_body", &mut size.body_user),
        ("nuser_jnt", &mut size.joint_user),
        ("nuser_geom", &mut size.geom_user),
        ("nuser_site", &mut size.site_user),
        ("nuser_cam", &mut size.camera_user),
        ("nuser_tendon", &mut size.tendon_user),
        ("nuser_actuator", &mut size.actuator_user),
        ("nuser_sensor", &mut size.sensor_user),
    ] {
        if let Some(number) = count(name) {
            *target = number;
        }
    }
    // Memory is managed otherwise here; the numbers are still checked.
    for name in ["njmax", "nconmax", "nstack"] {
        count(name);
    }
    a.exclusive(&["memory", "nstack"]);
    a.exclusive(&["memory", "njmax"]);
    if let Some(memory) = a.element.value("memory") {
        let digits = memory
            .trim()
            .trim_end_matches(|c: char| "kKmMgGtTpPeE".contains(c));
        if memory.trim() != "-1" && digits.parse::<u64>().is_err() {
            let message = "needs a number of bytes, possibly with one of K, M, G, T, P, E";
            a.error(codes::BAD_NUMBER, "memory", message);
        }
    }
}
