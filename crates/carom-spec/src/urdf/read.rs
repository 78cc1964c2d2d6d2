//! The tree of links.

use std::collections::BTreeMap;
use std::path::Path;

use super::{codes, joint, link};
use crate::diagnostic::{Diagnostic, nearest_name};
use crate::mjcf::attribute::Attributes;
use crate::mjcf::include::Tree;
use crate::mjcf::problems::Problems;
use crate::mjcf::settings::read_extension;
use crate::model_spec::{BodySpec, CompilerSettings, ModelSpec};
use crate::source::FileSource;
use crate::xml::{Attribute, Element};

/// What reading needs besides the elements.
pub(super) struct Context<'a> {
    pub(super) problems: &'a Problems<'a>,
    pub(super) source: &'a dyn FileSource,
    /// Folder of the URDF file.
    pub(super) folder: &'a Path,
    /// Folder of mesh files as the `<mujoco>` extension names it.
    pub(super) mesh_folder: String,
    /// Only the last part of mesh paths counts.
    pub(super) strip_path: bool,
    /// Visual geometry is left out.
    pub(super) discard_visual: bool,
}

/// One `<link>` with its place in the tree.
struct Link<'d> {
    element: Element<'d>,
    name: &'d str,
    /// Joint that holds the link.
    joint: Option<Element<'d>>,
    children: Vec<usize>,
}

/// Name of the link that stands for the world.
const WORLD: &str = "world";

/// Reads a model from its `<robot>` element.
pub(crate) fn read(tree: &Tree, source: &dyn FileSource, problems: &Problems<'_>) -> ModelSpec {
    let root = tree.root();
    let compiler = CompilerSettings {
        fuse_static: true,
        discard_visual: true,
        ..CompilerSettings::default()
    };
    let mut spec = ModelSpec {
        compiler,
        ..ModelSpec::default()
    };
    Attributes::new(root, problems).set("name", &mut spec.name);
    let (mesh_folder, strip_path) = match unique_child(root, "mujoco", problems) {
        Some(element) => read_extension(tree, element, source, problems, &mut spec),
        None => Default::default(),
    };
    for child in root.children() {
        warn_misspelling(child, &["link", "joint", "material", "mujoco"], problems);
    }
    let context = Context {
        problems,
        source,
        folder: tree.main_folder(),
        mesh_folder,
        strip_path,
        discard_visual: spec.compiler.discard_visual,
    };
    let links = connect(root, problems);
    let mut reader = link::LinkReader::new(&context, root);
    read_tree(&links, &mut reader, &mut spec, problems);
    joint::read_mimics(root, &mut spec, problems);
    spec
}

