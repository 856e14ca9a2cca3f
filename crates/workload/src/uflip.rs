//! The I/O patterns of uFLIP.
//!
//! Follows L. Bouganim, B. Jonsson, P. Bonnet, "uFLIP: Understanding Flash IO Patterns" (CIDR 2009), section 3: a base
//! pattern (sequential or random, reads or writes) has the attributes IOSize, IOShift, TargetSize, TargetOffset, IOCount and
//! IOIgnore; each of the nine micro-benchmarks varies one more thing.
//!
//! | micro-benchmark | varies |
//! |---|---|
//! | granularity | `io_size_B` |
//! | alignment | `io_shift_B` |
//! | locality | `target_size_B` |
//! | partitioning | `partitions`, of sequential patterns |
//! | order | `incr`, of sequential patterns |
//! | parallelism | `parallel_degree` |
//! | mix | `mix_with`, `ratio` |
//! | pause | `pause_us` |
//! | bursts | `burst`, with a pause |
//!
//! **Differs.** Parallel processes make their calls in turn: on one CPU, with a synchronous driver, each call runs to its
//! end. Random offsets come from this laboratory's generator.

use crate::prng::SplitMix64;
use crate::steps::checks::request_size;
pub use crate::steps::UflipError;
use crate::steps::{BasePattern, StepError, Transfer, Uflip};

/// One call of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    pub op: Transfer,
    pub offset_bytes: u64,
    /// Whether the program pauses after the call.
    pub pauses: bool,
    /// Whether the call belongs to the start-up phase.
    pub ignored: bool,
}

impl BasePattern {
    pub fn op(self) -> Transfer {
        match self {
            BasePattern::SequentialReads | BasePattern::RandomReads => Transfer::Read,
            BasePattern::SequentialWrites | BasePattern::RandomWrites => Transfer::Write,
        }
    }

    pub fn is_random(self) -> bool {
        matches!(self, BasePattern::RandomReads | BasePattern::RandomWrites)
    }
}

/// A part of the target on which a pattern runs by itself.
struct Stream {
    pattern: BasePattern,
    start_bytes: u64,
    /// How many calls fit into the part.
    slots: u64,
    /// How many calls have been made.
    done: u64,
    prng: SplitMix64,
}

impl Stream {
    fn next_slot(&mut self, partitions: u64, incr: i64) -> u64 {
        let i = self.done;
        self.done += 1;
        if self.pattern.is_random() {
            return self.prng.below(self.slots);
        }
        if partitions > 1 {
            let partition_slots = self.slots / partitions;
            return i % partitions * partition_slots + i / partitions % partition_slots;
        }
        (i128::from(i) * i128::from(incr)).rem_euclid(i128::from(self.slots)) as u64
    }
}

/// The calls of a pattern, in order.
pub struct Calls {
    keys: Uflip,
    streams: Vec<Stream>,
    made: u64,
}

impl Uflip {
    /// Number of calls, the start-up phase included.
    pub fn count(&self) -> u64 {
        self.total_bytes.map_or(self.io_count, |total| total.0.div_ceil(self.io_size_bytes.0.max(1)))
    }

    /// Checks for values that contradict each other.
    ///
    /// Errors: the key, what is wrong with it and what would be right.
    pub fn check(&self) -> Result<(), StepError> {
        request_size("io_size_B", self.io_size_bytes)?;
        for (key, value) in [
            ("io_count", self.io_count),
            ("partitions", self.partitions),
            ("parallel_degree", self.parallel_degree),
            ("ratio", self.ratio),
            ("burst", self.burst),
        ] {
            if value == 0 {
                return Err(StepError::Zero { key });
            }
        }
        let (ignore, count) = (self.io_ignore, self.count());
        if ignore >= count {
            return Err(UflipError::NothingLeft { ignore, count }.into());
        }
        let random = self.pattern.is_random() || self.mix_with.is_some_and(BasePattern::is_random);
        if random && (self.partitions > 1 || self.incr != 1) {
            return Err(UflipError::NotSequential.into());
        }
        if self.partitions > 1 && self.incr != 1 {
            return Err(UflipError::Exclusive { one: "partitions", other: "incr" }.into());
        }
        if self.parallel_degree > 1 && self.mix_with.is_some() {
            return Err(UflipError::Exclusive { one: "parallel_degree", other: "mix_with" }.into());
        }
        Ok(())
    }

    /// The calls of the pattern on a file of `file_bytes`.
    ///
    /// Errors: the target is too small for one call in each part.
    pub fn calls(&self, file_bytes: u64) -> Result<Calls, UflipError> {
        let (offset, shift, size) = (self.target_offset_bytes.0, self.io_shift_bytes.0, self.io_size_bytes.0);
        let begins = offset.saturating_add(shift);
        let target = self.target_size_bytes.map_or(file_bytes.saturating_sub(begins), |target| target.0);
        if self.pattern.op() == Transfer::Read && begins.saturating_add(target) > file_bytes {
            return Err(UflipError::BehindFile { file_bytes });
        }
        let parts = if self.mix_with.is_some() { 2 } else { self.parallel_degree };
        let slots = target / size / parts;
        if slots < self.partitions {
            let calls = self.partitions * parts;
            return Err(UflipError::SmallTarget { target_bytes: target, calls, io_bytes: size });
        }
        let streams = (0..parts).map(|part| Stream {
            pattern: self.mix_with.filter(|_| part == 1).unwrap_or(self.pattern),
            start_bytes: begins + part * slots * size,
            slots,
            done: 0,
            prng: SplitMix64::new(self.seed.wrapping_add(part)),
        });
        Ok(Calls { keys: self.clone(), streams: streams.collect(), made: 0 })
    }
}

