//! The steps that bring a partition into a stated condition before a measurement.

use super::execute::failed;
use super::facts::Facts;
use super::runner::{Runner, Stop};
use crate::requests::CallOp;
use ffslab_system::OpenFlags;
use ffslab_text::Bytes;
use ffslab_workload::fio::random::{Distribution as SkewedDistribution, Skewed};
use ffslab_workload::prng::SplitMix64;
use ffslab_workload::steps::{self, ContentName, Distribution, ShareOf};

type Done = Result<Facts, Stop>;

/// How far below its percentage `occupy` may stay, in per cent of what df(1) counts: df rounds up, so it shows the
/// percentage nevertheless.
const DF_TOLERANCE_PERCENT: f64 = 0.5;

impl Runner<'_> {
    /// Fills and deletes: what was just written is all invalid, and no time passes in which it could be collected.
    pub(super) fn saturate(&mut self, step: &steps::Saturate) -> Done {
        if self.system.stat(step.file.as_bytes()).is_ok() {
            return failed(format!("{} exists already: name another file", step.file));
        }
        let facts = self.fill(&steps::Fill {
            file: step.file.clone(),
            request_bytes: step.request_bytes,
            content: ContentName::default(),
            content_file: None,
        })?;
        // Unsynced, data that wait in memory would vanish unwritten.
        self.sync()?;
        self.unlink(&step.file)?;
        Ok(facts)
    }

    pub(super) fn occupy(&mut self, step: &steps::Occupy) -> Done {
        if step.of == ShareOf::Df {
            return self.occupy_as_df(step);
        }
        let bytes = Bytes((self.system.medium_bytes_at(step.file.as_bytes()) as f64 * step.percent / 100.0) as u64);
        let request_bytes = step.request_bytes;
        self.create(&steps::Create {
            file: step.file.clone(),
            bytes,
            request_bytes,
            content: ContentName::default(),
            content_file: None,
            fails: None,
        })
    }

    /// Writes until df(1) shows the percentage. The file comes near it in ever smaller pieces, because a file system
    /// takes more than the data for what it writes, how much more depends on it, and df must not show too much.
    fn occupy_as_df(&mut self, step: &steps::Occupy) -> Done {
        let fd = self.open_new(&step.file)?;
        let mut accepted = 0;
        loop {
            self.sync()?;
            let space = self.system.statfs_at(step.file.as_bytes())?;
            // UBIFS estimates both, so an empty one may tell of more free blocks than it has.
            let (blocks, used) = (space.blocks as f64, space.blocks.saturating_sub(space.blocks_free) as f64);
            let missing_blocks = blocks * step.percent / 100.0 - used;
            if missing_blocks <= blocks * DF_TOLERANCE_PERCENT / 100.0 {
                let notes = vec![format!("df shows {:.0} %", (used / blocks * 100.0).ceil())];
                self.close(fd, &step.file)?;
                return Ok(Facts { notes, ..Facts::of_files(1, accepted) });
            }
            let piece_bytes = (missing_blocks * f64::from(space.block_bytes) * 0.9).ceil() as u64;
            let open = (fd, &step.file[..]);
            let (written, error) = self.write_on(open, step.request_bytes.0, piece_bytes, ContentName::default())?;
            accepted += written;
            if let Some(error) = error {
                let shown = (used / blocks * 100.0).ceil();
                return failed(format!("{} above {shown:.0} % of df: a smaller percent is needed", error.name()));
            }
        }
    }

    pub(super) fn age(&mut self, step: &steps::Age) -> Done {
        let fd =
            self.call(CallOp::Open, &step.file, |system| system.open(step.file.as_bytes(), OpenFlags::WRITE, 0))?;
        let file_bytes = self.system.fstat(fd)?.size_bytes;
        let request_bytes = step.request_bytes.0;
        let slots = file_bytes / request_bytes;
        if slots == 0 {
            return failed(format!("the file has {file_bytes} B: not one request of {request_bytes} B fits"));
        }
        let count = (file_bytes as f64 * step.overwrites / request_bytes as f64).ceil() as u64;
        let mut offsets = Offsets::new(step, slots);
        for i in 0..count {
            let at = offsets.next_slot(i) * request_bytes;
            let mut done = 0;
            while done < request_bytes {
                let begun_ns = self.call_begins();
                let data = self.content.take((request_bytes - done) as usize);
                let written = self.system.pwrite(fd, data, at + done);
                let row = (CallOp::Write, &step.file[..], at + done);
                self.call_ends(row, begun_ns, written.map_or(0, |written| written as u64));
                done += written.map_err(|error| {
                    Stop::Failed(format!("{} after {i} of {count} writes{}", error.name(), self.holds(error)))
                })? as u64;
            }
            if step.fsync_every > 0 && (i + 1).is_multiple_of(step.fsync_every) {
                self.call(CallOp::Sync, &step.file, |system| system.fsync(fd))?;
            }
            self.tick()?;
        }
        self.call(CallOp::Sync, &step.file, |system| system.fsync(fd))?;
        self.close(fd, &step.file)?;
        let written = count * request_bytes;
        let requests_done = Some(count);
        Ok(Facts { bytes_accepted: Some(written), requests_done, user_written_bytes: written, ..Facts::default() })
    }
}

