//! Meshes, height fields, textures and materials.

use super::Reference;
use crate::span::Span;

/// How the inertia of a mesh is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeshInertia {
    /// Of the convex hull.
    Convex,
    /// Of the closed surface, exactly.
    Exact,
    /// Of pyramids with unsigned volume over every face.
    #[default]
    Legacy,
    /// Of the surface alone.
    Shell,
}

/// Shapes that a mesh can be generated from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshBuiltinKind {
    /// Sphere by subdivision.
    Sphere,
    /// Hemisphere.
    Hemisphere,
    /// Cone or prism.
    Cone,
    /// Superellipsoid.
    Supersphere,
    /// Supertoroid.
    Supertorus,
    /// Spherical wedge.
    Wedge,
    /// Plate.
    Plate,
    /// Grid.
    Grid,
    /// Box.
    Box,
    /// Cylinder.
    Cylinder,
    /// Ellipsoid.
    Ellipsoid,
    /// Square.
    Square,
    /// Disc.
    Disc,
}

/// A generated mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshBuiltin {
    /// Shape.
    pub kind: MeshBuiltinKind,
    /// Parameters of the shape.
    pub parameters: Vec<f64>,
}

/// A mesh asset with its raw data: scale, reference frame, hull and inertia are applied when the
/// model is compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshSpec {
    /// Name; taken from the file name when the file gives none.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Path as written; empty when the mesh is given inline.
    pub source: String,
    /// Generator of the mesh, when it is neither a file nor inline.
    pub builtin: Option<MeshBuiltin>,
    /// Vertices, rounded to single precision as in mesh files (m before scaling).
    pub vertices: Vec<[f64; 3]>,
    /// Triangles by vertex index; empty means the convex hull of the vertices.
    pub faces: Vec<[u32; 3]>,
    /// Normals as given; possibly empty.
    pub normals: Vec<[f64; 3]>,
    /// Normal indices of each triangle; possibly empty.
    pub face_normals: Vec<[u32; 3]>,
    /// Texture coordinates as given; possibly empty.
    pub texture_coordinates: Vec<[f64; 2]>,
    /// Texture coordinate indices of each triangle; possibly empty.
    pub face_texture_coordinates: Vec<[u32; 3]>,
    /// Position of the reference frame (m).
    pub reference_position: [f64; 3],
    /// Orientation of the reference frame, quaternion (w, x, y, z).
    pub reference_quaternion: [f64; 4],
    /// Scale along each axis; negative values mirror.
    pub scale: [f64; 3],
    /// How inertia is computed.
    pub inertia: MeshInertia,
    /// Averages the normals of all faces at a vertex.
    pub smooth_normal: bool,
    /// Largest number of hull vertices; `None` for no limit.
    pub max_hull_vertices: Option<u32>,
    /// Material for the viewer.
    pub material: Option<Reference>,
    /// What the compile step would find out, where it is known: the vertices are then in the frame of the inertia already.
    pub processed: Option<ProcessedMesh>,
}

/// The convex hull of a mesh that another program has processed; empty where nothing needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessedMesh {
    /// Vertices of the mesh that are on the hull, increasing.
    pub vertices: Vec<u32>,
    /// For each of these, which others of these share an edge with it.
    pub neighbors: Vec<Vec<u32>>,
    /// Triangles of the hull, by vertices of the mesh.
    pub faces: Vec<[u32; 3]>,
    /// Outlines of the polygons of coplanar triangles, by vertices of the hull.
    pub polygons: Vec<Vec<u32>>,
    /// For each vertex of the hull, the polygons around it.
    pub polygons_around: Vec<Vec<u32>>,
}

impl ProcessedMesh {
    /// Whether all indices fit a mesh with so many vertices.
    pub fn fits(&self, vertices: usize) -> bool {
        let count = self.vertices.len();
        let within =
            |list: &[u32], limit: usize| list.iter().all(|&index| (index as usize) < limit);
        let lists = |lists: &[Vec<u32>], limit: usize| lists.iter().all(|list| within(list, limit));
        within(&self.vertices, vertices)
            && self.faces.iter().all(|face| within(face, vertices))
            && self.neighbors.len() == count
            && lists(&self.neighbors, count)
            && lists(&self.polygons, count)
            && self.polygons_around.len() == count
            && lists(&self.polygons_around, self.polygons.len())
    }
}

