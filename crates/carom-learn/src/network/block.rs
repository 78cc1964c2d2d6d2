//! A block: two dense layers with a smooth bend between them, and a layer norm behind them.
//!
//! With inputs xₖ that come by routes Mₖ (the same row, or linked rows),
//!
//!   z = b + Σₖ Mₖ·xₖ·Wₖ                                          (1)
//!   h = φ(z),   φ(z) = z·(1 + z/√(1 + z²))/2                     (2)
//!   y = c + h·V                                                  (3)
//!   ŷ = g·(y − mean y)/√(var y + ε) + s     over a row           (4)
//!
//! Products come before routes: there are fewer nodes than edges. φ is bent like a rectifier but smooth, so that derivatives of
//! whole rollouts exist, and needs no exponential.

use super::product::Left;
use super::{Links, Real};

/// ε of (4).
const NORM_FLOOR: f64 = 1e-5;

/// A matrix of weights within the flat vector, `inner` rows of `outer` numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dense {
    /// Where it begins.
    pub start: usize,
    /// Rows: numbers that go in.
    pub inner: usize,
    /// Columns: numbers that come out.
    pub outer: usize,
}

impl Dense {
    fn of<'a, F>(&self, weights: &'a [F]) -> &'a [F] {
        &weights[self.start..self.start + self.inner * self.outer]
    }

    fn of_mut<'a, F>(&self, weights: &'a mut [F]) -> &'a mut [F] {
        &mut weights[self.start..self.start + self.inner * self.outer]
    }
}

/// Where the weights of a block are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockShape {
    /// Wₖ.
    pub terms: Vec<Dense>,
    /// b.
    pub bias: usize,
    /// V.
    pub second: Dense,
    /// c.
    pub second_bias: usize,
    /// g, then s; none where (4) is left out.
    pub norm: Option<usize>,
}

/// What a block keeps for its adjoint.
#[derive(Clone, Debug, Default)]
pub(super) struct Record<F> {
    rows: usize,
    z: Vec<F>,
    hidden: Vec<F>,
    /// y, or after (4) the numbers between mean and gain.
    pub(super) out: Vec<F>,
    scale: Vec<F>,
}

/// Memory that blocks share.
#[derive(Clone, Debug)]
pub(super) struct Scratch<F> {
    arch: pulp::Arch,
    rows: Vec<F>,
    turned: Vec<F>,
    dz: Vec<F>,
    dy: Vec<F>,
}

impl<F> Default for Scratch<F> {
    fn default() -> Self {
        Self {
            arch: pulp::Arch::new(),
            rows: Vec::new(),
            turned: Vec::new(),
            dz: Vec::new(),
            dy: Vec::new(),
        }
    }
}

/// How rows of an input come to rows of a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Route<'a, F> {
    /// Row by row.
    Same,
    /// A row of the block hears linked rows.
    Gather(&'a Links),
    /// Linked rows are heard the other way round, each with a factor of its own.
    Scatter(&'a Links, &'a [F]),
}

/// An input: its numbers and their route.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term<'a, F> {
    pub(super) x: &'a [F],
    pub(super) route: Route<'a, F>,
}

/// Where the cotangents of an input and of the factors of its route are added, if they are asked for.
#[derive(Debug)]
pub(super) struct TermBars<'a, F> {
    pub(super) x: Option<&'a mut [F]>,
    pub(super) factors: Option<&'a mut [F]>,
}

/// Sets a vector to so many zeros; allocates only while it grows.
pub(super) fn zeros<F: Real>(out: &mut Vec<F>, count: usize) {
    out.clear();
    out.resize(count, F::default());
}

fn bend<F: Real>(z: F) -> F {
    let (half, one) = (F::of(0.5), F::of(1.0));
    half * z * (one + z / (one + z * z).sqrt())
}

fn bend_slope<F: Real>(z: F) -> F {
    let (half, one) = (F::of(0.5), F::of(1.0));
    let square = one + z * z;
    let root = square.sqrt();
    half * (one + z / root + z / (root * square))
}

impl BlockShape {
    fn width(&self) -> usize {
        self.second.inner
    }

