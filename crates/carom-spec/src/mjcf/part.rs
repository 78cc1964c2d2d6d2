//! Parts of the tree of bodies, cut out and inserted elsewhere under other names.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{BodyDraft, Draft, FrameDraft, Framed, WORLD};
use super::names::Names;
use super::orientation::Pose;
use super::references::Named;
use crate::model_spec::{ObjectKind, Reference};

/// What is put around the names of copies.
#[derive(Clone, Debug, Default)]
pub(super) struct Namespace {
    pub(super) prefix: String,
    pub(super) suffix: String,
    /// Names of assets change as well: they come from another model.
    pub(super) foreign: bool,
}

impl Namespace {
    pub(super) fn apply(&self, name: &str) -> String {
        format!("{}{name}{}", self.prefix, self.suffix)
    }

    pub(super) fn rename(&self, name: &mut String) {
        if !name.is_empty() {
            *name = self.apply(name);
        }
    }

    /// Renames a reference to an asset.
    pub(super) fn rename_asset(&self, asset: &mut Option<Reference>) {
        if let (true, Some(asset)) = (self.foreign, asset) {
            self.rename(&mut asset.name);
        }
    }
}

/// A cut-out part: body 0 stands for the body that the part will be inserted into, and elements
/// without a frame for those in the frame it will be inserted into.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) bodies: Vec<BodyDraft>,
    frames: Vec<FrameDraft>,
    /// Index in the source of each body but the first.
    pub(super) sources: Vec<usize>,
}

impl Draft {
    /// Cuts out the content of the world.
    pub(super) fn cut_world(&self) -> Part {
        self.cut(WORLD, |_| true, None, 0)
    }

    /// Cuts out a frame with its content, but not the frames around it.
    pub(super) fn cut_frame(&self, frame: usize) -> Part {
        let is_inside = |candidate: Option<usize>| {
            let mut current = candidate;
            while let Some(index) = current {
                if index == frame {
                    return true;
                }
                current = self.frames[index].parent;
            }
            false
        };
        self.cut(self.frames[frame].body, is_inside, None, frame)
    }

    /// Cuts out a body with everything below it.
    pub(super) fn cut_body(&self, body: usize) -> Part {
        let parent = self.parent_of(body).unwrap_or(WORLD);
        self.cut(parent, |_| false, Some(body), 0)
    }

    fn parent_of(&self, body: usize) -> Option<usize> {
        self.bodies
            .iter()
            .position(|candidate| candidate.children.contains(&body))
    }

    /// Cuts the elements of `carrier` whose frame is chosen, or one of its child bodies alone.
    /// Frames before `first_frame` do not matter.
    fn cut(
        &self,
        carrier: usize,
        is_chosen: impl Fn(Option<usize>) -> bool,
        only_child: Option<usize>,
        first_frame: usize,
    ) -> Part {
        let source = &self.bodies[carrier];
        let mut root = BodyDraft::default();
        choose(&source.joints, &is_chosen, &mut root.joints);
        choose(&source.geoms, &is_chosen, &mut root.geoms);
        choose(&source.sites, &is_chosen, &mut root.sites);
        choose(&source.cameras, &is_chosen, &mut root.cameras);
        choose(&source.lights, &is_chosen, &mut root.lights);
        let mut bodies = vec![root];
        let mut sources = Vec::new();
        // Copy the bodies below, parents first.
        let mut open: Vec<(usize, usize)> = if let Some(only) = only_child {
            vec![(only, 0)]
        } else {
            let children = source.children.iter().rev();
            let chosen = children.filter(|child| is_chosen(self.bodies[**child].frame));
            chosen.map(|child| (*child, 0)).collect()
        };
        while let Some((index, parent)) = open.pop() {
            let mut body = self.bodies[index].clone();
            let copy = bodies.len();
            let children = std::mem::take(&mut body.children);
            if only_child == Some(index) {
                body.frame = None;
            }
            bodies.push(body);
            sources.push(index);
            bodies[parent].children.push(copy);
            open.extend(children.into_iter().rev().map(|child| (child, copy)));
        }
        let mut part = Part {
            bodies,
            frames: Vec::new(),
            sources,
        };
        part.take_frames(self, carrier, is_chosen, first_frame);
        part
    }
}

