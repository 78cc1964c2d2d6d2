//! Systems with laws that their models do not have, for experiments and tests.

use std::fmt::Write as _;

use carom::{Data, Input, Model, State};
use carom_optimise::random::Random;
use carom_tasks::npz::Array;
use carom_tasks::recording::table::Table;
use carom_tasks::recording::{self, Mapping, Recordings};

/// Steps of the hidden system in a frame.
const STEPS: usize = 20;

/// What a force may depend on.
pub(crate) struct Moment<'a> {
    pub(crate) time: f64,
    pub(crate) q: &'a [f64],
    pub(crate) v: &'a [f64],
    /// Gravity, Coriolis and centrifugal forces.
    pub(crate) bias: &'a [f64],
}

/// A hidden law: the forces at all joints, and what has to be found: inputs for each joint.
pub(crate) struct Law {
    pub(crate) name: &'static str,
    pub(crate) force: fn(&Moment<'_>, usize) -> f64,
    pub(crate) inputs: fn(usize) -> Vec<(usize, &'static str)>,
}

fn own_velocity(joint: usize) -> Vec<(usize, &'static str)> {
    vec![(joint, "velocity")]
}

/// Laws; joint `0` is the first one.
pub(crate) const LAWS: [Law; 13] = [
    Law {
        name: "nothing",
        force: |_, _| 0.0,
        inputs: |_| Vec::new(),
    },
    Law {
        name: "viscous",
        force: |m, j| -[0.06, 0.03, 0.02][j] * m.v[j],
        inputs: own_velocity,
    },
    Law {
        name: "coulomb",
        force: |m, j| -[0.09, 0.04, 0.03][j] * (m.v[j] / 0.04).tanh(),
        inputs: own_velocity,
    },
    Law {
        name: "quadratic",
        force: |m, j| -[0.015, 0.008, 0.006][j] * m.v[j] * m.v[j].abs(),
        inputs: own_velocity,
    },
    Law {
        name: "stribeck",
        force: |m, j| {
            let (v, c) = (m.v[j], [0.08, 0.04, 0.03][j]);
            -(c + c * (-(v / 0.4) * (v / 0.4)).exp()) * (v / 0.05).tanh() - 0.1 * c * v
        },
        inputs: own_velocity,
    },
    Law {
        name: "position damping",
        force: |m, j| -[0.07, 0.03, 0.02][j] * (1.0 + 0.8 * (m.q[j] - 0.4).sin()) * m.v[j],
        inputs: |joint| vec![(joint, "velocity"), (joint, "position")],
    },
    Law {
        name: "spring",
        force: |m, j| if j == 0 { -0.3 * (m.q[0] - 0.2) } else { 0.0 },
        inputs: |joint| {
            if joint == 0 {
                vec![(0, "position")]
            } else {
                Vec::new()
            }
        },
    },
    Law {
        name: "load friction",
        force: |m, j| {
            if j == 0 {
                -0.06 * m.bias[0].abs() * (m.v[0] / 0.05).tanh()
            } else {
                0.0
            }
        },
        inputs: |joint| {
            if joint == 0 {
                vec![(0, "velocity"), (0, "bias_force")]
            } else {
                Vec::new()
            }
        },
    },
    Law {
        name: "other velocity",
        force: |m, j| if j == 0 { 0.05 * m.v[1] } else { 0.0 },
        inputs: |joint| {
            if joint == 0 {
                vec![(1, "velocity")]
            } else {
                Vec::new()
            }
        },
    },
    Law {
        name: "other position",
        force: |m, j| if j == 1 { 0.15 * m.q[0].sin() } else { 0.0 },
        inputs: |joint| {
            if joint == 1 {
                vec![(0, "position")]
            } else {
                Vec::new()
            }
        },
    },
    Law {
        name: "periodic",
        force: |m, j| {
            if j == 0 {
                0.2 * (7.3 * m.time + 0.6).sin()
            } else {
                0.0
            }
        },
        inputs: |joint| {
            if joint == 0 {
                vec![(0, "time")]
            } else {
                Vec::new()
            }
        },
    },
    Law {
        name: "offset and viscous",
        force: |m, j| if j == 1 { 0.08 - 0.03 * m.v[1] } else { 0.0 },
        inputs: |joint| {
            if joint == 1 {
                vec![(1, "velocity")]
            } else {
                Vec::new()
            }
        },
    },
    Law {
        name: "cubic and coupling",
        force: |m, j| {
            if j == 1 {
                -0.002 * m.v[1].powi(3) - 0.04 * m.v[0]
            } else {
                0.0
            }
        },
        inputs: |joint| {
            if joint == 1 {
                vec![(0, "velocity"), (1, "velocity")]
            } else {
                Vec::new()
            }
        },
    },
];

/// How recordings are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) runs: usize,
    pub(crate) frames: usize,
    /// Time between frames (s).
    pub(crate) gap: f64,
    /// Standard deviations of positions and velocities.
    pub(crate) noise: [f64; 2],
    pub(crate) seed: u64,
}

/// The model without the law.
pub(crate) fn model(system: &str) -> Result<Model, carom::Error> {
    let joints = ["joint1", "joint2", "joint3"];
    let count = if system == "arm" { 3 } else { 2 };
    let mut text = String::from("<mujoco><option timestep='0.002' integrator='RK4'/><worldbody>");
    for (k, joint) in joints.iter().enumerate().take(count) {
        let (length, mass) = ([0.5, 0.4, 0.3][k], [0.6, 0.4, 0.3][k]);
        let drop = if k == 0 { 0.0 } else { [0.5, 0.4, 0.3][k - 1] };
        let axis = if system == "arm" && k == 1 {
            "1 0 0"
        } else {
            "0 1 0"
        };
        let inertia = mass * length * length / 12.0;
        let _ = write!(
            text,
            "<body pos='0 0 {}'><joint name='{joint}' axis='{axis}'/><inertial pos='0 0 {}' mass='{mass}' diaginertia='{inertia} {inertia} 1e-4'/>",
            -drop,
            -0.5 * length
        );
    }
    text.push_str(&"</body>".repeat(count));
    text.push_str("</worldbody></mujoco>");
    let files = carom_spec::MemorySource::new().with("hidden.xml", text);
    let settings = carom_spec::mjcf::ReadSettings::default();
    let read = carom_spec::read::read("hidden.xml".as_ref(), &files, &settings);
    Ok(carom::load::compiled(read)?.model)
}

/// Motions of a model with a law.
pub(crate) fn recordings(
    model: &Model,
    law: &Law,
    plan: &Plan,
) -> Result<Recordings, carom::Error> {
    let nv = model.counts().nv;
    let mut random = Random::new(plan.seed, 1);
    let (mut q, mut v) = (Vec::new(), Vec::new());
    let (mut data, mut input) = (Data::new(model), Input::zeros(model));
    input.timestep = plan.gap / STEPS as f64;
    for _ in 0..plan.runs {
        let mut state = State::reference(model);
        for k in 0..nv {
            state.qpos[k] = 2.2 * (2.0 * random.uniform() - 1.0);
            state.qvel[k] = 3.0 * (2.0 * random.uniform() - 1.0);
        }
        for _ in 0..=plan.frames {
            q.extend(
                state
                    .qpos
                    .iter()
                    .map(|x| x + plan.noise[0] * random.normal()),
            );
            v.extend(
                state
                    .qvel
                    .iter()
                    .map(|x| x + plan.noise[1] * random.normal()),
            );
            for _ in 0..STEPS {
                // The force in the middle of the step.
                let mut middle = state.clone();
                let whole = input.timestep;
                for half in [true, false] {
                    let seen = if half { &state } else { &middle };
                    input.force.fill(0.0);
                    carom::forward(model, seen, &input, &mut data);
                    let bias = data.bias.force.clone();
                    let moment = Moment {
                        time: seen.time,
                        q: &seen.qpos,
                        v: &seen.qvel,
                        bias: &bias,
                    };
                    let forces: Vec<f64> =
                        (0..nv).map(|joint| (law.force)(&moment, joint)).collect();
                    input.force.copy_from_slice(&forces);
                    if half {
                        input.timestep = 0.5 * whole;
                        carom::step(model, &mut middle, &input, &mut data);
                        input.timestep = whole;
                    }
                }
                carom::step(model, &mut state, &input, &mut data);
            }
        }
    }
    let shape = [plan.runs, plan.frames + 1, nv];
    let arrays = [
        ("q".to_owned(), Array::numbers(&shape, q)),
        ("qd".to_owned(), Array::numbers(&shape, v)),
        ("dt".to_owned(), Array::numbers(&[1], vec![plan.gap])),
    ];
    let table = Table::from_arrays("hidden".to_owned(), arrays, true);
    let mut text = String::from("[time]\ndt = 'dt'\n[trajectories]\naxis = true\n");
    for joint in 0..nv {
        let _ = write!(
            text,
            "[[joint]]\nname = 'joint{}'\nposition = 'q[{joint}]'\nvelocity = 'qd[{joint}]'\n",
            joint + 1
        );
    }
    let mapping = Mapping::parse(&text, "hidden.toml")?;
    recording::from_tables(model, &mapping, [Ok(table)])
}

/// What has to be found: targets with their inputs, in order.
pub(crate) fn expected(law: &Law, joints: usize) -> Vec<(String, Vec<String>)> {
    (0..joints)
        .filter_map(|joint| {
            let mut inputs: Vec<String> = (law.inputs)(joint)
                .iter()
                .map(|(of, what)| match *what {
                    "time" => "time".to_owned(),
                    what => format!("joint.joint{}.{what}", of + 1),
                })
                .collect();
            inputs.sort();
            (!inputs.is_empty()).then(|| (format!("joint.joint{}.force", joint + 1), inputs))
        })
        .collect()
}
