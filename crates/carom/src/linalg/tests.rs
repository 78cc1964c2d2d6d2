//! The factorisations over random trees against dense arithmetic.

use super::minimum_degree::MinimumDegree;
use super::{BlockCholesky, DofPattern, PivotError, TreeLu, TreeSparsity, cholesky, tree_ldl};
use crate::dual::Dual;
use crate::scalar::Scalar;
use crate::testing::Random;

impl Random {
    /// Parents of a random forest: chains, stars and everything between.
    fn forest(&mut self, count: usize) -> Vec<Option<usize>> {
        let bushiness = self.bits() % 4;
        (0..count)
            .map(|dof| {
                let choice = self.bits();
                match choice % 8 {
                    _ if dof == 0 => None,
                    0 if bushiness == 3 => None,
                    choice if choice >= 2 * bushiness => Some(dof - 1),
                    _ => Some(usize::try_from(self.bits() % dof as u64).unwrap()),
                }
            })
            .collect()
    }
}

/// Random entries with a dominant diagonal, so that the matrix is positive definite.
fn random_matrix(random: &mut Random, sparsity: &TreeSparsity) -> Vec<f64> {
    let mut matrix = random.vector(sparsity.entry_count());
    for &diagonal in &sparsity.diagonal {
        matrix[diagonal] += 1.0 + sparsity.dof_count() as f64;
    }
    matrix
}

fn dense_mul(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    matrix
        .chunks(x.len())
        .map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum())
        .collect()
}

#[track_caller]
fn assert_close(actual: &[f64], expected: &[f64]) {
    assert_eq!(actual.len(), expected.len());
    for (i, (a, e)) in actual.iter().zip(expected).enumerate() {
        assert!((a - e).abs() <= 1e-13, "[{i}]: {a} is not {e}");
    }
}

/// Runs a check over forests of many sizes.
fn for_each_forest(mut check: impl FnMut(&mut Random, &TreeSparsity)) {
    for seed in 0..200 {
        let mut random = Random::at(seed);
        let count = usize::try_from(seed % 41).unwrap();
        let sparsity = TreeSparsity::new(random.forest(count));
        check(&mut random, &sparsity);
    }
}

fn dense(sparsity: &TreeSparsity, matrix: &[f64]) -> Vec<f64> {
    let mut dense = vec![f64::NAN; sparsity.dof_count() * sparsity.dof_count()];
    tree_ldl::to_dense(sparsity, matrix, &mut dense);
    dense
}

fn factored(sparsity: &TreeSparsity, matrix: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut factor = vec![f64::NAN; matrix.len()];
    let mut inverse = vec![f64::NAN; sparsity.dof_count()];
    tree_ldl::factor(sparsity, matrix, &mut factor, &mut inverse).unwrap();
    (factor, inverse)
}

#[test]
fn rows_hold_the_ancestors_in_order() {
    let sparsity = TreeSparsity::new([None, Some(0), Some(1), Some(0), Some(3), None]);
    assert_eq!(sparsity.row_columns(2), [0, 1, 2]);
    assert_eq!(sparsity.row_columns(4), [0, 3, 4]);
    assert_eq!(sparsity.ancestors(5), [0_usize; 0]);
    assert_eq!(sparsity.entry(4, 3), Some(sparsity.diagonal[4] - 1));
    assert_eq!(sparsity.entry(4, 1), None);
}

#[test]
fn products_match_the_dense_matrix() {
    for_each_forest(|random, sparsity| {
        let matrix = random_matrix(random, sparsity);
        let x = random.vector(sparsity.dof_count());
        let mut product = vec![f64::NAN; x.len()];
        tree_ldl::mul_vec(sparsity, &matrix, &x, &mut product);
        if !x.is_empty() {
            assert_close(&product, &dense_mul(&dense(sparsity, &matrix), &x));
        }
    });
}

