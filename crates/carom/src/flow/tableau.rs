//! Coefficients of embedded Runge–Kutta methods.
//!
//! Stage i lies at y₀ + h·Σⱼ aᵢⱼ·kⱼ, the step ends at y₀ + h·Σᵢ bᵢ·kᵢ, and the difference to an embedded method of lower
//! order estimates the error, h·Σᵢ eᵢ·kᵢ, to which the rates at the end of the step may contribute as one more stage.

mod dopri8;
mod extrapolation;

use dopri8::DOPRI8;
use extrapolation::IMPLICIT;

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Of order 5(4), with the smallest error constant of its kind [Tsitouras 2011]. The default.
    Tsit5,
    /// Of order 5(4) [Dormand 1980].
    Dopri5,
    /// Of order 8(7), for tight tolerances and smooth forces [Prince 1981].
    Dopri8,
    /// Of order 3(2) [Bogacki 1989].
    Bosh3,
    /// Of order 2(1), through the end of the step.
    Heun,
    /// Of order 2(1), through its middle.
    Midpoint,
    /// Of order 2(1), with the smallest error constant of its kind.
    Ralston,
    /// Implicit in the constraints, of order 4(3): for very stiff contacts.
    Implicit,
}

impl Method {
    /// All methods, by name.
    pub const ALL: [(&'static str, Self); 8] = [
        ("tsit5", Self::Tsit5),
        ("dopri5", Self::Dopri5),
        ("dopri8", Self::Dopri8),
        ("bosh3", Self::Bosh3),
        ("heun", Self::Heun),
        ("midpoint", Self::Midpoint),
        ("ralston", Self::Ralston),
        ("implicit", Self::Implicit),
    ];

    /// The coefficients.
    pub fn tableau(self) -> &'static Tableau {
        match self {
            Self::Tsit5 => &TSIT5,
            Self::Dopri5 => &DOPRI5,
            Self::Dopri8 => &DOPRI8,
            Self::Bosh3 => &BOSH3,
            Self::Heun => &HEUN,
            Self::Midpoint => &MIDPOINT,
            Self::Ralston => &RALSTON,
            Self::Implicit => &IMPLICIT,
        }
    }
}

/// Coefficients of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tableau {
    /// aᵢⱼ of the second and later stages.
    pub stages: &'static [&'static [f64]],
    /// bᵢ.
    pub weights: &'static [f64],
    /// eᵢ, the last one for the rates at the end of the step.
    pub error: &'static [f64],
    /// Order of the embedded method and one: that of the error estimate in h.
    pub error_order: u32,
    /// The columns of an extrapolation, where the step is one; its slope and that of its error then take the places of stages.
    pub extrapolation: &'static [Extrapolation],
}

/// A step that is taken in a number of equal parts, for extrapolation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extrapolation {
    /// Number of parts.
    pub count: u32,
    /// Weight in the result.
    pub weight: f64,
    /// Weight in the error.
    pub error: f64,
}

impl Tableau {
    /// Whether steps are extrapolated.
    pub fn is_extrapolated(&self) -> bool {
        !self.extrapolation.is_empty()
    }

    /// Number of stages, without the rates at the end.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there are no stages.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Where a stage lies in the step, 0 … 1.
    pub fn place(&self, stage: usize) -> f64 {
        match stage.checked_sub(1).and_then(|row| self.stages.get(row)) {
            Some(row) => row.iter().sum(),
            None if stage == 0 => 0.0,
            None => 1.0,
        }
    }
}

const TSIT5: Tableau = Tableau {
    stages: &[
        &[0.161],
        &[-0.008_480_655_492_356_989, 0.335_480_655_492_357],
        &[
            2.897_153_057_105_493_5,
            -6.359_448_489_975_075,
            4.362_295_432_869_581_5,
        ],
        &[
            5.325_864_828_439_257,
            -11.748_883_564_062_828,
            7.495_539_342_889_836_5,
            -0.092_495_066_361_755_25,
        ],
        &[
            5.861_455_442_946_42,
            -12.920_969_317_847_11,
            8.159_367_898_576_159,
            -0.071_584_973_281_401,
            -0.028_269_050_394_068_383,
        ],
    ],
    weights: &[
        0.096_460_766_818_065_23,
        0.01,
        0.479_889_650_414_499_6,
        1.379_008_574_103_742,
        -3.290_069_515_436_081,
        2.324_710_524_099_774,
    ],
    error: &[
        -0.001_780_011_052_225_777,
        -0.000_816_434_459_656_746_9,
        0.007_880_878_010_261_995,
        -0.144_711_007_173_262_9,
        0.582_357_165_452_555_2,
        -0.458_082_105_929_186_97,
        1.0 / 66.0,
    ],
    error_order: 5,
    extrapolation: &[],
};

const DOPRI5: Tableau = Tableau {
    stages: &[
        &[1.0 / 5.0],
        &[3.0 / 40.0, 9.0 / 40.0],
        &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
        &[
            19_372.0 / 6_561.0,
            -25_360.0 / 2_187.0,
            64_448.0 / 6_561.0,
            -212.0 / 729.0,
        ],
        &[
            9_017.0 / 3_168.0,
            -355.0 / 33.0,
            46_732.0 / 5_247.0,
            49.0 / 176.0,
            -5_103.0 / 18_656.0,
        ],
    ],
    weights: &[
        35.0 / 384.0,
        0.0,
        500.0 / 1_113.0,
        125.0 / 192.0,
        -2_187.0 / 6_784.0,
        11.0 / 84.0,
    ],
    error: &[
        71.0 / 57_600.0,
        0.0,
        -71.0 / 16_695.0,
        71.0 / 1_920.0,
        -17_253.0 / 339_200.0,
        22.0 / 525.0,
        -1.0 / 40.0,
    ],
    error_order: 5,
    extrapolation: &[],
};

