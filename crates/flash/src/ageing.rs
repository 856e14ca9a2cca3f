//! Ageing: bits that go wrong because a block was erased often, its pages were read often, or time has passed since they
//! were programmed; and blocks that fail near the end of their life. Off unless a model is set.
//!
//! **Model.** The raw bit error rate of a page is a sum of three terms (`rate.rs`): of wear, of retention, of read disturb. It is
//! the *mean*; each ECC frame has a rate of its own, drawn from a Beta distribution, so that the errors of frames are
//! beta-binomial (Taranalli, Uchikawa, Siegel, arXiv 1602.07743: binomial counts do not fit what chips show).
//!
//! Errors are a threshold process: a frame's cells have fixed strengths, and a cell is wrong as long as the rate of its
//! frame lies above its strength. So reading again finds the same errors, they become more as the stress grows, and an erase
//! draws new cells. What of a frame is good or bad silicon stays: its place in the Beta distribution is drawn by seed and place alone.
//! Nothing is stored for that; strengths are drawn again at each read, the weakest first, until one holds.
//!
//! **Leaves out.** The direction of errors (charge that is lost makes other errors than read disturb), differences between the pages
//! of a block and between upper and lower pages, recovery of a worn cell that rests, errors in erased pages and in bad block marks, and
//! that neighbours are disturbed more than others.

mod beta;
mod rate;

pub use beta::FrameErrors;
pub use rate::{Ageing, AgeingConstant, Promise, Stress, CONSTANTS, YEAR_S};

use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

/// Which bytes of a page are corrected together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames {
    pub step_bytes: u32,
    /// For each frame, the OOB bytes that hold its code.
    code_bytes: Vec<Vec<u32>>,
    /// OOB bytes that no code covers.
    free_bytes: Vec<u32>,
}

impl Frames {
    /// Of frames of `step_bytes` data bytes; for each OOB byte, the frame whose code it holds.
    pub fn new(page_bytes: u32, step_bytes: u32, frame_of_oob_byte: &[Option<u32>]) -> Frames {
        let mut code_bytes = vec![Vec::new(); (page_bytes / step_bytes) as usize];
        let mut free_bytes = Vec::new();
        for (at, frame) in frame_of_oob_byte.iter().enumerate() {
            match frame {
                Some(frame) => code_bytes[*frame as usize].push(at as u32),
                None => free_bytes.push(at as u32),
            }
        }
        Frames { step_bytes, code_bytes, free_bytes }
    }

    /// Bits of a frame with its code.
    pub fn frame_bits(&self) -> u32 {
        (self.step_bytes + self.code_bytes.first().map_or(0, Vec::len) as u32) * 8
    }
}

/// When a page was programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Stamp {
    /// One more than the erases that its block had then; 0: never.
    erases: u32,
    /// On the retention clock ([`AgeingState::clock_s`]).
    at_s: f64,
}

/// When the pages of a chip were programmed: the part of its age that travels with its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ages {
    stamps: Vec<Stamp>,
    /// Time on the retention clock beyond virtual time.
    shelf_s: f64,
}

impl Ages {
    pub fn of(pages: u32) -> Ages {
        Ages { stamps: vec![Stamp::default(); pages as usize], shelf_s: 0.0 }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.shelf_s.to_le_bytes().to_vec();
        for stamp in &self.stamps {
            out.extend_from_slice(&stamp.erases.to_le_bytes());
            out.extend_from_slice(&stamp.at_s.to_le_bytes());
        }
        out
    }

    /// `None`: these are not the bytes of so many pages.
    pub fn from_bytes(bytes: &[u8], pages: u32) -> Option<Ages> {
        let (shelf, rest) = bytes.split_first_chunk::<8>()?;
        let stamps: Vec<Stamp> = rest
            .chunks_exact(12)
            .map(|stamp| {
                let (erases, at_s) = stamp.split_at(4);
                let erases = u32::from_le_bytes(erases.try_into().ok()?);
                Some(Stamp { erases, at_s: f64::from_le_bytes(at_s.try_into().ok()?) })
            })
            .collect::<Option<_>>()?;
        let fits = stamps.len() == pages as usize && rest.len() == stamps.len() * 12;
        fits.then_some(Ages { stamps, shelf_s: f64::from_le_bytes(*shelf) })
    }
}

