//! The mean rate of wrong bits as a sum of terms, the life of a block, and where their constants come from.
//!
//! With w = erases / endurance, t the time since the program (at the rated temperature), n the reads since the erase:
//!
//! ```text
//! rate =  write w^kw
//!      +  retention ((w0 + w) / (w0 + 0.1))^kr (t / t_rated)^kt
//!      +  disturb n ((w0 + w) / (w0 + 1))^kd
//! ```
//!
//! The form follows Hetzler's surface E = h A^k R^g + 1 / (1 + (b / C)^d) in being powers of age, reads and cycles; here terms
//! are added, because a block that is never read loses charge and one that was just written is disturbed. Time counts by the
//! law of Arrhenius. How fast a part loses bits is not published; by default it is what its data sheet promises ([`Promise`]).

use super::beta::FrameErrors;

pub const YEAR_S: f64 = 365.25 * 86_400.0;
const BOLTZMANN_ELECTRONVOLT_PER_KELVIN: f64 = 8.617_333_262e-5;
const KELVIN: f64 = 273.15;
/// Share of the endurance that a block has behind it when the retention of the data sheet is promised.
const RATED_WEAR: f64 = 0.1;

/// How cells age. All rates are shares of bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Ageing {
    pub seed: u64,
    /// Erases that each block had before the chip was made.
    pub worn_erases: u32,
    pub endurance_erases: u32,
    /// a of the Beta distribution of a frame's rate; a large one leaves no differences between frames.
    pub frame_shape: f64,
    /// Wrong bits right after a program, at the endurance.
    pub write_rate: f64,
    pub write_exponent: f64,
    /// Wrong bits after the rated time at the rated temperature, with a tenth of the endurance worn.
    pub retention_rate: f64,
    pub retention_s: f64,
    pub retention_wear_exponent: f64,
    pub retention_time_exponent: f64,
    /// Wear that a new block counts as having, for retention and disturb.
    pub new_wear_share: f64,
    /// Wrong bits for each read of the block since its erase, at the endurance.
    pub disturb_rate: f64,
    pub disturb_exponent: f64,
    /// While the device is switched on.
    pub temperature_celsius: f64,
    pub rated_celsius: f64,
    pub activation_electronvolt: f64,
    /// Share of blocks that have failed at the endurance, and the shape of the Weibull distribution of their lives.
    pub failed_share: f64,
    pub life_shape: f64,
    /// Share of worn blocks that fail in a program instead of an erase.
    pub program_failure_share: f64,
    /// Read retry modes of the part, the normal one included; 0: it has no read retry.
    pub retry_modes: u32,
    /// What each read retry mode leaves of the errors of retention and disturb.
    pub retry_share: f64,
}

/// What cells have borne.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stress {
    pub erases: f64,
    /// Of the block since its erase.
    pub reads: f64,
    /// Since the program, as time at the rated temperature.
    pub rated_s: f64,
}

impl Ageing {
    /// How much faster charge is lost than at the rated temperature.
    pub fn acceleration(&self, celsius: f64) -> f64 {
        let inverse = |celsius: f64| 1.0 / (celsius + KELVIN);
        let difference = inverse(self.rated_celsius) - inverse(celsius);
        (self.activation_electronvolt / BOLTZMANN_ELECTRONVOLT_PER_KELVIN * difference).exp()
    }

    /// The mean rate of wrong bits when read in this retry mode; 0: the normal one.
    pub fn rate(&self, stress: &Stress, retry_mode: u32) -> f64 {
        let wear = stress.erases / f64::from(self.endurance_erases.max(1));
        let worn = self.new_wear_share + wear;
        let write = self.write_rate * power(wear, self.write_exponent);
        let retention = self.retention_rate
            * power(worn / (self.new_wear_share + RATED_WEAR), self.retention_wear_exponent)
            * power(stress.rated_s / self.retention_s, self.retention_time_exponent);
        let disturb =
            self.disturb_rate * stress.reads * power(worn / (self.new_wear_share + 1.0), self.disturb_exponent);
        let kept = self.retry_share.powi(retry_mode.min(64) as i32);
        (write + (retention + disturb) * kept).clamp(0.0, 0.5)
    }

    /// Erases after which the block of this rank (0: the first to fail, 1: the last) is worn out.
    pub fn life_erases(&self, rank: f64) -> f64 {
        if self.failed_share <= 0.0 {
            return f64::INFINITY;
        }
        let relative = (-rank).ln_1p() / (-self.failed_share).ln_1p();
        f64::from(self.endurance_erases) * relative.powf(1.0 / self.life_shape)
    }

    /// The errors of frames of so many bits under a stress.
    pub fn frame_errors(&self, stress: &Stress, bits: u32) -> FrameErrors {
        FrameErrors { shape: self.frame_shape, bits, mean: self.rate(stress, 0) }
    }
}

/// Every read of a page asks for powers, most of them linear.
fn power(base: f64, exponent: f64) -> f64 {
    if exponent == 1.0 {
        base
    } else {
        base.powf(exponent)
    }
}

/// What a data sheet says of how a part ages, from which the rates are taken that nobody publishes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    pub endurance_erases: u32,
    pub retention_years: f64,
    /// Reads of a block between two erases.
    pub reads: f64,
    /// Wrong bits that the part wants corrected in each frame of so many data bytes.
    pub corrected_bits: u32,
    pub step_bytes: u32,
}