    /// (1) to (4): the result is `record.out` before gain and shift; [`Self::add_to`] adds it with them.
    pub(super) fn forward<F: Real>(
        &self,
        weights: &[F],
        rows: usize,
        terms: &[Term<'_, F>],
        record: &mut Record<F>,
        scratch: &mut Scratch<F>,
    ) {
        let width = self.width();
        record.rows = rows;
        record.z.clear();
        for _ in 0..rows {
            record
                .z
                .extend_from_slice(&weights[self.bias..self.bias + width]);
        }
        for (dense, term) in self.terms.iter().zip(terms) {
            Self::term(dense, weights, *term, &mut record.z, scratch); // (1)
        }
        record.hidden.clear();
        record.hidden.extend(record.z.iter().map(|&z| bend(z))); // (2)
        let outer = self.second.outer;
        record.out.clear();
        for _ in 0..rows {
            let bias = &weights[self.second_bias..self.second_bias + outer];
            record.out.extend_from_slice(bias);
        }
        let left = Left::plain(&record.hidden, rows, width);
        F::multiply(scratch.arch, left, self.second.of(weights), &mut record.out); // (3)
        if self.norm.is_some() {
            normalize(&mut record.out, outer, &mut record.scale); // (4)
        }
    }

    fn term<F: Real>(
        dense: &Dense,
        weights: &[F],
        term: Term<'_, F>,
        z: &mut [F],
        scratch: &mut Scratch<F>,
    ) {
        let rows = term.x.len() / dense.inner;
        let left = Left::plain(term.x, rows, dense.inner);
        let Scratch {
            arch, rows: linked, ..
        } = scratch;
        if let Route::Same = term.route {
            F::multiply(*arch, left, dense.of(weights), z);
            return;
        }
        zeros(linked, rows * dense.outer);
        F::multiply(*arch, left, dense.of(weights), linked);
        match term.route {
            Route::Same => {}
            Route::Gather(links) => links.gather(linked, z, dense.outer),
            Route::Scatter(links, factors) => {
                scale_rows(linked, factors, dense.outer);
                links.scatter(linked, z, dense.outer);
            }
        }
    }

    /// Adds gain · out + shift to rows, or `out` where there is no norm.
    pub(super) fn add_to<F: Real>(&self, weights: &[F], record: &Record<F>, sum: &mut [F]) {
        let outer = self.second.outer;
        let Some(norm) = self.norm else {
            for (sum, out) in sum.iter_mut().zip(&record.out) {
                *sum += *out;
            }
            return;
        };
        let (gain, shift) = weights[norm..norm + 2 * outer].split_at(outer);
        for (sum, out) in sum
            .chunks_exact_mut(outer)
            .zip(record.out.chunks_exact(outer))
        {
            for j in 0..outer {
                sum[j] += gain[j] * out[j] + shift[j];
            }
        }
    }

    /// The adjoint of (2) to (4): from the cotangent of the result to that of z, which stays in the scratch memory for
    /// [`Self::term_backward`]. Adds to the gradient.
    pub(super) fn backward<F: Real>(
        &self,
        weights: &[F],
        record: &Record<F>,
        out_bar: &[F],
        gradient: &mut [F],
        scratch: &mut Scratch<F>,
    ) {
        let (width, outer, rows) = (self.width(), self.second.outer, record.rows);
        let Scratch {
            arch,
            turned,
            dz,
            dy,
            ..
        } = scratch;
        dy.clear();
        dy.extend_from_slice(out_bar);
        if let Some(norm) = self.norm {
            let gain = &weights[norm..norm + outer];
            let (gain_bar, shift_bar) = gradient[norm..norm + 2 * outer].split_at_mut(outer);
            normalize_backward(record, gain, [gain_bar, shift_bar], dy);
        }
        sum_rows(
            dy,
            &mut gradient[self.second_bias..self.second_bias + outer],
        );
        let left = Left::transposed(&record.hidden, width, rows);
        F::multiply(*arch, left, dy, self.second.of_mut(gradient));
        turn(self.second.of(weights), width, outer, turned);
        zeros(dz, rows * width);
        F::multiply(*arch, Left::plain(dy, rows, outer), turned, dz);
        for (bar, &z) in dz.iter_mut().zip(&record.z) {
            *bar *= bend_slope(z);
        }
        sum_rows(dz, &mut gradient[self.bias..self.bias + width]);
    }

    /// The adjoint of a term of (1), after [`Self::backward`]: adds to the gradient, to the cotangent of its input if that is
    /// asked for, and to that of the factors of its route.
    pub(super) fn term_backward<F: Real>(
        &self,
        (index, weights): (usize, &[F]),
        term: Term<'_, F>,
        gradient: &mut [F],
        bars: TermBars<'_, F>,
        scratch: &mut Scratch<F>,
    ) {
        let dense = &self.terms[index];
        let TermBars {
            x: x_bar,
            factors: factor_bar,
        } = bars;
        let Scratch {
            arch,
            rows: linked,
            turned,
            dz,
            dy,
        } = scratch;
        let rows = term.x.len() / dense.inner;
        let product_bar: &[F] = match term.route {
            Route::Same => dz,
            Route::Gather(links) => {
                zeros(linked, rows * dense.outer);
                links.scatter(dz, linked, dense.outer);
                linked
            }
            Route::Scatter(links, factors) => {
                zeros(linked, rows * dense.outer);
                links.gather(dz, linked, dense.outer);
                if let Some(factor_bar) = factor_bar {
                    zeros(dy, rows * dense.outer);
                    let left = Left::plain(term.x, rows, dense.inner);
                    F::multiply(*arch, left, dense.of(weights), dy);
                    add_dots(dy, linked, dense.outer, factor_bar);
                }
                scale_rows(linked, factors, dense.outer);
                linked
            }
        };
        let left = Left::transposed(term.x, dense.inner, rows);
        F::multiply(*arch, left, product_bar, dense.of_mut(gradient));
        if let Some(x_bar) = x_bar {
            turn(dense.of(weights), dense.inner, dense.outer, turned);
            let left = Left::plain(product_bar, rows, dense.outer);
            F::multiply(*arch, left, turned, x_bar);
        }
    }
}

/// (4) in place, before gain and shift; keeps 1/√(var + ε) of every row.
fn normalize<F: Real>(out: &mut [F], width: usize, scale: &mut Vec<F>) {
    scale.clear();
    let part = F::of(1.0 / width as f64);
    for row in out.chunks_exact_mut(width) {
        let mean = row.iter().copied().sum::<F>() * part;
        let mut square = F::default();
        for value in row.iter_mut() {
            *value -= mean;
            square += *value * *value;
        }
        let inverse = F::of(1.0) / (square * part + F::of(NORM_FLOOR)).sqrt();
        for value in row.iter_mut() {
            *value *= inverse;
        }
        scale.push(inverse);
    }
}

/// The adjoint of (4): `bar` of the result becomes that of y.
fn normalize_backward<F: Real>(
    record: &Record<F>,
    gain: &[F],
    [gain_bar, shift_bar]: [&mut [F]; 2],
    bar: &mut [F],
) {
    let width = gain.len();
    let part = F::of(1.0 / width as f64);
    let rows = bar
        .chunks_exact_mut(width)
        .zip(record.out.chunks_exact(width));
    for ((bar, out), &scale) in rows.zip(&record.scale) {
        let (mut mean, mut along) = (F::default(), F::default());
        for j in 0..width {
            gain_bar[j] += bar[j] * out[j];
            shift_bar[j] += bar[j];
            bar[j] *= gain[j];
            mean += bar[j];
            along += bar[j] * out[j];
        }
        let (mean, along) = (mean * part, along * part);
        for j in 0..width {
            bar[j] = (bar[j] - mean - out[j] * along) * scale;
        }
    }
}

fn scale_rows<F: Real>(rows: &mut [F], factors: &[F], width: usize) {
    for (row, &factor) in rows.chunks_exact_mut(width).zip(factors) {
        for value in row {
            *value *= factor;
        }
    }
}

fn add_dots<F: Real>(one: &[F], two: &[F], width: usize, out: &mut [F]) {
    let rows = one.chunks_exact(width).zip(two.chunks_exact(width));
    for (out, (one, two)) in out.iter_mut().zip(rows) {
        *out += one.iter().zip(two).map(|(&a, &b)| a * b).sum::<F>();
    }
}

fn sum_rows<F: Real>(rows: &[F], out: &mut [F]) {
    for row in rows.chunks_exact(out.len()) {
        for (sum, value) in out.iter_mut().zip(row) {
            *sum += *value;
        }
    }
}

/// The transpose of a matrix.
fn turn<F: Real>(matrix: &[F], rows: usize, columns: usize, out: &mut Vec<F>) {
    zeros(out, rows * columns);
    for i in 0..rows {
        for j in 0..columns {
            out[j * rows + i] = matrix[i * columns + j];
        }
    }
}