/// The page that is read, and what its block has borne.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub page: u32,
    pub erases: u32,
    pub reads: u32,
    pub now_ns: u64,
    /// What moves: bytes of the data area from `column`, then the whole OOB area or the code bytes of what was moved.
    pub column: u32,
    pub data_bytes: u32,
    pub whole_oob: bool,
    /// The code is read inside the chip, by the ECC there; who looks for its bits finds them at their OOB bytes.
    pub code_in_oob: bool,
    /// The data area is programmed; else only its OOB area is.
    pub has_data: bool,
}

/// The model of a chip during a run.
pub(crate) struct AgeingState {
    model: Ageing,
    /// How much faster than at the rated temperature charge is lost while the device is switched on.
    acceleration: f64,
    /// Erases that each block bears.
    life_erases: Vec<f64>,
    pub frames: Frames,
    pub ages: Ages,
    /// The present read retry mode: each shifts the thresholds once more.
    pub retry_mode: u32,
}

impl AgeingState {
    pub fn new(model: Ageing, frames: Frames, blocks: u32, pages: u32) -> AgeingState {
        let life_erases = (0..blocks).map(|block| model.life_erases(unit(place_of(&model, block)))).collect();
        let acceleration = model.acceleration(model.temperature_celsius);
        AgeingState { model, acceleration, life_erases, frames, ages: Ages::of(pages), retry_mode: 0 }
    }

    pub fn model(&self) -> &Ageing {
        &self.model
    }

    /// Seconds at the rated temperature that do to cells what has passed so far.
    fn clock_s(&self, now_ns: u64) -> f64 {
        now_ns as f64 * 1e-9 * self.acceleration + self.ages.shelf_s
    }

    /// So much time passes while the device is switched off.
    pub fn lies(&mut self, time_s: f64, celsius: f64) {
        self.ages.shelf_s += time_s * self.model.acceleration(celsius);
    }

    /// The page is programmed. What it holds already keeps its age.
    #[inline]
    pub fn programmed(&mut self, page: u32, erases: u32, now_ns: u64) {
        let at_s = self.clock_s(now_ns);
        let stamp = &mut self.ages.stamps[page as usize];
        if stamp.erases != erases + 1 {
            *stamp = Stamp { erases: erases + 1, at_s };
        }
    }

    /// What the cells of a page have borne. A page that nobody has seen programmed came with an image, at time 0.
    fn stress(&self, read: &Read) -> Stress {
        let stamp = self.ages.stamps[read.page as usize];
        let since_s = if stamp.erases == read.erases + 1 { stamp.at_s } else { 0.0 };
        Stress {
            erases: f64::from(self.model.worn_erases) + f64::from(read.erases),
            reads: f64::from(read.reads),
            rated_s: (self.clock_s(read.now_ns) - since_s).max(0.0),
        }
    }

    /// Adds the bits that are wrong in a read, each as a bit number in what moves: data first, then what follows.
    pub fn flip(&self, read: &Read, flips: &mut Vec<u32>) {
        let mean = self.model.rate(&self.stress(read), self.retry_mode);
        if mean == 0.0 {
            return;
        }
        let step_bytes = self.frames.step_bytes;
        if read.has_data && read.data_bytes > 0 {
            let first = read.column / step_bytes;
            let last = (read.column + read.data_bytes - 1) / step_bytes;
            let mut code_before = 0;
            for frame in first..=last {
                let code = &self.frames.code_bytes[frame as usize];
                let bits = (step_bytes + code.len() as u32) * 8;
                self.draw(read, frame, bits, mean, |bit| {
                    let (byte, of_byte) = (bit / 8, bit % 8);
                    let moved = match byte.checked_sub(step_bytes) {
                        None => (frame * step_bytes + byte).checked_sub(read.column).filter(|at| *at < read.data_bytes),
                        Some(of_code) if read.code_in_oob => Some(read.data_bytes + code[of_code as usize]),
                        Some(of_code) => Some(read.data_bytes + code_before + of_code),
                    };
                    push(flips, moved, of_byte);
                });
                code_before += code.len() as u32;
            }
        }
        if read.whole_oob {
            let (free, frames) = (&self.frames.free_bytes, self.frames.code_bytes.len() as u32);
            self.draw(read, frames, free.len() as u32 * 8, mean, |bit| {
                push(flips, Some(read.data_bytes + free[bit as usize / 8]), bit % 8);
            });
        }
    }