const BOSH3: Tableau = Tableau {
    stages: &[&[0.5], &[0.0, 0.75]],
    weights: &[2.0 / 9.0, 1.0 / 3.0, 4.0 / 9.0],
    error: &[-5.0 / 72.0, 1.0 / 12.0, 1.0 / 9.0, -1.0 / 8.0],
    error_order: 3,
    extrapolation: &[],
};

const HEUN: Tableau = Tableau {
    stages: &[&[1.0]],
    weights: &[0.5, 0.5],
    error: &[-0.5, 0.5, 0.0],
    error_order: 2,
    extrapolation: &[],
};

const MIDPOINT: Tableau = Tableau {
    stages: &[&[0.5]],
    weights: &[0.0, 1.0],
    error: &[-1.0, 1.0, 0.0],
    error_order: 2,
    extrapolation: &[],
};

const RALSTON: Tableau = Tableau {
    stages: &[&[2.0 / 3.0]],
    weights: &[0.25, 0.75],
    error: &[-0.75, 0.75, 0.0],
    error_order: 2,
    extrapolation: &[],
};

#[cfg(test)]
mod tests {
    use super::*;

    /// A rooted tree: what a method must integrate exactly.
    #[derive(Clone, Debug)]
    struct Tree(Vec<Tree>);

    impl Tree {
        fn order(&self) -> u32 {
            1 + self.0.iter().map(Self::order).sum::<u32>()
        }

        /// γ of the tree: its order times those of its branches.
        fn density(&self) -> f64 {
            f64::from(self.order()) * self.0.iter().map(Self::density).product::<f64>()
        }

        /// Φᵢ of the tree for every stage.
        fn elementary(&self, a: &[Vec<f64>]) -> Vec<f64> {
            let branches: Vec<Vec<f64>> =
                (self.0.iter()).map(|branch| branch.elementary(a)).collect();
            (0..a.len())
                .map(|stage| {
                    branches
                        .iter()
                        .map(|branch| a[stage].iter().zip(branch).map(|(a, b)| a * b).sum::<f64>())
                        .product()
                })
                .collect()
        }
    }

    /// All rooted trees up to an order, each once.
    fn trees(order: u32) -> Vec<Tree> {
        fn forests(nodes: u32, known: &[Tree], from: usize) -> Vec<Vec<Tree>> {
            if nodes == 0 {
                return vec![Vec::new()];
            }
            let mut found = Vec::new();
            for (index, tree) in known.iter().enumerate().filter(|(index, _)| *index >= from) {
                if tree.order() <= nodes {
                    for mut rest in forests(nodes - tree.order(), known, index) {
                        rest.push(tree.clone());
                        found.push(rest);
                    }
                }
            }
            found
        }
        let mut known: Vec<Tree> = Vec::new();
        for nodes in 1..=order {
            let more = forests(nodes - 1, &known, 0).into_iter().map(Tree);
            known.extend(more.collect::<Vec<_>>());
        }
        known
    }

    #[test]
    fn methods_have_the_orders_they_claim() {
        let count = [1, 1, 2, 4, 9, 20, 48, 115].iter().sum::<usize>();
        assert_eq!(trees(8).len(), count);
        let methods = Method::ALL.map(|(name, method)| (name, method.tableau()));
        for (name, tableau) in methods
            .into_iter()
            .filter(|(_, tableau)| !tableau.is_extrapolated())
        {
            // With the end of the step as one more stage.
            let mut a: Vec<Vec<f64>> = vec![Vec::new()];
            a.extend(tableau.stages.iter().map(|row| row.to_vec()));
            a.push(tableau.weights.to_vec());
            assert_eq!(tableau.error.len(), a.len(), "{name}");
            for tree in trees(tableau.error_order) {
                let elementary = tree.elementary(&a);
                let sum = |weights: &[f64]| -> f64 {
                    weights.iter().zip(&elementary).map(|(b, e)| b * e).sum()
                };
                let expected = 1.0 / tree.density();
                let found = sum(tableau.weights);
                assert!((found - expected).abs() < 1e-13, "{name} {tree:?}: {found}");
                if tree.order() < tableau.error_order {
                    let error = sum(tableau.error);
                    assert!(error.abs() < 1e-13, "{name} {tree:?}: error {error}");
                }
            }
        }
    }

    /// Errors of a column are a series in 1/n, and the sums lose its first terms.
    #[test]
    fn extrapolation_removes_the_first_terms_of_the_error() {
        let sum = |power: i32| {
            let terms = IMPLICIT.extrapolation.iter().map(|column| {
                let size = f64::from(column.count).powi(-power);
                [column.weight * size, column.error * size]
            });
            terms.fold([0.0; 2], |[a, b], [x, y]| [a + x, b + y])
        };
        let [one, none] = sum(0);
        assert!((one - 1.0).abs() < 1e-14 && none.abs() < 1e-14);
        for power in 1..4 {
            let [weight, error] = sum(power);
            assert!(weight.abs() < 1e-14, "{power}: {weight}");
            // The second sum is of one order less.
            assert_eq!(error.abs() < 1e-14, power < 3, "{power}: {error}");
        }
    }
}
