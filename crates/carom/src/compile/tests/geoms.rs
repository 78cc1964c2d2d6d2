use super::{assert_close, assert_refused, model};

/// A tetrahedron with three edges along the axes.
const TETRAHEDRON: &str = r#"vertex="0 0 0 .3 0 0 0 .2 0 0 0 .4" face="0 2 1 0 1 3 0 3 2 1 2 3""#;

#[test]
fn primitives_have_mass_inertia_and_bounds_solid_and_hollow() {
    let cases = [
        (
            "sphere",
            ".13",
            false,
            9.202772079915702,
            [0.06221073926023015; 3],
            0.13,
        ),
        (
            "capsule",
            ".07 .2",
            false,
            7.5942766412777285,
            [
                0.16501542138616368,
                0.16501542138616368,
                0.01790196780141199,
            ],
            0.27,
        ),
        (
            "cylinder",
            ".09 .15",
            false,
            7.634070148223198,
            [
                0.07271451816182596,
                0.07271451816182596,
                0.030917984100303945,
            ],
            0.17492855684535902,
        ),
        (
            "ellipsoid",
            ".1 .2 .15",
            false,
            12.566370614359172,
            [
                0.15707963267948966,
                0.08168140899333462,
                0.12566370614359174,
            ],
            0.2,
        ),
        (
            "box",
            ".1 .2 .15",
            false,
            24.0,
            [0.5, 0.26, 0.4],
            0.26925824035672524,
        ),
        (
            "sphere",
            ".13",
            true,
            212.37166338267002,
            [2.3927207407780826; 3],
            0.13,
        ),
        (
            "capsule",
            ".07 .2",
            true,
            237.50440461138842,
            [6.302956396946181, 6.302956396946181, 1.0631987297788823],
            0.27,
        ),
        (
            "cylinder",
            ".09 .15",
            true,
            220.53980428200347,
            [3.2075818072784466, 3.2075818072784466, 1.5802525206822018],
            0.17492855684535902,
        ),
        (
            "ellipsoid",
            ".1 .2 .15",
            true,
            279.0100776994508,
            [5.29049205078627, 3.1013284621440107, 4.335415295296116],
            0.2,
        ),
        (
            "box",
            ".1 .2 .15",
            true,
            520.0,
            [16.433333333333337, 9.633333333333335, 13.46666666666667],
            0.26925824035672524,
        ),
    ];
    for (kind, size, shell, mass, inertia, radius) in cases {
        let text = format!(
            r#"<worldbody><body><joint/>
            <geom type="{kind}" size="{size}" shellinertia="{shell}"/></body></worldbody>"#
        );
        let model = model(&text);
        assert_close(&[model.bodies.mass[1]], &[mass]);
        assert_close(&model.bodies.inertia[1].0, &inertia);
        assert_close(&[model.geoms.bounding_radius[0]], &[radius]);
    }
}

