//! The steps of a boot: its stages, what a boot loader reads, and files that are read when a system starts.

use super::execute::failed;
use super::facts::Facts;
use super::runner::{Runner, Stop};
use crate::requests::{Call, CallOp};
use ffslab_mtd::causes::{self, BOOT_LOADER};
use ffslab_mtd::Mtd;
use ffslab_system::{timed, OpenFlags};
use ffslab_workload::steps;

type Done = Result<Facts, Stop>;

impl Runner<'_> {
    /// When another program runs than before, memory is gone.
    pub(super) fn begin_stage(&mut self, step: &steps::Stage) -> Done {
        if self.system.runs() != step.runs {
            self.crash()?;
        }
        let notes = self.system.begin_stage(step.runs, step.fastmap)?.map(str::to_string).into_iter().collect();
        Ok(Facts { stage: Some(step.name.clone()), notes, ..Facts::default() })
    }

    /// Erase block by erase block: whether it is bad, then its pages (`nand_read_skip_bad` of U-Boot's `drivers/mtd/nand/raw/nand_util.c`).
    pub(super) fn read_raw(&mut self, step: &steps::ReadRaw) -> Done {
        if self.system.is_mounted() {
            return failed("a file system is mounted: umount it first".to_string());
        }
        let sim = self.system.sim().clone();
        let partition = self.system.mtd().cloned().ok_or_else(|| self.system.lacks("flash below its file systems"))?;
        let (chip_blocks, first) = (partition.capabilities().chip_blocks, step.first_block);
        let lies_behind = || format!("first_block = {first}: the chip has {chip_blocks} erase blocks, the first is 0");
        if first >= chip_blocks {
            return failed(lies_behind());
        }
        let chip = match partition.beside(first..chip_blocks, sim.clone()) {
            Some(chip) => chip.map_err(|error| error.to_string())?,
            None => return failed("pages outside of the partition: this medium cannot be divided".to_string()),
        };
        causes::register(&sim);
        let (page_bytes, block_bytes) = (u64::from(chip.page_bytes()), u64::from(chip.erase_block_bytes()));
        let wanted = step.bytes.0.div_ceil(page_bytes) * page_bytes;
        let (file, start_ns) = (self.log.file_index(""), self.system.now_ns() - self.start.at_ns);
        let (read, latency_ns) = timed(&mut *self.system, |_| {
            let _why = sim.because(&BOOT_LOADER);
            read_good_blocks(&chip, wanted, block_bytes)
        });
        let read = read?;
        if read < wanted {
            return failed(format!("the good blocks from {first} on hold {read} bytes, and {wanted} are to be read"));
        }
        let offset_bytes = u64::from(first) * block_bytes;
        self.record(0, Call { op: CallOp::Read, file, offset_bytes, bytes: read, start_ns, latency_ns });
        Ok(Facts { user_read_bytes: read, ..Facts::default() })
    }

    pub(super) fn ubi_read(&mut self, step: &steps::UbiRead) -> Done {
        let (file, start_ns) = (self.log.file_index(&step.volume), self.system.now_ns() - self.start.at_ns);
        let bytes = step.bytes.map(|bytes| bytes.0);
        let (read, latency_ns) = timed(&mut *self.system, |system| system.ubi_read(&step.volume, bytes));
        let read = read?;
        self.record(0, Call { op: CallOp::Read, file, offset_bytes: 0, bytes: read, start_ns, latency_ns });
        Ok(Facts { user_read_bytes: read, ..Facts::default() })
    }

    pub(super) fn read_files(&mut self, step: &steps::ReadFiles) -> Done {
        let mut buffer = vec![0; step.request_bytes.0 as usize];
        let mut facts = Facts::default();
        for (i, path) in (0..).zip(&step.files) {
            let (file, start_ns) = (self.log.file_index(path), self.system.now_ns() - self.start.at_ns);
            let (read, latency_ns) = timed(&mut *self.system, |system| {
                let fd = system.open(path.as_bytes(), OpenFlags::READ, 0)?;
                let mut read = 0;
                loop {
                    match system.read(fd, &mut buffer)? {
                        0 => break,
                        count => read += count as u64,
                    }
                }
                system.close(fd)?;
                Ok(read)
            });
            let bytes = read.map_err(|error: ffslab_system::Refusal| Stop::Failed(format!("file {path}: {error}")))?;
            self.record(i, Call { op: CallOp::Read, file, offset_bytes: 0, bytes, start_ns, latency_ns });
            facts.user_read_bytes += bytes;
            self.tick()?;
        }
        Ok(Facts { files: Some(step.files.len() as u64), ..facts })
    }
}

/// Reads so many bytes, or what there is, from the begin of a part of the chip. Returns how many it were.
///
/// Errors: pages that cannot be read.
fn read_good_blocks(chip: &Mtd, wanted: u64, block_bytes: u64) -> Result<u64, String> {
    let mut buffer = vec![0; block_bytes as usize];
    let mut read = 0;
    for block in 0..u64::from(chip.blocks()) {
        if read == wanted {
            break;
        }
        let at = block * block_bytes;
        if chip.ask_bad(at) {
            continue;
        }
        let now = (wanted - read).min(block_bytes);
        chip.read(at, &mut buffer[..now as usize])
            .map_err(|error| format!("{error} behind byte {read} of what is read"))?;
        read += now;
    }
    Ok(read)
}
