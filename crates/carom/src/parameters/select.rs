//! From selections to parameters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::catalogue::Source;
use super::inertia::{self, to_log_cholesky};
use super::layout::{self, Layout, Light, Place, StateField};
use super::resolve::{Element, Target, resolve};
use super::selector::{Selection, Selector, Tie};
use super::units::unit;
use super::{Entry, ParameterProblem, Parameters, PseudoInertia, Transform, Unit};
use crate::compile::{derive, geom_mass, inertia_before_alignment};
use crate::error::{self, Error};
use crate::model::{GeomShape, MassSource, Model, Quantity, Recipe, Structure};
use crate::quantity::{Range, Role};
use crate::state::State;

/// Chooses numbers of a model.
pub(super) fn select(model: &Model, selections: &[Selection]) -> Result<Parameters, Error> {
    let mut recipe = recipe_of(model)?;
    let layout = Layout::new(model.counts());
    let mut chosen = Vec::new();
    let mut skipped = Vec::new();
    for selection in selections {
        let selector = Selector::parse(&selection.selector)?;
        let resolved = resolve(model, &recipe, &layout, &selector)?;
        for element in &resolved.elements {
            make_given(model, &mut recipe, element)?;
        }
        skipped.extend(resolved.skipped);
        chosen.push((selection, resolved.elements));
    }
    check_geom_masses(&recipe, &chosen)?;
    let numbers = layout::flat(&recipe.given);
    let mut builder = Builder {
        recipe: &recipe,
        numbers: &numbers,
        selected: places(&chosen),
        state: State::reference(model),
        entries: Vec::new(),
        theta0: Vec::new(),
        pseudo_inertias: Vec::new(),
        layout: &layout,
    };
    let mut selections_of = Vec::new();
    for (index, (selection, elements)) in chosen.iter().enumerate() {
        builder.add(selection, elements)?;
        selections_of.resize(builder.entries.len(), index);
    }
    let Builder {
        state,
        entries,
        theta0,
        pseudo_inertias,
        ..
    } = builder;
    check_once(&entries)?;
    let units = units(&layout, &model.structure, (&numbers, &state), &entries);
    check_rotations(&units, &entries)?;
    switch_on(&mut recipe, &layout, &entries);
    let meshes = meshes(&layout, &model.structure, &entries);
    let base = derive(&recipe, &recipe.given);
    let mut parameters = Parameters {
        base: model.clone(),
        light: Light::new(&recipe.given, &layout, !meshes.is_empty()),
        recipe: Arc::new(recipe),
        layout,
        entries,
        selections_of,
        pseudo_inertias,
        units,
        meshes,
        theta0,
        skipped,
    };
    parameters.base = base.map_err(|error| parameters.singular(error))?;
    parameters.base.recipe = Some(Arc::clone(&parameters.recipe));
    Ok(parameters)
}

/// The recipe of a model, with numbers that were changed by hand since it was compiled.
fn recipe_of(model: &Model) -> Result<Recipe, Error> {
    let refuse = |message: String| Err(ParameterProblem::Model.error(message));
    let Some(recipe) = model.recipe() else {
        return refuse(
            "the model was not compiled from a description, so nothing says what follows from its numbers".to_owned(),
        );
    };
    let mut recipe = Recipe::clone(recipe);
    recipe.given.model.structure = Arc::clone(&model.structure);
    recipe.given.model.settings = model.settings;
    let Ok(compiled) = derive(&recipe, &recipe.given) else {
        return refuse("the inertia matrix of the model is singular".to_owned());
    };
    let (given, compiled) = (layout::flat(&recipe.given), compiled.flat());
    let mut changes = Vec::new();
    let mut wrong = None;
    let mut place = 0;
    model.for_each(|quantity, element, _, number| {
        let is_changed = number.to_bits() != compiled[place].to_bits();
        if is_changed && given[place].to_bits() == compiled[place].to_bits() {
            changes.push((place, number));
        } else if is_changed && wrong.is_none() {
            wrong = Some(format!(
                "{quantity} of element {element} was changed after the model was compiled, but follows from other numbers"
            ));
        }
        place += 1;
    });
    if let Some(message) = wrong {
        return refuse(message);
    }
    layout::write(&mut recipe.given, &changes);
    Ok(recipe)
}

