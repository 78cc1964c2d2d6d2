//! The least point of the model within the bounds, in two moves [Byrd 1995, alg. CP and §5.1].
//!
//! First the Cauchy point: the first least value of the quadratic model
//!
//!   m(x) = gᵀ(x − x₀) + ½·(x − x₀)ᵀB(x − x₀)   (1)
//!
//! along the path P(x₀ − t·g) that bends where it meets a bound. Then, with the coordinates held that met theirs, the least
//! point of the model in the others; it is moved into the bounds if that still leads down, else shortened [Morales 2011].

use super::memory::{Memory, invert};
use crate::bounds::Bounds;
use crate::linalg::{Matrix, add_scaled, dot, transpose_times};

/// Where the model is least along the bent path.
struct CauchyPoint {
    point: Vec<f64>,
    /// Coordinates that have not met a bound.
    free: Vec<usize>,
    /// Wᵀ·(point − x₀).
    c: Vec<f64>,
}

/// The point that the model leads to.
pub(super) fn model_minimum(
    bounds: &Bounds,
    x: &[f64],
    gradient: &[f64],
    memory: &Memory,
) -> Vec<f64> {
    let cauchy = cauchy_point(bounds, x, gradient, memory);
    if memory.is_empty() || cauchy.free.is_empty() {
        return cauchy.point;
    }
    let Some(step) = subspace_step(x, gradient, memory, &cauchy) else {
        return cauchy.point;
    };
    let moved = |share: f64| {
        let mut target = cauchy.point.clone();
        for (&i, s) in cauchy.free.iter().zip(&step) {
            target[i] += share * s;
        }
        bounds.project(&mut target);
        target
    };
    let projected = moved(1.0);
    let slope = (0..x.len()).fold(0.0, |sum, i| sum + (projected[i] - x[i]) * gradient[i]);
    if slope < 0.0 {
        return projected;
    }
    let mut share = 1.0_f64;
    for (&i, &s) in cauchy.free.iter().zip(&step) {
        let room = if s > 0.0 {
            bounds.upper()[i] - cauchy.point[i]
        } else {
            bounds.lower()[i] - cauchy.point[i]
        };
        if s != 0.0 {
            share = share.min(room / s);
        }
    }
    moved(share.max(0.0))
}

fn cauchy_point(bounds: &Bounds, x: &[f64], gradient: &[f64], memory: &Memory) -> CauchyPoint {
    let size = x.len();
    let theta = memory.theta;
    let breaks: Vec<f64> = (0..size)
        .map(|i| match gradient[i] {
            g if g < 0.0 => (x[i] - bounds.upper()[i]) / g,
            g if g > 0.0 => (x[i] - bounds.lower()[i]) / g,
            _ => f64::INFINITY,
        })
        .collect();
    let mut direction: Vec<f64> = (0..size)
        .map(|i| if breaks[i] > 0.0 { -gradient[i] } else { 0.0 })
        .collect();
    let mut order: Vec<usize> = (0..size)
        .filter(|&i| breaks[i] > 0.0 && breaks[i].is_finite())
        .collect();
    order.sort_by(|&a, &b| breaks[a].total_cmp(&breaks[b]));

    let mut point = x.to_vec();
    let mut p = memory.w_transpose_times(&direction);
    let mut c = vec![0.0; p.len()];
    let mut slope = -dot(&direction, &direction);
    let mut curvature = -theta * slope - dot(&p, &memory.m_times(&p));
    let least_curvature = f64::EPSILON * -theta * slope;
    let mut time = 0.0;
    let mut stop = if slope < 0.0 {
        -slope / curvature.max(least_curvature)
    } else {
        0.0
    };
    for &b in &order {
        let reach = breaks[b] - time;
        if stop < reach {
            break;
        }
        let g = gradient[b];
        point[b] = if direction[b] > 0.0 {
            bounds.upper()[b]
        } else {
            bounds.lower()[b]
        };
        let moved = point[b] - x[b];
        add_scaled(&mut c, reach, &p);
        let w = memory.w.row(b);
        let mw = memory.m_times(w);
        slope += reach * curvature + g * g + theta * g * moved - g * dot(&mw, &c);
        curvature -= theta * g * g + 2.0 * g * dot(&mw, &p) + g * g * dot(&mw, w);
        curvature = curvature.max(least_curvature);
        add_scaled(&mut p, g, w);
        direction[b] = 0.0;
        time = breaks[b];
        stop = if slope < 0.0 { -slope / curvature } else { 0.0 };
    }
    let free: Vec<usize> = (0..size)
        .filter(|&i| {
            direction[i] != 0.0 || breaks[i] > time && bounds.lower()[i] < bounds.upper()[i]
        })
        .collect();
    let stop = stop.max(0.0);
    time += stop;
    for i in 0..size {
        if direction[i] != 0.0 {
            point[i] = bounds.clamp(i, x[i] + time * direction[i]);
        }
    }
    add_scaled(&mut c, stop, &p);
    CauchyPoint { point, free, c }
}

