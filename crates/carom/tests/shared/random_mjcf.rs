//! Small mechanisms in MJCF, drawn part by part.
//!
//! Every part has random numbers of its own, so that leaving one out changes no other: a failing mechanism can be made
//! smaller by dropping bodies and parts. Aligned mechanisms have all their numbers on a coarse grid: faces are parallel,
//! centres and frames coincide, things touch exactly, springs and limits are at rest.

use std::fmt::Write;

use carom_testing::Random;

/// What a mechanism may have besides bodies, joints and geoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Geoms of different bodies collide, and with the ground.
    Contacts,
    /// Joint limits.
    Limits,
    /// Dry friction of joints.
    FrictionLoss,
    /// Springs and dampers of joints, gravity compensation.
    Springs,
    /// Air or water.
    Medium,
    /// Motors, servos and others, on joints, sites and bodies.
    Actuators,
    /// Muscles on joints and tendons.
    Muscles,
    /// Fixed and spatial tendons, some of which wrap.
    Tendons,
    /// Equality constraints of all kinds.
    Equalities,
    /// A body moved from outside that collides.
    Mocap,
    /// Sensors of all kinds.
    Sensors,
}

/// All parts.
pub(crate) const PARTS: [Part; 11] = [
    Part::Contacts,
    Part::Limits,
    Part::FrictionLoss,
    Part::Springs,
    Part::Medium,
    Part::Actuators,
    Part::Muscles,
    Part::Tendons,
    Part::Equalities,
    Part::Mocap,
    Part::Sensors,
];

/// Integrators by their names in MJCF.
pub(crate) const INTEGRATORS: [&str; 4] = ["Euler", "implicitfast", "implicit", "RK4"];
/// Friction cones by their names in MJCF.
pub(crate) const CONES: [&str; 2] = ["pyramidal", "elliptic"];
/// Contact laws by their names.
pub(crate) const LAWS: [&str; 3] = ["soft", "complementarity", "hunt_crossley"];

/// From what a mechanism is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) bodies: usize,
    pub(crate) parts: Vec<Part>,
    /// One of [`INTEGRATORS`]; complementarity takes Euler steps in any case.
    pub(crate) integrator: &'static str,
    /// One of [`CONES`].
    pub(crate) cone: &'static str,
    /// One of [`LAWS`].
    pub(crate) law: &'static str,
    pub(crate) is_aligned: bool,
}

/// Kinds of joints of one body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joints {
    None,
    Free,
    Ball,
    Hinge,
    Slide,
    HingeAndSlide,
}

/// The tree of bodies, and what can be referred to.
struct Tree {
    parents: Vec<Option<usize>>,
    joints: Vec<Joints>,
}

impl Tree {
    fn new(plan: &Plan) -> Self {
        let mut random = plan.stream(0);
        let (mut parents, mut joints) = (Vec::new(), Vec::new());
        for body in 0..plan.bodies {
            let parent = (body > 0 && random.chance(0.6)).then(|| random.below(body));
            let kind = random.pick(&[
                Joints::Free,
                Joints::Ball,
                Joints::Hinge,
                Joints::Slide,
                Joints::HingeAndSlide,
                Joints::None,
                Joints::Hinge,
                Joints::Free,
            ]);
            joints.push(match (kind, parent) {
                (Joints::Free, Some(_)) => Joints::Hinge,
                // The first body moves, so that every mechanism does.
                (Joints::None, None) => Joints::Free,
                (kind, _) => kind,
            });
            parents.push(parent);
        }
        Self { parents, joints }
    }

    /// Names of joints with one coordinate.
    fn scalar_joints(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (body, kind) in self.joints.iter().enumerate() {
            match kind {
                Joints::Hinge => names.push(format!("hinge{body}")),
                Joints::Slide => names.push(format!("slide{body}")),
                Joints::HingeAndSlide => {
                    names.extend([format!("hinge{body}"), format!("slide{body}")]);
                }
                Joints::None | Joints::Free | Joints::Ball => {}
            }
        }
        names
    }

    /// The first body with joints of a kind.
    fn first(&self, kind: Joints) -> Option<usize> {
        self.joints.iter().position(|&found| found == kind)
    }
}

