use super::{assert_refused, model};

fn with(contacts: &str) -> String {
    format!(
        r#"<worldbody>
          <geom name="floor" type="plane" size="1 1 1"/>
          <body name="a"><joint/><geom name="ga" size=".1" contype="2" conaffinity="4"/>
            <geom size=".1" contype="8" conaffinity="0"/>
            <body name="b" pos="1 0 0"><joint/><geom name="gb" size=".1"/>
              <body name="c" pos="0 0 1"><geom name="gc" size=".1"/></body>
            </body>
            <body name="d" pos="0 1 0"><joint/><geom name="gd" size=".1" contype="4"/></body>
          </body>
        </worldbody>
        <contact>{contacts}</contact>"#
    )
}

#[test]
fn pairs_and_exclusions_are_sorted_by_their_bodies() {
    let model = model(&with(
        r#"<pair name="late" geom1="gc" geom2="ga" condim="1" friction="1 2" margin=".1" gap=".05"/>
        <pair name="early" geom1="gb" geom2="ga" solref="-10 -1"/>
        <exclude body1="c" body2="b"/> <exclude body1="b" body2="a"/> <exclude body1="a" body2="b"/>"#,
    ));
    let structure = &model.structure;
    assert_eq!(structure.names.pairs, ["early", "late"]);
    assert_eq!(
        (&structure.pairs.geom1[..], &structure.pairs.geom2[..]),
        (&[1, 1][..], &[3, 4][..])
    );
    assert_eq!(structure.pairs.condim, [3, 1]);
    assert_eq!(model.pairs.friction[1], [1.0, 2.0, 0.005, 0.0001, 0.0001]);
    assert_eq!(model.pairs.solref, [[-10.0, -1.0], [0.02, 1.0]]);
    assert_eq!((model.pairs.margin[1], model.pairs.gap[1]), (0.1, 0.05));
    assert_eq!(structure.filter.exclude_signature, [65538, 65538, 131_075]);
    assert_eq!(structure.filter.excluded_bodies, [[1, 2], [2, 3]]);
}

#[test]
fn bodies_touch_unless_welded_related_excluded_or_of_other_bits() {
    let compiled = model(&with(r#"<exclude body1="b" body2="d"/>"#));
    let structure = &compiled.structure;
    assert_eq!(structure.filter.body_contype, [1, 10, 1, 1, 4]);
    let touch = |first, second| structure.bodies_may_touch(first, second, true);
    // The floor is the parent of body a, but the world is no relative; their bits do not match, though.
    assert!(!touch(0, 1));
    assert!(touch(0, 2));
    assert!(!touch(2, 3), "welded together");
    assert!(!touch(1, 4), "parent and child");
    assert!(structure.bodies_may_touch(1, 4, false));
    assert!(!touch(2, 4), "excluded");
    assert!(touch(3, 4), "only its host is excluded");
    assert!(structure.geom_bits_match(1, 5));
    assert!(!structure.geom_bits_match(0, 1));
}

#[test]
fn broken_pairs_are_refused() {
    assert_refused(
        &with(r#"<pair name="p" geom1="ga" geom2="z"/>"#),
        "contact pair 'p' refers to a geom 'z' that does not exist",
    );
    assert_refused(
        &with(r#"<exclude body1="e" body2="a"/>"#),
        "contact exclusion refers to a body 'e' that does not exist",
    );
}
