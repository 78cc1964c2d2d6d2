//! The order in which MuJoCo lists the polygons of a hull.
//!
//! Where several polygons around a corner face a contact equally well, the one listed first decides. MuJoCo collects
//! polygons in a hash table under their cells of normals, and lists them as the table does: this is the order of
//! chained buckets (of the C++ library that its wheels are built with), which is followed here. A new item comes before
//! those of its bucket, or before all when the bucket is empty; when there are more items than buckets, their number
//! grows to the next prime after its double, and items join the first one of their new bucket.

/// The end of the list, and the place before its first item.
const END: usize = 0;

/// The numbers 0… of different cells, given in the order of their first triangles, as the table lists them.
pub(super) fn listed(cells: &[[i32; 2]]) -> Vec<usize> {
    let mut table = Table::default();
    for &cell in cells {
        table.insert(hash(cell));
    }
    table.list()
}

/// The bits of the two numbers, mixed.
fn hash([azimuth, polar]: [i32; 2]) -> u64 {
    let [first, second] = [azimuth, polar].map(|index| f64::from(index).to_bits());
    let mixed = second
        .wrapping_add(0x9e37_79b9)
        .wrapping_add(first << 6)
        .wrapping_add(first >> 2);
    first ^ mixed
}

/// Items are numbered from 1 in the order of insertion.
#[derive(Default)]
struct Table {
    /// Hashes of the items; the first is none.
    hashes: Vec<u64>,
    next: Vec<usize>,
    /// The item before the first of each bucket.
    before: Vec<Option<usize>>,
}

impl Table {
    fn insert(&mut self, hash: u64) {
        if self.next.is_empty() {
            self.hashes.push(0);
            self.next.push(END);
        }
        let item = self.next.len();
        if item > self.before.len() {
            self.grow(item);
        }
        self.hashes.push(hash);
        self.next.push(END);
        let bucket = self.bucket(item);
        if let Some(before) = self.before[bucket] {
            self.next[item] = self.next[before];
            self.next[before] = item;
            return;
        }
        let first = self.next[END];
        self.next[item] = first;
        self.next[END] = item;
        self.before[bucket] = Some(END);
        if first != END {
            let bucket = self.bucket(first);
            self.before[bucket] = Some(item);
        }
    }

    fn bucket(&self, item: usize) -> usize {
        let count = self.before.len() as u64;
        usize::try_from(self.hashes[item] % count).unwrap_or_default()
    }

    /// Makes room for a number of items.
    fn grow(&mut self, least: usize) {
        let mut count = (2 * self.before.len() + 1).max(least).max(2);
        while !is_prime(count) {
            count += 1;
        }
        self.before.clear();
        self.before.resize(count, None);
        let (mut last, mut last_bucket) = (END, None);
        loop {
            let item = self.next[last];
            if item == END {
                return;
            }
            let bucket = self.bucket(item);
            match self.before[bucket] {
                Some(before) if last_bucket != Some(bucket) => {
                    self.next[last] = self.next[item];
                    self.next[item] = self.next[before];
                    self.next[before] = item;
                }
                known => {
                    self.before[bucket] = known.or(Some(last));
                    (last, last_bucket) = (item, Some(bucket));
                }
            }
        }
    }

    fn list(&self) -> Vec<usize> {
        let mut list = Vec::new();
        let mut item = self.next.first().copied().unwrap_or(END);
        while item != END {
            list.push(item - 1);
            item = self.next[item];
        }
        list
    }
}

fn is_prime(number: usize) -> bool {
    let mut divisor = 2;
    while divisor * divisor <= number {
        if number.is_multiple_of(divisor) {
            return false;
        }
        divisor += 1;
    }
    number >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Orders that MuJoCo 4.0.0 gave for boxes.
    #[test]
    fn boxes_are_listed_as_in_mujoco() {
        let cells = [
            [314, 157],
            [0, 314],
            [-157, 157],
            [157, 157],
            [0, 0],
            [0, 157],
        ];
        assert_eq!(listed(&cells), [5, 3, 4, 2, 1, 0]);
        let cells = [
            [0, 0],
            [157, 157],
            [314, 157],
            [0, 157],
            [-157, 157],
            [0, 314],
        ];
        assert_eq!(listed(&cells), [2, 3, 1, 5, 4, 0]);
        let turned = [
            [-221, 177],
            [165, 288],
            [254, 140],
            [-149, 27],
            [93, 137],
            [-60, 174],
        ];
        assert_eq!(listed(&turned), [4, 3, 5, 2, 1, 0]);
    }

    #[test]
    fn every_item_is_listed_once() {
        for count in 0..200 {
            let cells: Vec<[i32; 2]> = (0..count).map(|i| [i * 37 % 629 - 314, i % 315]).collect();
            let mut list = listed(&cells);
            list.sort_unstable();
            assert!(list.into_iter().eq(0..cells.len()));
        }
    }

    #[test]
    fn nothing_is_listed_as_nothing() {
        assert!(listed(&[]).is_empty());
    }
}
