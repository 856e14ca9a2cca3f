//! Block devices: what a driver does with a request, and how long it takes.
//!
//! * **RAM disk** (`cpukit/libblock/src/ramdisk-driver.c`): copies each buffer with the CPU, any list of buffers in one
//!   request, done when the call returns.
//! * **SD card** (rtems-libbsd, `freebsd/sys/dev/mmc/mmcsd.c`): wants consecutive blocks in a request, and still issues one
//!   command per buffer: a single-block command when the buffer is 512 B, a multi-block command otherwise. After a write
//!   it polls the card's state until it is ready. The caller sleeps meanwhile.
//! * **USB stick**: one SCSI command per buffer over bulk-only transport, consecutive blocks.
//!
//! * **Flash behind a translation layer**: the commands of a card or stick, and below them reads, programs and erases of a chip.
//!
//! The time of a request is a sum over its commands; the constants are in `profiles/block-devices`. What a translation layer does
//! takes its time on the clock of the simulation.

use crate::ftl::Translated;
use crate::profile::DeviceProfile;
use ffslab_ftl::{BlockDevice, COPIED_BACK_PAGES, NAMED};
use ffslab_mtd::Mtd;
use ffslab_sim::{Sim, Slice};
use std::cell::Cell;
use std::sync::Arc;
use thiserror::Error;

/// One buffer of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First media block.
    pub block: u32,
    pub bytes: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    #[error("the transfer ends beyond the last block of the device")]
    OutOfRange,
    #[error("the device failed")]
    Failed,
    #[error("the power was cut")]
    PowerCut,
    #[error(transparent)]
    Layer(ffslab_ftl::DeviceError),
}

impl From<ffslab_ftl::DeviceError> for DeviceError {
    fn from(error: ffslab_ftl::DeviceError) -> DeviceError {
        match error {
            error if error.is_power_cut() => DeviceError::PowerCut,
            ffslab_ftl::DeviceError::OutOfRange => DeviceError::OutOfRange,
            error => DeviceError::Layer(error),
        }
    }
}

/// How long a request keeps its task waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    pub duration_ns: u64,
    /// The CPU does the transfer itself, so no other task can run; otherwise the calling task sleeps.
    pub occupies_cpu: bool,
}

/// What a host has told a device that may have a write cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Bytes from a media block on. They may reach the flash at any time until a flush has ended.
    Write { block: u32, data: Arc<[u8]> },
    /// All before has reached the flash.
    Flushed,
}

/// A command, and after how many programs and erases of the flash it was given; a flush: had ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub after_operations: u64,
    pub told: Told,
}

/// What was told to a device since it was asked to keep that, by the flash below it.
#[derive(Clone)]
struct Kept {
    flash: Mtd,
    start_operations: u64,
    commands: Vec<Command>,
}

impl Kept {
    fn add(&mut self, told: Told) {
        let after_operations = self.flash.modifying_operations() - self.start_operations;
        self.commands.push(Command { after_operations, told });
    }
}

/// Where the bytes stand.
enum Store {
    Memory(Vec<u8>),
    Flash(Box<Translated>),
}

/// A device with real bytes.
pub struct Device {
    store: Store,
    media_block_bytes: u32,
    profile: DeviceProfile,
    /// How many buffers may still be written before the power cut.
    writes_until_cut: Option<u64>,
    fails: bool,
    /// Why it failed last.
    failure: Option<DeviceError>,
    /// What the layer had done before its power failed.
    counts_before: [u64; NAMED],
    /// The allocation unit of the command before.
    last_segment: Cell<Option<u64>>,
    kept: Option<Kept>,
}

impl Device {
    /// An empty (zeroed) device. The size is a whole number of blocks.
    pub fn new(profile: DeviceProfile, media_block_bytes: u32, media_blocks: u32) -> Device {
        let size = media_block_bytes as usize * media_blocks as usize;
        Device::with_image(profile, media_block_bytes, vec![0; size])
    }

    /// A device that holds an image; a last block that is not whole is filled up with zeros.
    pub fn with_image(profile: DeviceProfile, media_block_bytes: u32, mut image: Vec<u8>) -> Device {
        image.resize(image.len().next_multiple_of(media_block_bytes as usize), 0);
        Device::of(Store::Memory(image), media_block_bytes, profile)
    }

    /// Flash behind a translation layer. Its sectors are the media blocks; of `profile` counts what the interface costs.
    pub fn translated(profile: DeviceProfile, flash: Translated) -> Device {
        let media_block_bytes = flash.disk().sector_bytes();
        Device::of(Store::Flash(Box::new(flash)), media_block_bytes, profile)
    }

    fn of(store: Store, media_block_bytes: u32, profile: DeviceProfile) -> Device {
        let counts_before = [0; NAMED];
        Device {
            store,
            media_block_bytes,
            profile,
            writes_until_cut: None,
            fails: false,
            failure: None,
            counts_before,
            last_segment: Cell::new(None),
            kept: None,
        }
    }