    /// The wrong cells of a frame of `bits` bits whose page has the mean rate `mean`.
    fn draw(&self, read: &Read, frame: u32, bits: u32, mean: f64, mut each: impl FnMut(u32)) {
        let place = mixed(mixed(self.model.seed ^ u64::from(read.page) << 8) ^ u64::from(frame));
        // The share of all frames that are worse silicon than this one.
        let worse_share = unit(place);
        let mut random = Pcg32::seed_from_u64(mixed(place ^ u64::from(read.erases) << 1));
        let errors = FrameErrors { shape: self.model.frame_shape, bits, mean };
        let mut strengths = Strengths::of(bits);
        let mut wrong: Vec<u32> = Vec::new();
        loop {
            let drawn = unit(random.next_u64());
            // Markov's inequality spares the exact answer for all but a few frames of a chip in good health.
            if strengths.passed == 0 && worse_share * drawn >= f64::from(bits) * mean {
                return;
            }
            let Some(strength) = strengths.next(drawn) else { return };
            if errors.share_above(strength) <= worse_share {
                return;
            }
            let mut bit = crate::faults::below(&mut random, bits);
            while wrong.contains(&bit) {
                bit = crate::faults::below(&mut random, bits);
            }
            wrong.push(bit);
            each(bit);
        }
    }

    /// Whether a block with so many erases is worn out, and if so, which kind of operation fails from now on.
    pub fn worn_out(&self, block: u32, erases: u32) -> Option<WornOut> {
        if self.life_left(block, erases) >= 0.0 {
            return None;
        }
        let kind = mixed(place_of(&self.model, block));
        Some(if unit(kind) < self.model.program_failure_share {
            WornOut::Programs { page_draw: kind as u32 }
        } else {
            WornOut::Erases
        })
    }

    /// Erases that a block bears before it is worn out, after so many.
    pub fn erases_left(&self, block: u32, erases: u32) -> u32 {
        // The conversion ends at the largest number: such a block outlives every run.
        self.life_left(block, erases).max(0.0) as u32
    }

    /// The life of a block beyond so many erases; below 0: it is worn out.
    fn life_left(&self, block: u32, erases: u32) -> f64 {
        self.life_erases[block as usize] - (f64::from(self.model.worn_erases) + f64::from(erases))
    }

    /// Whether a page can no longer be programmed: one of each block that is worn out in this way.
    pub fn program_fails(&self, page: u32, pages_per_block: u32, erases: u32) -> bool {
        match self.worn_out(page / pages_per_block, erases) {
            Some(WornOut::Programs { page_draw }) => page % pages_per_block == page_draw % pages_per_block,
            _ => false,
        }
    }
}

/// What is drawn for a block: how long it lives, and how it fails.
fn place_of(model: &Ageing, block: u32) -> u64 {
    mixed(!model.seed ^ u64::from(block) << 8)
}

/// How a worn block fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WornOut {
    Erases,
    /// The page whose program fails, as a number to be taken modulo the pages of a block.
    Programs {
        page_draw: u32,
    },
}

#[inline]
fn push(flips: &mut Vec<u32>, byte: Option<u32>, of_byte: u32) {
    let Some(byte) = byte else { return };
    let bit = byte * 8 + of_byte;
    if !flips.contains(&bit) {
        flips.push(bit);
    }
}

/// The strengths of the cells of a frame in ascending order: order statistics of uniform numbers, each from the one before.
struct Strengths {
    left: u32,
    passed: u32,
    last: f64,
}

impl Strengths {
    fn of(bits: u32) -> Strengths {
        Strengths { left: bits, passed: 0, last: 0.0 }
    }

    /// `drawn`: uniform in [0, 1). `None`: there are no more cells.
    fn next(&mut self, drawn: f64) -> Option<f64> {
        if self.left == 0 {
            return None;
        }
        // Of `left` numbers that are uniform above `last`, the least.
        let step = -((-drawn).ln_1p() / f64::from(self.left)).exp_m1();
        self.last += (1.0 - self.last) * step;
        self.left -= 1;
        self.passed += 1;
        Some(self.last)
    }
}

/// Stafford's 13th variant of the finaliser of MurmurHash3, as in SplitMix64: neighbouring numbers become unrelated ones.
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

/// A number in [0, 1) of the upper 53 bits.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests;
