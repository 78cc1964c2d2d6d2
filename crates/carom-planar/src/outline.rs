//! Plan outlines of bodies that stand upright on a table: convex polygons about the centre of mass.

/// A line of the plane by its outward normal and its distance from the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// Outward, of length one.
    pub normal: [f64; 2],
    /// Distance from the origin along the normal (m).
    pub distance: f64,
}

/// A convex outline, counter-clockwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Corners about the origin of the outline (m).
    pub corners: Vec<[f64; 2]>,
    /// Sides, from each corner to the next.
    pub sides: Vec<Side>,
}

/// A body as it stands on the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Its outline in its own frame, about the centre of mass for one that moves freely.
    pub outline: Outline,
    /// Mass (kg).
    pub mass: f64,
    /// Radius of gyration about the vertical (m).
    pub gyration: f64,
    /// Height of the centre of mass above the underside (m).
    pub height: f64,
    /// Acceleration of gravity (m/s²).
    pub gravity: f64,
}

impl Outline {
    /// The convex hull of points; none where they span no area.
    pub fn of_points(points: &[[f64; 2]]) -> Option<Self> {
        let corners = hull(points.to_vec());
        let sides: Vec<Side> = (0..corners.len())
            .map(|at| {
                let ([x, y], [u, v]) = (corners[at], corners[(at + 1) % corners.len()]);
                let length = (u - x).hypot(v - y);
                let normal = [(v - y) / length, (x - u) / length];
                let distance = normal[0] * x + normal[1] * y;
                Side { normal, distance }
            })
            .collect();
        (corners.len() >= 3).then_some(Self { corners, sides })
    }

    /// How far a point is outside; negative within, there minus the distance to the nearest side.
    pub fn separation(&self, point: [f64; 2]) -> f64 {
        let mut most = f64::NEG_INFINITY;
        for side in &self.sides {
            let ahead = side.normal[0] * point[0] + side.normal[1] * point[1] - side.distance;
            most = most.max(ahead);
        }
        most
    }

    /// Largest distance of a corner from the origin (m).
    pub fn radius(&self) -> f64 {
        let far = self.corners.iter().map(|[x, y]| x.hypot(*y));
        far.fold(0.0, f64::max)
    }

    /// Points evenly over the area.
    pub fn cells(&self, across: usize) -> Vec<[f64; 2]> {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for corner in &self.corners {
            for axis in 0..2 {
                low[axis] = low[axis].min(corner[axis]);
                high[axis] = high[axis].max(corner[axis]);
            }
        }
        let mut cells = Vec::new();
        for i in 0..across {
            for j in 0..across {
                let part = [i, j].map(|k| (k as f64 + 0.5) / across as f64);
                let point = [0, 1].map(|k| low[k] + (high[k] - low[k]) * part[k]);
                if self.separation(point) <= 0.0 {
                    cells.push(point);
                }
            }
        }
        cells
    }
}

/// The convex hull, counter-clockwise, without points on its sides.
fn hull(mut points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let extent = points
        .iter()
        .flatten()
        .fold(0.0f64, |most, x| most.max(x.abs()));
    points.dedup_by(|a, b| (a[0] - b[0]).hypot(a[1] - b[1]) < 1e-9 * extent);
    let half = |points: &mut dyn Iterator<Item = [f64; 2]>| {
        let mut chain: Vec<[f64; 2]> = Vec::new();
        for point in points {
            while let [.., a, b] = chain[..] {
                let turn = (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0]);
                if turn > 1e-10 * extent * extent {
                    break;
                }
                chain.pop();
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    let mut lower = half(&mut points.iter().copied());
    let upper = half(&mut points.iter().rev().copied());
    lower.extend(upper);
    lower
}
