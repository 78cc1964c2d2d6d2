//! Who is next to whom on the convex hull of a mesh: what colliders walk on.

/// Vertices, edges and polygons of a convex hull. Vertices are numbered anew from 0 (*hull vertices*).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HullTopology {
    /// Mesh vertex of each hull vertex.
    pub vertices: Vec<u32>,
    /// Hull vertices that share an edge with a hull vertex.
    pub neighbors: Lists,
    /// Outlines of the polygons of (nearly) coplanar triangles, hull vertices anticlockwise from outside.
    pub polygons: Lists,
    /// Polygons around a hull vertex.
    pub polygons_around: Lists,
}

impl HullTopology {
    /// Reverses the outlines, which keep their first corners: for the hull of mirrored points.
    pub(crate) fn turn_inside_out(&mut self) {
        let reversed = self.polygons.iter().map(|outline| {
            let mut outline = outline.to_vec();
            if let Some(rest) = outline.get_mut(1..) {
                rest.reverse();
            }
            outline
        });
        self.polygons = reversed.collect();
    }
}

/// Lists of small numbers, stored in one piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// Where each list ends.
    ends: Vec<u32>,
    /// All lists, one after the other.
    items: Vec<u32>,
}

impl Lists {
    /// How many lists there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no lists.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One list; empty when there is no such list.
    #[inline]
    pub fn get(&self, index: usize) -> &[u32] {
        let Some(&end) = self.ends.get(index) else {
            return &[];
        };
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.items[start as usize..end as usize]
    }

    /// All lists.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|index| self.get(index))
    }
}

impl<L: IntoIterator<Item = u32>> FromIterator<L> for Lists {
    fn from_iter<I: IntoIterator<Item = L>>(lists: I) -> Self {
        let mut all = Self::default();
        for list in lists {
            all.items.extend(list);
            all.ends
                .push(u32::try_from(all.items.len()).unwrap_or(u32::MAX));
        }
        all
    }
}