impl Iterator for Calls {
    type Item = Io;

    fn next(&mut self) -> Option<Io> {
        let keys = &self.keys;
        let i = self.made;
        if i == keys.count() {
            return None;
        }
        self.made += 1;
        let stream = match keys.mix_with {
            Some(_) => usize::from(i % (keys.ratio + 1) == keys.ratio),
            None => (i % keys.parallel_degree) as usize,
        };
        let stream = &mut self.streams[stream];
        let slot = stream.next_slot(keys.partitions, keys.incr);
        Some(Io {
            op: stream.pattern.op(),
            offset_bytes: stream.start_bytes + slot * keys.io_size_bytes.0,
            pauses: keys.pause_us.0 > 0 && self.made.is_multiple_of(keys.burst),
            ignored: i < keys.io_ignore,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE_BYTES: u64 = 1 << 20;

    fn step(keys: &str) -> Uflip {
        let json = format!("{{\"file\": \"f\", \"io_size_B\": 4096, {keys}}}");
        serde_json::from_str(&json).unwrap()
    }

    /// Offsets in calls of 4096 B.
    fn slots(keys: &str) -> Vec<u64> {
        step(keys).calls(FILE_BYTES).unwrap().map(|io| io.offset_bytes / 4096).collect()
    }

    #[test]
    fn sequential_patterns_begin_anew_at_the_end_of_the_target() {
        assert_eq!(slots(r#""pattern": "SR", "io_count": 5, "target_size_B": 12288"#), [0, 1, 2, 0, 1]);
        let shifted = step(r#""pattern": "SW", "io_count": 2, "io_shift_B": 512, "target_offset_B": 8192"#);
        let offsets: Vec<u64> = shifted.calls(FILE_BYTES).unwrap().map(|io| io.offset_bytes).collect();
        assert_eq!(offsets, [8704, 12800]);
        assert_eq!(slots(r#""pattern": "SR", "total_B": 12289"#), [0, 1, 2, 3]);
    }

    #[test]
    fn random_patterns_stay_in_the_target_and_reach_all_of_it() {
        let found = slots(r#""pattern": "RW", "io_count": 200, "target_size_B": 32768, "target_offset_B": 40960"#);
        let reached: std::collections::BTreeSet<u64> = found.into_iter().collect();
        assert_eq!(reached, (10..18).collect());
    }

    #[test]
    fn order_goes_backwards_in_place_and_in_strides() {
        let of = |incr| slots(&format!(r#""pattern": "SW", "io_count": 4, "target_size_B": 32768, "incr": {incr}"#));
        assert_eq!(of("-1"), [0, 7, 6, 5]);
        assert_eq!(of("0"), [0, 0, 0, 0]);
        assert_eq!(of("3"), [0, 3, 6, 1]);
    }

    #[test]
    fn partitions_are_visited_in_turn_each_in_order() {
        let found = slots(r#""pattern": "SW", "io_count": 7, "target_size_B": 32768, "partitions": 4"#);
        assert_eq!(found, [0, 2, 4, 6, 1, 3, 5]);
    }

    #[test]
    fn processes_have_parts_of_their_own() {
        let found = slots(r#""pattern": "SR", "io_count": 6, "target_size_B": 32768, "parallel_degree": 2"#);
        assert_eq!(found, [0, 4, 1, 5, 2, 6]);
    }

    #[test]
    fn a_mix_makes_one_call_of_the_second_pattern_for_ratio_of_the_first() {
        let mixed = step(r#""pattern": "SR", "mix_with": "SW", "ratio": 2, "io_count": 6, "target_size_B": 32768"#);
        let calls: Vec<Io> = mixed.calls(FILE_BYTES).unwrap().collect();
        let writes: Vec<bool> = calls.iter().map(|io| io.op == Transfer::Write).collect();
        assert_eq!(writes, [false, false, true, false, false, true]);
        let offsets: Vec<u64> = calls.iter().map(|io| io.offset_bytes / 4096).collect();
        assert_eq!(offsets, [0, 1, 4, 2, 3, 5]);
    }

    #[test]
    fn bursts_end_in_pauses_and_the_start_up_phase_is_marked() {
        let keys = r#""pattern": "SR", "io_count": 6, "io_ignore": 2, "pause_us": 100, "burst": 3"#;
        let calls: Vec<Io> = step(keys).calls(FILE_BYTES).unwrap().collect();
        let pauses: Vec<bool> = calls.iter().map(|io| io.pauses).collect();
        assert_eq!(pauses, [false, false, true, false, false, true]);
        assert_eq!(calls.iter().filter(|io| io.ignored).count(), 2);
    }

    #[test]
    fn what_cannot_be_is_named() {
        let refused = |keys: &str| step(keys).check().unwrap_err().to_string();
        assert!(refused(r#""pattern": "RR", "partitions": 2"#).contains("for sequential patterns"));
        assert!(refused(r#""pattern": "SR", "io_count": 8, "io_ignore": 8"#).contains("leaves no call"));
        assert!(refused(r#""pattern": "SR", "burst": 0"#).contains("burst is 0"));
        let small = step(r#""pattern": "SR", "target_size_B": 4096, "parallel_degree": 2"#);
        assert!(small.calls(FILE_BYTES).err().unwrap().to_string().contains("less than 2 calls"));
        assert!(step(r#""pattern": "SR""#).calls(100).err().unwrap().to_string().contains("less than 1 calls"));
    }
}
