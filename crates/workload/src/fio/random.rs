//! The random numbers of fio 3.33, so that a job file draws the same offsets here and there.
//!
//! The generators are published: taus88 (L'Ecuyer: "Maximally equidistributed combined Tausworthe generators",
//! Mathematics of Computation 65, 1996) and taus258 (L'Ecuyer: "Tables of maximally equidistributed combined LFSR
//! generators", 1999). How fio seeds them is in its `lib/rand.c`, how it derives seeds in `init.c`
//! (`setup_random_seeds`), its distributions in `lib/zipf.c` (after Gray et al., SIGMOD 1994) and `lib/gauss.c`.

/// Name under which results mention the generator.
pub const GENERATOR: &str = "taus88/taus258 as in fio 3.33";

/// One component of a combined Tausworthe generator of word type `W`: shifts and mask.
struct Component<W> {
    first: u32,
    last: u32,
    mask: W,
    up: u32,
}

const TAUS88: [Component<u32>; 3] = [
    Component { first: 13, last: 19, mask: !1, up: 12 },
    Component { first: 2, last: 25, mask: !7, up: 4 },
    Component { first: 3, last: 11, mask: !15, up: 17 },
];

const TAUS258: [Component<u64>; 5] = [
    Component { first: 1, last: 53, mask: !1, up: 10 },
    Component { first: 24, last: 50, mask: !0x1FF, up: 5 },
    Component { first: 3, last: 23, mask: !0xFFF, up: 29 },
    Component { first: 5, last: 24, mask: !0x1_FFFF, up: 23 },
    Component { first: 3, last: 33, mask: !0x7F_FFFF, up: 8 },
];

/// How many numbers are drawn and ignored after seeding.
const WARM_UP: usize = 6;

/// fio makes the first state of a generator from this and the seed. It means powers of two, but `^` is exclusive or.
const SEED_START: u64 = (2 ^ 31) + (2 ^ 17) + (2 ^ 7);

/// A Tausworthe generator of 32 or 64 bits.
#[derive(Clone, Debug)]
pub enum Tausworthe {
    Narrow([u32; 3]),
    Wide([u64; 5]),
}

impl Tausworthe {
    /// The generator of 32 bits takes the low half of the seed.
    pub fn new(seed: u64, wide: bool) -> Tausworthe {
        let mut generator = if wide {
            let (mut states, mut previous) = ([0; 5], SEED_START);
            for (state, least) in states.iter_mut().zip([1, 7, 15, 33, 49]) {
                let drawn = previous.wrapping_mul(6_906_969_069) ^ seed;
                *state = if drawn < least { drawn + least } else { drawn };
                previous = *state;
            }
            Tausworthe::Wide(states)
        } else {
            let (mut states, mut previous) = ([0; 3], SEED_START as u32);
            for (state, least) in states.iter_mut().zip([1, 7, 15]) {
                let drawn = previous.wrapping_mul(69_069) ^ seed as u32;
                *state = if drawn < least { drawn + least } else { drawn };
                previous = *state;
            }
            Tausworthe::Narrow(states)
        };
        for _ in 0..WARM_UP {
            generator.next();
        }
        generator
    }

    /// The next number: 32 or 64 random bits.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        match self {
            Tausworthe::Narrow(states) => {
                let mut sum = 0;
                for (state, by) in states.iter_mut().zip(&TAUS88) {
                    *state = ((*state & by.mask) << by.up) ^ (((*state << by.first) ^ *state) >> by.last);
                    sum ^= *state;
                }
                u64::from(sum)
            }
            Tausworthe::Wide(states) => {
                let mut sum = 0;
                for (state, by) in states.iter_mut().zip(&TAUS258) {
                    *state = ((*state & by.mask) << by.up) ^ (((*state << by.first) ^ *state) >> by.last);
                    sum ^= *state;
                }
                sum
            }
        }
    }

    /// One more than the largest number, as a floating point number.
    fn range(&self) -> f64 {
        match self {
            Tausworthe::Narrow(_) => 4_294_967_296.0,
            Tausworthe::Wide(_) => 18_446_744_073_709_551_616.0,
        }
    }

    /// The largest number.
    pub fn largest(&self) -> u64 {
        match self {
            Tausworthe::Narrow(_) => u64::from(u32::MAX),
            Tausworthe::Wide(_) => u64::MAX,
        }
    }

    /// The next number, at least 0 and less than 1.
    pub fn share(&mut self) -> f64 {
        self.next() as f64 / self.range()
    }

    /// A number below `bound`, computed by scaling.
    pub fn below(&mut self, bound: u64) -> u64 {
        (bound as f64 * self.share()) as u64
    }

    /// A percentage, 1 to 100.
    pub fn percent(&mut self) -> u32 {
        1 + self.below(100) as u32
    }
}

