use super::{assert_close, assert_refused, model};

#[test]
fn ids_addresses_and_patterns_follow_the_tree() {
    let text = r#"<worldbody>
        <body><freejoint/><geom size=".1"/>
          <body><joint type="ball"/><geom size=".1"/></body>
          <body><joint type="slide"/><joint/><geom size=".1" pos="0 0 1"/><body><geom size=".1"/></body></body>
        </body>
        <body><geom size=".1"/><body><joint axis="0 1 0"/><geom size=".1" pos="1 0 0"/></body></body>
        <body mocap="true"><geom size=".1"/><body/></body>
      </worldbody>"#;
    let structure = model(text).structure;
    let bodies = &structure.bodies;
    assert_eq!(bodies.parent, [0, 0, 1, 1, 3, 0, 5, 0, 7]);
    assert_eq!(bodies.root, [0, 1, 1, 1, 1, 5, 5, 7, 7]);
    assert_eq!(bodies.weld, [0, 1, 2, 3, 3, 0, 6, 7, 7]);
    assert_eq!(bodies.subtree_end, [9, 5, 3, 5, 5, 7, 7, 9, 9]);
    assert_eq!(bodies.mocap[7], Some(0));
    let trees = [
        None,
        Some(0),
        Some(0),
        Some(0),
        Some(0),
        None,
        Some(1),
        None,
        None,
    ];
    assert_eq!(bodies.tree, trees);
    assert_eq!(structure.joints.qpos, [0, 7, 11, 12, 13]);
    assert_eq!(structure.joints.dof, [0, 6, 9, 10, 11]);
    assert_eq!(structure.dofs.parent[9], Some(5));
    assert_eq!(structure.dofs.parent[11], None);
    assert_eq!(structure.tree_dofs, [0..11, 11..12]);
    assert_eq!(bodies.moving_dofs.columns(4), [0, 1, 2, 3, 4, 5, 9, 10]);
    assert_eq!(bodies.moving_dofs.columns(5), [0_usize; 0]);
    assert_eq!(structure.counts.ninertia, 21 + 3 * 6 + 6 + 7 + 8 + 1);
}

#[test]
fn axes_references_and_limits_are_resolved() {
    let text = r#"<worldbody><body pos="1 2 3" quat="2 0 0 0"><freejoint/><geom size=".1"/></body>
        <body><joint axis="0 3 4" ref="90" springref="45" range="-90 180" actuatorfrcrange="-1 2"/>
          <joint type="slide" axis="0 0 2" limited="false" range="-1 1" damping="1 2 3" stiffness="4 5 6"/>
          <geom size=".1" pos="1 0 0"/>
          <body><joint type="ball" range="0 60"/><geom size=".1" pos="1 0 0"/></body></body></worldbody>"#;
    let model = model(text);
    let quarter = std::f64::consts::FRAC_PI_2;
    let expected = [
        1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, quarter, 0.0, 1.0, 0.0, 0.0, 0.0,
    ];
    assert_close(&model.qpos.reference, &expected);
    assert_close(&model.qpos.spring[7..9], &[quarter / 2.0, 0.0]);
    assert_close(&model.joints.axis[1].0, &[0.0, 0.6, 0.8]);
    assert_close(&model.joints.range[1], &[-quarter, 2.0 * quarter]);
    assert_eq!(model.structure.joints.limited, [false, true, false, true]);
    assert_eq!(
        model.structure.joints.actuator_force_limited,
        [false, true, false, false]
    );
    assert_eq!(
        (model.joints.stiffness[2], model.joints.stiffness_poly[2]),
        (4.0, [5.0, 6.0])
    );
    assert_eq!(
        (model.dofs.damping[7], model.dofs.damping_poly[7]),
        (1.0, [2.0, 3.0])
    );
}

#[test]
fn ranges_may_be_infinite_on_one_side() {
    let text = r#"<worldbody><body><joint range="-inf 90"/><geom size=".1"/></body></worldbody>"#;
    let model = model(text);
    assert_eq!(model.structure.joints.limited, [true]);
    assert_eq!(
        model.joints.range[0],
        [f64::NEG_INFINITY, std::f64::consts::FRAC_PI_2]
    );
}

#[test]
fn joints_that_cannot_be_are_refused() {
    let refused = |content: &str, reason: &str| {
        let geom = r#"<geom size=".1"/>"#;
        let text = format!(r#"<worldbody><body name="b">{geom}{content}</body></worldbody>"#);
        assert_refused(&text, reason);
    };
    refused(
        r#"<joint type="ball"/><joint name="j"/>"#,
        "joint 'j' rotates after a ball joint of body 'b'",
    );
    let crowded =
        r#"<worldbody><body name="b"><freejoint/><joint/><geom size=".1"/></body></worldbody>"#;
    assert_eq!(
        super::refusals(crowded),
        [
            "body 'b' has 7 degrees of freedom, more than 6",
            "free joint of body 'b' is not the only joint of its body"
        ]
    );
    refused(
        r#"<body name="c"><freejoint/><geom size=".1"/></body>"#,
        "free joint of body 'c' is not at the top level",
    );
    refused(
        r#"<joint name="j" axis="0 0 0"/>"#,
        "axis of joint 'j' is zero",
    );
    refused(
        r#"<joint name="j" limited="true" range="1 1"/>"#,
        "range of joint 'j' is empty: 0.017453292519943295 to 0.017453292519943295",
    );
    refused(
        r#"<joint name="j" type="ball" range="10 20"/>"#,
        "range of ball joint 'j' starts at 0.17453292519943295",
    );
    refused(
        r#"<joint name="j" springdamper="1 -1"/>"#,
        "springdamper of joint 'j' must be two positive numbers, found 1 -1",
    );
    assert_refused(
        r#"<worldbody><body><joint/><geom size=".1"/><body name="m" mocap="true"/></body></worldbody>"#,
        "mocap body 'm' is not a fixed child of the world",
    );
    assert_refused(
        r#"<compiler autolimits="false"/><worldbody><body><joint name="j" range="0 1"/><geom size=".1"/></body></worldbody>"#,
        "joint 'j' has range but does not say whether it limits",
    );
}

#[test]
fn all_problems_are_reported_in_one_run() {
    let text = r#"<worldbody><body name="a"><joint axis="0 0 0"/><geom size="0"/></body>
        <body name="b"><freejoint/></body></worldbody>
        <actuator><motor joint="nowhere"/></actuator>"#;
    assert_eq!(super::refusals(text).len(), 4);
}
