//! Learned terms: from names of sites to numbers that are read and acted on, and from descriptions to functions.

use std::ops::Range;

use carom_form::{Activation, Core, Drag, Form, Friction, Mlp, Polynomial, Table};
use carom_spec::diagnostic::{Diagnostic, nearest_name};
use carom_spec::model_spec::{
    ActivationKind, FormKind, FormSpec, LearnedTermSpec, Reference, SiteOwner, TermMode, TermSite,
};

use super::Source;
use super::report::{Checked, Report, code};
use crate::model::{
    Angle, ContactNumber, ContactSignal, LawLevel, LearnedContact, LearnedFrame, LearnedPlace,
    LearnedStructure, LearnedTerm, Model, Signal, Structure, Target,
};

/// More weights than that are a mistake: a step would take longer than a frame of a film.
const MAX_WEIGHTS: usize = 1_000_000;
/// Monomials of higher degree are beyond what double precision tells apart over a range of data.
const MAX_DEGREE: usize = 8;
/// Spline pieces need four control values.
const MIN_CONTROL_VALUES: usize = 4;

/// Fills the structure of the learned terms.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let specs = &source.spec.learned_terms;
    let mut drafts = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        let mut checked = report.checked("learned term", &spec.name, spec.span);
        if specs[..index].iter().any(|other| other.name == spec.name) {
            let message = format!("two learned terms are called '{}'", spec.name);
            checked.error(code::LEARNED, message);
        }
        let mut reader = Reader {
            structure,
            checked: &mut checked,
            frames: Vec::new(),
        };
        if let Some(draft) = reader.term(spec) {
            drafts.push((index, draft, reader.frames));
        }
    }
    structure.names.learned = specs.iter().map(|spec| spec.name.clone()).collect();
    if !report.has_errors() {
        structure.learned = assemble(&drafts, structure.counts.ngeom);
        check_actuators(specs, structure, report);
        count(structure);
    }
}

/// A term before places of all terms are put in a row.
struct Draft {
    form: Form,
    /// Inputs whose range is known: all or none.
    ranges: usize,
    owner: SiteOwner,
    mode: TermMode,
    /// The geoms of a term that acts on contacts.
    geoms: Vec<usize>,
    /// Inputs and outputs of each place.
    places: Vec<(Vec<Signal>, Vec<Target>)>,
}

/// Puts places in a row: those that act on actuators first. Frames are counted within each draft.
fn assemble(drafts: &[(usize, Draft, Vec<LearnedFrame>)], ngeom: usize) -> LearnedStructure {
    let mut learned = LearnedStructure::default();
    let (mut weights, mut constants, mut ranges) = (0, 0, 0);
    let take = |next: &mut usize, count: usize| -> Range<usize> {
        *next += count;
        *next - count..*next
    };
    for (_, draft, _) in drafts {
        learned.terms.push(LearnedTerm {
            form: draft.form.clone(),
            weights: take(&mut weights, draft.form.weights()),
            constants: take(&mut constants, draft.form.constants()),
            ranges: take(&mut ranges, draft.ranges),
            places: 0..0,
        });
    }
    for on_actuators in [true, false] {
        for (term, draft, frames) in drafts {
            let is_due = match draft.owner {
                SiteOwner::Geom => false,
                owner => (owner == SiteOwner::Actuator) == on_actuators,
            };
            if !is_due {
                continue;
            }
            let first = learned.places.len();
            // Frames that several terms share are one.
            let shared: Vec<usize> = (frames.iter())
                .map(|frame| place_of(&mut learned.frames, *frame))
                .collect();
            for (signals, targets) in &draft.places {
                let (inputs, outputs) = (learned.signals.len(), learned.targets.len());
                let signals = signals.iter().map(|signal| signal.in_frames(&shared));
                learned.signals.extend(signals);
                learned
                    .targets
                    .extend(targets.iter().map(|target| match *target {
                        Target::Wrench(frame, component) => {
                            Target::Wrench(shared[frame], component)
                        }
                        other => other,
                    }));
                learned.places.push(LearnedPlace {
                    term: *term,
                    inputs: inputs..learned.signals.len(),
                    outputs: outputs..learned.targets.len(),
                });
            }
            learned.terms[*term].places = first..learned.places.len();
        }
        if on_actuators {
            learned.on_actuators = learned.places.len();
        }
    }
    for (term, draft, frames) in drafts {
        let (SiteOwner::Geom, [(signals, targets)]) = (draft.owner, &draft.places[..]) else {
            continue;
        };
        let shared: Vec<usize> = (frames.iter())
            .map(|frame| place_of(&mut learned.frames, *frame))
            .collect();
        let number = |target: &Target| match *target {
            Target::Contact(number) => Some(number),
            _ => None,
        };
        learned.contacts.push(LearnedContact {
            term: *term,
            geoms: (0..ngeom).map(|geom| draft.geoms.contains(&geom)).collect(),
            signals: (signals.iter())
                .map(|signal| signal.in_frames(&shared))
                .collect(),
            numbers: targets.iter().filter_map(number).collect(),
            mode: draft.mode,
        });
    }
    let is_wrench = |target: &Target| matches!(target, Target::Wrench(..));
    learned.has_wrenches = learned.targets.iter().any(is_wrench);
    learned
}