/// Turns the links into bodies, depth first from every link that no joint holds.
fn read_tree(
    links: &[Link<'_>],
    reader: &mut link::LinkReader<'_>,
    spec: &mut ModelSpec,
    problems: &Problems<'_>,
) {
    // In the order of the file, which is the order of the meshes.
    let mut bodies: Vec<Option<BodySpec>> = links
        .iter()
        .map(|link| {
            let (name, span) = (link.name.to_owned(), link.element.span());
            let mut body = BodySpec {
                name,
                span,
                ..BodySpec::default()
            };
            reader.read(link.element, &mut body, &mut spec.meshes);
            if let Some(element) = link.joint {
                joint::read(element, &mut body, problems);
            }
            Some(body)
        })
        .collect();
    let roots = (0..links.len())
        .rev()
        .filter(|&index| links[index].joint.is_none());
    // Links to read with the index of their parent body; the last one is next.
    let mut pending: Vec<(usize, usize)> = roots.map(|index| (index, 0)).collect();
    while let Some((index, parent)) = pending.pop() {
        let link = &links[index];
        let Some(mut body) = bodies[index].take() else {
            continue;
        };
        body.parent = parent;
        let place = if link.name == WORLD {
            // The link is the world itself, which neither moves nor has inertia.
            spec.bodies[0].geoms.append(&mut body.geoms);
            0
        } else {
            spec.bodies.push(body);
            spec.bodies.len() - 1
        };
        pending.extend(link.children.iter().rev().map(|&child| (child, place)));
    }
    for body in bodies.into_iter().flatten() {
        let message = format!("link '{}' hangs on itself through its joints", body.name);
        problems.error(codes::LINK, body.span, message);
    }
}

/// Collects the links and hangs them on each other as the joints say.
fn connect<'d>(root: Element<'d>, problems: &Problems<'_>) -> Vec<Link<'d>> {
    let mut links: Vec<Link<'d>> = Vec::new();
    let mut index_of: BTreeMap<&str, usize> = BTreeMap::new();
    for element in root.children().filter(|child| child.tag() == "link") {
        let Some(name) = element.value("name") else {
            Attributes::new(element, problems).missing("name");
            continue;
        };
        if index_of.contains_key(name) {
            let message = format!("there are two links named '{name}'");
            problems.error(codes::LINK, element.span(), message);
            continue;
        }
        index_of.insert(name, links.len());
        links.push(Link {
            element,
            name,
            joint: None,
            children: Vec::new(),
        });
    }
    for element in root.children().filter(|child| child.tag() == "joint") {
        let side = |tag| joint_side(element, tag, &index_of, problems);
        let (Some(parent), Some(child)) = (side("parent"), side("child")) else {
            continue;
        };
        let name = links[child].name;
        if name == WORLD {
            let message = "the link 'world' stands for the world and cannot be a joint's child";
            problems.error(codes::JOINT, element.span(), message);
        } else if links[child].joint.replace(element).is_some() {
            let message = format!("link '{name}' is the child of two joints");
            problems.error(codes::JOINT, element.span(), message);
        } else {
            links[parent].children.push(child);
        }
    }
    links
}

/// The link on one side of a joint.
fn joint_side(
    joint: Element<'_>,
    tag: &'static str,
    index_of: &BTreeMap<&str, usize>,
    problems: &Problems<'_>,
) -> Option<usize> {
    let element = require_child(joint, tag, problems)?;
    let name = Attributes::new(element, problems).require::<String>("link")?;
    let index = index_of.get(name.as_str()).copied();
    if index.is_none() {
        let place = element
            .attribute("link")
            .map_or(element.span(), Attribute::value_span);
        let mut diagnostic =
            Diagnostic::error(codes::JOINT, format!("there is no link named '{name}'")).at(place);
        if let Some(near) = nearest_name(&name, index_of.keys().copied()) {
            diagnostic = diagnostic.help(format!("did you mean '{near}'?"));
        }
        problems.push(diagnostic);
    }
    index
}

/// The only child of that name; a second one is reported.
pub(super) fn unique_child<'d>(
    element: Element<'d>,
    tag: &str,
    problems: &Problems<'_>,
) -> Option<Element<'d>> {
    let mut found = element.children().filter(|child| child.tag() == tag);
    let first = found.next();
    if let Some(second) = found.next() {
        let message = format!("<{tag}> may appear only once in <{}>", element.tag());
        problems.error(codes::ELEMENT, second.span(), message);
    }
    first
}

/// The only child of that name, which has to be there.
pub(super) fn require_child<'d>(
    element: Element<'d>,
    tag: &str,
    problems: &Problems<'_>,
) -> Option<Element<'d>> {
    let child = unique_child(element, tag, problems);
    if child.is_none() {
        let message = format!("<{}> needs a <{tag}>", element.tag());
        problems.error(codes::ELEMENT, element.span(), message);
    }
    child
}

/// Warns of an element that looks like a known one. Others belong to other programs: URDF is open.
pub(super) fn warn_misspelling(element: Element<'_>, known: &[&str], problems: &Problems<'_>) {
    let tag = element.tag();
    if known.contains(&tag) {
        return;
    }
    if let Some(near) = nearest_name(tag, known.iter().copied()) {
        problems.push(
            Diagnostic::warning(
                codes::NO_EFFECT,
                format!("<{tag}> is not known and is ignored"),
            )
            .at(element.tag_span())
            .help(format!("did you mean <{near}>?")),
        );
    }
}