fn choose<T: Clone>(
    list: &[Framed<T>],
    is_chosen: impl Fn(Option<usize>) -> bool,
    chosen: &mut Vec<Framed<T>>,
) {
    chosen.extend(
        list.iter()
            .filter(|element| is_chosen(element.frame))
            .cloned(),
    );
}

impl Part {
    /// Copies the frames that belong to the part and renumbers all uses of them.
    fn take_frames(
        &mut self,
        source: &Draft,
        carrier: usize,
        is_chosen: impl Fn(Option<usize>) -> bool,
        first_frame: usize,
    ) {
        let bodies: BTreeMap<usize, usize> = self
            .sources
            .iter()
            .enumerate()
            .map(|(copy, &body)| (body, copy + 1))
            .collect();
        let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
        for (index, frame) in
            (first_frame..).zip(&source.frames[first_frame.min(source.frames.len())..])
        {
            let body = match bodies.get(&frame.body) {
                Some(&body) => body,
                None if frame.body == carrier && is_chosen(Some(index)) => 0,
                None => continue,
            };
            let parent = frame
                .parent
                .and_then(|parent| numbers.get(&parent).copied());
            numbers.insert(index, self.frames.len());
            self.frames.push(FrameDraft {
                body,
                parent,
                ..frame.clone()
            });
        }
        self.renumber_frames(|frame| numbers.get(&frame).copied());
    }

    fn renumber_frames(&mut self, number: impl Fn(usize) -> Option<usize>) {
        fn all<T>(list: &mut [Framed<T>], number: impl Fn(usize) -> Option<usize>) {
            for element in list {
                element.frame = element.frame.and_then(&number);
            }
        }
        for body in &mut self.bodies {
            body.frame = body.frame.and_then(&number);
            all(&mut body.joints, &number);
            all(&mut body.geoms, &number);
            all(&mut body.sites, &number);
            all(&mut body.cameras, &number);
            all(&mut body.lights, &number);
        }
    }

    /// Sets the pose of the part's outermost frame.
    pub(super) fn set_pose(&mut self, pose: Pose) {
        if let Some(frame) = self.frames.first_mut() {
            frame.pose = pose;
        }
    }

    /// Number of elements and frames.
    pub(super) fn size(&self) -> usize {
        self.frames.len() + self.bodies.iter().map(BodyDraft::size).sum::<usize>()
    }

    /// Length of the longest name in bytes.
    pub(super) fn longest_name(&self) -> usize {
        let mut longest = 0;
        self.for_each_name(|_, name| longest = longest.max(name.len()));
        self.frames
            .iter()
            .map(|frame| frame.name.len())
            .fold(longest, usize::max)
    }

    /// Puts all names into a namespace.
    pub(super) fn rename(&mut self, namespace: &Namespace) {
        fn all<T: Named>(list: &mut [Framed<T>], namespace: &Namespace) {
            for element in list {
                namespace.rename(element.value.name_mut());
            }
        }
        for frame in &mut self.frames {
            namespace.rename(&mut frame.name);
        }
        for body in &mut self.bodies {
            namespace.rename(&mut body.spec.name);
            all(&mut body.joints, namespace);
            all(&mut body.geoms, namespace);
            all(&mut body.sites, namespace);
            all(&mut body.cameras, namespace);
            all(&mut body.lights, namespace);
            for geom in &mut body.geoms {
                namespace.rename_asset(&mut geom.value.material);
                namespace.rename_asset(&mut geom.value.mesh);
                namespace.rename_asset(&mut geom.value.height_field);
            }
            for site in &mut body.sites {
                namespace.rename_asset(&mut site.value.material);
                namespace.rename_asset(&mut site.value.mesh);
            }
        }
    }