    /// The same device after a power cut: its layer counts on. What has not arrived by now never will.
    pub fn after(mut self, before: &Device) -> Device {
        self.kept = before.kept.clone();
        if let Some(kept) = &mut self.kept {
            kept.add(Told::Flushed);
        }
        if let Some(counts) = before.all_layer_counts() {
            self.counts_before = counts.map(|(_, count)| count);
        }
        self
    }

    /// From now on, keeps what the host tells: writes and flushes. `flash`: what its layer stands on.
    pub fn keep_commands(&mut self, flash: &Mtd) {
        let start_operations = flash.modifying_operations();
        self.kept = Some(Kept { flash: flash.clone(), start_operations, commands: Vec::new() });
    }

    /// What was kept, in its order; nothing more is.
    pub fn take_commands(&mut self) -> Vec<Command> {
        self.kept.take().map_or_else(Vec::new, |kept| kept.commands)
    }

    /// The translation layer; `None`: there is none.
    pub fn flash(&self) -> Option<&Translated> {
        match &self.store {
            Store::Flash(flash) => Some(flash),
            Store::Memory(_) => None,
        }
    }

    pub fn media_block_bytes(&self) -> u32 {
        self.media_block_bytes
    }

    pub fn media_blocks(&self) -> u32 {
        match &self.store {
            Store::Memory(bytes) => (bytes.len() / self.media_block_bytes as usize) as u32,
            Store::Flash(flash) => flash.disk().sectors() as u32,
        }
    }

    /// `RTEMS_BLKDEV_CAP_MULTISECTOR_CONT`.
    pub fn wants_consecutive_blocks(&self) -> bool {
        self.profile.consecutive_blocks
    }

    /// Everything on the device; empty: it stands on flash, and must be read.
    pub fn image(&self) -> &[u8] {
        match &self.store {
            Store::Memory(bytes) => bytes,
            Store::Flash(_) => &[],
        }
    }

    /// As [`Device::image`].
    pub fn into_image(self) -> Vec<u8> {
        match self.store {
            Store::Memory(bytes) => bytes,
            Store::Flash(_) => Vec::new(),
        }
    }

    /// Lets the device write so many more buffers and then cuts the power.
    pub fn cut_power_after(&mut self, written_buffers_count: u64) {
        self.writes_until_cut = Some(written_buffers_count);
    }

    /// Lets every transfer fail from now on, or work again.
    pub fn set_failing(&mut self, fails: bool) {
        self.fails = fails;
    }

    pub fn power_is_cut(&self) -> bool {
        self.writes_until_cut == Some(0)
    }

    /// Why the device failed last, for people.
    pub fn failure(&self) -> Option<String> {
        self.failure.as_ref().map(|failure| format!("the device failed: {failure}"))
    }

    /// Remembers why something failed.
    fn told<T>(&mut self, done: Result<T, DeviceError>) -> Result<T, DeviceError> {
        if let Err(error) = &done {
            self.failure = Some(error.clone());
        }
        done
    }

    /// Reads a segment into the first bytes of `buffer`.
    pub fn read(&mut self, segment: Segment, buffer: &mut [u8]) -> Result<(), DeviceError> {
        let done = self.try_read(segment, buffer);
        self.told(done)
    }

    fn try_read(&mut self, segment: Segment, buffer: &mut [u8]) -> Result<(), DeviceError> {
        if self.power_is_cut() {
            return Err(DeviceError::PowerCut);
        }
        if self.fails {
            return Err(DeviceError::Failed);
        }
        let buffer = &mut buffer[..segment.bytes as usize];
        match &mut self.store {
            Store::Memory(bytes) => {
                let range = range(segment, self.media_block_bytes, bytes.len())?;
                buffer.copy_from_slice(&bytes[range]);
                Ok(())
            }
            Store::Flash(flash) => Ok(flash.disk_mut().read(u64::from(segment.block), buffer)?),
        }
    }

    /// Writes the first bytes of `buffer` to a segment.
    pub fn write(&mut self, segment: Segment, buffer: &[u8]) -> Result<(), DeviceError> {
        let done = self.try_write(segment, buffer);
        self.told(done)
    }

    fn try_write(&mut self, segment: Segment, buffer: &[u8]) -> Result<(), DeviceError> {
        if let Some(left) = &mut self.writes_until_cut {
            if *left == 0 {
                return Err(DeviceError::PowerCut);
            }
            *left -= 1;
        }
        if self.fails {
            return Err(DeviceError::Failed);
        }
        let buffer = &buffer[..segment.bytes as usize];
        if let Some(kept) = &mut self.kept {
            kept.add(Told::Write { block: segment.block, data: Arc::from(buffer) });
        }
        match &mut self.store {
            Store::Memory(bytes) => {
                let range = range(segment, self.media_block_bytes, bytes.len())?;
                bytes[range].copy_from_slice(buffer);
                Ok(())
            }
            Store::Flash(flash) => Ok(flash.disk_mut().write(u64::from(segment.block), buffer)?),
        }
    }