#[test]
fn tree_factors_reproduce_the_matrix() {
    for_each_forest(|random, sparsity| {
        let matrix = random_matrix(random, sparsity);
        let (factor, inverse) = factored(sparsity, &matrix);
        // M(i, j) = Σ_k L(k, i)·D(k)·L(k, j)
        let count = sparsity.dof_count();
        let mut rebuilt = vec![0.0; count * count];
        for dof in 0..count {
            let range = sparsity.row_range(dof);
            let pivot = factor[sparsity.diagonal[dof]];
            assert_close(&[inverse[dof]], &[1.0 / pivot]);
            let mut row = vec![0.0; count];
            for (&column, &entry) in sparsity.columns[range.clone()].iter().zip(&factor[range]) {
                row[column] = if column == dof { 1.0 } else { entry };
            }
            for i in 0..count {
                for j in 0..count {
                    rebuilt[i * count + j] += row[i] * pivot * row[j];
                }
            }
        }
        for (rebuilt, expected) in rebuilt.iter().zip(&dense(sparsity, &matrix)) {
            assert!((rebuilt - expected).abs() < 1e-12);
        }
    });
}

#[test]
fn tree_solves_invert_the_product() {
    for_each_forest(|random, sparsity| {
        let matrix = random_matrix(random, sparsity);
        let (factor, inverse) = factored(sparsity, &matrix);
        let count = sparsity.dof_count();
        let solutions = random.vector(3 * count);
        let mut vectors = vec![0.0; 3 * count];
        for vector in 0..3 {
            let range = vector * count..(vector + 1) * count;
            let x = &solutions[range.clone()];
            tree_ldl::mul_vec(sparsity, &matrix, x, &mut vectors[range]);
        }
        let right_sides = vectors.clone();
        for vector in vectors.chunks_exact_mut(count.max(1)) {
            tree_ldl::solve_in_place(sparsity, &factor, &inverse, vector);
        }
        assert_close(&vectors, &solutions);

        // Half solves: xᵀ·M⁻¹·y as an inner product.
        let (mut a, mut b) = (
            right_sides[..count].to_vec(),
            right_sides[count..2 * count].to_vec(),
        );
        tree_ldl::half_solve(sparsity, &factor, &inverse, &mut a);
        tree_ldl::half_solve(sparsity, &factor, &inverse, &mut b);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let expected = dot(&solutions[..count], &right_sides[count..2 * count]);
        assert!((dot(&a, &b) - expected).abs() < 1e-12 * (1.0 + expected.abs()));
    });
}

#[test]
fn tree_solve_carries_derivatives() {
    // d(M⁻¹·b) = −M⁻¹·dM·x for a perturbation of one entry.
    let sparsity = TreeSparsity::new([None, Some(0), Some(1), Some(0)]);
    let mut random = Random::at(3);
    let matrix = random_matrix(&mut random, &sparsity);
    let right_side = random.vector(4);
    let lifted: Vec<Dual<1>> = matrix
        .iter()
        .enumerate()
        .map(|(i, &entry)| {
            if i == 3 {
                Dual::variable(entry, 0)
            } else {
                Dual::from(entry)
            }
        })
        .collect();
    let mut factor = vec![Dual::ZERO; matrix.len()];
    let mut inverse = vec![Dual::ZERO; 4];
    tree_ldl::factor(&sparsity, &lifted, &mut factor, &mut inverse).unwrap();
    let mut x: Vec<Dual<1>> = right_side.iter().map(|&b| Dual::from(b)).collect();
    tree_ldl::solve_in_place(&sparsity, &factor, &inverse, &mut x);

    let mut perturbation = vec![0.0; matrix.len()];
    perturbation[3] = 1.0;
    let values: Vec<f64> = x.iter().map(|x| x.value).collect();
    let mut expected = vec![0.0; 4];
    tree_ldl::mul_vec(&sparsity, &perturbation, &values, &mut expected);
    let (factor, inverse) = factored(&sparsity, &matrix);
    tree_ldl::solve_in_place(&sparsity, &factor, &inverse, &mut expected);
    let tangents: Vec<f64> = x.iter().map(|x| -x.tangent[0]).collect();
    assert_close(&tangents, &expected);
}