#[test]
fn two_points_give_frame_and_length() {
    let frame = |kind: &str, points: &str| {
        let text =
            format!(r#"<worldbody><geom type="{kind}" size=".05" fromto="{points}"/></worldbody>"#);
        let geoms = model(&text).geoms;
        (geoms.size[0].0, geoms.position[0].0, geoms.quat[0].0)
    };
    let half = 0.5894913061275797;
    for kind in ["capsule", "cylinder", "ellipsoid", "box"] {
        let (size, position, quat) = frame(kind, ".1 -.2 .3 .4 .5 -.6");
        let is_round = matches!(kind, "capsule" | "cylinder");
        assert_close(
            &size,
            &if is_round {
                [0.05, half, 0.0]
            } else {
                [0.05, 0.05, half]
            },
        );
        assert_close(&position, &[0.25, 0.15, -0.15]);
        let expected = [
            0.9389808402496757,
            0.31615780925737835,
            -0.1354962039674479,
            0.0,
        ];
        assert_close(&quat, &expected);
    }
    // Along z in both directions.
    assert_close(&frame("capsule", "0 0 0 0 0 1").2, &[0.0, 1.0, 0.0, 0.0]);
    assert_close(&frame("capsule", "0 0 1 0 0 0").2, &[1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn primitives_are_fitted_to_meshes_by_inertia_or_bounds() {
    let fitted = |by_bounds: bool, kind: &str| {
        let text = format!(
            r#"<compiler fitaabb="{by_bounds}"/><asset><mesh name="m" {TETRAHEDRON}/></asset>
            <worldbody><geom type="{kind}" mesh="m" fitscale="1.5"/></worldbody>"#
        );
        let geoms = model(&text).geoms;
        let quat = [
            0.8408697906448334,
            -0.04676889219573237,
            -0.19832427750695153,
            0.5014161413985846,
        ];
        assert_close(&geoms.quat[0].0, &quat);
        let position = if by_bounds {
            [
                0.04938674878236955,
                0.02240518657734623,
                0.16119507774806982,
            ]
        } else {
            [
                0.07500000298023225,
                0.05000000074505807,
                0.10000000149011615,
            ]
        };
        assert_close(&geoms.position[0].0, &position);
        geoms.size[0].0
    };
    let by_inertia = [
        ("sphere", [0.1456007902805832, 0.0, 0.0]),
        ("capsule", [0.11164707716905638, 0.15768467791910867, 0.0]),
        ("cylinder", [0.11164707716905638, 0.21350821650363686, 0.0]),
        (
            "ellipsoid",
            [
                0.07363158609052764,
                0.14966256824758511,
                0.21350821650363686,
            ],
        ),
        (
            "box",
            [
                0.07363158609052764,
                0.14966256824758511,
                0.21350821650363686,
            ],
        ),
    ];
    for (kind, size) in by_inertia {
        assert_close(&fitted(false, kind), &size);
    }
    let by_bounds = [
        ("sphere", [0.36068510553112765, 0.0, 0.0]),
        ("capsule", [0.25947599122535075, 0.1012091143057769, 0.0]),
        ("cylinder", [0.25947599122535075, 0.36068510553112765, 0.0]),
        (
            "ellipsoid",
            [
                0.12927032970576413,
                0.25947599122535075,
                0.36068510553112765,
            ],
        ),
        (
            "box",
            [
                0.12927032970576413,
                0.25947599122535075,
                0.36068510553112765,
            ],
        ),
    ];
    for (kind, size) in by_bounds {
        assert_close(&fitted(true, kind), &size);
    }
}

#[test]
fn ellipsoids_in_a_fluid_have_added_mass() {
    let text = r#"<worldbody><geom type="ellipsoid" size=".1 .2 .3" fluidshape="ellipsoid"/>
        <geom type="capsule" size=".1 .2" fluidshape="ellipsoid" fluidcoef="1 2 3 4 5"/>
        <geom size=".1"/></worldbody>"#;
    let fluid = model(text).geoms.fluid;
    let expected = [
        [
            1.0,
            0.5,
            0.25,
            1.5,
            1.0,
            1.0,
            0.03421892335102304,
            0.009161969686093343,
            0.004656001295402555,
            3.914190145187043e-05,
            0.0003559983762595036,
            9.632561918504682e-05,
        ],
        [
            1.0,
            1.0,
            2.0,
            3.0,
            4.0,
            5.0,
            0.010102097498870009,
            0.010102097498870009,
            0.0015327026528896307,
            0.00011703775774383332,
            0.00011703775774383332,
            0.0,
        ],
        [0.0; 12],
    ];
    for (found, expected) in fluid.iter().zip(expected) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-13 * expected.abs());
        }
    }
}

#[test]
fn height_fields_and_planes_have_bounds() {
    let text = r#"<asset><hfield name="h" nrow="2" ncol="2" size="3 4 .5 .1" elevation="0 1 2 4"/></asset>
        <worldbody><geom type="hfield" hfield="h"/><geom type="plane" size="0 0 .1"/></worldbody>"#;
    let model = model(text);
    assert_close(&model.geoms.size[0].0, &[3.0, 4.0, 0.175]);
    assert_close(
        &model.geoms.bounding_box[0],
        &[0.0, 0.0, 0.2, 3.0, 4.0, 0.3],
    );
    assert_close(&model.geoms.bounding_radius, &[5.024_937_810_560_445, 0.0]);
    // The file starts with the row of the highest y.
    assert_eq!(model.height_fields.elevation, [0.5, 1.0, 0.0, 0.25]);
}

#[test]
fn impossible_geoms_are_refused() {
    let refused = |geom: &str, reason: &str| {
        let text = format!(
            r#"<asset><mesh name="m" {TETRAHEDRON}/></asset>
            <worldbody><body name="b"><joint/><geom size=".1"/><geom name="g" {geom}/></body></worldbody>"#
        );
        assert_refused(&text, reason);
    };
    refused(
        r#"size="0""#,
        "size 1 of geom 'g' must be positive, it is 0",
    );
    refused(
        r#"type="box" size=".1 .1""#,
        "size 3 of geom 'g' must be positive, it is 0",
    );
    refused(
        r#"type="capsule" size=".1" fromto="1 2 3 1 2 3""#,
        "the points of fromto of geom 'g' coincide",
    );
    refused(
        r#"type="sphere" size=".1" fromto="1 2 3 4 5 6""#,
        "fromto of geom 'g' needs a capsule, cylinder, ellipsoid or box",
    );
    refused(
        r#"type="capsule" size=".1" pos="1 0 0" fromto="1 2 3 4 5 6""#,
        "geom 'g' has both pos and fromto",
    );
    refused(
        r#"size=".1" density="-1""#,
        "mass, inertia or density of geom 'g' is negative",
    );
    refused(
        r#"size=".1" mass="-1""#,
        "mass, inertia or density of geom 'g' is negative",
    );
    refused(
        r#"size="1e150" density="1e300""#,
        "mass or inertia of geom 'g' is too large to compute",
    );
    refused(
        r#"type="plane" size="1 1 1""#,
        "plane geom 'g' is in a body that moves",
    );
    refused(
        r#"type="mesh" mesh="m" shellinertia="true""#,
        "geom 'g' asks for shell inertia, which belongs to its mesh",
    );
}