/// The place of an element in a list, to which it is added if it is new.
fn place_of<E: PartialEq>(list: &mut Vec<E>, element: E) -> usize {
    let found = list.iter().position(|known| *known == element);
    found.unwrap_or_else(|| {
        list.push(element);
        list.len() - 1
    })
}

/// Refuses two terms at one actuator: which comes first would matter.
fn check_actuators(specs: &[LearnedTermSpec], structure: &Structure, report: &mut Report) {
    let learned = &structure.learned;
    let mut taken: Vec<usize> = Vec::new();
    for place in &learned.places {
        for target in &learned.targets[place.outputs.clone()] {
            let Target::Actuator { actuator, .. } = *target else {
                continue;
            };
            if taken.contains(&actuator) {
                let spec = &specs[place.term];
                let name = &structure.names.actuators[actuator];
                let message = format!("a second learned term acts on actuator '{name}'");
                let help = "let one term have all inputs of both";
                report.error_help(code::LEARNED, spec.span, message, help);
            }
            taken.push(actuator);
        }
    }
}

/// Lengths of the arrays.
fn count(structure: &mut Structure) {
    let (learned, counts) = (&structure.learned, &mut structure.counts);
    counts.nlearned = learned.terms.len();
    let last = learned.terms.last();
    counts.nlearned_weight = last.map_or(0, |term| term.weights.end);
    counts.nlearned_constant = last.map_or(0, |term| term.constants.end);
    counts.nlearned_range = last.map_or(0, |term| term.ranges.end);
    counts.nlearned_input = learned.signals.len();
    counts.nlearned_output = learned.targets.len();
    counts.nlearned_frame = learned.frames.len();
    counts.nlearned_dof = if learned.is_empty() { 0 } else { counts.nv };
    let contacts = learned.contacts.iter();
    let inputs = contacts.clone().map(|own| own.signals.len()).max();
    let outputs = contacts.map(|own| own.numbers.len()).max();
    counts.nlearned_contact = learned.contacts.len();
    counts.nlearned_contact_input = 2 * inputs.unwrap_or(0);
    counts.nlearned_contact_output = outputs.unwrap_or(0);
    counts.nlearned_body = if learned.has_wrenches {
        counts.nbody
    } else {
        0
    };
    let rooms = learned.terms.iter().map(|term| term.form.room());
    counts.nlearned_room = rooms.max().unwrap_or(0);
}

/// Fills the numbers of the terms.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) {
    let structure = std::sync::Arc::clone(&model.structure);
    let terms = structure.learned.terms.iter();
    for (index, (term, spec)) in terms.zip(&source.spec.learned_terms).enumerate() {
        let constants = &mut model.learned.constant[term.constants.clone()];
        constants.copy_from_slice(&term.form.plain_constants());
        for (constant, &given) in constants.iter_mut().zip(spec.scales.as_flattened()) {
            *constant = given;
        }
        if let (Some(last), Some(bound)) = (constants.last_mut(), spec.form.bound) {
            *last = bound;
        }
        model.learned.range[term.ranges.clone()].copy_from_slice(&spec.range);
        let weights = if spec.weights.is_empty() {
            let mut random = Normal(spec.seed.wrapping_add(index as u64));
            term.form.initial(|| random.next())
        } else {
            spec.weights.clone()
        };
        model.learned.weight[term.weights.clone()].copy_from_slice(&weights);
    }
}

