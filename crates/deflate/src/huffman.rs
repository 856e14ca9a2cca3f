//! Code lengths by Huffman's algorithm, with zlib's choice where several are best, and the codes that follow from them
//! (`build_tree`, `gen_bitlen` and `gen_codes`; RFC 1951, 3.2.2).

/// The longest code of literals, lengths and distances.
pub const CODE_BITS_MAX: usize = 15;
/// Symbols of the largest alphabet, the two of the fixed code that never occur among them.
pub const SYMBOLS_MAX: usize = 288;
const NODES_MAX: usize = 2 * SYMBOLS_MAX;

/// The codes of an alphabet: for each symbol its bits, the first one lowest, and how many.
pub struct Codes {
    pub bits: [u16; SYMBOLS_MAX],
    pub lengths: [u8; SYMBOLS_MAX],
    /// The last symbol that has a code.
    pub(crate) last_symbol: usize,
}

impl Codes {
    /// The best codes for symbols that occur so often, none longer than `bits_max`. Two symbols at least have one.
    pub fn for_counts(counts: &[u32], bits_max: usize) -> Codes {
        let mut tree = Tree::default();
        let last = tree.leaves(counts);
        let order = tree.grow();
        Codes::of_lengths(tree.lengths(&order, counts.len(), bits_max), last)
    }

    /// The codes that belong to lengths.
    pub fn of_lengths(lengths: [u8; SYMBOLS_MAX], last_symbol: usize) -> Codes {
        let mut of_length = [0u16; CODE_BITS_MAX + 1];
        for &length in lengths[..=last_symbol].iter().filter(|&&length| length > 0) {
            of_length[usize::from(length)] += 1;
        }
        let mut next = [0u16; CODE_BITS_MAX + 1];
        for length in 1..=CODE_BITS_MAX {
            next[length] = (next[length - 1] + of_length[length - 1]) << 1;
        }
        let mut bits = [0; SYMBOLS_MAX];
        for symbol in 0..=last_symbol {
            let length = usize::from(lengths[symbol]);
            if length > 0 {
                bits[symbol] = next[length].reverse_bits() >> (16 - length);
                next[length] += 1;
            }
        }
        Codes { bits, lengths, last_symbol }
    }
}

/// Symbols and the nodes above them.
struct Tree {
    counts: [u32; NODES_MAX],
    /// How many nodes lie below on the longest way.
    depths: [u8; NODES_MAX],
    above: [u16; NODES_MAX],
    /// What has no node above it yet: the rarest first, of equally rare ones the flatter.
    heap: Vec<u16>,
}

impl Default for Tree {
    fn default() -> Self {
        Tree {
            counts: [0; NODES_MAX],
            depths: [0; NODES_MAX],
            above: [0; NODES_MAX],
            heap: Vec::with_capacity(SYMBOLS_MAX),
        }
    }
}

impl Tree {
    /// Begins with the symbols that occur, and with others until there are two. Returns the last one.
    fn leaves(&mut self, counts: &[u32]) -> usize {
        self.counts[..counts.len()].copy_from_slice(counts);
        self.heap.extend((0..counts.len() as u16).filter(|&symbol| counts[usize::from(symbol)] > 0));
        let mut last = self.heap.last().copied();
        while self.heap.len() < 2 {
            // Of the first three symbols the next one, else the first.
            let symbol = match last {
                None => 0,
                Some(symbol) if symbol < 2 => symbol + 1,
                Some(_) => 0,
            };
            last = last.max(Some(symbol));
            self.counts[usize::from(symbol)] = 1;
            self.heap.push(symbol);
        }
        usize::from(last.unwrap_or(0))
    }

    /// Joins the two rarest until one node is left. Returns all in the order in which they were joined, that one last.
    fn grow(&mut self) -> Vec<u16> {
        for place in (0..self.heap.len() / 2).rev() {
            self.sift(place);
        }
        let mut order = Vec::with_capacity(2 * self.heap.len());
        let mut node = SYMBOLS_MAX as u16;
        while self.heap.len() >= 2 {
            let rarest = self.heap.swap_remove(0);
            self.sift(0);
            let second = self.heap[0];
            order.extend([rarest, second]);
            let [a, b] = [rarest, second].map(usize::from);
            self.counts[usize::from(node)] = self.counts[a] + self.counts[b];
            self.depths[usize::from(node)] = self.depths[a].max(self.depths[b]) + 1;
            (self.above[a], self.above[b]) = (node, node);
            self.heap[0] = node;
            self.sift(0);
            node += 1;
        }
        order.push(self.heap[0]);
        order
    }

    /// Moves a node down the heap to where it belongs.
    fn sift(&mut self, mut place: usize) {
        let key = |node: u16| (self.counts[usize::from(node)], self.depths[usize::from(node)]);
        let moved = self.heap[place];
        while 2 * place + 1 < self.heap.len() {
            let mut child = 2 * place + 1;
            if child + 1 < self.heap.len() && key(self.heap[child + 1]) <= key(self.heap[child]) {
                child += 1;
            }
            if key(moved) <= key(self.heap[child]) {
                break;
            }
            self.heap[place] = self.heap[child];
            place = child;
        }
        self.heap[place] = moved;
    }

    /// How far below the top each symbol lies, but no farther than `bits_max`: then others must move down.
    fn lengths(&self, order: &[u16], symbols: usize, bits_max: usize) -> [u8; SYMBOLS_MAX] {
        let mut below_top = [0u8; NODES_MAX];
        let mut of_length = [0usize; CODE_BITS_MAX + 1];
        let mut too_deep = 0usize;
        let is_symbol = |node: u16| usize::from(node) < symbols;
        for &node in order.iter().rev().skip(1) {
            let mut length = usize::from(below_top[usize::from(self.above[usize::from(node)])]) + 1;
            if length > bits_max {
                length = bits_max;
                too_deep += 1;
            }
            below_top[usize::from(node)] = length as u8;
            if is_symbol(node) {
                of_length[length] += 1;
            }
        }
        if too_deep > 0 {
            while too_deep > 0 {
                // A symbol above moves one down, and takes one of those that are too deep beside it.
                let above = (1..bits_max).rev().find(|&length| of_length[length] > 0);
                let above = above.expect("more symbols have codes than codes are there");
                of_length[above] -= 1;
                of_length[above + 1] += 2;
                of_length[bits_max] -= 1;
                too_deep = too_deep.saturating_sub(2);
            }
            // The rarest get the longest codes.
            let mut rarest = order.iter().copied().filter(|&node| is_symbol(node));
            for length in (1..=bits_max).rev() {
                for node in rarest.by_ref().take(of_length[length]) {
                    below_top[usize::from(node)] = length as u8;
                }
            }
        }
        let mut lengths = [0; SYMBOLS_MAX];
        for &node in order.iter().filter(|&&node| is_symbol(node)) {
            lengths[usize::from(node)] = below_top[usize::from(node)];
        }
        lengths
    }
}