/// Makes the numbers of an element given ones, where they follow from others.
fn make_given(model: &Model, recipe: &mut Recipe, element: &Element) -> Result<(), Error> {
    let id = element.id;
    match element.attribute.source {
        Source::Of(
            Quantity::BodyMass
            | Quantity::BodyInertialPosition
            | Quantity::BodyInertialQuat
            | Quantity::BodyInertia,
        )
        | Source::MassOnly
        | Source::PseudoInertia => write_inertia(recipe, id),
        Source::Of(given @ (Quantity::GeomMass | Quantity::GeomDensity)) => {
            let source = if given == Quantity::GeomMass {
                MassSource::Mass
            } else {
                MassSource::Density
            };
            if recipe.geoms[id].mass == source {
                return Ok(());
            }
            let (mass, volume) = geom_mass(recipe, &recipe.given, id);
            recipe.given.sources.geom_mass[id] = mass;
            recipe.given.sources.geom_density[id] = mass / volume;
            recipe.geoms[id].mass = source;
            if mass <= 0.0 {
                let message = format!("{}: it has no mass", element.name);
                return Err(ParameterProblem::Refused.error(message));
            }
        }
        Source::Of(Quantity::MeshVertex) => move_mesh(recipe, id),
        Source::Of(Quantity::TendonSpringLength) => {
            let length = model.tendons.spring_length[id];
            recipe.given.model.tendons.spring_length[id] = length;
        }
        _ => {}
    }
    Ok(())
}

/// Lets inertias follow the vertices of a mesh, if any body takes its inertia from it.
fn move_mesh(recipe: &mut Recipe, mesh: usize) {
    let geoms = &recipe.given.model.structure.geoms;
    let is_needed = (geoms.shape.iter().enumerate()).any(|(geom, shape)| {
        *shape == GeomShape::Mesh(mesh)
            && recipe.geoms[geom].mass != MassSource::None
            && recipe.bodies[geoms.body[geom]].inertia_from_geoms
    });
    if !is_needed || recipe.meshes[mesh].moves {
        return;
    }
    let sources = &mut recipe.given.sources;
    let (volume, sides) = (sources.mesh_volume[mesh], sources.mesh_inertia_box[mesh]);
    let [xx, yy, zz] = sides.0.map(|side| side * side * volume / 3.0);
    sources.mesh_moments[mesh] = [
        volume,
        0.0,
        0.0,
        0.0,
        yy + zz,
        xx + zz,
        xx + yy,
        0.0,
        0.0,
        0.0,
    ];
    recipe.meshes[mesh].moves = true;
}

/// Writes down the inertia of a body that its geoms give.
fn write_inertia(recipe: &mut Recipe, body: usize) {
    if !recipe.bodies[body].inertia_from_geoms {
        return;
    }
    let (mass, pose, inertia) = inertia_before_alignment(recipe, &recipe.given, body);
    let bodies = &mut recipe.given.model.bodies;
    bodies.mass[body] = mass;
    bodies.inertial_position[body] = pose.position;
    bodies.inertial_quat[body] = pose.quat;
    bodies.inertia[body] = inertia;
    recipe.bodies[body].inertia_from_geoms = false;
}

/// Refuses masses of geoms whose body has an inertia of its own by another selection.
fn check_geom_masses(recipe: &Recipe, chosen: &[(&Selection, Vec<Element>)]) -> Result<(), Error> {
    let structure = &recipe.given.model.structure;
    for element in chosen.iter().flat_map(|(_, elements)| elements) {
        let is_mass = matches!(
            element.attribute.source,
            Source::Of(Quantity::GeomMass | Quantity::GeomDensity)
        );
        if is_mass && !recipe.bodies[structure.geoms.body[element.id]].inertia_from_geoms {
            let body = &structure.names.bodies[structure.geoms.body[element.id]];
            let message = format!(
                "{} has no effect: mass or inertia of body '{body}' is selected as well; choose one of them",
                element.name
            );
            return Err(ParameterProblem::Conflict.error(message));
        }
    }
    Ok(())
}

/// The places of all numbers that are selected one by one.
fn places(chosen: &[(&Selection, Vec<Element>)]) -> BTreeSet<Place> {
    let elements = chosen.iter().flat_map(|(_, elements)| elements);
    let targets = elements.flat_map(|element| &element.components);
    let targets = targets.flat_map(|(_, targets)| targets);
    targets.map(|target| target.place).collect()
}