#[test]
fn indefinite_matrices_name_the_row() {
    let sparsity = TreeSparsity::new([None, Some(0), Some(1)]);
    let mut inverse = [0.0; 3];
    for bad in [0.0, -1.0, f64::NAN] {
        let mut matrix = [2.0, 0.1, bad, 0.0, 0.0, 2.0];
        let result = tree_ldl::factor_in_place(&sparsity, &mut matrix, &mut inverse);
        assert_eq!(result, Err(PivotError { index: 1 }));
        let mut matrix = [2.0, 0.0, 0.0, 0.1, bad, 0.0, 0.0, 0.0, 2.0];
        assert_eq!(
            cholesky::factor(&mut matrix, 3),
            Err(PivotError { index: 1 })
        );
    }
}

#[test]
fn lu_solves_with_the_matrix_and_its_transpose() {
    for_each_forest(|random, sparsity| {
        let pattern = DofPattern::new(sparsity);
        let count = sparsity.dof_count();
        assert_eq!(pattern.entry_count(), 2 * sparsity.entry_count() - count);
        let mut matrix = random.vector(pattern.entry_count());
        for &diagonal in &pattern.diagonal {
            matrix[diagonal] += 1.0 + count as f64;
        }
        let mut lu = TreeLu::new(sparsity);
        lu.factor(sparsity, &pattern, &matrix).unwrap();
        let solution = random.vector(count);
        let (mut direct, mut transposed) = (vec![0.0; count], vec![0.0; count]);
        for row in 0..count {
            for index in pattern.row_range(row) {
                let column = pattern.columns[index];
                direct[row] += matrix[index] * solution[column];
                transposed[column] += matrix[index] * solution[row];
            }
        }
        lu.solve_in_place(sparsity, &mut direct);
        assert_close(&direct, &solution);
        lu.solve_transposed_in_place(sparsity, &mut transposed);
        assert_close(&transposed, &solution);
    });
}

#[test]
fn lu_names_the_vanishing_pivot() {
    let sparsity = TreeSparsity::new([None, Some(0)]);
    let pattern = DofPattern::new(&sparsity);
    let mut lu = TreeLu::new(&sparsity);
    // The second dof leaves 1 − 2·0.5 = 0 for the first.
    let result = lu.factor(&sparsity, &pattern, &[1.0, 2.0, 0.5, 1.0]);
    assert_eq!(result, Err(PivotError { index: 0 }));
}

#[test]
fn cholesky_solves_random_systems() {
    let mut random = Random::at(9);
    for size in 0..=41 {
        let chain = TreeSparsity::new((0..size).map(|dof: usize| dof.checked_sub(1)));
        let entries = random_matrix(&mut random, &chain);
        let matrix = dense(&chain, &entries);
        let mut factor = matrix.clone();
        // The upper triangle must not matter.
        for i in 0..size {
            factor[i * size + i + 1..(i + 1) * size].fill(f64::NAN);
        }
        cholesky::factor(&mut factor, size).unwrap();
        let solutions = random.vector(2 * size);
        let mut vectors = Vec::new();
        for solution in solutions.chunks_exact(size.max(1)) {
            vectors.extend(dense_mul(&matrix, solution));
        }
        for vector in vectors.chunks_exact_mut(size.max(1)) {
            cholesky::solve_in_place(&factor, size, vector);
        }
        assert_close(&vectors, &solutions);
        // A = LᵀL is the tree factorisation of a chain, with roots of D.
        let (tree, _) = factored(&chain, &entries);
        for dof in 0..size {
            let pivot = tree[chain.diagonal[dof]];
            assert_close(&[factor[dof * size + dof].powi(2) * pivot], &[1.0]);
        }
    }
}

/// A symmetric matrix of blocks, as a list and dense.
struct BlockMatrix {
    sizes: Vec<usize>,
    edges: Vec<[u32; 2]>,
    dense: Vec<f64>,
}

