//! Doubly linked lists over numbered items, with places that keep their meaning while items move.

/// The end of a chain; no item has this number.
pub(super) const END: usize = 0;

/// A ring of items through [`END`].
#[derive(Debug)]
pub(super) struct Chain {
    next: Vec<usize>,
    previous: Vec<usize>,
    len: usize,
}

impl Chain {
    pub(super) fn new() -> Self {
        Self {
            next: vec![END],
            previous: vec![END],
            len: 0,
        }
    }

    pub(super) fn first(&self) -> usize {
        self.next[END]
    }

    /// The item after another; [`END`] after the last.
    pub(super) fn next(&self, item: usize) -> usize {
        self.next[item]
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn append(&mut self, item: usize) {
        self.insert_before(END, item);
    }

    pub(super) fn insert_before(&mut self, place: usize, item: usize) {
        if item >= self.next.len() {
            self.next.resize(item + 1, END);
            self.previous.resize(item + 1, END);
        }
        let before = self.previous[place];
        self.next[before] = item;
        self.previous[item] = before;
        self.next[item] = place;
        self.previous[place] = item;
        self.len += 1;
    }

    pub(super) fn remove(&mut self, item: usize) {
        let (before, after) = (self.previous[item], self.next[item]);
        self.next[before] = after;
        self.previous[after] = before;
        self.len -= 1;
    }
}
