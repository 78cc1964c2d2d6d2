//! Forces, rates and advanced states beside those that MuJoCo 4.0.0 computes.
#![allow(clippy::unreadable_literal, reason = "numbers as MuJoCo printed them")]

use super::{Seen, Servo};
use crate::model::Model;
use crate::testing::model_from_mjcf;

/// An actuator on a hinge or a ball joint, where it is, and what MuJoCo makes of it with a time step of 0.01 s.
struct Case {
    text: &'static str,
    length: &'static [f64],
    velocity: &'static [f64],
    controls: &'static [f64],
    activations: &'static [f64],
    force: &'static [f64],
    rates: &'static [f64],
    next: &'static [f64],
}

const CASES: &[Case] = &[
    Case {
        text: r#"<dcmotor joint="j" motorconst=".1" resistance="2"/>"#,
        length: &[0.25],
        velocity: &[0.747],
        controls: &[-0.064],
        activations: &[],
        force: &[-0.006935000000000001],
        rates: &[],
        next: &[],
    },
    Case {
        text: r#"<dcmotor joint="j" motorconst=".1" resistance="2"/>"#,
        length: &[-0.394],
        velocity: &[0.107],
        controls: &[0.978],
        activations: &[],
        force: &[0.048365],
        rates: &[],
        next: &[],
    },
    Case {
        text: r#"<dcmotor joint="j" motorconst=".1" resistance="2" input="pos vel ff voltage" controller="1.5 .7 .2 3 .4 6" inductance="0 .03" saturation="0 0 20" thermal="3 2 0 .004 20 25" cogging=".02 7 .3" lugre="40 .3 .05 .08 .2"/>"#,
        length: &[-0.569],
        velocity: &[0.03],
        controls: &[0.028, -0.006, -0.505, -0.976],
        activations: &[0.3, 0.1, 14.0, 0.001, 0.4],
        force: &[0.02285283354187438],
        rates: &[
            -2.999999999999997,
            0.839,
            -2.1611733333333336,
            0.014873797767889557,
            20.0,
        ],
        next: &[
            0.27,
            0.10839,
            13.978388266666666,
            0.0011380351506540907,
            0.5700812136557265,
        ],
    },
    Case {
        text: r#"<dcmotor joint="j" motorconst=".1" resistance="2" input="pos vel ff voltage" controller="1.5 .7 .2 3 .4 6" inductance="0 .03" saturation="0 0 20" thermal="3 2 0 .004 20 25" cogging=".02 7 .3" lugre="40 .3 .05 .08 .2"/>"#,
        length: &[-0.615],
        velocity: &[0.066],
        controls: &[0.02, 0.694, 0.279, 0.484],
        activations: &[0.3, 0.1, 14.0, 0.001, 0.4],
        force: &[0.02270781947287224],
        rates: &[
            -2.999999999999997,
            0.885,
            -2.1611733333333336,
            0.03167175562788172,
            20.0,
        ],
        next: &[
            0.27,
            0.10885,
            13.978388266666666,
            0.0012680770583970115,
            0.5700812136557265,
        ],
    },
    Case {
        text: r#"<dcmotor joint="j" motorconst=".1" resistance="2" input="pos" controller="9 .7 .2 0 .4 1" thermal="3 2 0 .004 20 25"/>"#,
        length: &[-0.817],
        velocity: &[0.196],
        controls: &[-0.7],
        activations: &[0.45, 30.0],
        force: &[0.043],
        rates: &[0.0, -4.789214],
        next: &[0.4, 29.95210786],
    },
    Case {
        text: r#"<dcmotor joint="j" motorconst=".1" resistance="2" input="pos" controller="9 .7 .2 0 .4 1" thermal="3 2 0 .004 20 25"/>"#,
        length: &[0.633],
        velocity: &[0.276],
        controls: &[-0.521],
        activations: &[0.45, 30.0],
        force: &[-0.04507017543859649],
        rates: &[-1.154, -4.768429438596491],
        next: &[0.4, 29.952315705614033],
    },
    Case {
        text: r#"<dcmotor joint="j" motorconst=".1" resistance="2" input="none" lugre="40 .3 .05 .08 .2"/>"#,
        length: &[-0.195],
        velocity: &[-0.399],
        controls: &[],
        activations: &[-0.0015],
        force: &[0.03964750909708002],
        rates: &[0.0744916363430666],
        next: &[-0.0012740597539700053],
    },
    Case {
        text: r#"<dcmotor joint="j" motorconst=".1" resistance="2" input="none" lugre="40 .3 .05 .08 .2"/>"#,
        length: &[0.69],
        velocity: &[-0.0615],
        controls: &[],
        activations: &[-0.0015],
        force: &[0.06443543008475182],
        rates: &[-0.01375976694917272],
        next: &[-0.0016178505070876888],
    },
    Case {
        text: r#"<pid joint="j" kp="3" kv=".4"/>"#,
        length: &[0.768],
        velocity: &[-0.521],
        controls: &[0.095, -0.356],
        activations: &[],
        force: &[-1.953],
        rates: &[],
        next: &[],
    },
    Case {
        text: r#"<pid joint="j" kp="3" kv=".4"/>"#,
        length: &[0.503],
        velocity: &[0.934],
        controls: &[0.746, -0.312],
        activations: &[],
        force: &[0.23059999999999992],
        rates: &[],
        next: &[],
    },
    Case {
        text: r#"<pid joint="j" kp="3" kv=".4" ki="2" imax=".2" slewmax="5" input="pos vel ff"/>"#,
        length: &[0.181],
        velocity: &[0.818],
        controls: &[0.506, 0.621, -0.726],
        activations: &[0.2, 0.19],
        force: &[-0.21779999999999988],
        rates: &[4.999999999999999, 0.069],
        next: &[0.25, 0.19069],
    },
    Case {
        text: r#"<pid joint="j" kp="3" kv=".4" ki="2" imax=".2" slewmax="5" input="pos vel ff"/>"#,
        length: &[-0.162],
        velocity: &[0.026],
        controls: &[-0.274, -0.641, -0.308],
        activations: &[0.2, 0.19],
        force: &[0.7412000000000001],
        rates: &[-4.999999999999999, 0.31200000000000006],
        next: &[0.15000000000000002, 0.19312],
    },
    Case {
        text: r#"<pid joint="j" kp="3" kv=".4" ki="2" imax=".2" input="pos ff"/>"#,
        length: &[0.896],
        velocity: &[-0.111],
        controls: &[0.793, 0.486],
        activations: &[0.25],
        force: &[0.7214],
        rates: &[-0.10299999999999998],
        next: &[0.24897],
    },
    Case {
        text: r#"<pid joint="j" kp="3" kv=".4" ki="2" imax=".2" input="pos ff"/>"#,
        length: &[0.161],
        velocity: &[-0.863],
        controls: &[-0.498, 0.612],
        activations: &[0.25],
        force: &[-0.5198],
        rates: &[-0.659],
        next: &[0.24341],
    },
    Case {
        text: r#"<orientation joint="b" kp="3" kv=".4"/>"#,
        length: &[
            0.014096751656856697,
            -0.6646535394365598,
            -0.5312060885161233,
        ],
        velocity: &[-0.899, -0.574, 0.831],
        controls: &[0.68, -0.775, 0.208],
        activations: &[],
        force: &[2.963403341062138, 0.3933360828567331, 0.9861341704529054],
        rates: &[],
        next: &[],
    },
    Case {
        text: r#"<orientation joint="b" kp="3" kv=".4"/>"#,
        length: &[
            -0.16986227307453824,
            -0.5148711485838098,
            -1.4345296348866325,
        ],
        velocity: &[0.256, 0.27, -0.632],
        controls: &[-0.876, -0.177, 0.528],
        activations: &[],
        force: &[-0.9755877838797284, -1.1878793676673243, 6.2847029731346735],
        rates: &[],
        next: &[],
    },
    Case {
        text: r#"<orientation joint="b" kp="3" kv=".4" input="quat"/>"#,
        length: &[1.290200425074503, -0.4898922498601444, 0.2817799652345977],
        velocity: &[0.047, 0.831, -0.907],
        controls: &[-0.939, -0.96, -0.494, -0.503],
        activations: &[],
        force: &[1.4653100435783075, 2.8803188493366694, -0.6807037800359443],
        rates: &[],
        next: &[],
    },
    Case {
        text: r#"<orientation joint="b" kp="3" kv=".4" input="quat"/>"#,
        length: &[-0.7060046393584846, -1.731238205629301, 1.1895077445754676],
        velocity: &[-0.958, -0.379, 0.877],
        controls: &[0.077, 0.623, 0.316, 0.222],
        activations: &[],
        force: &[-6.019423158266369, 1.919407736756644, 2.637123925502529],
        rates: &[],
        next: &[],
    },
    Case {
        text: r#"<general joint="b" gaintype="so3" biastype="so3" dyntype="integrator" gainprm="2" biasprm=".1 -2 -.3"/>"#,
        length: &[0.46467540299135335, 0.8218727450027952, 1.7677105403593454],
        velocity: &[-0.899, -0.323, -0.364],
        controls: &[-0.775, 0.253, 0.595],
        activations: &[1.2, -1.9, 2.3],
        force: &[-2.069997893076654, -2.064196166626178, 3.562760348794688],
        rates: &[-0.775, 0.253, 0.595],
        next: &[-1.1374634983024634, 1.8102770929955758, -2.199986541338281],
    },
    Case {
        text: r#"<general joint="b" gaintype="so3" biastype="so3" dyntype="integrator" gainprm="2" biasprm=".1 -2 -.3"/>"#,
        length: &[
            0.19745191320527103,
            0.03379912045971285,
            -0.1871749714016349,
        ],
        velocity: &[-0.605, 0.147, 0.277],
        controls: &[0.219, -0.808, 0.322],
        activations: &[1.2, -1.9, 2.3],
        force: &[-2.2127734931648035, 2.9281218062448104, -4.5927282212909075],
        rates: &[0.219, -0.808, 0.322],
        next: &[-1.141107291329362, 1.8111313523151327, -2.1861944746966895],
    },
];

