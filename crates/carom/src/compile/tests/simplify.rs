use super::{assert_close, assert_refused, model};
use crate::model::Model;

fn fused(world: &str, rest: &str) -> Model {
    model(&format!(
        r#"<compiler fusestatic="true"/><worldbody>{world}</worldbody>{rest}"#
    ))
}

/// Inertia of a body in its own axes, row by row.
fn tensor(model: &Model, body: usize) -> [f64; 9] {
    let axes = model.bodies.inertial_quat[body].to_mat3();
    let diagonal = crate::math::Mat3::from_diagonal(model.bodies.inertia[body]);
    axes.mul(&diagonal).mul(&axes.transpose()).0
}

#[test]
fn static_bodies_become_part_of_their_parents() {
    let model = fused(
        r#"<body name="s1" pos="1 0 0" euler="0 0 90"><geom name="g1" size=".1"/>
          <body name="m1" pos="0 1 0"><joint/><geom name="gm" size=".1"/>
            <body name="s2" pos="0 0 1" euler="90 0 0"><geom name="g2" type="box" size=".1 .2 .3"/><site name="s"/>
              <body name="m2" pos="0 0 2"><joint/><geom name="gm2" size=".1"/></body>
              <body name="s3" pos="1 0 0"><geom name="g3" size=".1"/></body>
            </body>
            <geom name="late" size=".05"/>
          </body>
        </body>
        <body name="last"><joint/><geom size=".1"/></body>"#,
        "",
    );
    let names = &model.structure.names;
    assert_eq!(names.bodies, ["world", "m1", "m2", "last"]);
    assert_eq!(names.geoms, ["g1", "gm", "late", "g2", "g3", "gm2", ""]);
    assert_eq!(model.structure.geoms.body, [0, 1, 1, 1, 1, 2, 3]);
    assert_eq!(model.structure.sites.body, [1]);
    assert_close(&model.bodies.position[2].0, &[0.0, -2.0, 1.0]);
    assert_close(&[model.bodies.mass[1]], &[56.901_179_185_171_08]);
    assert_close(
        &model.bodies.inertial_position[1].0,
        &[0.073_615_173_969_505_79, 0.0, 0.917_182_929_284_306],
    );
    let mut inertia = model.bodies.inertia[1].0;
    inertia.sort_by(f64::total_cmp);
    assert_close(
        &inertia,
        &[
            5.398_491_815_526_124,
            6.552_130_439_397_248,
            9.036_588_334_509_48,
        ],
    );
}

#[test]
fn explicit_inertias_are_added() {
    let model = fused(
        r#"<body name="m"><joint/><inertial pos="0 0 .1" mass="1" fullinertia="1 1.1 1.5 .1 .2 .05"/>
          <body pos="1 0 0" euler="30 0 0"><inertial pos="0 0 .1" mass="2" fullinertia="1 1.1 1.5 .1 .2 .05"/></body>
        </body>"#,
        "",
    );
    assert_eq!(model.bodies.mass, [0.0, 3.0]);
    let center = [2.0 / 3.0, -1.0 / 30.0, 0.091_068_360_252_295_92];
    assert_close(&model.bodies.inertial_position[1].0, &center);
    let trace: f64 = model.bodies.inertia[1].0.iter().sum();
    let expected = 3.725_873_122_417_963_3 + 2.936_735_111_110_498_2 + 1.874_297_755_704_043;
    assert_close(&[trace], &[expected]);
}

#[test]
fn fusing_moves_segments_as_they_were_oriented() {
    let model = fused(
        r#"<body><joint/><geom size=".1"/><body pos="1 0 0" euler="30 40 50">
          <geom type="capsule" fromto="0 0 0 1 2 3" size=".1"/></body></body>"#,
        "",
    );
    assert_close(
        &model.geoms.position[1].0,
        &[
            1.623_559_263_949_395_9,
            0.170_936_080_510_236_8,
            1.755_549_686_201_642_9,
        ],
    );
    assert_close(
        &model.geoms.quat[1].0,
        &[
            0.025_005_191_893_785_403,
            0.976_840_967_386_740_2,
            0.122_360_589_276_757_97,
            -0.173_736_441_212_363_6,
        ],
    );
}