/// The step from the Cauchy point to the model's least point over the free coordinates, by the inverse of its block of B:
///
///   −(I/θ + V·(I − M·Vᵀ·V/θ)⁻¹·M·Vᵀ/θ²)·r   (2)
///
/// where V holds the rows of W that are free, and r the model's slope there.
fn subspace_step(
    x: &[f64],
    gradient: &[f64],
    memory: &Memory,
    cauchy: &CauchyPoint,
) -> Option<Vec<f64>> {
    let theta = memory.theta;
    let mc = memory.m_times(&cauchy.c);
    let rest: Vec<f64> = cauchy
        .free
        .iter()
        .map(|&i| gradient[i] + theta * (cauchy.point[i] - x[i]) - dot(memory.w.row(i), &mc))
        .collect();
    let w = Matrix::from_fn(cauchy.free.len(), memory.w.columns(), |i, j| {
        memory.w[(cauchy.free[i], j)]
    });
    let inner = memory.m.times_matrix(&w.gram());
    let system = Matrix::from_fn(inner.rows(), inner.rows(), |i, j| {
        f64::from(u8::from(i == j)) - inner[(i, j)] / theta
    });
    let v = invert(&system)?.times(&memory.m_times(&transpose_times(&w, &rest)));
    let correction = w.times(&v);
    let step = rest.iter().zip(&correction);
    Some(
        step.map(|(r, c)| -r / theta - c / (theta * theta)) // (2)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::testing::random_matrix;
    use crate::random::Random;

    /// m of (1).
    fn model(memory: &Memory, x: &[f64], gradient: &[f64], at: &[f64]) -> f64 {
        let step: Vec<f64> = at.iter().zip(x).map(|(a, x)| a - x).collect();
        dot(gradient, &step) + 0.5 * dot(&step, &memory.b_times(&step))
    }

    fn example(seed: u64) -> (Bounds, Vec<f64>, Vec<f64>, Memory) {
        let mut random = Random::new(seed, 5);
        let hessian = random_matrix(8, 6, seed).gram();
        let mut memory = Memory::new(6);
        for _ in 0..4 {
            let step = random.normals(6);
            let change = hessian.times(&step);
            memory.remember(step, change, 10);
        }
        let bounds = Bounds::new(vec![-0.3; 6], vec![0.4; 6]).unwrap();
        let mut x: Vec<f64> = random.normals(6);
        bounds.project(&mut x);
        (bounds, x, random.normals(6), memory)
    }

    #[test]
    fn the_cauchy_point_is_the_first_least_value_of_the_path() {
        for seed in 0..30 {
            let (bounds, x, gradient, memory) = example(seed);
            let cauchy = cauchy_point(&bounds, &x, &gradient, &memory);
            let on_path = |t: f64| {
                let mut at = x.clone();
                add_scaled(&mut at, -t, &gradient);
                bounds.project(&mut at);
                model(&memory, &x, &gradient, &at)
            };
            // Walk the path in small steps until it rises.
            let mut least = 0.0;
            for i in 1..200_000 {
                let value = on_path(f64::from(i) * 1e-5);
                if value > least {
                    break;
                }
                least = value;
            }
            let found = model(&memory, &x, &gradient, &cauchy.point);
            assert!(
                (found - least).abs() < 1e-6 * (1.0 + least.abs()),
                "{seed}: {found} {least}"
            );
            let moved: Vec<f64> = cauchy.point.iter().zip(&x).map(|(a, x)| a - x).collect();
            for (a, b) in memory.w_transpose_times(&moved).iter().zip(&cauchy.c) {
                assert!((a - b).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn without_bounds_the_models_least_point_has_no_slope() {
        let (_, x, gradient, memory) = example(3);
        let at = model_minimum(&Bounds::free(6), &x, &gradient, &memory);
        let step: Vec<f64> = at.iter().zip(&x).map(|(a, x)| a - x).collect();
        for (b, g) in memory.b_times(&step).iter().zip(&gradient) {
            assert!((b + g).abs() < 1e-9, "{b} {g}");
        }
    }

    #[test]
    fn with_bounds_the_model_gets_no_higher_than_at_the_cauchy_point() {
        for seed in 0..30 {
            let (bounds, x, gradient, memory) = example(seed);
            let at = model_minimum(&bounds, &x, &gradient, &memory);
            assert!(bounds.contains(&at));
            let slope: f64 = (0..6).map(|i| (at[i] - x[i]) * gradient[i]).sum();
            assert!(slope < 0.0, "{seed}: {slope}");
        }
    }
}
