//! The Mersenne Twister MT19937 (Matsumoto and Nishimura, ACM TOMACS 8, 1998), seeded as its first implementations did:
//! each word of the state takes the upper halves of two steps of a linear congruential generator. The seeding of
//! 2002, which libraries use today, gives other numbers.

/// Name under which results mention the generator.
pub const GENERATOR: &str = "MT19937, seeding of 1998, as in postmark 1.53";

const WORDS: usize = 624;
const MIDDLE: usize = 397;
const TWIST: u32 = 0x9908_b0df;

#[derive(Clone, Debug)]
pub struct Mersenne {
    state: Vec<u32>,
    next: usize,
}

impl Mersenne {
    pub fn new(seed: u32) -> Mersenne {
        let mut value = seed;
        let mut step = || {
            let upper = value & 0xffff_0000;
            value = value.wrapping_mul(69_069).wrapping_add(1);
            upper
        };
        let state = (0..WORDS).map(|_| step() | step() >> 16).collect();
        Mersenne { state, next: WORDS }
    }

    fn next_u32(&mut self) -> u32 {
        if self.next == WORDS {
            for i in 0..WORDS {
                let joined = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % WORDS] & 0x7fff_ffff);
                let twisted = (joined >> 1) ^ if joined & 1 == 1 { TWIST } else { 0 };
                self.state[i] = self.state[(i + MIDDLE) % WORDS] ^ twisted;
            }
            self.next = 0;
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// A number below `bound`, as a remainder. If `bound` is 0 the result is 0, and no number is drawn.
    pub fn below(&mut self, bound: u64) -> u64 {
        match bound {
            0 => 0,
            bound => u64::from(self.next_u32()) % bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers that the generator at the end of postmark-1.53.c prints for the default seed of its authors.
    #[test]
    fn gives_the_numbers_of_the_program() {
        let mut generator = Mersenne::new(4357);
        let drawn: Vec<u32> = (0..5).map(|_| generator.next_u32()).collect();
        assert_eq!(drawn, [2_867_219_139, 1_585_203_162, 3_113_124_129, 2_953_900_839, 2_463_794_868]);
    }

    #[test]
    fn below_nothing_draws_nothing() {
        let (mut one, mut other) = (Mersenne::new(42), Mersenne::new(42));
        assert_eq!(one.below(0), 0);
        assert_eq!(one.below(1000), other.below(1000));
    }
}