impl BlockMatrix {
    fn random(random: &mut Random, largest: u64) -> Self {
        let count = 1 + usize::try_from(random.bits() % largest).unwrap();
        let sizes: Vec<usize> = (0..count)
            .map(|_| [1, 2, 3, 6, 6, 7, 10][usize::try_from(random.bits() % 7).unwrap()])
            .collect();
        let mut edges: Vec<[u32; 2]> = Vec::new();
        for node in 1..count {
            for other in 0..node {
                // About as many edges a node however many nodes there are.
                if random.bits().is_multiple_of(4.max(largest / 3)) {
                    edges.push([node, other].map(|node| u32::try_from(node).unwrap()));
                }
            }
        }
        let size: usize = sizes.iter().sum();
        let mut matrix = Self {
            sizes,
            edges,
            dense: vec![0.0; size * size],
        };
        for block in matrix.blocks() {
            matrix.change(random, block);
        }
        matrix
    }

    fn size(&self) -> usize {
        self.sizes.iter().sum()
    }

    fn offset(&self, node: usize) -> usize {
        self.sizes[..node].iter().sum()
    }

    /// Nodes of all blocks, each block once.
    fn blocks(&self) -> Vec<[usize; 2]> {
        let diagonal = (0..self.sizes.len()).map(|node| [node, node]);
        let coupled = self.edges.iter();
        let coupled = coupled.map(|edge| edge.map(|node| node as usize));
        diagonal.chain(coupled).collect()
    }

    /// Gives a block new entries.
    fn change(&mut self, random: &mut Random, [row, column]: [usize; 2]) {
        let (size, offsets) = (self.size(), [row, column].map(|node| self.offset(node)));
        for i in 0..self.sizes[row] {
            for j in 0..self.sizes[column] {
                let diagonal = if row == column && i == j {
                    40.0 + size as f64
                } else {
                    0.0
                };
                let entry = random.next() + diagonal;
                let (a, b) = (offsets[0] + i, offsets[1] + j);
                self.dense[a * size + b] = entry;
                self.dense[b * size + a] = entry;
            }
        }
    }

    /// Writes the rows that are to be filled; returns how many blocks were left alone.
    fn fill(&self, factor: &mut BlockCholesky) -> usize {
        let mut kept = 0;
        factor.clear();
        for [row, column] in self.blocks() {
            let place = factor.place_of(row, column).unwrap();
            if !factor.is_stale(&place) {
                kept += 1;
                continue;
            }
            let (a, b) = (self.offset(row), self.offset(column));
            for i in 0..self.sizes[row] {
                for j in 0..self.sizes[column] {
                    if row != column || j >= i {
                        let entry = self.dense[(a + i) * self.size() + b + j];
                        let (i, j) = if place.transposed { (j, i) } else { (i, j) };
                        factor.values_mut()[place.start + i * place.stride + j] = entry;
                    }
                }
            }
        }
        kept
    }
}

#[test]
fn sparse_blocks_factor_like_a_dense_matrix() {
    let mut random = Random::at(21);
    let mut factor = BlockCholesky::default();
    for round in 0..40 {
        let mut matrix = BlockMatrix::random(&mut random, 12);
        factor.analyze(matrix.sizes.iter().copied(), &mut matrix.edges);
        factor.invalidate();
        assert_eq!(matrix.fill(&mut factor), 0);
        factor.factor().unwrap();
        let expected = random.vector(matrix.size());
        let mut x = dense_mul(&matrix.dense, &expected);
        factor.solve_in_place(&mut x);
        assert_close(&x, &expected);
        assert!(factor.entry_count() >= matrix.size(), "round {round}");
    }
}

