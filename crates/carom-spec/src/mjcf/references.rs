//! Which elements refer to which others.

use crate::model_spec::{
    ActuatorSpec, BodySpec, CameraSpec, EqualityKind, EqualityObjects, EqualitySpec, ExcludeSpec,
    GeomSpec, HeightFieldSpec, JointLawSpec, JointSpec, KeyframeSpec, LightSpec, MaterialSpec,
    MeshSpec, NumericSpec, ObjectKind, PairSpec, Reference, SensorSpec, SiteSpec, TendonPath,
    TendonSpec, TextSpec, TextureSpec, Transmission, TupleSpec, WrapSpec,
};
use crate::span::Span;

/// Called with every reference of an element.
pub(super) type Visit<'v> = &'v mut dyn FnMut(ObjectKind, &mut Reference);

/// An element with a name.
pub(super) trait Named {
    /// Kind of the element.
    const KIND: ObjectKind;

    fn name(&self) -> &str;
    fn name_mut(&mut self) -> &mut String;
    fn span(&self) -> Span;
}

/// An element outside the tree of bodies that refers to others.
pub(super) trait Referring: Named + Clone {
    /// Whether copies may keep references to elements that were not copied with them.
    const KEEPS_OUTSIDE: bool;

    fn visit(&mut self, visit: Visit<'_>);
}

macro_rules! named {
    ($($spec:ident is $kind:ident),* $(,)?) => {
        $(impl Named for $spec {
            const KIND: ObjectKind = ObjectKind::$kind;

            fn name(&self) -> &str {
                &self.name
            }

            fn name_mut(&mut self) -> &mut String {
                &mut self.name
            }

            fn span(&self) -> Span {
                self.span
            }
        })*
    };
}

named! {
    BodySpec is Body,
    JointSpec is Joint,
    GeomSpec is Geom,
    SiteSpec is Site,
    CameraSpec is Camera,
    LightSpec is Light,
    PairSpec is Pair,
    ExcludeSpec is Exclude,
    TendonSpec is Tendon,
    EqualitySpec is Equality,
    ActuatorSpec is Actuator,
    SensorSpec is Sensor,
    JointLawSpec is Text,
    TupleSpec is Tuple,
    MeshSpec is Mesh,
    HeightFieldSpec is HeightField,
    TextureSpec is Texture,
    MaterialSpec is Material,
    NumericSpec is Numeric,
    TextSpec is Text,
    KeyframeSpec is Keyframe,
}

impl Referring for PairSpec {
    const KEEPS_OUTSIDE: bool = true;

    fn visit(&mut self, visit: Visit<'_>) {
        visit(ObjectKind::Geom, &mut self.geom1);
        visit(ObjectKind::Geom, &mut self.geom2);
    }
}

impl Referring for ExcludeSpec {
    const KEEPS_OUTSIDE: bool = true;

    fn visit(&mut self, visit: Visit<'_>) {
        visit(ObjectKind::Body, &mut self.body1);
        visit(ObjectKind::Body, &mut self.body2);
    }
}

impl Referring for TendonSpec {
    const KEEPS_OUTSIDE: bool = true;

    fn visit(&mut self, visit: Visit<'_>) {
        match &mut self.path {
            TendonPath::Fixed(terms) => {
                for (joint, _) in terms {
                    visit(ObjectKind::Joint, joint);
                }
            }
            TendonPath::Spatial(path) => {
                for wrap in path {
                    match wrap {
                        WrapSpec::Site { site, .. } => visit(ObjectKind::Site, site),
                        WrapSpec::Geom {
                            geom, side_site, ..
                        } => {
                            visit(ObjectKind::Geom, geom);
                            if let Some(site) = side_site {
                                visit(ObjectKind::Site, site);
                            }
                        }
                        WrapSpec::Pulley { .. } => {}
                    }
                }
            }
        }
    }
}

impl Referring for EqualitySpec {
    const KEEPS_OUTSIDE: bool = false;

    fn visit(&mut self, visit: Visit<'_>) {
        let (kind, first, second) = match &mut self.kind {
            EqualityKind::Connect { objects, .. } | EqualityKind::Weld { objects, .. } => {
                match objects {
                    EqualityObjects::Bodies { first, second } => {
                        (ObjectKind::Body, first, second.as_mut())
                    }
                    EqualityObjects::Sites { first, second } => {
                        (ObjectKind::Site, first, Some(second))
                    }
                }
            }
            EqualityKind::Joint { first, second, .. } => {
                (ObjectKind::Joint, first, second.as_mut())
            }
            EqualityKind::Tendon { first, second, .. } => {
                (ObjectKind::Tendon, first, second.as_mut())
            }
        };
        visit(kind, first);
        if let Some(second) = second {
            visit(kind, second);
        }
    }
}

impl Referring for ActuatorSpec {
    const KEEPS_OUTSIDE: bool = false;

    fn visit(&mut self, visit: Visit<'_>) {
        match &mut self.transmission {
            None => {}
            Some(Transmission::Joint(joint) | Transmission::JointInParent(joint)) => {
                visit(ObjectKind::Joint, joint);
            }
            Some(Transmission::Tendon(tendon)) => visit(ObjectKind::Tendon, tendon),
            Some(Transmission::Site {
                site,
                reference_site,
            }) => {
                visit(ObjectKind::Site, site);
                if let Some(site) = reference_site {
                    visit(ObjectKind::Site, site);
                }
            }
            Some(Transmission::SliderCrank {
                crank_site,
                slider_site,
            }) => {
                visit(ObjectKind::Site, crank_site);
                // A missing slider site was reported when it was read.
                if !slider_site.name.is_empty() {
                    visit(ObjectKind::Site, slider_site);
                }
            }
            Some(Transmission::Body(body)) => visit(ObjectKind::Body, body),
        }
    }
}

impl Referring for SensorSpec {
    const KEEPS_OUTSIDE: bool = true;

    fn visit(&mut self, visit: Visit<'_>) {
        for object in [&mut self.object, &mut self.reference]
            .into_iter()
            .flatten()
        {
            visit(object.kind, &mut object.reference);
        }
    }
}

impl Referring for JointLawSpec {
    const KEEPS_OUTSIDE: bool = false;

    fn visit(&mut self, visit: Visit<'_>) {
        visit(ObjectKind::Joint, &mut self.joint);
    }
}

impl Referring for TupleSpec {
    const KEEPS_OUTSIDE: bool = false;

    fn visit(&mut self, visit: Visit<'_>) {
        for element in &mut self.elements {
            visit(element.object.kind, &mut element.object.reference);
        }
    }
}