fn model(actuator: &str) -> Model {
    model_from_mjcf(&format!(
        r#"<mujoco><option timestep="0.01"/><worldbody>
          <body><joint name="j" type="hinge"/><geom size=".1"/></body>
          <body pos="1 0 0"><joint name="b" type="ball"/><geom size=".1"/></body></worldbody>
        <actuator>{actuator}</actuator></mujoco>"#
    ))
}

fn seen(model: &Model, case: &Case) -> Seen<f64> {
    let numbers = &model.actuators;
    let mut seen = Seen {
        dynamics: numbers.dynamics[0],
        gain: numbers.gain[0],
        bias: numbers.bias[0],
        timestep: 0.01,
        ..Seen::zero()
    };
    seen.length[..case.length.len()].copy_from_slice(case.length);
    seen.velocity[..case.velocity.len()].copy_from_slice(case.velocity);
    seen.controls[..case.controls.len()].copy_from_slice(case.controls);
    seen.activations[..case.activations.len()].copy_from_slice(case.activations);
    seen
}

#[track_caller]
fn assert_close(what: &str, case: &Case, found: &[f64], expected: &[f64]) {
    for (found, expected) in found.iter().zip(expected) {
        let error = (found - expected).abs();
        let text = case.text;
        assert!(
            error <= 1e-13 * (1.0 + expected.abs()),
            "{what} of {text}: {found} {expected}"
        );
    }
}

