//! Loops of operations at the driver level, below every file system: what a kernel module does that times MTD calls.
//! The clock is read before and after the loop, as for every measured step, and not between its operations.

use super::execute::failed;
use super::facts::Facts;
use super::runner::{Runner, Stop};
use crate::requests::{Call, CallOp};
use ffslab_mtd::Mtd;
use ffslab_workload::steps::{MtdLoop, MtdOp};

impl Runner<'_> {
    pub(super) fn mtd_loop(&mut self, step: &MtdLoop) -> Result<Facts, Stop> {
        if self.system.is_mounted() {
            return failed("a file system is mounted: umount it first".to_string());
        }
        let system = &self.system;
        let mtd = system.mtd().cloned().ok_or_else(|| system.lacks("flash below its file systems"))?;
        let places = Places::of(&mtd, step.op)?;
        let at_most = match step.op {
            MtdOp::Program => places.count().saturating_sub(step.first),
            MtdOp::Read | MtdOp::Erase => u64::MAX,
        };
        if step.first >= places.count() || step.count > at_most {
            let (first, count, all, unit) = (step.first, step.count, places.count(), places.unit);
            return failed(format!(
                "{count} {unit}s from {unit} {first} on: the partition has {all} {unit}s in good blocks; enlarge it or do fewer"
            ));
        }
        let file = self.log.file_index("");
        let mut page = vec![0; unit_bytes(&mtd) as usize];
        let mut facts = Facts { requests_done: Some(step.count), ..Facts::default() };
        for i in 0..step.count {
            let at = places.at((step.first + i) % places.count());
            let start_ns = self.system.now_ns();
            self.system.sim().call_begins();
            let done = match step.op {
                MtdOp::Read => mtd.read(at, &mut page).map(drop),
                MtdOp::Program => mtd.write(at, self.content.take(page.len())),
                MtdOp::Erase => mtd.erase(at),
            };
            if let Err(error) = done {
                return failed(format!("{error} at {} {} of the partition", places.unit, at / places.bytes));
            }
            let (op, bytes) = match step.op {
                MtdOp::Read => (CallOp::Read, places.bytes),
                MtdOp::Program => (CallOp::Program, places.bytes),
                MtdOp::Erase => (CallOp::Erase, 0),
            };
            let latency_ns = self.system.now_ns() - start_ns;
            let start_ns = start_ns - self.start.at_ns;
            self.record(i, Call { op, file, offset_bytes: at, bytes, start_ns, latency_ns });
            match step.op {
                MtdOp::Read => facts.user_read_bytes += bytes,
                MtdOp::Program => facts.user_written_bytes += bytes,
                MtdOp::Erase => {}
            }
            self.tick()?;
        }
        Ok(facts)
    }
}

/// What counts as a page: what one program takes, which is more than the smallest unit on NOR.
fn unit_bytes(mtd: &Mtd) -> u32 {
    mtd.page_bytes().max(mtd.capabilities().write_buffer_bytes)
}

/// The pages or blocks of a partition that a loop may work on: those of good blocks.
struct Places {
    good_blocks: Vec<u64>,
    per_block: u64,
    block_bytes: u64,
    bytes: u64,
    unit: &'static str,
}

impl Places {
    fn of(mtd: &Mtd, op: MtdOp) -> Result<Places, Stop> {
        let block_bytes = u64::from(mtd.erase_block_bytes());
        let good_blocks: Vec<u64> =
            (0..u64::from(mtd.blocks())).filter(|block| !mtd.is_bad(block * block_bytes)).collect();
        if good_blocks.is_empty() {
            return failed("the partition has no good block".to_string());
        }
        let (bytes, unit) = match op {
            MtdOp::Erase => (block_bytes, "block"),
            MtdOp::Read | MtdOp::Program => (u64::from(unit_bytes(mtd)), "page"),
        };
        Ok(Places { good_blocks, per_block: block_bytes / bytes, block_bytes, bytes, unit })
    }

    fn count(&self) -> u64 {
        self.good_blocks.len() as u64 * self.per_block
    }

    /// Byte of the partition at which the `i`-th one begins.
    fn at(&self, i: u64) -> u64 {
        self.good_blocks[(i / self.per_block) as usize] * self.block_bytes + i % self.per_block * self.bytes
    }
}