#[test]
fn bodies_stay_where_fusing_would_change_the_model() {
    let body = |attributes: &str| {
        format!(
            r#"<body name="m"><joint name="j"/><geom size=".1"/>
              <body name="s" pos="1 0 0" {attributes}><geom name="gs" size=".1"/><site name="site"/></body></body>"#
        )
    };
    let count = |attributes: &str, rest: &str| fused(&body(attributes), rest).counts().nbody;
    assert_eq!(count("", ""), 2);
    assert_eq!(count("fuse='false'", ""), 3);
    assert_eq!(count("gravcomp='1'", ""), 3);
    for reference in [
        "<contact><exclude body1='s' body2='m'/></contact>",
        "<equality><weld body1='s'/></equality>",
        "<sensor><framepos objtype='xbody' objname='s'/></sensor>",
        "<sensor><force site='site'/></sensor>",
        "<actuator><adhesion body='s' ctrlrange='0 1'/></actuator>",
        "<custom><tuple name='t'><element objtype='body' objname='s'/></tuple></custom>",
        "<option density='1'/>",
    ] {
        assert_eq!(count("", reference), 3, "{reference}");
    }
    for harmless in [
        "<sensor><framepos objtype='geom' objname='gs'/></sensor>",
        "<sensor><accelerometer site='site'/></sensor>",
        "<actuator><motor site='site'/></actuator>",
    ] {
        assert_eq!(count("", harmless), 2, "{harmless}");
    }
    // Forces on what is fixed to the world do not matter.
    let fixed = r#"<body gravcomp="1"><geom size=".1"/></body>"#;
    assert_eq!(fused(fixed, "<option viscosity='1'/>").counts().nbody, 1);
}

const VISUAL: &str = r#"contype="0" conaffinity="0""#;

fn with_visuals(compiler: &str, attributes: &str, rest: &str) -> String {
    format!(
        r#"<compiler discardvisual="true" {compiler}/>
        <asset><mesh name="seen" vertex="0 0 0 1 0 0 0 2 0 0 0 3"/><mesh name="hit" vertex="0 0 0 1 0 0 0 2 0 0 0 3"/></asset>
        <worldbody><body name="a"><joint/><geom name="g" size=".1"/>
          <geom name="v" size=".2" pos="1 0 0" {VISUAL} {attributes}/>
          <geom name="mv" type="mesh" mesh="seen" {VISUAL}/> <geom name="mc" type="mesh" mesh="hit"/>
          <site name="s1"/><site name="s2" pos="1 0 0"/></body></worldbody>{rest}"#
    )
}

#[test]
fn visual_geoms_go_and_leave_their_inertia() {
    let text = with_visuals("", "", "");
    let slim = model(&text);
    let full = model(&text.replace("discardvisual=\"true\"", ""));
    assert_eq!(slim.structure.names.geoms, ["g", "mc"]);
    assert_eq!(slim.structure.names.meshes, ["hit"]);
    assert_close(&slim.bodies.mass, &full.bodies.mass);
    assert_close(
        &slim.bodies.inertial_position[1].0,
        &full.bodies.inertial_position[1].0,
    );
    assert_close(&tensor(&slim, 1), &tensor(&full, 1));
}

#[test]
fn what_is_used_elsewhere_is_not_visual() {
    let geoms = |attributes: &str, rest: &str| {
        let model = model(&with_visuals("", attributes, rest));
        model.structure.names.geoms.clone()
    };
    assert_eq!(geoms("fluidshape='ellipsoid'", ""), ["g", "v", "mc"]);
    for reference in [
        "<sensor><framepos objtype='geom' objname='v'/></sensor>",
        "<contact><pair geom1='v' geom2='g'/></contact>",
        "<tendon><spatial><site site='s1'/><geom geom='v'/><site site='s2'/></spatial></tendon>",
        "<custom><tuple name='t'><element objtype='geom' objname='v'/></tuple></custom>",
    ] {
        assert_eq!(geoms("", reference), ["g", "v", "mc"], "{reference}");
    }
}

#[test]
fn visual_mass_and_inertia_from_geoms_contradict_each_other() {
    assert_refused(
        &with_visuals("inertiafromgeom='true'", "", ""),
        "discardvisual drops geoms with mass from body 'a', which inertiafromgeom=\"true\" counts",
    );
}

#[test]
fn meshes_that_are_only_seen_need_not_be_sound() {
    let model = model(&format!(
        r#"<compiler discardvisual="true"/><asset><mesh name="flat" vertex="0 0 0 1 0 0 0 1 0"/></asset>
        <worldbody><body><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
        <geom type="mesh" mesh="flat" {VISUAL}/></body></worldbody>"#
    ));
    assert_eq!(model.counts().nmesh, 0);
}