#[test]
fn laws_agree_with_the_reference_engine() {
    for case in CASES {
        let model = model(case.text);
        let law = Servo::of(&model.structure.actuators, 0).expect("a motor or servo");
        let mut seen = seen(&model, case);
        let acting = law.act(&seen);
        let mut force = acting.force;
        force[0] += acting.mechanical;
        assert_eq!(model.structure.actuators.outputs[0].len(), case.force.len());
        assert_eq!(model.counts().na, case.next.len());
        assert_eq!(model.counts().nu, case.controls.len());
        assert_close("force", case, &force, case.force);
        assert_close("rates", case, &acting.rates, case.rates);
        seen.rates = acting.rates;
        assert_close("states", case, &law.advance(&seen), case.next);
    }
}

/// Dual numbers give what small differences say, away from limits.
#[test]
fn cotangents_are_those_of_differences() {
    for case in CASES {
        let model = model(case.text);
        let law = Servo::of(&model.structure.actuators, 0).expect("a motor or servo");
        let mut seen = seen(&model, case);
        seen.rates = law.act(&seen).rates;
        let weights = [0.7, -0.4, 0.9];
        let value = |seen: &Seen<f64>| -> f64 {
            let (acting, next) = (law.act(seen), law.advance(seen));
            let forces: f64 = acting.force.iter().zip(weights).map(|(f, w)| f * w).sum();
            let states: f64 = next
                .iter()
                .zip(acting.rates)
                .map(|(n, r)| n + 0.01 * r)
                .sum();
            forces + acting.mechanical + states + law.velocity_derivative(seen, false)
        };
        let mut bar = seen.pull_back(|varied| {
            let (acting, next) = (law.act(varied), law.advance(varied));
            (acting.force.into_iter().zip(weights))
                .chain([
                    (acting.mechanical, 1.0),
                    (law.velocity_derivative(varied, false), 1.0),
                ])
                .chain(next.into_iter().map(|state| (state, 1.0)))
                .chain(acting.rates.into_iter().map(|rate| (rate, 0.01)))
        });
        let count = bar.numbers_mut().count();
        for place in 0..count {
            let moved = |by: f64| {
                let mut moved = seen;
                if let Some(number) = moved.numbers_mut().nth(place) {
                    *number += by;
                }
                value(&moved)
            };
            // The time step is small itself.
            let h = if place == count - 1 { 1e-7 } else { 1e-6 };
            let differences = [moved(h) - value(&seen), value(&seen) - moved(-h)];
            let [right, left] = differences.map(|difference| difference / h);
            let found = bar
                .numbers_mut()
                .nth(place)
                .map_or(f64::NAN, |number| *number);
            // Where the two sides differ the law bends, and its derivative is that of one of them.
            let error = (found - right).abs().min((found - left).abs());
            let slack = 1e-4 * (1.0 + found.abs());
            assert!(
                error < slack,
                "{} number {place}: {found} {left} {right}",
                case.text
            );
        }
    }
}
