//! The order of least degree: which node of a graph to eliminate next, so that eliminating all of them adds few edges.
//!
//! Eliminating a node connects all its neighbours with each other. The node with the fewest neighbours goes first, the
//! first of them where several have as many. The remaining neighbours of each node are kept in lists that grow within
//! one pool; a tournament over the nodes tells the least degree. Time and room grow with the edges that are there in the
//! end, not with the square of the number of nodes.

/// Work area of an ordering; all lists keep their capacity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MinimumDegree {
    lists: Vec<List>,
    pool: Vec<u32>,
    /// The node whose list last held each node.
    mark: Vec<u32>,
    /// A binary tree: the nodes' keys are its leaves, each inner place holds the least key below it.
    tournament: Vec<Key>,
}

/// Degree and number of a node: nodes are eliminated in this order.
type Key = [u32; 2];

/// Neighbours of a node: a part of the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct List {
    start: usize,
    length: usize,
    capacity: usize,
}

/// Key of a node that has been eliminated.
const ELIMINATED: Key = [u32::MAX; 2];

impl MinimumDegree {
    /// Takes a graph of `count` nodes. Edges are given once; a node is no neighbour of itself.
    pub(super) fn read(&mut self, count: usize, edges: &[[u32; 2]]) {
        self.lists.clear();
        self.lists.resize(count, List::default());
        let proper = edges.iter().filter(|[a, b]| a != b);
        for &node in proper.clone().flatten() {
            self.lists[node as usize].capacity += 1;
        }
        let mut start = 0;
        for list in &mut self.lists {
            list.start = start;
            // Room for what elimination adds to most nodes.
            list.capacity = 2 * list.capacity + 2;
            start += list.capacity;
        }
        self.pool.clear();
        self.pool.resize(start, 0);
        for &[a, b] in proper {
            self.push(a as usize, b);
            self.push(b as usize, a);
        }
        self.mark.clear();
        self.mark.resize(count, u32::MAX);
        self.tournament.clear();
        self.tournament.resize(2 * count, ELIMINATED);
        for node in 0..count {
            self.tournament[count + node] = self.key(node);
        }
        for place in (1..count).rev() {
            self.tournament[place] = self.least_below(place);
        }
    }

    /// Eliminates the next node: returns it, and appends its remaining neighbours to `neighbours`.
    pub(super) fn eliminate(&mut self, neighbours: &mut Vec<u32>) -> u32 {
        let [_, node] = self.tournament[1];
        let List { start, length, .. } = self.lists[node as usize];
        let first = neighbours.len();
        neighbours.extend_from_slice(&self.pool[start..start + length]);
        let neighbours = &neighbours[first..];
        for &neighbour in neighbours {
            self.connect(neighbour, node, neighbours);
            let key = self.key(neighbour as usize);
            self.rank(neighbour as usize, key);
        }
        self.rank(node as usize, ELIMINATED);
        node
    }

    /// Replaces `removed` among the neighbours of a node by those of `others` that are not there yet.
    fn connect(&mut self, node: u32, removed: u32, others: &[u32]) {
        // Marks of earlier calls do no harm: what once was a neighbour stays one until it is eliminated.
        self.mark[node as usize] = node;
        let list = &mut self.lists[node as usize];
        let mut position = 0;
        while position < list.length {
            let neighbour = self.pool[list.start + position];
            if neighbour == removed {
                list.length -= 1;
                self.pool[list.start + position] = self.pool[list.start + list.length];
            } else {
                self.mark[neighbour as usize] = node;
                position += 1;
            }
        }
        for &other in others {
            if self.mark[other as usize] != node {
                self.push(node as usize, other);
            }
        }
    }

    /// Appends a neighbour to the list of a node, which moves to the end of the pool when it is full.
    fn push(&mut self, node: usize, neighbour: u32) {
        let list = &mut self.lists[node];
        if list.length == list.capacity {
            let start = self.pool.len();
            self.pool
                .extend_from_within(list.start..list.start + list.length);
            list.start = start;
            list.capacity *= 2;
            self.pool.resize(start + list.capacity, 0);
        }
        self.pool[list.start + list.length] = neighbour;
        list.length += 1;
    }

    fn key(&self, node: usize) -> Key {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        [number(self.lists[node].length), number(node)]
    }

    /// Gives a node a new key.
    fn rank(&mut self, node: usize, key: Key) {
        let mut place = self.lists.len() + node;
        self.tournament[place] = key;
        while place > 1 {
            place /= 2;
            let least = self.least_below(place);
            if self.tournament[place] == least {
                break;
            }
            self.tournament[place] = least;
        }
    }

    fn least_below(&self, place: usize) -> Key {
        self.tournament[2 * place].min(self.tournament[2 * place + 1])
    }
}