/// Where `age` writes next.
struct Offsets {
    prng: SplitMix64,
    distribution: Distribution,
    slots: u64,
    /// Of `hot_cold`: slots that are hot, and how many of a million writes go there.
    hot_slots: u64,
    hot_writes: u64,
    /// Of `zipf`.
    skewed: Option<Skewed>,
}

const MILLION: u64 = 1_000_000;

impl Offsets {
    fn new(step: &steps::Age, slots: u64) -> Offsets {
        let hot_slots = (slots as f64 * step.hot_percent / 100.0).round() as u64;
        Offsets {
            prng: SplitMix64::new(step.seed),
            distribution: step.distribution,
            slots,
            hot_slots: hot_slots.clamp(1, slots),
            hot_writes: (step.hot_writes_percent / 100.0 * MILLION as f64) as u64,
            skewed: match step.distribution {
                Distribution::Zipf => {
                    let zipf = SkewedDistribution::Zipf { theta: step.zipf_theta, center: None };
                    Skewed::new(zipf, slots, step.seed as u32)
                }
                _ => None,
            },
        }
    }

    fn next_slot(&mut self, i: u64) -> u64 {
        if let Some(skewed) = &mut self.skewed {
            return skewed.next_block();
        }
        match self.distribution {
            Distribution::Sequential => i % self.slots,
            Distribution::Uniform | Distribution::Zipf => self.prng.below(self.slots),
            Distribution::HotCold if self.prng.below(MILLION) < self.hot_writes => self.prng.below(self.hot_slots),
            Distribution::HotCold if self.hot_slots < self.slots => {
                self.hot_slots + self.prng.below(self.slots - self.hot_slots)
            }
            Distribution::HotCold => self.prng.below(self.slots),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(keys: &str, count: u64) -> Vec<u64> {
        let step: steps::Age =
            serde_json::from_str(&format!("{{\"file\": \"f\", \"overwrites\": 1.0, {keys}}}")).unwrap();
        let mut offsets = Offsets::new(&step, 100);
        (0..count).map(|i| offsets.next_slot(i)).collect()
    }

    #[test]
    fn hot_slots_get_their_share_and_cold_ones_the_rest() {
        let found = slots(r#""distribution": "hot_cold", "hot_percent": 10, "hot_writes_percent": 90"#, 10_000);
        let hot = found.iter().filter(|&&slot| slot < 10).count();
        assert!((8_850..9_150).contains(&hot), "{hot}");
        assert!((10..100).all(|slot| found.contains(&slot)));
    }

    #[test]
    fn zipf_has_favourites_all_over_the_file() {
        let found = slots(r#""distribution": "zipf", "zipf_theta": 1.2"#, 20_000);
        let mut counts = [0; 100];
        found.iter().for_each(|&slot| counts[slot as usize] += 1);
        let favourites: Vec<usize> = (0..100).filter(|&slot| counts[slot] > 1_000).collect();
        let writes: u32 = favourites.iter().map(|&slot| counts[slot]).sum();
        assert!(favourites.len() < 10 && writes > 11_000, "{favourites:?}: {writes}");
        assert!(favourites.last().unwrap() - favourites.first().unwrap() > 20, "{favourites:?}");
    }

    #[test]
    fn sequential_writes_visit_every_slot_in_turn() {
        assert_eq!(slots(r#""distribution": "sequential""#, 102)[98..], [98, 99, 0, 1]);
    }
}