/// Parameters while they grow.
struct Builder<'a> {
    recipe: &'a Recipe,
    numbers: &'a [f64],
    selected: BTreeSet<Place>,
    state: State,
    layout: &'a Layout,
    entries: Vec<Entry>,
    theta0: Vec<f64>,
    pseudo_inertias: Vec<PseudoInertia>,
}

impl Builder<'_> {
    fn add(&mut self, selection: &Selection, elements: &[Element]) -> Result<(), Error> {
        let Some(first) = elements.first() else {
            return Ok(());
        };
        if first.attribute.source == Source::PseudoInertia {
            let plain = Selection::new(selection.selector.clone());
            let is_whole = |element: &Element| element.components.len() == inertia::COUNT;
            if *selection != plain || !elements.iter().all(is_whole) {
                let message = format!(
                    "'{}' is a transform already: it takes no modifiers and no components",
                    selection.selector
                );
                return Err(ParameterProblem::Conflict.error(message));
            }
            return elements
                .iter()
                .try_for_each(|element| self.add_pseudo_inertia(element));
        }
        if selection.tie == Tie::None {
            for element in elements {
                for (component, targets) in &element.components {
                    let name = element.component_name(*component);
                    let value = self.number(targets);
                    let about = (std::slice::from_ref(element), *component);
                    self.push(selection, about, (name, value), targets.clone())?;
                }
            }
            return Ok(());
        }
        self.add_tied(selection, elements)
    }

    /// One parameter for each component, or for all components where a selector asks for one element alone.
    fn add_tied(&mut self, selection: &Selection, elements: &[Element]) -> Result<(), Error> {
        let mut shared: BTreeMap<usize, Vec<Target>> = BTreeMap::new();
        for element in elements {
            for (component, targets) in &element.components {
                // A single element ties its components to each other: a cube has one side.
                let key = if elements.len() == 1 { 0 } else { *component };
                shared.entry(key).or_default().extend(targets);
            }
        }
        let several = shared.len() > 1;
        let components = elements[0]
            .components
            .iter()
            .map(|(component, _)| *component);
        let first = components.min().unwrap_or(0);
        for (component, mut targets) in shared {
            let numbers: Vec<f64> = targets
                .iter()
                .map(|target| self.number(&[*target]))
                .collect();
            let value = match selection.tie {
                Tie::Ratio => numbers[0],
                _ if numbers.iter().all(|number| *number == numbers[0]) => numbers[0],
                _ => numbers.iter().sum::<f64>() / numbers.len() as f64,
            };
            if selection.tie == Tie::Ratio {
                if value == 0.0 {
                    let message = format!("'{}' ties ratios to a zero", selection.selector);
                    return Err(ParameterProblem::Value.error(message));
                }
                for (target, number) in targets.iter_mut().zip(&numbers) {
                    target.factor *= number / value;
                }
            }
            let base = selection.selector.split('[').next().unwrap_or_default();
            let name = if several {
                format!("{base}[{component}]")
            } else {
                selection.selector.clone()
            };
            let about = (elements, if several { component } else { first });
            self.push(selection, about, (name, value), targets)?;
        }
        Ok(())
    }

    /// The parameter's number at the start.
    fn number(&self, targets: &[Target]) -> f64 {
        let Some(target) = targets.first() else {
            return 0.0;
        };
        let number = match target.place {
            Place::Given(place) => self.numbers[place],
            Place::State(field, index) => {
                let mut state = self.state.clone();
                *super::apply::state_number(&mut state, field, index)
            }
        };
        number / target.factor
    }

    fn push(
        &mut self,
        selection: &Selection,
        (elements, component): (&[Element], usize),
        (name, value): (String, f64),
        mut targets: Vec<Target>,
    ) -> Result<(), Error> {
        if elements[0].attribute.source == Source::Of(Quantity::BodyMass) {
            targets.extend(self.moments_of(&targets));
        }
        let theta = selection.transform.invert(value / selection.scale);
        let theta = theta.map_err(|error| {
            ParameterProblem::Value
                .error(&name)
                .because(error)
                .at(error::Place::Element(name.clone()))
        })?;
        let quantities = || {
            let places = targets.iter().map(|target| target.place);
            places.filter_map(|place| self.layout.quantity(place))
        };
        // Of a polynomial only the sum counts, so that all but the first coefficient have any sign.
        let attribute = elements[0].attribute;
        let is_in_table = matches!(attribute.source, Source::Of(_));
        let has_another_range = |one: Quantity| is_in_table && one.row().range != attribute.range;
        self.entries.push(Entry {
            name,
            unit: unit(&self.recipe.given.model.structure, elements, component),
            transform: selection.transform,
            scale: selection.scale,
            range: if quantities().any(has_another_range) {
                Range::Any
            } else {
                self.range_of_weight(&targets).unwrap_or(attribute.range)
            },
            direct: quantities().all(|quantity| quantity.row().role == Role::Direct),
            targets,
        });
        self.theta0.push(theta);
        Ok(())
    }

    /// What the form of a learned term says of one of its weights.
    fn range_of_weight(&self, targets: &[Target]) -> Option<Range> {
        let field = self.layout.field(Quantity::LearnedWeight).range();
        let Place::Given(place) = targets.first()?.place else {
            return None;
        };
        let weight = field.contains(&place).then(|| place - field.start)?;
        let mut terms = self.recipe.given.model.structure.learned.terms.iter();
        let term = terms.find(|term| term.weights.contains(&weight))?;
        let least = term.form.lower_bound(weight - term.weights.start);
        least.is_finite().then_some(Range::From(least))
    }

    /// Principal moments that follow masses in proportion, so that the distribution of mass keeps its shape. Those that are selected
    /// themselves do not.
    fn moments_of(&self, masses: &[Target]) -> Vec<Target> {
        let [masses_at, moments_at] =
            [Quantity::BodyMass, Quantity::BodyInertia].map(|one| self.layout.field(one).start);
        let moments = |mass: &Target| {
            let Place::Given(place) = mass.place else {
                return Vec::new();
            };
            let first = moments_at + 3 * (place - masses_at);
            let per_mass = mass.factor / self.numbers[place];
            let moments = (first..first + 3).map(|moment| Target {
                place: Place::Given(moment),
                factor: self.numbers[moment] * per_mass,
            });
            moments.collect()
        };
        let all = masses.iter().flat_map(moments);
        all.filter(|moment| !self.selected.contains(&moment.place))
            .collect()
    }

    fn add_pseudo_inertia(&mut self, element: &Element) -> Result<(), Error> {
        let bodies = &self.recipe.given.model.bodies;
        let (body, start) = (element.id, self.entries.len());
        let center = bodies.inertial_position[body].0;
        let theta = to_log_cholesky(bodies.mass[body], center, bodies.inertia[body].0);
        let Some(theta) = theta else {
            let message = format!(
                "{}: the inertia is at the limit of what is physical (one moment is the sum of the others)",
                element.name
            );
            return Err(ParameterProblem::Value.error(message));
        };
        self.pseudo_inertias.push(PseudoInertia { body, start });
        for (component, theta) in theta.into_iter().enumerate() {
            self.theta0.push(theta);
            self.entries.push(Entry {
                name: element.component_name(component),
                unit: element.attribute.unit,
                transform: Transform::Identity,
                scale: 1.0,
                range: Range::Any,
                targets: Vec::new(),
                direct: false,
            });
        }
        Ok(())
    }
}