impl Default for MeshSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            source: String::new(),
            builtin: None,
            vertices: Vec::new(),
            faces: Vec::new(),
            normals: Vec::new(),
            face_normals: Vec::new(),
            texture_coordinates: Vec::new(),
            face_texture_coordinates: Vec::new(),
            reference_position: [0.0; 3],
            reference_quaternion: [1.0, 0.0, 0.0, 0.0],
            scale: [1.0; 3],
            inertia: MeshInertia::Legacy,
            smooth_normal: false,
            max_hull_vertices: None,
            material: None,
            processed: None,
        }
    }
}

/// A height field asset with raw elevations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeightFieldSpec {
    /// Name; taken from the file name when the file gives none.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Path as written; empty when the data are inline or absent.
    pub source: String,
    /// Number of rows (along y).
    pub rows: usize,
    /// Number of columns (along x).
    pub columns: usize,
    /// Half extent along x and y, top elevation, thickness below zero (m).
    pub size: [f64; 4],
    /// Elevations, row by row from the lowest y, not normalised; empty means flat.
    pub elevation: Vec<f64>,
}

/// Type of a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextureKind {
    /// Flat image.
    TwoDimensional,
    /// Image on the faces of a cube.
    #[default]
    Cube,
    /// Cube around the scene.
    Skybox,
}

/// A texture asset, kept for the viewer.
#[derive(Clone, Debug, PartialEq)]
pub struct TextureSpec {
    /// Name; taken from the file name when the file gives none.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Type.
    pub kind: TextureKind,
    /// Path as written; empty when generated.
    pub source: String,
    /// Files of the cube's sides: right, left, up, down, front, back; possibly empty.
    pub cube_sources: [String; 6],
    /// Name of the generator: `none`, `gradient`, `checker` or `flat`.
    pub builtin: String,
    /// First colour of the generator.
    pub rgb1: [f64; 3],
    /// Second colour of the generator.
    pub rgb2: [f64; 3],
    /// Kind of mark: `none`, `edge`, `cross` or `random`.
    pub mark: String,
    /// Colour of the marks.
    pub mark_rgb: [f64; 3],
    /// Probability of random marks.
    pub random: f64,
    /// Width in pixels of a generated texture.
    pub width: u32,
    /// Height in pixels of a generated texture.
    pub height: u32,
    /// Rows and columns of a composite image.
    pub grid_size: [u32; 2],
    /// Faces of the composite image.
    pub grid_layout: String,
    /// Flips the image horizontally.
    pub horizontal_flip: bool,
    /// Flips the image vertically.
    pub vertical_flip: bool,
}

impl Default for TextureSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            kind: TextureKind::Cube,
            source: String::new(),
            cube_sources: Default::default(),
            builtin: "none".to_owned(),
            rgb1: [0.8; 3],
            rgb2: [0.5; 3],
            mark: "none".to_owned(),
            mark_rgb: [0.0; 3],
            random: 0.01,
            width: 0,
            height: 0,
            grid_size: [1, 1],
            grid_layout: "............".to_owned(),
            horizontal_flip: false,
            vertical_flip: false,
        }
    }
}

/// A material asset, kept for the viewer.
#[derive(Clone, Debug, PartialEq)]
pub struct MaterialSpec {
    /// Name.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Texture of the base colour.
    pub texture: Option<Reference>,
    /// Repetitions of the texture along x and y.
    pub texture_repeat: [f64; 2],
    /// Makes the repetitions relative to length rather than to the object.
    pub texture_uniform: bool,
    /// Emission.
    pub emission: f64,
    /// Specularity.
    pub specular: f64,
    /// Shininess.
    pub shininess: f64,
    /// Reflectance.
    pub reflectance: f64,
    /// Metallic factor; negative when not given.
    pub metallic: f64,
    /// Roughness; negative when not given.
    pub roughness: f64,
    /// Colour.
    pub rgba: [f64; 4],
}

impl Default for MaterialSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            texture: None,
            texture_repeat: [1.0; 2],
            texture_uniform: false,
            emission: 0.0,
            specular: 0.5,
            shininess: 0.5,
            reflectance: 0.0,
            metallic: -1.0,
            roughness: -1.0,
            rgba: [1.0; 4],
        }
    }
}