/// Numbers that are nearly of the standard normal distribution, and the same on every machine.
struct Normal(u64);

impl Normal {
    fn next(&mut self) -> f64 {
        // The sum of twelve uniform numbers has the variance one.
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// Between zero and one, by the generator `SplitMix64`.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A site of some elements.
struct Address {
    site: TermSite,
    component: Option<usize>,
    /// The elements; none for those of the target.
    elements: Option<Vec<usize>>,
}

impl Address {
    /// The components that are meant.
    fn components(&self) -> Range<usize> {
        let all = 0..self.site.row().width;
        self.component.map_or(all, |one| one..one + 1)
    }
}

/// Reads one term.
struct Reader<'a, 'r> {
    structure: &'a Structure,
    checked: &'a mut Checked<'r>,
    frames: Vec<LearnedFrame>,
}

impl Reader<'_, '_> {
    fn refuse(&mut self, at: &Reference, message: String, help: impl Into<String>) {
        let diagnostic = Diagnostic::error(code::LEARNED, message).at(at.span);
        self.checked.push(diagnostic.help(help));
    }

    /// A term; none after something was refused.
    fn term(&mut self, spec: &LearnedTermSpec) -> Option<Draft> {
        let targets = self.targets(spec)?;
        let first = targets.first()?.site.row();
        let mut inputs = Vec::new();
        for reference in &spec.inputs {
            let input = self.address(reference, Some(first.owner))?;
            let row = input.site.row();
            if !first.may_read(row) {
                let message = format!(
                    "'{}' cannot be an input of {}: {}",
                    reference.name,
                    self.checked,
                    if row.is_input {
                        format!(
                            "it is found in the stage '{}', not before the target",
                            row.stage
                        )
                    } else {
                        "terms act on it and do not read it".to_owned()
                    }
                );
                let help = format!("inputs come before '{}': see `carom sites`", first.stage);
                self.refuse(reference, message, help);
                return None;
            }
            inputs.push(input);
        }
        if inputs.is_empty() {
            let help = "give it inputs, such as inputs = [\"velocity\"]";
            let message = format!("{} has no inputs", self.checked);
            self.checked.error_help(code::LEARNED, message, help);
            return None;
        }
        // Each element for itself, or all of them together; contacts come and go, and each has the function for itself.
        let all = targets[0].elements.clone().unwrap_or_default();
        let is_contact = first.owner == SiteOwner::Geom;
        if is_contact {
            self.check_contacts(spec)?;
        }
        let groups: Vec<Vec<usize>> = if spec.is_shared {
            let count = if is_contact { 1 } else { all.len() };
            all.iter()
                .take(count)
                .map(|&element| vec![element])
                .collect()
        } else {
            vec![all.clone()]
        };
        let places: Vec<_> = (groups.iter())
            .map(|own| {
                (
                    self.signals(&inputs, own),
                    self.outputs(spec, &targets, own),
                )
            })
            .collect();
        let (own, (signals, outputs)) = (groups.first()?, places.first()?.clone());
        let odd = self.own_inputs(&spec.form.odd, (first.owner, own), &signals)?;
        let against = self.own_inputs(&spec.form.dissipative, (first.owner, own), &signals)?;
        self.check_conjugate(&against, &places)?;
        let form = self.form(&spec.form, [signals.len(), outputs.len()], [&odd, &against])?;
        self.check_numbers(spec, &form)?;
        Some(Draft {
            form,
            ranges: spec.range.len(),
            owner: first.owner,
            mode: spec.mode,
            geoms: if is_contact { all } else { Vec::new() },
            places,
        })
    }

    /// What terms on contacts cannot do.
    fn check_contacts(&mut self, spec: &LearnedTermSpec) -> Option<()> {
        let (message, help) = if !spec.is_shared {
            (
                format!("{} acts on contacts, each by itself", self.checked),
                "leave out 'shared'",
            )
        } else if self.structure.laws.acts_on(LawLevel::Impact) {
            (
                format!(
                    "{} acts on contacts, but some are impacts, which it cannot change",
                    self.checked
                ),
                "choose another contact law",
            )
        } else {
            return Some(());
        };
        self.checked.error_help(code::LEARNED, message, help);
        None
    }

    /// What a term acts on.
    fn targets(&mut self, spec: &LearnedTermSpec) -> Option<Vec<Address>> {
        let mut targets: Vec<Address> = Vec::new();
        for reference in &spec.targets {
            let target = self.address(reference, None)?;
            let row = target.site.row();
            if !row.modes.contains(&spec.mode) {
                let modes: Vec<&str> = row.modes.iter().map(|mode| mode.name()).collect();
                let (message, help) = if modes.is_empty() {
                    let message = format!("terms do not act on '{}'", reference.name);
                    (message, "`carom sites` lists what they act on".to_owned())
                } else {
                    let mode = spec.mode.name();
                    let message = format!("'{}' has no mode '{mode}'", reference.name);
                    (message, format!("it has: {}", modes.join(", ")))
                };
                self.refuse(reference, message, help);
                return None;
            }
            if let Some(first) = targets.first() {
                let is_same_owner = first.site.row().owner == row.owner;
                if !is_same_owner || spec.is_shared && first.elements != target.elements {
                    let message = format!(
                        "'{}' is not of the same elements as the other targets of {}",
                        reference.name, self.checked
                    );
                    self.refuse(reference, message, "make a term of its own for it");
                    return None;
                }
            }
            targets.push(target);
        }
        if targets.is_empty() {
            let help = "give it a target, such as target = \"joint.*.force\"";
            let message = format!("{} acts on nothing", self.checked);
            self.checked.error_help(code::LEARNED, message, help);
            return None;
        }
        Some(targets)
    }

    /// The inputs of a place, whose own elements are given.
    fn signals(&mut self, inputs: &[Address], own: &[usize]) -> Vec<Signal> {
        let mut signals = Vec::new();
        for input in inputs {
            for &element in input.elements.as_deref().unwrap_or(own) {
                for component in input.components() {
                    signals.push(self.signal(input.site, element, component));
                }
            }
        }
        signals
    }

    /// The outputs of a place, whose own elements are given.
    fn outputs(
        &mut self,
        spec: &LearnedTermSpec,
        targets: &[Address],
        own: &[usize],
    ) -> Vec<Target> {
        let mut outputs = Vec::new();
        for target in targets {
            let elements = match &target.elements {
                Some(elements) if !spec.is_shared => elements,
                _ => own,
            };
            for &element in elements {
                for component in target.components() {
                    outputs.push(self.target(target.site, element, component, spec.mode));
                }
            }
        }
        outputs
    }

    /// Which inputs of a place some references mean.
    fn own_inputs(
        &mut self,
        references: &[Reference],
        (owner, own): (SiteOwner, &[usize]),
        signals: &[Signal],
    ) -> Option<Vec<usize>> {
        let mut found = Vec::new();
        for reference in references {
            let address = self.address(reference, Some(owner))?;
            for signal in self.signals(&[address], own) {
                let Some(place) = signals.iter().position(|known| *known == signal) else {
                    let message = format!("'{}' is no input of {}", reference.name, self.checked);
                    self.refuse(reference, message, "name one of its inputs");
                    return None;
                };
                found.push(place);
            }
        }
        Some(found)
    }

    /// Energy is taken out by a force against the very velocity that it acts along.
    fn check_conjugate(
        &mut self,
        against: &[usize],
        places: &[(Vec<Signal>, Vec<Target>)],
    ) -> Option<()> {
        let is_conjugate = |(signals, outputs): &(Vec<Signal>, Vec<Target>)| {
            let pairs = || against.iter().map(|&input| signals[input]).zip(outputs);
            against.len() == outputs.len()
                && pairs().all(|(signal, target)| match (signal, *target) {
                    (Signal::Velocity(moving), Target::Dof(dof)) => moving == dof,
                    (Signal::Motion(frame, along), Target::Wrench(other, component)) => {
                        frame == other && along == component
                    }
                    (Signal::Rate(moving), Target::Actuator { output, mode, .. }) => {
                        moving == output && mode != TermMode::Multiply
                    }
                    _ => false,
                })
        };
        if against.is_empty() || places.iter().all(is_conjugate) {
            return Some(());
        }
        let message = format!(
            "{} is not dissipative against these velocities",
            self.checked
        );
        let help =
            "list one velocity for each output, in their order: that which the output acts along";
        self.checked.error_help(code::LEARNED, message, help);
        None
    }

    /// The function of so many inputs and outputs, odd in some inputs, against some.
    fn form(
        &mut self,
        spec: &FormSpec,
        [inputs, outputs]: [usize; 2],
        [odd, against]: [&[usize]; 2],
    ) -> Option<Form> {
        let is_dissipative = !against.is_empty();
        let results = if is_dissipative {
            Form::entries(outputs)
        } else {
            outputs
        };
        let mut no = |message: String, help: &str| {
            let message = format!("{}: {message}", self.checked);
            self.checked.error_help(code::LEARNED, message, help);
            None
        };
        let is_law = matches!(spec.kind, FormKind::Friction | FormKind::Drag);
        if is_law && (is_dissipative || !odd.is_empty()) {
            return no(
                "a law is odd and dissipative by itself".to_owned(),
                "leave out 'odd' and 'dissipative'",
            );
        }
        let core = match &spec.kind {
            FormKind::Mlp { hidden, activation } => {
                let widths = [&[inputs], &hidden[..], &[results]].concat();
                let weights = widths.windows(2).try_fold(0_usize, |sum, pair| {
                    sum.checked_add(pair[0].checked_add(1)?.checked_mul(pair[1])?)
                });
                if hidden.contains(&0) || weights.is_none_or(|count| count > MAX_WEIGHTS) {
                    return no(
                        "a layer has no neurons, or far too many".to_owned(),
                        "give each hidden layer one to a few hundred neurons",
                    );
                }
                let activation = match activation {
                    ActivationKind::Tanh => Activation::Tanh,
                    ActivationKind::Elu => Activation::Elu,
                    ActivationKind::Softplus => Activation::Softplus,
                    ActivationKind::Silu => Activation::Silu,
                };
                Core::Mlp(Mlp::new(inputs, hidden, results, activation))
            }
            FormKind::Polynomial {
                degree,
                constant,
                is_quotient,
            } => {
                // Monomials of degree d in n inputs: n·(n + 1)⋯(n + d − 1)/d!, at most nᵈ.
                let size = u32::try_from(*degree)
                    .ok()
                    .map(|degree| inputs.saturating_pow(degree));
                let is_large = size.is_none_or(|size| size.saturating_mul(results) > MAX_WEIGHTS);
                if !(1..=MAX_DEGREE).contains(degree) || is_large {
                    return no(
                        format!("a polynomial of degree {degree} in {inputs} inputs"),
                        "choose a degree from 1 to 8 with fewer monomials",
                    );
                }
                Core::Polynomial(if *is_quotient {
                    Polynomial::quotient(inputs, results, *degree, *constant)
                } else {
                    Polynomial::new(inputs, results, *degree, *constant)
                })
            }
            FormKind::Table { counts } => {
                let size = counts
                    .iter()
                    .try_fold(1_usize, |all, &count| all.checked_mul(count));
                let is_small = counts.iter().any(|&count| count < MIN_CONTROL_VALUES);
                let is_large = size.is_none_or(|size| size > MAX_WEIGHTS);
                if counts.len() != inputs || !(1..=2).contains(&inputs) || is_small || is_large {
                    return no(
                        format!("a table with {counts:?} control values over {inputs} inputs"),
                        "a table has one or two inputs, and at least four control values along each",
                    );
                }
                if results != 1 {
                    return no(
                        format!("a table has one output, not {results}"),
                        "make one term for each output",
                    );
                }
                Core::Table(Table::new(counts))
            }
            FormKind::Friction => {
                if !(1..=2).contains(&inputs) || outputs != 1 {
                    return no(
                        format!("friction of {inputs} inputs and {outputs} outputs"),
                        "its inputs are a velocity and, if friction depends on it, a load",
                    );
                }
                Core::Friction(Friction::new(inputs == 2))
            }
            FormKind::Drag => {
                if inputs != outputs {
                    return no(
                        format!("drag of {inputs} inputs and {outputs} outputs"),
                        "its inputs are velocities, one for each output",
                    );
                }
                Core::Drag(Drag::new(inputs))
            }
        };
        let form = Form::new(core).odd(odd).dissipative(against);
        Some(match spec.bound {
            Some(_) => form.bounded(),
            None => form,
        })
    }

    /// Checks weights, scales and bound against the function.
    fn check_numbers(&mut self, spec: &LearnedTermSpec, form: &Form) -> Option<()> {
        let name = self.checked.to_string();
        let mut no = |message: String, help: &str| {
            self.checked.error_help(code::LEARNED, message, help);
            None
        };
        if spec
            .form
            .bound
            .is_some_and(|bound| !(bound > 0.0 && bound.is_finite()))
        {
            return no(
                format!("the bound of {name} is not above zero"),
                "leave it out",
            );
        }
        let retrain = "train the terms of this blueprint again";
        let (found, needed) = (spec.weights.len(), form.weights());
        if found != 0 && found != needed {
            let message = format!("{name} needs {needed} weights, found {found}");
            return no(message, retrain);
        }
        let is_wrong = |(index, weight): (usize, &f64)| {
            !weight.is_finite() || *weight < form.lower_bound(index)
        };
        if let Some(index) = spec.weights.iter().enumerate().position(is_wrong) {
            let (weight, least) = (spec.weights[index], form.lower_bound(index));
            let message = if weight.is_finite() {
                format!("weight {index} of {name} is {weight}, below {least}")
            } else {
                format!("weight {index} of {name} is {weight}")
            };
            return no(message, retrain);
        }
        let (found, needed) = (spec.scales.len(), form.inputs());
        if found != 0 && found != needed {
            let message = format!("{name} has {needed} inputs, but scales for {found}");
            return no(
                message,
                "give a centre and a scale for each number that goes in",
            );
        }
        let is_bad =
            |&[center, scale]: &[f64; 2]| !(center.is_finite() && scale.is_finite() && scale > 0.0);
        if let Some(input) = spec.scales.iter().position(is_bad) {
            let message = format!("the scale of input {input} of {name} is not above zero");
            return no(message, "give a finite centre and a positive scale");
        }
        let found = spec.range.len();
        if found != 0 && found != needed {
            let message = format!("{name} has {needed} inputs, but ranges for {found}");
            return no(
                message,
                "give a lowest and a highest value for each number that goes in",
            );
        }
        let is_empty = |&[low, high]: &[f64; 2]| low.is_nan() || high.is_nan() || low > high;
        if let Some(input) = spec.range.iter().position(is_empty) {
            let [low, high] = spec.range[input];
            let message = format!("the range of input {input} of {name} is {low} to {high}");
            return no(message, "give the lowest value first");
        }
        let is_moved =
            |&&input: &&usize| spec.scales.get(input).is_some_and(|scale| scale[0] != 0.0);
        if let Some(input) = form.odd_inputs().iter().find(is_moved) {
            let message = format!("{name} is odd in input {input}, whose centre is not zero");
            return no(message, "give it the centre 0");
        }
        Some(())
    }

    /// The site that a reference names, and its elements. Without an owner of its own it is one of the target's elements.
    fn address(&mut self, reference: &Reference, own: Option<SiteOwner>) -> Option<Address> {
        let text = reference.name.as_str();
        if text == TermSite::Time.row().name {
            return Some(Address {
                site: TermSite::Time,
                component: None,
                elements: Some(vec![0]),
            });
        }
        let owners = [
            SiteOwner::Joint,
            SiteOwner::Body,
            SiteOwner::Actuator,
            SiteOwner::Geom,
        ];
        let named = owners.into_iter().find_map(|owner| {
            let rest = text.strip_prefix(owner.name())?.strip_prefix('.')?;
            rest.contains('.').then_some((owner, rest))
        });
        let Some((owner, rest)) = named else {
            let Some(owner) = own else {
                let message = format!("'{text}' does not say what {} acts on", self.checked);
                let help = "targets are called joint.<name>.force, body.<name>.force, body.<name>.torque, \
                            actuator.<name>.force or geom.<name>.friction; <name> may be a pattern such as *";
                self.refuse(reference, message, help);
                return None;
            };
            let (site, component) = self.site(reference, owner, text)?;
            return Some(Address {
                site,
                component,
                elements: None,
            });
        };
        if owner == SiteOwner::Geom && own.is_some() {
            let message = format!("'{text}' is not a number of one contact");
            let help =
                "inputs of the contact that a term acts on have no geom: 'place', 'slip_speed'";
            self.refuse(reference, message, help);
            return None;
        }
        // Names may have dots: the site is what comes last.
        let cut = rest.rfind('.')?;
        let is_axis = matches!(&rest[cut + 1..], "x" | "y" | "z");
        let cut = match rest[..cut].rfind('.') {
            Some(before) if is_axis => before,
            _ => cut,
        };
        let (pattern, site) = (&rest[..cut], &rest[cut + 1..]);
        let (site, component) = self.site(reference, owner, site)?;
        let elements = Some(self.elements(reference, (owner, site), pattern)?);
        Some(Address {
            site,
            component,
            elements,
        })
    }

    /// A site by its name, which may end with a component.
    fn site(
        &mut self,
        reference: &Reference,
        owner: SiteOwner,
        text: &str,
    ) -> Option<(TermSite, Option<usize>)> {
        if let Some(site) = TermSite::called(owner, text) {
            return Some((site, None));
        }
        if let Some((name, axis)) = text.split_once('.')
            && let Some(site) = TermSite::called(owner, name)
            && let Some(component) = site.component(axis)
        {
            return Some((site, Some(component)));
        }
        let all = TermSite::ALL.iter().map(|site| site.row());
        let names: Vec<&str> = (all.filter(|row| row.owner == owner))
            .map(|row| row.name)
            .collect();
        let message = format!("a {} has no '{text}' that terms know", owner.name());
        let help = match nearest_name(text, names.iter().copied()) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("it has: {}", names.join(", ")),
        };
        self.refuse(reference, message, help);
        None
    }

    /// The elements that fit a pattern and have a site.
    fn elements(
        &mut self,
        reference: &Reference,
        (owner, site): (SiteOwner, TermSite),
        pattern: &str,
    ) -> Option<Vec<usize>> {
        let names = &self.structure.names;
        let names = match owner {
            SiteOwner::Joint => &names.joints,
            SiteOwner::Body => &names.bodies,
            SiteOwner::Geom => &names.geoms,
            _ => &names.actuators,
        };
        let is_meant = |&(id, name): &(usize, &String)| {
            let name = if name.is_empty() {
                id.to_string()
            } else {
                name.clone()
            };
            matches_pattern(pattern, &name)
        };
        let meant: Vec<usize> = (names.iter().enumerate().filter(is_meant))
            .map(|(id, _)| id)
            .collect();
        if meant.is_empty() {
            let message = format!("no {} is called '{pattern}'", owner.name());
            let help = match nearest_name(pattern, names.iter().map(String::as_str)) {
                Some(near) => format!("there is a {} '{near}'", owner.name()),
                None => format!("a pattern such as * means every {}", owner.name()),
            };
            self.refuse(reference, message, help);
            return None;
        }
        // Patterns pass over elements that have no such number; names must have it.
        let why_not = |&id: &usize| self.structure.lacks_site(site, id);
        let is_pattern = pattern.contains(['*', '?']);
        let lacking = meant.iter().find_map(why_not);
        let fit: Vec<usize> = (meant.iter().copied())
            .filter(|id| self.structure.lacks_site(site, *id).is_none())
            .collect();
        match lacking {
            Some(why) if !is_pattern || fit.is_empty() => {
                let message = format!("'{}': the {} {why}", reference.name, owner.name());
                self.refuse(reference, message, "name another element");
                None
            }
            _ => Some(fit),
        }
    }

    /// One number that a term reads.
    fn signal(&mut self, site: TermSite, element: usize, component: usize) -> Signal {
        let (joints, actuators) = (&self.structure.joints, &self.structure.actuators);
        let position = |of: Angle| Signal::Position {
            coordinate: joints.qpos[element],
            dof: joints.dof[element],
            of,
        };
        let mut motion = |is_local: bool, first: usize| {
            let body = element;
            let frame = place_of(&mut self.frames, LearnedFrame { body, is_local });
            Signal::Motion(frame, first + component)
        };
        match site {
            TermSite::JointPosition => position(Angle::Plain),
            TermSite::JointSine => position(Angle::Sine),
            TermSite::JointCosine => position(Angle::Cosine),
            TermSite::JointVelocity => Signal::Velocity(joints.dof[element]),
            TermSite::JointPassiveForce => Signal::PassiveForce(joints.dof[element]),
            TermSite::JointBiasForce => Signal::BiasForce(joints.dof[element]),
            TermSite::JointActuatorForce => Signal::ActuationForce(joints.dof[element]),
            TermSite::BodyPosition => Signal::BodyPosition(element, component),
            TermSite::BodyRotation => Signal::BodyRotation(element, component),
            // The last row of the matrix from body to world axes.
            TermSite::BodyUp => Signal::BodyRotation(element, 6 + component),
            TermSite::BodyAngularVelocity => motion(true, 0),
            TermSite::BodyLinearVelocity => motion(true, 3),
            TermSite::BodyWorldAngularVelocity => motion(false, 0),
            TermSite::BodyWorldLinearVelocity => motion(false, 3),
            TermSite::ActuatorControl => Signal::Control(actuators.controls[element].start),
            TermSite::ActuatorActivation => {
                Signal::Activation(actuators.activations[element].end.saturating_sub(1))
            }
            TermSite::ActuatorLength => Signal::Length(actuators.outputs[element].start),
            TermSite::ActuatorVelocity => Signal::Rate(actuators.outputs[element].start),
            TermSite::ActuatorForce => Signal::ActuatorForce(actuators.outputs[element].start),
            TermSite::ContactPlace => Signal::Contact(ContactSignal::Place(component)),
            TermSite::ContactWorldPlace => Signal::Contact(ContactSignal::WorldPlace(component)),
            TermSite::ContactNormal => Signal::Contact(ContactSignal::Normal(component)),
            TermSite::ContactWorldNormal => Signal::Contact(ContactSignal::WorldNormal(component)),
            TermSite::ContactSlip => Signal::Contact(ContactSignal::Slip(component)),
            TermSite::ContactWorldSlip => Signal::Contact(ContactSignal::WorldSlip(component)),
            TermSite::ContactSlipSpeed => Signal::Contact(ContactSignal::SlipSpeed),
            TermSite::ContactNormalSpeed => Signal::Contact(ContactSignal::NormalSpeed),
            TermSite::ContactDepth => Signal::Contact(ContactSignal::Depth),
            TermSite::Time
            | TermSite::ContactFriction
            | TermSite::ContactTorsionalFriction
            | TermSite::ContactRollingFriction
            | TermSite::ContactSolref
            | TermSite::JointForce
            | TermSite::BodyForce
            | TermSite::BodyTorque
            | TermSite::BodyWorldForce
            | TermSite::BodyWorldTorque => Signal::Time,
        }
    }

    /// One number that a term acts on.
    fn target(
        &mut self,
        site: TermSite,
        element: usize,
        component: usize,
        mode: TermMode,
    ) -> Target {
        let mut wrench = |is_local: bool, first: usize| {
            let body = element;
            let frame = place_of(&mut self.frames, LearnedFrame { body, is_local });
            Target::Wrench(frame, first + component)
        };
        match site {
            TermSite::BodyTorque => wrench(true, 0),
            TermSite::BodyForce => wrench(true, 3),
            TermSite::BodyWorldTorque => wrench(false, 0),
            TermSite::BodyWorldForce => wrench(false, 3),
            TermSite::ActuatorForce => Target::Actuator {
                actuator: element,
                output: self.structure.actuators.outputs[element].start,
                mode,
            },
            TermSite::ContactFriction => Target::Contact(ContactNumber::Sliding),
            TermSite::ContactTorsionalFriction => Target::Contact(ContactNumber::Torsional),
            TermSite::ContactRollingFriction => Target::Contact(ContactNumber::Rolling),
            TermSite::ContactSolref if component == 0 => Target::Contact(ContactNumber::Stiffness),
            TermSite::ContactSolref => Target::Contact(ContactNumber::Damping),
            _ => Target::Dof(self.structure.joints.dof[element]),
        }
    }
}

/// Whether a name fits a pattern with `*` and `?`.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    crate::parameters::matches_pattern(pattern.as_bytes(), name.as_bytes())
}