impl Plan {
    /// Random numbers for one purpose.
    fn stream(&self, purpose: u64) -> Random {
        Random::new(self.seed ^ (purpose << 40))
    }

    fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    /// A number of the size of one, on a grid of tenths if aligned.
    fn number(&self, random: &mut Random) -> f64 {
        if self.is_aligned {
            random.pick(&[0.0, 0.0, 0.1, -0.1, 0.2, 0.5])
        } else {
            random.next()
        }
    }

    /// Numbers of the size of `scale`, as text.
    fn numbers(&self, random: &mut Random, count: usize, scale: f64) -> String {
        let numbers: Vec<String> = (0..count)
            .map(|_| (scale * self.number(random)).to_string())
            .collect();
        numbers.join(" ")
    }

    /// An orientation, a quarter turn if aligned.
    fn quat(&self, random: &mut Random) -> String {
        if self.is_aligned {
            random
                .pick(&[
                    "1 0 0 0", "1 0 0 0", "1 1 0 0", "1 0 1 0", "0 1 0 0", "1 1 1 1",
                ])
                .to_owned()
        } else {
            format!("1 {}", self.numbers(random, 3, 1.0))
        }
    }

    fn axis(&self, random: &mut Random) -> String {
        if self.is_aligned {
            random.pick(&["1 0 0", "0 1 0", "0 0 1"]).to_owned()
        } else {
            format!("{} 0.3", self.numbers(random, 2, 1.0))
        }
    }

    /// The mechanism as MJCF text.
    pub(crate) fn mjcf(&self) -> String {
        let tree = Tree::new(self);
        let mut text = format!(
            "<mujoco><compiler angle=\"radian\" autolimits=\"true\"/>{}{}<worldbody>{}",
            self.option(),
            self.assets(),
            self.world()
        );
        for body in 0..self.bodies {
            if tree.parents[body].is_none() {
                self.write_body(&mut text, &tree, body);
            }
        }
        text += "</worldbody>";
        if self.has(Part::Tendons) {
            self.write_tendons(&mut text, &tree);
        }
        if self.has(Part::Equalities) {
            self.write_equalities(&mut text, &tree);
        }
        self.write_actuators(&mut text, &tree);
        if self.has(Part::Sensors) {
            self.write_sensors(&mut text, &tree);
        }
        if self.law != "soft" {
            let _ = write!(
                text,
                r#"<custom><text name="carom/contact" data="law={}{}"/></custom>"#,
                self.law,
                match self.law {
                    "complementarity" => "; mixing=1e-3; restitution=0.3",
                    _ =>
                        "; stiffness=3e3; exponent=1.4; dissipation=0.3; static_ratio=1.2; viscous=0.1; transition_speed=0.3",
                }
            );
        }
        text + "</mujoco>"
    }

    fn option(&self) -> String {
        let mut random = self.stream(1);
        let integrator = match self.law {
            "complementarity" => "Euler",
            _ => self.integrator,
        };
        let medium = if self.has(Part::Medium) {
            r#"density="1.2" viscosity="0.2" wind="0.3 0.1 0""#
        } else {
            ""
        };
        format!(
            r#"<option timestep="{}" integrator="{integrator}" cone="{}" impratio="{}" {medium}><flag energy="enable"/></option>"#,
            random.pick(&["0.002", "0.005"]),
            self.cone,
            random.pick(&["1", "1", "5"]),
        )
    }

