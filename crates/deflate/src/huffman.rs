//! Code lengths by Huffman's algorithm, with zlib's choice where several are best, and the codes that follow from them
//! (`build_tree`, `gen_bitlen` and `gen_codes`; RFC 1951, 3.2.2).

use crate::bits::Bits;

/// The longest code of literals, lengths and distances.
pub const CODE_BITS_MAX: usize = 15;
/// Symbols of the largest alphabet, the two of the fixed code that never occur among them.
pub const SYMBOLS_MAX: usize = 288;
const NODES_MAX: usize = 2 * SYMBOLS_MAX;

/// How many bits the code of each symbol of an alphabet has; 0: the symbol has none.
pub struct Lengths {
    pub of: [u8; SYMBOLS_MAX],
    /// The last symbol that has a code.
    pub(crate) last_symbol: usize,
}

impl Lengths {
    /// The best lengths for symbols that occur so often, none above `bits_max`. Two symbols at least have a code.
    pub fn for_counts(counts: &[u32], bits_max: usize) -> Lengths {
        let mut tree = Tree::default();
        let last_symbol = tree.leaves(counts);
        let order = tree.grow();
        Lengths { of: tree.lengths(&order, counts.len(), bits_max), last_symbol }
    }
}

/// Bits that symbols which occur so often take in their best codes, were these as long as they like: what [`Lengths`] come to,
/// or less, in a fifth of the time, since no tree is made.
pub fn least_bits(counts: &[u32]) -> u32 {
    let mut nodes = [0u32; SYMBOLS_MAX];
    let mut count = 0;
    for &occurs in counts.iter().filter(|&&occurs| occurs > 0) {
        nodes[count] = occurs;
        count += 1;
    }
    let nodes = &mut nodes[..count];
    nodes.sort_unstable();
    // Sums come about in rising order, so that the two rarest stand at the begin of the symbols or of the sums. A sum takes the
    // place of what it joins.
    let (mut symbol, mut joined, mut bits) = (0, 0, 0);
    for sum in 0..count.saturating_sub(1) {
        nodes[sum] = (0..2)
            .map(|_| {
                let takes_joined = joined < sum && (symbol == count || nodes[joined] < nodes[symbol]);
                let next = if takes_joined { &mut joined } else { &mut symbol };
                *next += 1;
                nodes[*next - 1]
            })
            .sum();
        bits += nodes[sum];
    }
    bits
}

/// The codes of an alphabet: for each symbol its bits, the first one lowest, and how many.
pub struct Codes {
    pub bits: [u16; SYMBOLS_MAX],
    pub lengths: Lengths,
}

impl Codes {
    /// The codes that belong to lengths.
    pub fn of_lengths(lengths: Lengths) -> Codes {
        let of_symbols = &lengths.of[..=lengths.last_symbol];
        let mut of_length = [0u16; CODE_BITS_MAX + 1];
        for &length in of_symbols.iter().filter(|&&length| length > 0) {
            of_length[usize::from(length)] += 1;
        }
        let mut next = [0u16; CODE_BITS_MAX + 1];
        for length in 1..=CODE_BITS_MAX {
            next[length] = (next[length - 1] + of_length[length - 1]) << 1;
        }
        let mut bits = [0; SYMBOLS_MAX];
        for (bits, &length) in bits.iter_mut().zip(of_symbols).filter(|(_, &length)| length > 0) {
            *bits = next[usize::from(length)].reverse_bits() >> (16 - length);
            next[usize::from(length)] += 1;
        }
        Codes { bits, lengths }
    }

    pub fn push(&self, symbol: usize, bits: &mut Bits) {
        bits.push(self.bits[symbol], u32::from(self.lengths.of[symbol]));
    }
}

/// A node in one number that sorts by how often it occurs, then by how many nodes lie below it on the longest way.
#[derive(Clone, Copy)]
struct Node(u64);

impl Node {
    fn new(count: u32, depth: u8, number: u16) -> Node {
        Node(u64::from(count) << 24 | u64::from(depth) << 16 | u64::from(number))
    }

    fn number(self) -> u16 {
        self.0 as u16
    }

    fn rank(self) -> u64 {
        self.0 >> 16
    }

    fn count(self) -> u32 {
        (self.0 >> 24) as u32
    }

    fn depth(self) -> u8 {
        (self.0 >> 16) as u8
    }
}

/// Symbols and the nodes above them.
struct Tree {
    above: [u16; NODES_MAX],
    /// What has no node above it yet: the rarest first, of equally rare ones the flatter.
    heap: Vec<Node>,
}

impl Default for Tree {
    fn default() -> Self {
        Tree { above: [0; NODES_MAX], heap: Vec::with_capacity(SYMBOLS_MAX) }
    }
}

impl Tree {
    /// Begins with the symbols that occur, and with others until there are two. Returns the last one.
    fn leaves(&mut self, counts: &[u32]) -> usize {
        let occurring = (0..).zip(counts).filter(|(_, &count)| count > 0);
        self.heap.extend(occurring.map(|(symbol, &count)| Node::new(count, 0, symbol)));
        let mut last = self.heap.last().map(|node| node.number());
        while self.heap.len() < 2 {
            // Of the first three symbols the next one, else the first.
            let symbol = match last {
                None => 0,
                Some(symbol) if symbol < 2 => symbol + 1,
                Some(_) => 0,
            };
            last = last.max(Some(symbol));
            self.heap.push(Node::new(1, 0, symbol));
        }
        usize::from(last.unwrap_or(0))
    }

    /// Joins the two rarest until one node is left. Returns all in the order in which they were joined, that one last.
    fn grow(&mut self) -> Vec<u16> {
        for place in (0..self.heap.len() / 2).rev() {
            self.sift(place);
        }
        let mut order = Vec::with_capacity(2 * self.heap.len());
        let mut number = SYMBOLS_MAX as u16;
        while self.heap.len() >= 2 {
            let rarest = self.heap.swap_remove(0);
            self.sift(0);
            let second = self.heap[0];
            for below in [rarest, second] {
                order.push(below.number());
                self.above[usize::from(below.number())] = number;
            }
            let depth = rarest.depth().max(second.depth()) + 1;
            self.heap[0] = Node::new(rarest.count() + second.count(), depth, number);
            self.sift(0);
            number += 1;
        }
        order.push(self.heap[0].number());
        order
    }

    /// Moves a node down the heap to where it belongs: along the least of what lies below to the end of the heap, and up
    /// again, since most belong near the end, and the way down asks nothing that is hard to foresee.
    fn sift(&mut self, from: usize) {
        let heap = &mut self.heap[..];
        let moved = heap[from];
        let mut place = from;
        while 2 * place + 2 < heap.len() {
            let (one, other) = (heap[2 * place + 1], heap[2 * place + 2]);
            let child = 2 * place + 1 + usize::from(other.rank() <= one.rank());
            heap[place] = heap[child];
            place = child;
        }
        if let Some(&only) = heap.get(2 * place + 1) {
            heap[place] = only;
            place = 2 * place + 1;
        }
        while place > from && moved.rank() <= heap[(place - 1) / 2].rank() {
            heap[place] = heap[(place - 1) / 2];
            place = (place - 1) / 2;
        }
        heap[place] = moved;
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