    /// Everything that was written or trimmed lasts when this returns.
    pub fn flush(&mut self) -> Result<(), DeviceError> {
        let done = match &mut self.store {
            Store::Memory(_) => Ok(()),
            Store::Flash(flash) => flash.disk_mut().flush().map_err(DeviceError::from),
        };
        if let (Ok(()), Some(kept)) = (&done, &mut self.kept) {
            kept.add(Told::Flushed);
        }
        self.told(done)
    }

    /// What the translation layer has done, by names; `None`: there is none.
    pub fn layer_counts(&self) -> Option<Vec<(&'static str, u64)>> {
        let copies_back = self.flash()?.disk().ftl().statistics().copied_back_pages.is_some();
        let has = |name: &str| copies_back || name != COPIED_BACK_PAGES;
        Some(self.all_layer_counts()?.into_iter().filter(|(name, _)| has(name)).collect())
    }

    fn all_layer_counts(&self) -> Option<[(&'static str, u64); NAMED]> {
        let now = self.flash()?.disk().ftl().statistics().named();
        Some(std::array::from_fn(|i| (now[i].0, self.counts_before[i] + now[i].1)))
    }

    /// What the device does while nobody wants anything of it; `false`: there is no more of it.
    fn idle(&mut self) -> Result<bool, DeviceError> {
        let done = match &mut self.store {
            Store::Memory(_) => Ok(false),
            Store::Flash(flash) => flash.disk_mut().idle().map_err(DeviceError::from),
        };
        self.told(done)
    }

    /// Lets the device work by itself from `busy_until_ns` on, when it was done with what it had, to `until_ns`. What it has begun then
    /// it ends, and is busy until that time.
    ///
    /// # Errors
    /// As of a write.
    pub fn idles(
        &mut self,
        sim: &Sim,
        slices: &mut Vec<Slice>,
        busy_until_ns: &mut u64,
        until_ns: u64,
    ) -> Result<(), DeviceError> {
        while *busy_until_ns < until_ns {
            let start_ns = *busy_until_ns;
            let (more, end_ns) = sim.beside_the_clock(start_ns, slices, || self.idle());
            *busy_until_ns = end_ns;
            if !more? || end_ns == start_ns {
                break;
            }
        }
        Ok(())
    }

    /// Whether [`Device::trim`] does anything.
    pub fn can_trim(&self) -> bool {
        self.flash().is_some_and(|flash| flash.disk().can_trim())
    }

    /// Nobody needs these media blocks any more.
    pub fn trim(&mut self, block: u32, blocks: u32) -> Result<(), DeviceError> {
        let done = match &mut self.store {
            Store::Memory(_) => Ok(()),
            Store::Flash(flash) => {
                flash.disk_mut().trim(u64::from(block), u64::from(blocks)).map_err(DeviceError::from)
            }
        };
        self.told(done)
    }

    /// How long a request of these buffers takes, apart from what a translation layer does below.
    pub fn service(&self, write: bool, segments: &[Segment]) -> Service {
        let profile = &self.profile;
        let commands = segments.iter().map(|segment| {
            let change_ns = if write { profile.write_segment_ns } else { profile.read_segment_ns };
            let changes_ns = change_ns * self.segment_changes(*segment);
            let bytes = u64::from(segment.bytes);
            let transfer_ps = bytes * if write { profile.write_ps_per_byte } else { profile.read_ps_per_byte };
            let busy_ns = if write { profile.write_busy_ns } else { profile.read_access_ns };
            profile.command_ns + busy_ns + changes_ns + transfer_ps / 1000
        });
        Service { duration_ns: profile.request_ns + commands.sum::<u64>(), occupies_cpu: profile.occupies_cpu }
    }
}

impl Device {
    /// How many allocation units of a card a command comes to, beside that of the command before.
    fn segment_changes(&self, of: Segment) -> u64 {
        let unit_bytes = u64::from(self.profile.segment_bytes);
        if unit_bytes == 0 {
            return 0;
        }
        let start = u64::from(of.block) * u64::from(self.media_block_bytes);
        let (first, last) = (start / unit_bytes, (start + u64::from(of.bytes).max(1) - 1) / unit_bytes);
        let before = self.last_segment.replace(Some(last));
        last - first + u64::from(before != Some(first))
    }
}

/// The bytes of a segment in memory.
fn range(segment: Segment, media_block_bytes: u32, bytes: usize) -> Result<std::ops::Range<usize>, DeviceError> {
    let start = segment.block as usize * media_block_bytes as usize;
    let end = start + segment.bytes as usize;
    if end > bytes {
        Err(DeviceError::OutOfRange)
    } else {
        Ok(start..end)
    }
}