    fn assets(&self) -> String {
        let mut random = self.stream(2);
        let heights: Vec<String> = (0..12)
            .map(|_| {
                if self.is_aligned {
                    random.pick(&["0", "0.5", "1"]).to_owned()
                } else {
                    random.unit().to_string()
                }
            })
            .collect();
        // The faces of a brick are squares only if aligned: turned vertices would bend them.
        let mut corner = |sign: usize| match (sign, self.is_aligned) {
            (0, true) => -0.1,
            (_, true) => 0.1,
            (sign, false) => (0.2 * sign as f64 - 0.1) * random.between(0.8, 1.2),
        };
        let mut corners = String::new();
        for index in 0..24 {
            let (vertex, axis) = (index / 3, index % 3);
            let _ = write!(corners, "{} ", corner(vertex >> axis & 1));
        }
        format!(
            r#"<asset><hfield name="hills" nrow="3" ncol="4" size="1 1 0.1 0.1" elevation="{}"/>
              <mesh name="brick" vertex="{corners}"/>
              <mesh name="gem" vertex="-.11 -.02 .01 .12 .01 -.02 .02 -.13 .03 -.01 .14 .02 .03 .01 -.12 .01 .02 .13
                .08 .07 .06 -.07 .08 -.05"/></asset>"#,
            heights.join(" ")
        )
    }

    /// Ground, things to wrap around, a site, and the body that is moved from outside.
    fn world(&self) -> String {
        let mut random = self.stream(3);
        let ground = random.pick(&[
            r#"type="plane" size="2 2 1""#,
            r#"type="plane" size="2 2 1""#,
            r#"type="box" size="1 1 0.1" pos="0 0 -0.1""#,
            r#"type="hfield" hfield="hills" pos="0 0 -0.05""#,
        ]);
        let mut text = format!(
            r#"<geom name="ground" {ground} {}/>
              <geom name="ball" size="0.08" pos="{}" contype="0" conaffinity="0"/>
              <geom name="drum" type="cylinder" size="0.07 0.3" pos="{}" quat="{}" contype="0" conaffinity="0"/>
              <site name="world" pos="{} 0.4" quat="{}"/><site name="side" pos="{}"/>
              <camera name="eye" pos="0 -3 1" euler="1.4 0.1 0" fovy="50" resolution="6 4"/>"#,
            self.surface(&mut random),
            self.numbers(&mut random, 3, 0.3),
            self.numbers(&mut random, 3, 0.3),
            self.quat(&mut random),
            self.numbers(&mut random, 2, 0.5),
            self.quat(&mut random),
            self.numbers(&mut random, 3, 0.3),
        );
        if self.has(Part::Mocap) {
            let _ = write!(
                text,
                r#"<body name="mocap" mocap="true" pos="{} 0.1" quat="{}"><geom name="mocap" {} {}/></body>"#,
                self.numbers(&mut random, 2, 0.3),
                self.quat(&mut random),
                self.shape(&mut random),
                self.surface(&mut random)
            );
        }
        text
    }

