//! Order, number and robustness; expected numbers of the parity tests come from MuJoCo 4.0.0.

use super::*;

const TETRAHEDRON: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n";

fn obj(text: &str) -> Result<RawMesh, MeshError> {
    read_mesh(text.as_bytes(), MeshFormat::Obj)
}

fn stl(triangles: &[[[f32; 3]; 3]], claimed: u32) -> Vec<u8> {
    let mut bytes = vec![b' '; 80];
    bytes.extend(claimed.to_le_bytes());
    for triangle in triangles {
        bytes.extend([0; 12]);
        for x in triangle.iter().flatten() {
            bytes.extend(x.to_le_bytes());
        }
        bytes.extend([0; 2]);
    }
    bytes
}

fn msh(counts: [u32; 4], floats: &[f32], indices: &[u32]) -> Vec<u8> {
    let mut bytes: Vec<u8> = counts
        .iter()
        .flat_map(|count| count.to_le_bytes())
        .collect();
    bytes.extend(floats.iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend(indices.iter().flat_map(|index| index.to_le_bytes()));
    bytes
}

#[test]
fn obj_keeps_unused_and_repeated_vertices() {
    let text =
        format!("{TETRAHEDRON}v 0 0 0\nv 9 9 9 1 0 0\nf 5 3 2\nf 1 2 4\nf -6 -3 -4\nf 1 2\n");
    let mesh = obj(&text).unwrap();
    assert_eq!(mesh.vertices.len(), 6);
    assert_eq!(mesh.faces, [[4, 2, 1], [0, 1, 3], [0, 3, 2]]);
    let late = obj(&format!("f 1 3 2\r\n{}", TETRAHEDRON.replace('\n', "\r\n"))).unwrap();
    assert_eq!(late.faces, [[0, 2, 1]]);
    assert_eq!(late.vertices[1], [1.0, 0.0, 0.0]);
}

#[test]
fn obj_quads_are_cut_along_the_shorter_diagonal() {
    let square = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n";
    assert_eq!(obj(square).unwrap().faces, [[0, 1, 3], [1, 2, 3]]);
    let dart = "v 0 0 0\nv 3 0 0\nv 1 1 0\nv 0 3 0\nf 1 4 3 2\n";
    assert_eq!(obj(dart).unwrap().faces, [[0, 3, 2], [0, 2, 1]]);
}

#[test]
fn obj_normals_and_texture_coordinates_are_kept_when_complete() {
    let attributes = "vn 0 0 1\nvn 1 0 0\nvt 0\nvt 1 1\n";
    let complete = obj(&format!("{TETRAHEDRON}{attributes}f 1/1/1 3/2/2 2/1/1\n")).unwrap();
    assert_eq!(complete.face_normals, [[0, 1, 0]]);
    assert_eq!(complete.face_texture_coordinates, [[0, 1, 0]]);
    let partial = obj(&format!("{TETRAHEDRON}{attributes}f 1//1 3//2 2\n")).unwrap();
    assert!(partial.normals.is_empty() && partial.face_normals.is_empty());
    assert!(partial.texture_coordinates.is_empty());
}

#[test]
fn obj_errors_name_the_line() {
    let cases = [
        ("v 1 2", "line 5: expected 3 numbers, found less"),
        ("v 1 2 abc", "line 5: 'abc' is not a number"),
        ("v 1 2 nan", "line 5: 'nan' is not finite"),
        ("v 1 2 1e99", "line 5: '1e99' is not finite"),
        ("f 0 1 2", "line 5: '0' is not an index"),
        ("f -5 1 2", "line 5: '-5' is not an index"),
        ("f 1 2 9", "line 5: face uses vertex 9, but the file has 4"),
        (
            "f 1 2 99999999999999999999",
            "line 5: '99999999999999999999' is not an index",
        ),
        ("f 1 2 /3", "line 5: '/3' does not name a vertex"),
    ];
    for (line, message) in cases {
        let error = obj(&format!("{TETRAHEDRON}{line}\n")).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn stl_merges_equal_bits_in_order_of_appearance() {
    let (a, b, c, d) = ([0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]);
    let negative_zero = [-0.0, 0.0, 0.0];
    let triangles = [[a, c, b], [negative_zero, b, d], [a, d, c], [b, c, d]];
    let mesh = read_mesh(&stl(&triangles, 4), MeshFormat::Stl).unwrap();
    assert_eq!(mesh.faces, [[0, 1, 2], [3, 2, 4], [0, 4, 1], [2, 1, 4]]);
    assert_eq!(mesh.vertices.len(), 5);
    let mut named_solid = stl(&triangles, 4);
    named_solid[..5].copy_from_slice(b"solid");
    assert_eq!(read_mesh(&named_solid, MeshFormat::Stl).unwrap(), mesh);
}

#[test]
fn stl_text_is_read() {
    let text = "solid x\nfacet normal 0 0 1\n outer loop\n  vertex 0 0 0\n  vertex 1 0 0\n  \
                vertex 0 1e0 0\n endloop\nendfacet\nendsolid x\n";
    let mesh = read_mesh(text.as_bytes(), MeshFormat::Stl).unwrap();
    assert_eq!(mesh.faces, [[0, 1, 2]]);
    assert_eq!(mesh.vertices[2], [0.0, 1.0, 0.0]);
    let bad = text.replace("  vertex 1 0 0\n", "");
    let error = read_mesh(bad.as_bytes(), MeshFormat::Stl).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 6: a facet needs exactly 3 vertices"
    );
}

#[test]
fn headers_that_claim_too_much_are_refused_without_allocating() {
    let triangle = [[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]];
    let error = read_mesh(&stl(&triangle, 20_000_000), MeshFormat::Stl).unwrap_err();
    assert_eq!(
        error.to_string(),
        "header claims 20000000 triangles, 1000000084 bytes in all, but the file has 134 bytes"
    );
    let short = read_mesh(&stl(&triangle, 1)[..100], MeshFormat::Stl).unwrap_err();
    assert!(short.to_string().contains("claims 1 triangles"), "{short}");
    for counts in [[u32::MAX; 4], [80_000_000, 0, 0, 4], [4, 0, 0, u32::MAX]] {
        let error = read_mesh(&msh(counts, &[0.0; 12], &[0, 1, 2]), MeshFormat::Msh).unwrap_err();
        assert!(error.to_string().starts_with("header claims"), "{error}");
    }
    let mut field = u32::MAX.to_le_bytes().repeat(2);
    field.extend([0; 16]);
    assert!(
        read_height_field(&field)
            .unwrap_err()
            .message
            .starts_with("header claims")
    );
}

#[test]
fn msh_keeps_order_and_shares_indices() {
    let floats = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let mut with_normals = floats.to_vec();
    with_normals.extend(floats);
    let bytes = msh([4, 4, 0, 1], &with_normals, &[0, 2, 1]);
    let mesh = read_mesh(&bytes, MeshFormat::Msh).unwrap();
    assert_eq!(mesh.vertices[3], [0.0, 0.0, 1.0]);
    assert_eq!(
        (mesh.faces.clone(), mesh.face_normals.clone()),
        (vec![[0, 2, 1]], vec![[0, 2, 1]])
    );
    let bad = read_mesh(
        &msh([4, 0, 0, 1], &floats, &[0, 1, u32::MAX]),
        MeshFormat::Msh,
    );
    assert_eq!(
        bad.unwrap_err().message,
        "face 0 uses vertex 4294967295, but there are 4"
    );
    let unequal = read_mesh(&msh([4, 1, 0, 0], &[0.0; 15], &[]), MeshFormat::Msh).unwrap_err();
    assert_eq!(
        unequal.message,
        "1 normals for 4 vertices; they must be as many"
    );
    let mut not_finite = floats;
    not_finite[4] = f32::NAN;
    let nan = read_mesh(&msh([4, 0, 0, 0], &not_finite, &[]), MeshFormat::Msh).unwrap_err();
    assert_eq!(nan.message, "vertex 1 is not finite");
}

#[test]
fn binary_height_field_is_read_row_by_row() {
    let mut bytes = [2_u32, 3]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect::<Vec<u8>>();
    bytes.extend((0..6_u8).flat_map(|n| f32::from(n).to_le_bytes()));
    let field = read_height_field(&bytes).unwrap();
    assert_eq!((field.rows, field.columns), (2, 3));
    assert_eq!(field.elevation, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
}

/// A PNG file of the given rows, each starting with its filter byte.
fn png_file(size: [u32; 2], bit_depth: u8, color_type: u8, palette: &[u8], rows: &[u8]) -> Vec<u8> {
    let mut bytes = png::SIGNATURE.to_vec();
    let mut chunk = |kind: &[u8; 4], data: &[u8]| {
        bytes.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        bytes.extend(kind);
        bytes.extend(data);
        bytes.extend([0; 4]);
    };
    let mut header: Vec<u8> = size.iter().flat_map(|n| n.to_be_bytes()).collect();
    header.extend([bit_depth, color_type, 0, 0, 0]);
    chunk(b"IHDR", &header);
    chunk(b"PLTE", palette);
    chunk(
        b"IDAT",
        &miniz_oxide::deflate::compress_to_vec_zlib(rows, 6),
    );
    chunk(b"IEND", &[]);
    bytes
}

#[test]
fn image_height_field_starts_with_the_bottom_row() {
    // Both rows use prediction from the left; the second from above as well.
    let rows = [1, 10, 1, 2, 10, 0, 0, 4, 30, 0, 0, 0, 0, 0];
    let bytes = png_file([2, 2], 8, 2, &[], &rows);
    let field = read_height_field(&bytes).unwrap();
    assert_eq!((field.rows, field.columns), (2, 2));
    assert_eq!(field.elevation, [40.0, 40.0, 10.0, 20.0]);
    for cut in 1..bytes.len() {
        assert!(read_height_field(&bytes[..cut]).is_err(), "{cut} bytes");
    }
}

#[test]
fn image_formats_reduce_to_eight_bits() {
    let elevation = |bytes: &[u8]| read_height_field(bytes).unwrap().elevation;
    assert_eq!(
        elevation(&png_file([3, 1], 2, 0, &[], &[0, 0b0001_1100])),
        [0.0, 85.0, 255.0]
    );
    assert_eq!(
        elevation(&png_file([2, 1], 16, 0, &[], &[0, 7, 200, 9, 1])),
        [7.0, 9.0]
    );
    let palette = [1, 2, 3, 40, 50, 60];
    assert_eq!(
        elevation(&png_file([2, 1], 1, 3, &palette, &[0, 0b0100_0000])),
        [1.0, 40.0]
    );
    assert_eq!(
        elevation(&png_file([2, 1], 8, 4, &[], &[0, 5, 255, 6, 255])),
        [5.0, 6.0]
    );
    let huge = png_file([1 << 20, 1 << 20], 8, 0, &[], &[]);
    assert!(
        read_height_field(&huge)
            .unwrap_err()
            .message
            .contains("1048576 × 1048576")
    );
}

#[test]
fn format_follows_the_ending() {
    assert_eq!(
        MeshFormat::of_path(Path::new("a/b.STL")),
        Some(MeshFormat::Stl)
    );
    assert_eq!(MeshFormat::of_path(Path::new("b.ply")), None);
    assert_eq!(
        MeshFormat::of_content_type("model/obj"),
        Some(MeshFormat::Obj)
    );
}

#[test]
fn only_the_first_object_of_an_obj_file_has_faces() {
    let text = "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\no b\nv 0 0 1\nf 1 2 4\ng c\nf 2 3 4\n";
    let mesh = read_mesh(text.as_bytes(), MeshFormat::Obj).unwrap();
    assert_eq!(mesh.vertices.len(), 4);
    assert_eq!(mesh.faces, [[0, 1, 2]]);
    assert_eq!(mesh.ignored_objects, 2);
}