impl Ageing {
    /// A part that does what its data sheet promises, and no better: with the correction that it asks for, the share of data
    /// bits that are lost is [`CONSTANTS`]' `uncorrectable_share` at the rated retention, and as great after the
    /// rated reads at the endurance.
    pub fn promised(promise: &Promise) -> Ageing {
        let of = |name: &str| CONSTANTS.iter().find(|known| known.name == name).expect("a known constant").value;
        let shape = of("frame_shape");
        let data_bits = promise.step_bytes * 8;
        let lost = of("uncorrectable_share") * f64::from(data_bits);
        let rated = FrameErrors::mean_with_failure(shape, data_bits, promise.corrected_bits, lost);
        Ageing {
            seed: 0,
            worn_erases: 0,
            endurance_erases: promise.endurance_erases,
            frame_shape: shape,
            write_rate: rated * of("write_share"),
            write_exponent: of("write_exponent"),
            retention_rate: rated,
            retention_s: promise.retention_years * YEAR_S,
            retention_wear_exponent: of("retention_wear_exponent"),
            retention_time_exponent: of("retention_time_exponent"),
            new_wear_share: of("new_wear_share"),
            disturb_rate: rated / promise.reads,
            disturb_exponent: of("disturb_exponent"),
            temperature_celsius: of("temperature_C"),
            rated_celsius: of("rated_C"),
            activation_electronvolt: of("activation_eV"),
            failed_share: of("failed_share"),
            life_shape: of("life_shape"),
            program_failure_share: of("program_failure_share"),
            retry_modes: 0,
            retry_share: of("retry_share"),
        }
    }
}

/// A constant of the model with where it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgeingConstant {
    pub name: &'static str,
    pub value: f64,
    pub source: &'static str,
    /// "published" or "unverified", as in profiles.
    pub status: &'static str,
}

const fn constant(name: &'static str, value: f64, status: &'static str, source: &'static str) -> AgeingConstant {
    AgeingConstant { name, value, source, status }
}

const PUBLISHED: &str = "published";
const UNVERIFIED: &str = "unverified";

/// What holds for a part of which only the promise of its data sheet is known.
pub static CONSTANTS: [AgeingConstant; 18] = [
    constant("uncorrectable_share", 1e-15, PUBLISHED, "data bits lost of those read: JESD218 asks 1e-15 of client drives (as quoted by curtisswrightds.com, The Effects of Extended Temperatures); Mielke et al., IRPS 2008, abstract, says that NAND can be much better. That raw parts with the ECC of their data sheet just do it is an assumption"),
    constant("frame_shape", 2.0, UNVERIFIED, "that frames are overdispersed and beta-binomial: Taranalli et al., arXiv 1602.07743 and 1605.02233 (MLC; abstracts read, their tables of parameters were not). The value is a guess: the rates of frames differ by 70 % (standard deviation)"),
    constant("write_share", 0.1, UNVERIFIED, "wrong bits right after a program at the endurance, as a share of those at the rated retention; that there are such errors: Mielke et al., IRPS 2008, abstract"),
    constant("write_exponent", 1.0, UNVERIFIED, "that errors grow far slower than exponentially with erases: Schroeder et al., FAST 2016, as summed up in surveys; linear is a guess"),
    constant("retention_wear_exponent", 1.0, UNVERIFIED, "so that ten times the erases leave a tenth of the time: the JEDEC rule of 10 years after 10 % of the endurance and 1 year after all of it (JESD47, as remembered; the standard was not opened)"),
    constant("retention_time_exponent", 1.0, UNVERIFIED, "as retention_wear_exponent: wear and time can be exchanged in that rule. No open numbers of an SLC part were found"),
    constant("retention_years", 10.0, UNVERIFIED, "usual in data sheets of SLC parts; a part's own value comes first"),
    constant("new_wear_share", 0.01, UNVERIFIED, "a new part loses charge, too, but nobody says how much slower"),
    constant("reads_SLC", 100_000.0, UNVERIFIED, "reads of a block between two erases, a rule of thumb of makers for SLC; no data sheet with it was opened. M-Systems gives about one wrong bit in 10^6 reads for SLC of 0.16 um"),
    constant("reads_MLC", 10_000.0, UNVERIFIED, "as reads_SLC; M-Systems gives 10^5 for MLC, ten times the errors"),
    constant("disturb_exponent", 1.5, UNVERIFIED, "that disturb is linear in reads and grows with wear: Cai et al., DSN 2015 (2Y nm MLC; abstract read). The exponent is remembered of their slopes between 2,000 and 15,000 cycles, which were not opened"),
    constant("temperature_C", 40.0, UNVERIFIED, "a device that is switched on: an assumption of many reliability reports"),
    constant("rated_C", 55.0, UNVERIFIED, "temperature of the JEDEC rule of retention (JESD47, as remembered)"),
    constant("activation_eV", 1.1, PUBLISHED, "follows from what curtisswrightds.com quotes of JESD218: 1 year at 30 C, 500 h at 52 C, 96 h at 66 C for the same loss (1.10 and 1.11 eV)"),
    constant("failed_share", 0.02, UNVERIFIED, "data sheets of SLC parts of 2048 blocks promise 2008 good ones over their life, factory bad ones included (as remembered of several)"),
    constant("life_shape", 4.0, UNVERIFIED, "shape of the Weibull distribution of the lives of blocks: a guess; half of the blocks fail before 2.4 times the endurance"),
    constant("program_failure_share", 0.5, UNVERIFIED, "a guess: as many worn blocks fail in a program as in an erase"),
    constant("retry_share", 0.5, UNVERIFIED, "a guess: that shifted read voltages lower the errors is how parts with read retry work, no numbers were found"),
];