    fn shape(&self, random: &mut Random) -> String {
        let mut size = || {
            if self.is_aligned {
                0.1
            } else {
                random.between(0.06, 0.15)
            }
        };
        let [a, b, c] = [size(), size(), size()];
        let kind = random.pick(&[
            "sphere",
            "capsule",
            "ellipsoid",
            "cylinder",
            "box",
            "brick",
            "gem",
        ]);
        match kind {
            "brick" | "gem" => format!(r#"type="mesh" mesh="{kind}""#),
            _ => format!(r#"type="{kind}" size="{a} {b} {c}""#),
        }
    }

    /// How a geom touches others.
    fn surface(&self, random: &mut Random) -> String {
        if !self.has(Part::Contacts) {
            return r#"contype="0" conaffinity="0""#.to_owned();
        }
        let condim = match self.law {
            "hunt_crossley" => random.pick(&["1", "3"]),
            _ => random.pick(&["1", "3", "3", "4", "6"]),
        };
        // Of two geoms the greater friction, margin and gap count: equal ones are a kink, and a pyramid without friction is
        // too stiff to be compared.
        let (friction, margin, gap) = if self.is_aligned {
            let friction = random.pick(&["0.4 0.02 0.003", "1 0.02 0.003", "0 0 0"]);
            (
                friction.to_owned(),
                random.pick(&[0.0, 0.0, 0.01]),
                random.pick(&[0.0, 0.005]),
            )
        } else {
            let [slide, spin, roll] =
                [0.8, 0.02, 0.003].map(|size| size * random.between(0.3, 1.2));
            (
                format!("{slide} {spin} {roll}"),
                random.between(0.001, 0.01),
                random.between(0.001, 0.005),
            )
        };
        format!(
            r#"condim="{condim}" friction="{friction}" margin="{margin}" gap="{gap}" solref="{}" solimp="{}" {}"#,
            random.pick(&["0.02 1", "0.02 1", "-300 -5", "0.05 0.6"]),
            random.pick(&["0.9 0.95 0.001", "0 0.95 0.01", "0.5 0.9 0.02 0.3 3"]),
            random.pick(&["", "", "surfacevel=\"0.1 0.2 0 0 0 0.3\"", "adhesion=\"1\""]),
        )
    }

    fn write_body(&self, text: &mut String, tree: &Tree, body: usize) {
        let mut random = self.stream(100 + body as u64);
        let height = if tree.parents[body].is_none() {
            0.1
        } else {
            0.0
        };
        let [x, y, z] = [0; 3].map(|_| 0.3 * self.number(&mut random));
        let gravcomp = if self.has(Part::Springs) && random.chance(0.2) {
            r#"gravcomp="0.8""#
        } else {
            ""
        };
        let _ = write!(
            text,
            r#"<body name="body{body}" pos="{x} {y} {}" quat="{}" {gravcomp}>"#,
            height + 0.3 * z,
            self.quat(&mut random)
        );
        self.write_joints(text, tree.joints[body], body);
        let fluid = random.pick(&["", "fluidshape=\"ellipsoid\""]);
        let _ = write!(
            text,
            r#"<geom name="geom{body}" {} {} {fluid} mass="{}" pos="{}" quat="{}"/><site name="site{body}" pos="{}" quat="{}"/>"#,
            self.shape(&mut random),
            self.surface(&mut random),
            random.magnitude(0.2, 2.0),
            self.numbers(&mut random, 3, 0.2),
            self.quat(&mut random),
            self.numbers(&mut random, 3, 0.3),
            self.quat(&mut random)
        );
        for child in body + 1..self.bodies {
            if tree.parents[child] == Some(body) {
                self.write_body(text, tree, child);
            }
        }
        *text += "</body>";
    }

    fn write_joints(&self, text: &mut String, joints: Joints, body: usize) {
        let mut random = self.stream(200 + body as u64);
        let mut joint = |name: &str, kind: &str| {
            let mut more = String::new();
            if self.has(Part::Limits) && kind != "free" {
                let range = if kind == "ball" { "0 0.5" } else { "-0.3 0.2" };
                let _ = write!(
                    more,
                    r#" range="{range}" margin="{}""#,
                    random.pick(&["0", "0.1"])
                );
            }
            if self.has(Part::FrictionLoss) {
                let _ = write!(
                    more,
                    r#" frictionloss="{}""#,
                    random.pick(&["0.1", "2", "0"])
                );
            }
            if self.has(Part::Springs) {
                let _ = write!(
                    more,
                    r#" stiffness="{}" damping="{}" springref="0.1""#,
                    random.pick(&["1", "2 0.5 0.3", "0"]),
                    random.pick(&["0.1", "0.3 0.2 0.1", "0"])
                );
            }
            if random.chance(0.5) {
                more += r#" armature="0.05""#;
            }
            let place = match kind {
                "free" => String::new(),
                _ => format!(
                    r#" pos="{}" axis="{}""#,
                    self.numbers(&mut random, 3, 0.1),
                    self.axis(&mut random)
                ),
            };
            let _ = write!(
                text,
                r#"<joint name="{name}{body}" type="{kind}"{place}{more}/>"#
            );
        };
        match joints {
            Joints::None => {}
            Joints::Free => joint("free", "free"),
            Joints::Ball => joint("ball", "ball"),
            Joints::Hinge => joint("hinge", "hinge"),
            Joints::Slide => joint("slide", "slide"),
            Joints::HingeAndSlide => {
                joint("hinge", "hinge");
                joint("slide", "slide");
            }
        }
    }

    fn write_tendons(&self, text: &mut String, tree: &Tree) {
        let mut random = self.stream(4);
        let last = self.bodies - 1;
        let mut more = || {
            let stiffness = random.pick(&["0", "10", "10 5 2"]);
            let rest = random.pick(&["0.1 0.3", "0.2", "-1"]);
            let damping = random.pick(&["0", "1", "1 0.3 0.2"]);
            let mut more =
                format!(r#"stiffness="{stiffness}" springlength="{rest}" damping="{damping}""#);
            if self.has(Part::Limits) {
                more += r#" range="0 0.3" margin="0.05""#;
            }
            if self.has(Part::FrictionLoss) {
                more += r#" frictionloss="0.2""#;
            }
            more
        };
        let [first, second, third] = [more(), more(), more()];
        let armature = random.pick(&["", "armature=\"0.1\""]);
        let side = random.pick(&["", "sidesite=\"side\""]);
        let around = random.pick(&["ball", "drum"]);
        let _ = write!(
            text,
            r#"<tendon><spatial name="string" {first} {armature}><site site="world"/><site site="site{last}"/><pulley divisor="2"/>
                <site site="site0"/><site site="side"/></spatial>
              <spatial name="wrapped" {second}><site site="world"/><geom geom="{around}" {side}/><site site="site0"/></spatial>"#,
        );
        let joints = tree.scalar_joints();
        if !joints.is_empty() {
            let _ = write!(text, r#"<fixed name="fixed" {third} {armature}>"#);
            for (index, joint) in joints.iter().take(2).enumerate() {
                let _ = write!(
                    text,
                    r#"<joint joint="{joint}" coef="{}"/>"#,
                    1.0 - 1.6 * index as f64
                );
            }
            *text += "</fixed>";
        }
        *text += "</tendon>";
    }

    fn write_equalities(&self, text: &mut String, tree: &Tree) {
        let mut random = self.stream(5);
        let other = random.below(self.bodies);
        let last = self.bodies - 1;
        *text += "<equality>";
        if random.chance(0.5) {
            let _ = write!(
                text,
                r#"<connect body1="body{last}" anchor="{}" solref="0.05 1"/>"#,
                self.numbers(&mut random, 3, 0.1)
            );
        }
        if random.chance(0.5) {
            let _ = write!(
                text,
                r#"<weld site1="site{other}" site2="world" solref="0.1 1"/>"#
            );
        }
        if random.chance(0.3) {
            let _ = write!(text, r#"<connect site1="site{last}" site2="side"/>"#);
        }
        let joints = tree.scalar_joints();
        match joints.as_slice() {
            [one, two, ..] => {
                let _ = write!(
                    text,
                    r#"<joint joint1="{one}" joint2="{two}" polycoef="0.1 0.7 0.2 0.1 0"/>"#
                );
            }
            [one] => {
                let _ = write!(text, r#"<joint joint1="{one}" polycoef="0.1 0 0 0 0"/>"#);
            }
            [] => {}
        }
        if self.has(Part::Tendons) {
            *text += r#"<tendon tendon1="string" tendon2="wrapped" polycoef="0 0.5 0.1 0 0"/>"#;
        }
        if self.has(Part::Mocap) {
            let _ = write!(
                text,
                r#"<weld body1="mocap" body2="body0" solref="0.1 1"/>"#
            );
        }
        *text += "</equality>";
    }

    fn write_actuators(&self, text: &mut String, tree: &Tree) {
        let mut random = self.stream(6);
        let mut all = String::new();
        let joints = tree.scalar_joints();
        let last = self.bodies - 1;
        if self.has(Part::Actuators) {
            for joint in &joints {
                let kind = random.pick(&[
                    r#"<motor ctrlrange="-0.1 0.1" gear="3""#,
                    r#"<motor forcerange="-0.5 0.5""#,
                    r#"<position kp="5" kv="0.5""#,
                    r#"<position kp="5" timeconst="0.1""#,
                    r#"<velocity kv="2""#,
                    r#"<intvelocity kp="2" actrange="-1 1""#,
                    r#"<damper kv="2" ctrlrange="0 1""#,
                    r#"<cylinder timeconst="0.2" area="0.5" bias="1 2 3""#,
                    r#"<general gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm="0.1 0.2 0.3""#,
                    r#"<general dyntype="filterexact" dynprm="0.3" actearly="true""#,
                ]);
                let _ = write!(all, r#"{kind} joint="{joint}"/>"#);
            }
            if let Some(ball) = tree.first(Joints::Ball) {
                let _ = write!(
                    all,
                    r#"<position joint="ball{ball}" gear="0.1 0 0.2" kp="3"/>"#
                );
            }
            if let Some(free) = tree.first(Joints::Free) {
                let _ = write!(
                    all,
                    r#"<motor joint="free{free}" gear="1 2 3 0.4 0.5 0.6"/>"#
                );
            }
            let _ = write!(
                all,
                r#"<motor site="site{last}" gear="1 2 3 0.1 0.2 0.3"/>
                  <position site="site{last}" refsite="world" gear="0.2 0 0.1 0 0.1 0.02" kp="3"/>
                  <general cranksite="site{last}" slidersite="world" cranklength="{}" gear="0.5"/>"#,
                random.pick(&["2", "0.1"])
            );
            if self.has(Part::Contacts) {
                let _ = write!(all, r#"<adhesion body="body0" ctrlrange="0 1" gain="3"/>"#);
            }
            if self.has(Part::Tendons) {
                all += r#"<motor tendon="string" gear="2"/><position tendon="wrapped" kp="2"/>"#;
            }
        }
        if self.has(Part::Muscles) {
            if let Some(joint) = joints.first() {
                let _ = write!(
                    all,
                    r#"<muscle joint="{joint}" lengthrange="-1 1" range="0.5 1.4" timeconst="0.02 0.06"/>"#
                );
            }
            if self.has(Part::Tendons) {
                all +=
                    r#"<muscle tendon="wrapped" lengthrange="0.1 1" force="20" tausmooth="0.4"/>"#;
            }
        }
        let _ = write!(text, "<actuator>{all}</actuator>");
    }

    fn write_sensors(&self, text: &mut String, tree: &Tree) {
        let last = self.bodies - 1;
        let site = format!("site{last}");
        let _ = write!(
            text,
            r#"<sensor><accelerometer site="{site}"/><velocimeter site="{site}"/><gyro site="{site}"/><force site="{site}"/>
              <torque site="{site}"/><touch site="site0"/><magnetometer site="{site}"/><rangefinder site="{site}"/>
              <camprojection site="{site}" camera="eye"/>
              <framepos objtype="site" objname="{site}" reftype="body" refname="body0"/>
              <framequat objtype="geom" objname="geom{last}" reftype="site" refname="world"/>
              <framexaxis objtype="site" objname="{site}"/>
              <framelinvel objtype="site" objname="{site}" reftype="body" refname="body0"/>
              <frameangvel objtype="body" objname="body{last}"/><framelinacc objtype="site" objname="{site}"/>
              <frameangacc objtype="body" objname="body0"/><subtreecom body="body0"/><subtreelinvel body="body0"/>
              <subtreeangmom body="body0"/><e_potential/><e_kinetic/><clock/>
              <distance geom1="geom0" geom2="ball" cutoff="9"/><normal geom1="geom{last}" geom2="drum" cutoff="9"/>
              <fromto geom1="geom{last}" geom2="ball" cutoff="9"/>"#
        );
        if let Some(joint) = tree.scalar_joints().first() {
            let _ = write!(
                text,
                r#"<jointpos joint="{joint}"/><jointvel joint="{joint}"/>"#
            );
            if self.has(Part::Limits) {
                let _ = write!(
                    text,
                    r#"<jointlimitpos joint="{joint}"/><jointlimitvel joint="{joint}"/><jointlimitfrc joint="{joint}"/>"#
                );
            }
        }
        if let Some(ball) = tree.first(Joints::Ball) {
            let _ = write!(
                text,
                r#"<ballquat joint="ball{ball}"/><ballangvel joint="ball{ball}"/>"#
            );
        }
        if self.has(Part::Tendons) {
            *text += r#"<tendonpos tendon="wrapped"/><tendonvel tendon="string"/>"#;
        }
        if self.has(Part::Contacts) {
            *text += r#"<contact geom1="geom0" num="2" data="found force torque dist pos normal tangent"/>"#;
        }
        *text += "</sensor>";
    }
}
