//! Lists of small numbers.

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