    /// Adds the part's names to the names in use.
    pub(super) fn add_names(&self, names: &mut Names) {
        self.for_each_name(|kind, name| {
            names.add(kind, name);
        });
    }

    /// Removes the part's names from the names in use.
    pub(super) fn remove_names(&self, names: &mut Names) {
        self.for_each_name(|kind, name| names.remove(kind, name));
    }

    fn for_each_name(&self, mut visit: impl FnMut(ObjectKind, &str)) {
        fn all<T: Named>(list: &[Framed<T>], visit: &mut impl FnMut(ObjectKind, &str)) {
            for element in list {
                visit(T::KIND, element.value.name());
            }
        }
        for body in &self.bodies {
            visit(ObjectKind::Body, &body.spec.name);
            all(&body.joints, &mut visit);
            all(&body.geoms, &mut visit);
            all(&body.sites, &mut visit);
            all(&body.cameras, &mut visit);
            all(&body.lights, &mut visit);
        }
    }

    /// Lets cameras and lights follow targets that were copied with them.
    pub(super) fn retarget(&mut self, namespace: &Namespace, names: &Names) {
        let retarget = |target: &mut Option<Reference>| {
            let Some(target) = target else { return };
            let renamed = namespace.apply(&target.name);
            if names.contains(ObjectKind::Body, &renamed) {
                target.name = renamed;
            }
        };
        for body in &mut self.bodies {
            body.cameras
                .iter_mut()
                .for_each(|camera| retarget(&mut camera.value.target));
            body.lights
                .iter_mut()
                .for_each(|light| retarget(&mut light.value.target));
        }
    }
}

/// Where the bodies of an inserted part went.
pub(super) struct Inserted {
    /// Index of each body of the part.
    pub(super) bodies: Vec<usize>,
}

impl Draft {
    /// Inserts a part into a body and a frame of that body.
    pub(super) fn insert(&mut self, mut part: Part, into: usize, frame: Option<usize>) -> Inserted {
        self.size += part.size();
        let first_body = self.bodies.len();
        let place = |body: usize| {
            if body == 0 {
                into
            } else {
                first_body + body - 1
            }
        };
        let first_frame = self.frames.len();
        part.renumber_frames(|index| Some(first_frame + index));
        for local in &part.frames {
            let outermost = if local.body == 0 { frame } else { None };
            self.frames.push(FrameDraft {
                body: place(local.body),
                parent: local
                    .parent
                    .map_or(outermost, |parent| Some(first_frame + parent)),
                ..local.clone()
            });
        }
        let bodies = (0..part.bodies.len()).map(place).collect();
        let mut rest = part.bodies.into_iter();
        let mut root = rest.next().unwrap_or_default();
        for &child in &root.children {
            self.bodies[into].children.push(place(child));
        }
        let root_children: BTreeSet<usize> = root.children.iter().copied().collect();
        for (index, mut body) in rest.enumerate() {
            if root_children.contains(&(index + 1)) {
                body.frame = body.frame.or(frame);
            }
            for child in &mut body.children {
                *child = place(*child);
            }
            self.bodies.push(body);
        }
        let target = &mut self.bodies[into];
        append(&mut target.joints, &mut root.joints, frame);
        append(&mut target.geoms, &mut root.geoms, frame);
        append(&mut target.sites, &mut root.sites, frame);
        append(&mut target.cameras, &mut root.cameras, frame);
        append(&mut target.lights, &mut root.lights, frame);
        Inserted { bodies }
    }
}

fn append<T>(list: &mut Vec<Framed<T>>, added: &mut Vec<Framed<T>>, frame: Option<usize>) {
    for element in added.iter_mut() {
        element.frame = element.frame.or(frame);
    }
    list.append(added);
}
