use super::{assert_close, assert_refused, model};
use crate::math::Mat3;
use crate::model::Model;

const TETRAHEDRON: &str = r#"vertex="0 0 0 .3 0 0 0 .2 0 0 0 .4" face="0 2 1 0 1 3 0 3 2 1 2 3""#;

/// Inertia of a body in its own axes.
fn inertia_matrix(model: &Model, body: usize) -> Mat3 {
    let axes = model.bodies.inertial_quat[body].to_mat3();
    let moments = Mat3::from_diagonal(model.bodies.inertia[body]);
    axes.mul(&moments).mul(&axes.transpose())
}

fn body(content: &str) -> String {
    format!(r#"<worldbody><body name="b"><freejoint/>{content}</body></worldbody>"#)
}

#[test]
fn geoms_are_summed_by_group_and_mass() {
    let geoms = r#"<geom size=".1" pos=".3 0 0"/>
        <geom type="box" size=".1 .2 .3" pos="0 .1 -.2" euler="20 30 40" mass="5"/>
        <geom size="1" mass="0"/><geom size=".2" group="3"/>"#;
    let model = model(&format!(
        r#"<compiler inertiagrouprange="0 2"/>{}"#,
        body(geoms)
    ));
    let bodies = &model.bodies;
    assert_close(&[bodies.mass[1]], &[9.188790204786391]);
    let moments = [0.546785896591034, 0.49521150165184274, 0.11313696858408268];
    assert_close(&bodies.inertia[1].0, &moments);
    let center = [
        0.13675761807918327,
        0.05441412730693891,
        -0.10882825461387782,
    ];
    assert_close(&bodies.inertial_position[1].0, &center);
    let axes = [
        0.7935171042904807,
        0.3378202964950392,
        0.28902799860760864,
        0.4155368437278908,
    ];
    assert_close(&bodies.inertial_quat[1].0, &axes);
}

#[test]
fn full_inertia_is_turned_to_principal_axes() {
    let text = body(r#"<inertial pos="0 0 0" mass="2" fullinertia=".3 .25 .2 .03 -.07 .02"/>"#);
    let model = model(&text);
    let moments = [0.3396776913531484, 0.25681803920024715, 0.1535042694466051];
    assert_close(&model.bodies.inertia[1].0, &moments);
    let axes = [
        0.9543290798551503,
        0.18043333134967005,
        0.22949405259819677,
        0.06350039451010447,
    ];
    assert_close(&model.bodies.inertial_quat[1].0, &axes);
    let full = [0.3, 0.03, -0.07, 0.03, 0.25, 0.02, -0.07, 0.02, 0.2];
    assert_close(&inertia_matrix(&model, 1).0, &full);
}

#[test]
fn the_file_or_the_geoms_win_as_the_settings_say() {
    let mass = |setting: &str| {
        let both = body(
            r#"<inertial pos="1 0 0" mass="2" diaginertia="1 1 1"/><geom size=".1" mass="3"/>"#,
        );
        let model = model(&format!(r#"<compiler inertiafromgeom="{setting}"/>{both}"#));
        (model.bodies.mass[1], model.bodies.inertial_position[1].0)
    };
    assert_eq!(mass("auto"), (2.0, [1.0, 0.0, 0.0]));
    assert_eq!(mass("false"), (2.0, [1.0, 0.0, 0.0]));
    assert_eq!(mass("true"), (3.0, [0.0; 3]));
}

#[test]
fn bounds_and_balance_repair_inertias() {
    let text = r#"<compiler boundmass=".01" boundinertia=".001" balanceinertia="true"/>
        <worldbody><body><joint/><geom size=".001" density="10"/></body>
        <body><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 4"/></body>
        <body><joint/><inertial pos="0 0 0" mass="1" fullinertia="1 1 1 0 0 1"/></body></worldbody>"#;
    let bodies = model(text).bodies;
    assert_eq!((bodies.mass[1], bodies.inertia[1].0), (0.01, [0.001; 3]));
    assert_close(&bodies.inertia[2].0, &[2.0; 3]);
    assert_close(&bodies.inertia[3].0, &[1.0003333333333333; 3]);
}

#[test]
fn masses_are_scaled_to_the_total() {
    let text = r#"<compiler settotalmass="7"/><worldbody>
        <body><joint/><geom size=".1" mass="1"/></body>
        <body><joint/><geom size=".1" mass="2.5"/></body></worldbody>"#;
    let bodies = model(text).bodies;
    assert_close(&bodies.mass, &[0.0, 2.0, 5.0]);
    assert_close(&bodies.inertia[2].0, &[0.02; 3]);
    assert_close(&bodies.subtree_mass, &[7.0, 2.0, 5.0]);
}

#[test]
fn a_free_body_is_aligned_with_its_inertia() {
    let text = r#"<worldbody><body pos="1 2 3" euler="10 20 30"><freejoint align="true"/>
        <geom type="box" size=".1 .2 .3" pos=".1 .2 .3" euler="40 50 60"/><site pos=".1 0 0"/></body></worldbody>"#;
    let model = model(text);
    let pose = [
        1.090016549054047,
        2.170065629827372,
        3.3208967161686442,
        0.3928683384384141,
        0.5547605170793454,
        0.3297455462245008,
        0.6551054205909173,
    ];
    assert_close(&model.qpos.reference, &pose);
    assert_close(&model.bodies.position[1].0, &pose[..3]);
    assert_eq!(model.bodies.inertial_position[1].0, [0.0; 3]);
    assert_close(&model.geoms.position[0].0, &[0.0; 3]);
    let site = [
        -0.2609006837273041,
        -0.24019710311436554,
        -0.06508598071852421,
    ];
    assert_close(&model.sites.position[0].0, &site);
    let turn = [
        0.6652791964530083,
        -0.467012305178862,
        -0.18893800189076168,
        -0.5510041098030863,
    ];
    assert_close(&model.sites.quat[0].0, &turn);
}

#[test]
fn meshes_have_inertia_by_all_rules() {
    let solid = (
        8.00000055631002,
        [
            0.22419702697002694,
            0.20344313887010998,
            0.03435988273765016,
        ],
        [
            -0.02499999701976776,
            -0.20000000298023213,
            -0.050000000745058046,
        ],
        [
            0.4318315959712971,
            0.31905233494904006,
            -0.5980404389105995,
            0.5950417747621324,
        ],
        [0.10302994318339947, 0.20564968400499514, 0.6066789346061305],
    );
    let shell = (
        377.3092161760126,
        [16.835300604455288, 15.233946363351786, 2.660587732892509],
        [
            -0.021202766097518144,
            -0.2454639005691484,
            -0.04546389758891627,
        ],
        [
            0.4326303213236932,
            0.312564941852128,
            -0.6021702798693144,
            0.5937382556635947,
        ],
        [0.10816984548359464, 0.19268514860200303, 0.5619213566537484],
    );
    for (rule, expected) in [
        ("exact", solid),
        ("convex", solid),
        ("legacy", solid),
        ("shell", shell),
    ] {
        let text = format!(
            r#"<asset><mesh name="m" inertia="{rule}" {TETRAHEDRON} scale="1 -2 1" refpos=".1 0 0"
            refquat="1 1 0 0"/></asset>{}"#,
            body(r#"<geom type="mesh" mesh="m"/>"#)
        );
        let model = model(&text);
        let (mass, inertia, position, quat, size) = expected;
        assert_close(&[model.bodies.mass[1]], &[mass]);
        assert_close(&model.bodies.inertia[1].0, &inertia);
        assert_close(&model.meshes.position[0].0, &position);
        assert_close(&model.meshes.quat[0].0, &quat);
        assert_close(&model.geoms.size[0].0, &size);
        assert_eq!(model.structure.meshes.hull_faces[0].len(), 4);
    }
}

#[test]
fn impossible_meshes_are_refused() {
    let refused = |mesh: &str, reason: &str| {
        let text = format!(
            r#"<asset><mesh name="m" {mesh}/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody>"#
        );
        assert_refused(&text, reason);
    };
    refused(
        r#"vertex="0 0 0 1 0 0 0 1 0""#,
        "mesh 'm' has 3 vertices, at least 4 are required",
    );
    refused(
        r#"vertex="0 0 0 1 0 0 0 1 0 1 1 0""#,
        "mesh 'm' has no convex hull: all vertices are on a plane",
    );
    refused(
        r#"vertex="0 0 0 1 0 0 2 0 0 3 0 0""#,
        "mesh 'm' has no convex hull: all vertices are on a line",
    );
    refused(
        r#"vertex="1 2 3 1 2 3 1 2 3 1 2 3""#,
        "mesh 'm' has no convex hull: all vertices are in one place",
    );
    refused(
        r#"vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 2 0 1 3" inertia="exact""#,
        "faces of mesh 'm' are oriented inconsistently at vertices 0 and 1",
    );
    refused(
        r#"vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 2 0 3 1 0 2 3 1 3 2" inertia="exact""#,
        "volume of mesh 'm' is negative: its triangles face inwards",
    );
    refused(
        r#"vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="1 1 0""#,
        "volume of mesh 'm' is too small",
    );
}

#[test]
fn impossible_inertias_are_refused() {
    let refused = |content: &str, reason: &str| assert_refused(&body(content), reason);
    refused("", "body 'b' moves but has no mass or inertia");
    refused(
        r#"<inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/>"#,
        "inertia 1 1 3 of body 'b' is impossible: one moment exceeds the sum of the others",
    );
    refused(
        r#"<inertial pos="0 0 0" mass="1" fullinertia="1 1 1 0 0 2"/>"#,
        "fullinertia of body 'b' is not positive",
    );
    // Mass of a fixed child counts.
    let carried =
        r#"<worldbody><body><joint/><body pos="0 0 1"><geom size=".1"/></body></body></worldbody>"#;
    assert_eq!(model(carried).bodies.mass[1], 0.0);
}