/// The generators of fio, by what they draw. Each has a seed of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum SeedFor {
    ReadSize = 0,
    WriteSize = 1,
    Mix = 4,
    File = 5,
    Block = 6,
    FileSize = 7,
    Sequential = 10,
}

const SEEDS: usize = 21;
/// Seed of everything that `randrepeat` and `allrandrepeat` repeat, times the process's number.
const REPEATED_SEED: u64 = 0xb189_9bed;
const SPREAD: u64 = 0x9e37_0001;

/// The seeds of one process (`thread_number` counts from 1 over all jobs).
#[derive(Clone, Debug)]
pub struct Seeds {
    seeds: [u64; SEEDS],
    thread_number: u64,
}

impl Seeds {
    pub fn new(seed: u64, thread_number: u64) -> Seeds {
        let mut value = (0..4).fold(seed, |value, _| value.wrapping_mul(SPREAD));
        let mut seeds = [0; SEEDS];
        for (i, slot) in seeds.iter_mut().enumerate() {
            *slot = value.wrapping_mul(thread_number).wrapping_add(i as u64);
            value = value.wrapping_mul(SPREAD);
        }
        Seeds { seeds, thread_number }
    }

    /// `allrandrepeat`: no seed depends on `randseed`.
    pub fn repeat_all(&mut self) {
        for (i, slot) in self.seeds.iter_mut().enumerate() {
            *slot = REPEATED_SEED.wrapping_mul(self.thread_number).wrapping_add(i as u64);
        }
    }

    /// `randrepeat`: the offsets do not depend on `randseed`.
    pub fn repeat_blocks(&mut self) {
        self.seeds[SeedFor::Block as usize] = REPEATED_SEED.wrapping_mul(self.thread_number);
    }

    pub fn of(&self, what: SeedFor) -> u64 {
        self.seeds[what as usize]
    }
}

/// How random offsets are spread over a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    Uniform,
    Zipf { theta: f64, center: Option<f64> },
    Pareto { h: f64, center: Option<f64> },
    Normal { deviation_percent: f64, center: Option<f64> },
}

/// A distribution that is not uniform over the blocks of one file.
#[derive(Clone, Debug)]
pub struct Skewed {
    shape: Shape,
    blocks: u64,
    shift: u64,
    random: Tausworthe,
}

#[derive(Clone, Debug)]
enum Shape {
    Zipf { theta: f64, zeta2: f64, zeta_n: f64 },
    Pareto { power: f64 },
    Normal { deviation_blocks: i64 },
}

/// The zeta function is summed over at most so many terms.
const ZETA_TERMS_MAX: u64 = 10_000_000;
const NORMAL_DRAWS: u64 = 12;

/// Spreads neighbouring ranks over the file (Knuth's multiplicative hashing, as in Linux's `hash.h`).
fn spread(rank: u64) -> u64 {
    rank.wrapping_mul(0x61C8_8646_80B5_83EB)
}

impl Skewed {
    /// `None` for the uniform distribution. `blocks` is at least 1.
    pub fn new(distribution: Distribution, blocks: u64, seed: u32) -> Option<Skewed> {
        let mut random = Tausworthe::new(u64::from(seed), false);
        let shift_of = |random: &mut Tausworthe, center: Option<f64>| {
            let drawn = random.next();
            center.map_or(drawn, |center| (blocks as f64 * center) as u64)
        };
        let (shape, shift) = match distribution {
            Distribution::Uniform => return None,
            Distribution::Zipf { theta, center } => {
                let shift = shift_of(&mut random, center);
                let terms = blocks.min(ZETA_TERMS_MAX);
                let zeta_n = (1..=terms).fold(0.0, |sum, i| sum + (1.0 / i as f64).powf(theta));
                (Shape::Zipf { theta, zeta2: 1.0 + 0.5f64.powf(theta), zeta_n }, shift)
            }
            Distribution::Pareto { h, center } => {
                let shift = shift_of(&mut random, center);
                (Shape::Pareto { power: h.ln() / (1.0 - h).ln() }, shift)
            }
            Distribution::Normal { deviation_percent, center } => {
                let wanted = (blocks as f64 * deviation_percent / 100.0).ceil() as u64;
                let deviation_blocks = wanted.min(blocks / 2) as i64;
                let shift = center.map_or(0, |center| (blocks as f64 * (center - 0.5)) as i64 as u64);
                (Shape::Normal { deviation_blocks }, shift)
            }
        };
        Some(Skewed { shape, blocks, shift, random })
    }