/// Refuses numbers that follow two parameters.
fn check_once(entries: &[Entry]) -> Result<(), Error> {
    let mut owners: BTreeMap<Place, &str> = BTreeMap::new();
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for entry in entries {
        let is_new = names.insert(&entry.name);
        let taken = entry
            .targets
            .iter()
            .find_map(|target| owners.insert(target.place, &entry.name));
        if let Some(other) = taken.or((!is_new).then_some(&entry.name)) {
            let message = format!(
                "'{}' and '{other}' select the same number; leave one out",
                entry.name
            );
            return Err(ParameterProblem::Conflict.error(message));
        }
    }
    Ok(())
}

/// The unit vectors and quaternions that selected numbers belong to.
fn units(
    layout: &Layout,
    structure: &Structure,
    (numbers, state): (&[f64], &State),
    entries: &[Entry],
) -> Vec<Unit> {
    let mut units: BTreeMap<Place, Unit> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        for target in &entry.targets {
            let Some((place, length)) = unit_of(layout, structure, target.place) else {
                continue;
            };
            let unit = units.entry(place).or_insert_with(|| Unit {
                place,
                base: base_numbers(place, length, numbers, state),
                sources: vec![None; length],
            });
            unit.sources[offset(place, target.place)] = Some((index, target.factor));
        }
    }
    units.into_values().collect()
}

