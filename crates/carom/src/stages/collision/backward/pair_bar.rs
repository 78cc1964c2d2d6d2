//! Where the cotangents of a pair of shapes are gathered.

use super::Cotangent;
use crate::math::{Mat3, Vec3};
use crate::model::{GeomShape, Model};
use crate::stages::collision::PosedShape;
use crate::stages::kinematics::Kinematics;

/// Cotangent of a shape's pose, as a wrench about its centre, and of its size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ShapeBar {
    pub(crate) force: Vec3,
    pub(crate) torque: Vec3,
    pub(crate) size: Vec3,
}

impl ShapeBar {
    /// Adds the cotangent of a point fixed to the shape, `arm` away from its centre.
    #[inline]
    pub(crate) fn add_point(&mut self, arm: Vec3, bar: Vec3) {
        self.force += bar;
        self.torque += arm.cross(bar);
    }

    /// Adds the cotangent of a direction fixed to the shape.
    #[inline]
    pub(crate) fn add_direction(&mut self, direction: Vec3, bar: Vec3) {
        self.torque += direction.cross(bar);
    }
}

/// Cotangents of two shapes.
pub(crate) struct PairBar<'a> {
    pub(crate) shapes: [ShapeBar; 2],
    /// The geoms that the shapes belong to.
    geoms: [usize; 2],
    model_bar: &'a mut Model,
}

impl<'a> PairBar<'a> {
    pub(crate) fn new(geoms: [usize; 2], model_bar: &'a mut Model) -> Self {
        Self {
            shapes: [ShapeBar::default(); 2],
            geoms,
            model_bar,
        }
    }

    /// Adds the cotangent of a vertex of a mesh, in the frame of the shape; poses are not touched.
    pub(crate) fn add_vertex(&mut self, side: usize, vertex: usize, bar: Vec3) {
        let structure = &*self.model_bar.structure;
        if let GeomShape::Mesh(mesh) = structure.geoms.shape[self.geoms[side]] {
            let start = structure.meshes.vertices[mesh].start;
            self.model_bar.meshes.vertex[start + vertex] += bar;
        }
    }

    /// Adds the cotangents of a height field's sizes and of one of its elevations.
    pub(crate) fn add_elevation(&mut self, side: usize, sample: usize, bar: f64) {
        let structure = &*self.model_bar.structure;
        if let GeomShape::HeightField(field) = structure.geoms.shape[self.geoms[side]] {
            let start = structure.height_fields.values[field].start;
            self.model_bar.height_fields.elevation[start + sample] += bar;
        }
    }

    /// Adds the cotangent of one of the sizes of a height field.
    pub(crate) fn add_field_size(&mut self, side: usize, component: usize, bar: f64) {
        let structure = &*self.model_bar.structure;
        if let GeomShape::HeightField(field) = structure.geoms.shape[self.geoms[side]] {
            self.model_bar.height_fields.size[field][component] += bar;
        }
    }

    /// The pose of the other shape, when that of `side` is known: (5).
    pub(in super::super) fn complete(
        &mut self,
        side: usize,
        shapes: [&PosedShape<'_>; 2],
        points: &[Cotangent],
    ) {
        let centers = shapes.map(|shape| shape.position);
        let known = self.shapes[side];
        let (center, between) = (centers[1 - side], centers[side] - centers[1 - side]);
        let mut other = ShapeBar {
            force: -known.force,
            torque: -known.torque - between.cross(known.force),
            ..self.shapes[1 - side]
        };
        for Cotangent { point, bar } in points {
            other.add_point(point.position - center, bar.position);
            other.add_direction(point.normal, bar.normal);
        }
        self.shapes[1 - side] = other;
    }

    /// Hands the poses on to the kinematics and the sizes to the model.
    pub(crate) fn finish(self, kinematics: &Kinematics, kinematics_bar: &mut Kinematics) {
        for (geom, bar) in self.geoms.into_iter().zip(self.shapes) {
            add_wrench(kinematics, geom, &bar, kinematics_bar);
            self.model_bar.geoms.size[geom] += bar.size;
        }
    }
}

/// Adds a wrench to the cotangent of a geom's pose. Of all matrices that exert the torque, ½·T × R is the smallest.
pub(crate) fn add_wrench(
    kinematics: &Kinematics,
    geom: usize,
    bar: &ShapeBar,
    kinematics_bar: &mut Kinematics,
) {
    kinematics_bar.geom_position[geom] += bar.force;
    kinematics_bar.geom_rotation[geom] +=
        Mat3::skew(bar.torque * 0.5).mul(&kinematics.geom_rotation[geom]);
}