    /// The next block.
    pub fn next_block(&mut self) -> u64 {
        let rank = match self.shape {
            Shape::Zipf { theta, zeta2, zeta_n } => {
                let n = self.blocks as f64;
                let uniform = self.random.next() as f64 / f64::from(u32::MAX);
                let scaled = uniform * zeta_n;
                if scaled < 1.0 {
                    0
                } else if scaled < 1.0 + 0.5f64.powf(theta) {
                    1
                } else {
                    let eta = (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - zeta2 / zeta_n);
                    (n * (eta * uniform - eta + 1.0).powf(1.0 / (1.0 - theta))) as u64
                }
            }
            Shape::Pareto { power } => {
                let uniform = self.random.next() as f64 / f64::from(u32::MAX);
                ((self.blocks - 1) as f64 * uniform.powf(power)) as u64
            }
            Shape::Normal { deviation_blocks } => self.normal(deviation_blocks),
        };
        spread(rank).wrapping_add(self.shift) % self.blocks
    }

    /// The mean of twelve uniform numbers, shifted at random by up to half of the deviation.
    fn normal(&mut self, deviation_blocks: i64) -> u64 {
        let drawn: u64 = (0..NORMAL_DRAWS).map(|_| self.random.next() % (self.blocks + 1)).sum();
        let mean = drawn.div_ceil(NORMAL_DRAWS);
        if deviation_blocks == 0 {
            return mean;
        }
        let mut moved = (deviation_blocks as f64 * self.random.share()) as i64 - deviation_blocks / 2;
        while moved != 0 && mean.wrapping_add_signed(moved) >= self.blocks {
            moved /= 2;
        }
        mean.wrapping_add_signed(moved)
    }
}

/// Bob Jenkins' hash of a key (`lookup3`, public domain, 2006) in the byte order and the mixing that fio uses: the
/// seed of a skewed distribution depends on the file's name.
pub fn name_hash(name: &[u8]) -> u32 {
    let start = 0x61C8_8647u32.wrapping_add(name.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let mut key = name;
    while key.len() > 12 {
        // fio adds single bytes where the published hash adds words.
        a = a.wrapping_add(u32::from(key[0]));
        b = b.wrapping_add(u32::from(key[4]));
        c = c.wrapping_add(u32::from(key[8]));
        for (x, y, z, bits) in [(0, 2, 1, 4), (1, 0, 2, 6), (2, 1, 0, 8), (0, 2, 1, 16), (1, 0, 2, 19), (2, 1, 0, 4)] {
            let mut words = [a, b, c];
            words[x] = words[x].wrapping_sub(words[y]) ^ words[y].rotate_left(bits);
            words[y] = words[y].wrapping_add(words[z]);
            [a, b, c] = words;
        }
        key = &key[12..];
    }
    if key.is_empty() {
        return c;
    }
    let word =
        |at: usize| (0..4).fold(0u32, |sum, i| sum | u32::from(key.get(at + i).copied().unwrap_or(0)) << (8 * i));
    (a, b, c) = (a.wrapping_add(word(0)), b.wrapping_add(word(4)), c.wrapping_add(word(8)));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That the same offsets result as in fio itself is tested with fio (tests/workloads/test_fio.py). This test notices a change
    /// of the generators without fio.
    #[test]
    fn the_generators_stay_as_they_are() {
        let drawn = |wide| {
            let mut generator = Tausworthe::new(REPEATED_SEED, wide);
            [generator.next(), generator.next()]
        };
        assert_eq!(drawn(false), drawn(false));
        assert_ne!(drawn(false), drawn(true));
        assert!(drawn(false).iter().all(|&n| n <= u64::from(u32::MAX)));
    }

    #[test]
    fn a_skewed_distribution_prefers_some_blocks_and_stays_in_the_file() {
        let skewed = [
            Distribution::Zipf { theta: 1.2, center: None },
            Distribution::Pareto { h: 0.2, center: Some(0.5) },
            Distribution::Normal { deviation_percent: 20.0, center: Some(0.1) },
        ];
        for distribution in skewed {
            let mut source = Skewed::new(distribution, 1000, 7).unwrap();
            let mut hits = vec![0u32; 1000];
            (0..10_000).for_each(|_| hits[source.next_block() as usize] += 1);
            let most = hits.iter().max().unwrap();
            assert!(*most > 30, "{distribution:?}: the mean is 10, the most {most}");
        }
        assert!(Skewed::new(Distribution::Uniform, 1000, 7).is_none());
    }

    #[test]
    fn seeds_depend_on_what_is_asked_for() {
        let mut seeds = Seeds::new(0x89, 1);
        let before = seeds.of(SeedFor::Block);
        seeds.repeat_blocks();
        assert_eq!(seeds.of(SeedFor::Block), REPEATED_SEED);
        assert_ne!(before, REPEATED_SEED);
        assert_ne!(Seeds::new(0x89, 2).of(SeedFor::Mix), seeds.of(SeedFor::Mix));
    }
}