#[test]
fn rows_that_depend_on_no_change_keep_their_factor() {
    let mut random = Random::at(22);
    let mut kept = 0;
    for _ in 0..20 {
        let mut matrix = BlockMatrix::random(&mut random, 30);
        let mut factor = BlockCholesky::default();
        factor.analyze(matrix.sizes.iter().copied(), &mut matrix.edges);
        matrix.fill(&mut factor);
        factor.factor().unwrap();
        let blocks = matrix.blocks();
        for _ in 0..5 {
            let chosen = random.bits() % blocks.len() as u64;
            let block = blocks[usize::try_from(chosen).unwrap()];
            matrix.change(&mut random, block);
            for node in block {
                factor.invalidate_node(node);
            }
            kept += matrix.fill(&mut factor);
            factor.factor().unwrap();
            let mut whole = factor.clone();
            whole.invalidate();
            assert_eq!(matrix.fill(&mut whole), 0);
            whole.factor().unwrap();
            assert_eq!(factor, whole);
        }
    }
    assert!(kept > 1000, "only {kept} blocks were kept");
}

#[test]
fn nodes_of_least_degree_are_eliminated_first() {
    let mut random = Random::at(23);
    let mut ordering = MinimumDegree::default();
    for _ in 0..30 {
        let count = 2 + usize::try_from(random.bits() % 40).unwrap();
        let mut adjacent = vec![vec![false; count]; count];
        let mut edges = Vec::new();
        for a in 0..count {
            for b in 0..a {
                if random.bits().is_multiple_of(6) {
                    adjacent[a][b] = true;
                    adjacent[b][a] = true;
                    edges.push([a, b].map(|node| u32::try_from(node).unwrap()));
                }
            }
        }
        ordering.read(count, &edges);
        let mut remaining: Vec<usize> = (0..count).collect();
        while !remaining.is_empty() {
            let degree = |&node: &usize| {
                let others = remaining.iter();
                others.filter(|&&other| adjacent[node][other]).count()
            };
            let expected = *remaining.iter().min_by_key(|node| degree(node)).unwrap();
            let mut found = Vec::new();
            assert_eq!(ordering.eliminate(&mut found) as usize, expected);
            remaining.retain(|&node| node != expected);
            let mut neighbours = remaining.clone();
            neighbours.retain(|&node| adjacent[expected][node]);
            found.sort_unstable();
            let found: Vec<usize> = found.into_iter().map(|node| node as usize).collect();
            assert_eq!(found, neighbours);
            for &a in &neighbours {
                for &b in neighbours.iter().filter(|&&b| b != a) {
                    adjacent[a][b] = true;
                }
            }
        }
    }
}

#[test]
fn sparse_blocks_report_the_row_of_a_bad_pivot() {
    let mut blocks = BlockCholesky::default();
    blocks.analyze([2, 2].into_iter(), &mut vec![[0, 1]]);
    blocks.clear();
    for (node, diagonal) in [(0, [1.0, 2.0]), (1, [3.0, -1.0])] {
        let place = blocks.place_of(node, node).unwrap();
        for (i, entry) in diagonal.into_iter().enumerate() {
            blocks.values_mut()[place.start + i * place.stride + i] = entry;
        }
    }
    assert_eq!(blocks.factor(), Err(PivotError { index: 3 }));
}

#[test]
fn trees_multiply_and_solve_apart() {
    let mut random = Random::at(5);
    // Two trees of three and four dofs.
    let parents = [None, Some(0), Some(0), None, Some(3), Some(4), Some(3)];
    let sparsity = TreeSparsity::new(parents);
    let entries = random_matrix(&mut random, &sparsity);
    let (factor, diagonal_inverse) = factored(&sparsity, &entries);
    let x = random.vector(7);
    let mut whole = vec![0.0; 7];
    tree_ldl::mul_vec(&sparsity, &entries, &x, &mut whole);
    let mut part = vec![0.0; 7];
    tree_ldl::mul_trees(&sparsity, &entries, 3..7, &x, &mut part);
    assert_close(&part[3..], &whole[3..]);
    assert_eq!(part[..3], [0.0; 3]);
    tree_ldl::solve_trees(&sparsity, &factor, &diagonal_inverse, 3..7, &mut part);
    assert_close(&part[3..], &x[3..]);
}
