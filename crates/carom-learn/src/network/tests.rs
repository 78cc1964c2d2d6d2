//! Products against sums, adjoints against differences.

use super::product::Left;
use super::{Activations, Features, Links, Net, NetShape, Real, Topology};

/// Numbers that look random, the same ones every time.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn many(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| 2.0 * self.next() - 1.0).collect()
    }
}

#[test]
fn products_are_sums_of_products() {
    let mut noise = Noise(1);
    for [rows, inner, columns] in [
        [1, 1, 1],
        [4, 3, 16],
        [7, 300, 37],
        [64, 65, 6],
        [5, 64, 64],
    ] {
        let (a, b) = (noise.many(rows * inner), noise.many(inner * columns));
        let turned: Vec<f64> = (0..inner * rows)
            .map(|n| a[n % rows * inner + n / rows])
            .collect();
        for left in [
            Left::plain(&a, rows, inner),
            Left::transposed(&turned, rows, inner),
        ] {
            let mut c = vec![1.0; rows * columns];
            f64::multiply(pulp::Arch::new(), left, &b, &mut c);
            for i in 0..rows {
                for j in 0..columns {
                    let sum: f64 = (0..inner)
                        .map(|k| a[i * inner + k] * b[k * columns + j])
                        .sum();
                    assert!((c[i * columns + j] - 1.0 - sum).abs() < 1e-12);
                }
            }
        }
    }
}

/// Two objects with three and two mesh nodes, a third without; four face edges.
fn graph() -> Topology {
    let links = |list: &[(usize, usize, f64)]| {
        let mut links = Links::default();
        for &(to, from, weight) in list {
            links.push(to, from, weight);
        }
        links
    };
    Topology {
        rows: [5, 3, 5, 4],
        send: links(&[(0, 3, 1.0), (1, 0, 0.5), (1, 2, 0.5), (3, 4, 1.0)]),
        send_object: links(&[(0, 1, 1.0), (1, 0, 1.0), (2, 2, 1.0), (3, 1, 1.0)]),
        receive: links(&[
            (0, 0, 0.3),
            (0, 1, 0.7),
            (1, 3, 1.0),
            (2, 4, 1.0),
            (3, 2, 1.0),
        ]),
        receive_object: links(&[(0, 0, 1.0), (1, 1, 1.0), (2, 1, 1.0), (3, 0, 1.0)]),
        owner: links(&[
            (0, 0, 1.0),
            (1, 0, 1.0),
            (2, 0, 1.0),
            (3, 1, 1.0),
            (4, 1, 1.0),
        ]),
        mean: links(&[
            (0, 0, 0.3),
            (0, 1, 0.3),
            (0, 2, 0.4),
            (1, 3, 0.5),
            (1, 4, 0.5),
        ]),
    }
}

fn example(noise: &mut Noise) -> (Net<f64>, Topology, Features<f64>) {
    let shape = NetShape {
        width: 6,
        layers: 2,
        features: [4, 3, 2, 5],
    };
    let mut net = Net::random(shape, || noise.next());
    for weight in &mut net.weights {
        *weight += 0.2 * (noise.next() - 0.5);
    }
    let topology = graph();
    let rows = std::array::from_fn(|kind| noise.many(topology.rows[kind] * shape.features[kind]));
    let features = Features {
        rows,
        cut: vec![0.9, 0.4, 1.0, 0.2],
    };
    (net, topology, features)
}

#[test]
fn adjoints_agree_with_differences() {
    let mut noise = Noise(3);
    let (net, topology, features) = example(&mut noise);
    let bar = noise.many(5 * super::net::OUTPUTS);
    let value = |net: &Net<f64>, features: &Features<f64>| -> f64 {
        let mut work = Activations::default();
        let out = net.forward(&topology, features, &mut work);
        out.iter().zip(&bar).map(|(y, bar)| y * bar).sum()
    };
    let mut work = Activations::default();
    net.forward(&topology, &features, &mut work);
    let mut gradient = vec![0.0; net.layout.count];
    let mut features_bar = features.clone();
    features_bar.rows.iter_mut().for_each(|row| row.fill(0.0));
    features_bar.cut.fill(0.0);
    net.backward(
        &topology,
        &features,
        (&bar, &mut work),
        &mut gradient,
        Some(&mut features_bar),
    );

    let step = 1e-5;
    let close = |slope: f64, known: f64, what: &str| {
        assert!(
            (slope - known).abs() <= 1e-8 * (1.0 + known.abs()),
            "{what}: {slope} {known}"
        );
    };
    let size = gradient.iter().fold(0.0_f64, |most, g| most.max(g.abs()));
    assert!(size > 0.1, "{size}");
    for index in 0..net.layout.count {
        let mut moved = net.clone();
        let mut at = |change: f64| {
            moved.weights[index] = net.weights[index] + change;
            value(&moved, &features)
        };
        // Fourth order: what differences lack is far below the tolerance.
        let slope =
            (8.0 * (at(step) - at(-step)) - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * step);
        close(slope, gradient[index], "weight");
    }
    for kind in 0..5 {
        let count = if kind < 4 {
            features.rows[kind].len()
        } else {
            features.cut.len()
        };
        for index in 0..count {
            let mut moved = features.clone();
            let mut at = |change: f64| {
                let (row, base) = if kind < 4 {
                    (&mut moved.rows[kind], &features.rows[kind])
                } else {
                    (&mut moved.cut, &features.cut)
                };
                row[index] = base[index] + change;
                value(&net, &moved)
            };
            let slope =
                (8.0 * (at(step) - at(-step)) - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * step);
            let known = if kind < 4 {
                features_bar.rows[kind][index]
            } else {
                features_bar.cut[index]
            };
            close(slope, known, "feature");
        }
    }
}

#[test]
fn single_precision_is_the_same_network() {
    let mut noise = Noise(5);
    let (net, topology, features) = example(&mut noise);
    let narrow: Net<f32> = net.convert();
    let narrowed = Features {
        rows: features
            .rows
            .clone()
            .map(|row| row.iter().map(|&x| f32::of(x)).collect()),
        cut: features.cut.iter().map(|&x| f32::of(x)).collect(),
    };
    let (mut work, mut wide_work) = (Activations::default(), Activations::default());
    let out = narrow.forward(&topology, &narrowed, &mut work);
    let wide = net.forward(&topology, &features, &mut wide_work);
    for (narrow, wide) in out.iter().zip(wide) {
        assert!((narrow.wide() - wide).abs() < 1e-5 * (1.0 + wide.abs()));
    }
}