/// Refuses parts of rotations of the initial state: the rest would depend on the state it is applied to.
fn check_rotations(units: &[Unit], entries: &[Entry]) -> Result<(), Error> {
    let is_partial = |unit: &&Unit| {
        matches!(unit.place, Place::State(..)) && unit.sources.iter().any(Option::is_none)
    };
    let Some(unit) = units.iter().find(is_partial) else {
        return Ok(());
    };
    let name = unit.sources.iter().flatten().next();
    let name = name.map_or("state.qpos", |&(index, _)| &entries[index].name);
    let message =
        format!("{name} is part of a rotation: select all four numbers of its quaternion");
    Err(ParameterProblem::Conflict.error(message))
}

/// The numbers of a unit vector at the start.
fn base_numbers(place: Place, length: usize, numbers: &[f64], state: &State) -> Vec<f64> {
    match place {
        Place::Given(start) => numbers[start..start + length].to_vec(),
        Place::State(field, start) => {
            let mut state = state.clone();
            (start..start + length)
                .map(|index| *super::apply::state_number(&mut state, field, index))
                .collect()
        }
    }
}

fn offset(start: Place, place: Place) -> usize {
    match (start, place) {
        (Place::Given(start), Place::Given(place))
        | (Place::State(_, start), Place::State(_, place)) => place - start,
        _ => 0,
    }
}

/// Where the unit vector of a number starts, and its length; none if it is not part of one.
fn unit_of(layout: &Layout, structure: &Structure, place: Place) -> Option<(Place, usize)> {
    match place {
        Place::Given(place) => {
            let field = layout.field_at(place)?;
            let inside = place - field.start;
            let element = inside / field.width;
            if field.quantity.row().is_unit_vector {
                let start = field.start + element * field.width;
                return Some((Place::Given(start), field.width));
            }
            // The relative pose of a weld ends with a quaternion.
            let is_weld = field.quantity == Quantity::EqualityData
                && structure.equalities.kind[element] == crate::model::EqualityKind::Weld
                && (6..10).contains(&(inside % field.width));
            let start = field.start + element * field.width + 6;
            is_weld.then_some((Place::Given(start), 4))
        }
        Place::State(StateField::MocapQuat, index) => {
            Some((Place::State(StateField::MocapQuat, index / 4 * 4), 4))
        }
        Place::State(StateField::Qpos, index) => {
            let mut quats = structure.joints.rotations();
            let (start, _) = quats.find(|(start, _)| (*start..start + 4).contains(&index))?;
            Some((Place::State(StateField::Qpos, start), 4))
        }
        Place::State(..) => None,
    }
}

/// Switches on what the compiler switches off because numbers are zero, where these are parameters now.
fn switch_on(recipe: &mut Recipe, layout: &Layout, entries: &[Entry]) {
    let structure = Arc::make_mut(&mut recipe.given.model.structure);
    for target in entries.iter().flat_map(|entry| &entry.targets) {
        match layout.quantity(target.place) {
            Some(Quantity::BodyGravcomp) => structure.has_gravcomp = true,
            Some(Quantity::GeomSurfaceVelocity) => structure.has_surface_velocity = true,
            Some(Quantity::GeomAdhesion | Quantity::PairAdhesion) => structure.has_adhesion = true,
            Some(Quantity::TendonArmature | Quantity::ActuatorArmature) => {
                structure.has_tendon_armature = true;
            }
            _ => {}
        }
    }
}

/// Meshes whose vertices are selected.
fn meshes(layout: &Layout, structure: &Structure, entries: &[Entry]) -> Vec<usize> {
    let field = layout.field(Quantity::MeshVertex);
    let mut meshes = Vec::new();
    for target in entries.iter().flat_map(|entry| &entry.targets) {
        if let Place::Given(place) = target.place
            && field.range().contains(&place)
        {
            let vertex = (place - field.start) / 3;
            let holds = |range: &std::ops::Range<usize>| range.contains(&vertex);
            let mesh = structure.meshes.vertices.iter().position(holds);
            meshes.extend(mesh.filter(|mesh| !meshes.contains(mesh)));
        }
    }
    meshes
}
