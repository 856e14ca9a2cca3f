//! # ubi: unsorted block images, the layer between UBIFS and raw NAND
//!
//! **Role.** Turns the erase blocks of a partition (PEBs), which wear out and go bad, into volumes of logical erase
//! blocks (LEBs) that do not: finds out at attach which block holds which LEB, hands out free blocks by wear, erases in
//! the background, moves data away from bit flips, replaces bad blocks. The true on-flash format.
//!
//! **Follows.** Linux 6.1 `drivers/mtd/ubi`: `ubi-media.h`, `io.c`, `attach.c`, `vtbl.c`, `vmt.c`, `upd.c`, `eba.c`,
//! `wl.c`, `kapi.c`, `build.c`, and `lib/rbtree.c`, whose shape decides which free block comes next. The reserve for bad
//! blocks can follow 2.6.37 instead, and so can the choice of a free block by how long data will stay ([`DataLife`]). Rules of
//! `ffslab-policy` can take the place of those of `wl.c` ([`WearRules`]).
//!
//! Fastmap is off unless it is asked for, since `CONFIG_MTD_UBI_FASTMAP` is off in the kernels in question ([`UbiOptions::fastmap`]).
//!
//! **Leaves out.** The checks of its debug mode (`fm_debug` among them), NOR flash, read-only and exclusive opening of volumes, emulated MTD devices (gluebi) and
//! block devices on volumes, volumes from before sequence numbers. The user's calls run to their end, so a LEB is never
//! contended. An attached partition uses the one [`causes::UBI_THREAD`] of its simulation: attach one at a time.

mod attach;
mod bitflip_check;
pub mod causes;
mod device;
mod error;
mod fastmap;
mod io;
mod leap;
mod leb;
mod levelling;
mod media;
mod options;
pub mod probe;
mod protection;
mod room;
mod scan;
mod table;
pub mod ubinize;
mod volume;
mod volumes;
mod wear;
mod wear_tree;

use std::cell::RefCell;
use std::rc::Rc;

use device::{Device, UNMAPPED};
use ffslab_mtd::Mtd;
use ffslab_sim::Sim;
use wear::Place;

pub use error::{AttachError, UbiError};
pub use media::{vid_header_offset, LebAddress, VolumeKind};
pub use options::{BadReserve, DataLife, UbiOptions, WearRules, MAX_BEB_PER1024_DEFAULT, WL_THRESHOLD_DEFAULT};
pub use room::Room;
pub use volume::{Volume, VolumeInfo};
pub use volumes::{VolumeRequest, VolumeSize};

/// An attached partition; clones are cheap and share it.
#[derive(Clone)]
pub struct Ubi(Rc<RefCell<Device>>);

/// How many erase blocks are in which state; all of them together are the partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PebCounts {
    /// Erased, with an erase counter header.
    pub free_pebs: u32,
    /// Hold a LEB.
    pub used_pebs: u32,
    /// Those used blocks that wait to be moved because of bit flips, or that cannot be moved because of read errors.
    pub doubtful_pebs: u32,
    /// Wait for their erase.
    pub pending_pebs: u32,
    /// Hold the fastmap.
    pub fastmap_pebs: u32,
    pub bad_pebs: u32,
    /// Blocks that are left alone, because they are corrupted or belong to an unknown internal volume.
    pub kept_pebs: u32,
}

/// What an erase block is used for. See [`Ubi::look_at_pebs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PebUse {
    /// Bad, corrupted, or unknown.
    Nowhere,
    /// Erased: only the header of its erase counter is in it.
    Free,
    /// Waits for its erase.
    Pending,
    /// Holds a LEB; `written_bytes` reach to the last page that is programmed.
    Leb { address: LebAddress, written_bytes: u32 },
    /// Holds a part of the fastmap.
    Fastmap,
}

impl Ubi {
    /// Reads the headers of all erase blocks and the volume table, and starts the background thread
    /// ([`causes::UBI_THREAD`]). An erased partition is formatted as far as the kernel does it: the volume table is written,
    /// the other blocks wait for the thread.
    pub fn attach(mtd: Mtd, options: &UbiOptions) -> Result<Ubi, AttachError> {
        Ok(Ubi(Rc::new(RefCell::new(Device::attach(mtd, options)?))))
    }

    /// Ends the background thread. If it sleeps while the medium erases, the block is finished before; otherwise this needs no
    /// flash operation. The next attach finds the blocks that still wait for their
    /// erase, and with them LEBs that were unmapped. Open volumes cannot be used any more.
    pub fn detach(&self) {
        self.0.borrow_mut().detach();
    }

    /// The same when the power has gone: an erase is not finished.
    pub fn vanish(&self) {
        self.0.borrow_mut().vanish();
    }

    /// Runs one turn of the background thread's loop, which does one work. The caller holds the CPU for
    /// [`causes::UBI_THREAD`] ([`Sim::run_as`]). `true`: the thread goes on at once, unless the scheduling point that
    /// follows its work ([`Sim::resched`]) gives the CPU to another task; `false`: it sleeps.
    ///
    /// A dispatcher of tasks therefore calls this until it returns `false` or another task has to run.
    pub fn run_task(&self) -> bool {
        self.0.borrow_mut().thread_step()
    }

    /// Erase blocks that were blank at the attach and that the background thread has not erased yet; none if it does not work.
    pub fn blocks_to_format(&self) -> u32 {
        self.0.borrow().blocks_to_format()
    }

    /// Does all works that wait for the background thread, in the task of the caller.
    pub fn flush(&self) -> Result<(), UbiError> {
        self.0.borrow_mut().flush(None, None)
    }

    // ---- volumes -------------------------------------------------------------------------------------------

    /// Makes a volume and returns its number.
    pub fn make_volume(&self, request: &VolumeRequest) -> Result<u32, UbiError> {
        self.0.borrow_mut().make_volume(request)
    }

    /// Changes the number of LEBs. LEBs beyond the new end lose their content.
    pub fn resize_volume(&self, id: u32, lebs: u32) -> Result<(), UbiError> {
        self.0.borrow_mut().resize_volume(id, lebs)
    }

    pub fn rename_volume(&self, id: u32, name: &str) -> Result<(), UbiError> {
        self.0.borrow_mut().rename_volume(id, name)
    }

    pub fn remove_volume(&self, id: u32) -> Result<(), UbiError> {
        self.0.borrow_mut().remove_volume(id)
    }

    /// Opens a volume. The data of a static one are read and checked when it is opened for the first time.
    pub fn open(&self, id: u32) -> Result<Volume, UbiError> {
        Volume::open(&self.0, id)
    }

    /// Lets the content of a volume be read whose update was interrupted, for readers of images: a mix of old and new.
    pub fn forget_interrupted_update(&self, id: u32) -> Result<(), UbiError> {
        self.0.borrow_mut().volume_mut(id)?.update_interrupted = false;
        Ok(())
    }

    pub fn open_by_name(&self, name: &str) -> Result<Volume, UbiError> {
        self.open(self.id_of(name)?)
    }

    fn id_of(&self, name: &str) -> Result<u32, UbiError> {
        let device = self.0.borrow();
        let user_volumes = device.volumes.iter().take(device.slots() as usize).flatten();
        let found = user_volumes.filter(|volume| volume.name == name.as_bytes()).map(|volume| volume.id).next();
        found.ok_or(UbiError::NoVolume)
    }

    /// Reads a volume from its begin, so many bytes or all that it holds, as U-Boot does (`ubi_volume_read` of its `cmd/ubi.c`): LEB by
    /// LEB, and a static volume is not checked. Returns how many bytes it were.
    pub fn load_volume(&self, name: &str, bytes: Option<u64>) -> Result<u64, UbiError> {
        let volume = Volume::unchecked(&self.0, self.id_of(name)?)?;
        let info = volume.info()?;
        let wanted = bytes.map_or(info.used_bytes, |bytes| bytes.min(info.used_bytes));
        let mut buffer = vec![0; info.leb_bytes as usize];
        let mut rest = wanted;
        for leb in 0..info.lebs {
            let now = rest.min(u64::from(info.leb_bytes));
            volume.read(leb, 0, &mut buffer[..now as usize])?;
            rest -= now;
            if rest == 0 {
                break;
            }
        }
        Ok(wanted)
    }

    /// The volumes, by number.
    pub fn volumes(&self) -> Vec<VolumeInfo> {
        let device = self.0.borrow();
        let leb_bytes = device.io.layout.leb_bytes;
        let user_volumes = device.volumes.iter().take(device.slots() as usize).flatten();
        user_volumes.map(|volume| VolumeInfo::of(volume, leb_bytes)).collect()
    }

    // ---- the device ----------------------------------------------------------------------------------------

    pub fn sim(&self) -> Sim {
        self.0.borrow().sim.clone()
    }

    /// Bytes of a LEB of a volume without alignment.
    pub fn leb_bytes(&self) -> u32 {
        self.0.borrow().io.layout.leb_bytes
    }

    /// Smallest unit that can be written: a page.
    pub fn min_io_bytes(&self) -> u32 {
        self.0.borrow().io.layout.min_io_bytes
    }

    /// LEBs that belong to no volume and to no reserve.
    pub fn available_lebs(&self) -> u32 {
        self.0.borrow().space.available_pebs
    }

    /// How the erase blocks are distributed.
    pub fn room(&self) -> Room {
        self.0.borrow().room()
    }

    /// LEBs of volumes, UBI's own blocks and the reserve for bad blocks.
    pub fn reserved_lebs(&self) -> u32 {
        self.0.borrow().space.reserved_pebs
    }

    /// Blocks that are left in the reserve for bad blocks.
    pub fn bad_reserve_pebs(&self) -> u32 {
        self.0.borrow().space.bad_reserve_pebs
    }

    /// Difference of erase counters from which on data move (`CONFIG_MTD_UBI_WL_THRESHOLD`, or what the rule in its place says).
    /// `None`: they never do, or by a score or somebody's rule, which says no difference.
    pub fn levels_from_erases(&self) -> Option<u32> {
        self.0.borrow().wear.levels_from_erases()
    }

    /// Wears each erase block by so many erases that nobody does; counters in memory and on the flash say so afterwards.
    ///
    /// Errors: a medium that cannot do it.
    pub fn wear_on(&self, more_erases: &[u32]) -> Result<(), UbiError> {
        self.0.borrow_mut().wear_on(more_erases)
    }

    pub fn max_erase_counter(&self) -> u32 {
        self.0.borrow().wear.erases_max
    }

    /// The erase counter of each block; `None`: bad, or not UBI's.
    pub fn erase_counters(&self) -> Vec<Option<u32>> {
        let device = self.0.borrow();
        let wear = &device.wear;
        let known = wear.places.iter().zip(&wear.erases);
        known.map(|(&place, &erases)| (place != Place::Nowhere).then_some(erases)).collect()
    }

    /// Whether it was attached by a fastmap.
    pub fn is_attached_by_fastmap(&self) -> bool {
        self.0.borrow().attached_by_fastmap()
    }

    /// What each erase block is used for; for observers of a simulation: no operation, no time.
    pub fn look_at_pebs(&self) -> Vec<PebUse> {
        let device = self.0.borrow();
        let of_place = |place: &Place| match place {
            Place::Nowhere => PebUse::Nowhere,
            Place::Free | Place::Pooled | Place::Anchor => PebUse::Free,
            Place::Fastmap => PebUse::Fastmap,
            _ => PebUse::Pending,
        };
        let mut uses: Vec<PebUse> = device.wear.places.iter().map(of_place).collect();
        for volume in device.volumes.iter().flatten() {
            for (leb, &peb) in volume.pebs.iter().enumerate().filter(|(_, &peb)| peb != UNMAPPED) {
                let written_bytes = device.io.look_at_written_bytes(peb).unwrap_or(device.io.layout.leb_bytes);
                let address = LebAddress { volume_id: volume.id, leb_number: leb as u32 };
                uses[peb as usize] = PebUse::Leb { address, written_bytes };
            }
        }
        uses
    }

    /// Reads every erase block and has those moved in which ECC had to correct bits up to its threshold
    /// (`UBI_IOCRPEB` for each block); the background thread gets its turn between two blocks. Returns how many they were.
    ///
    /// Errors: a power cut, a chip that fails otherwise.
    pub fn check_bitflips(&self) -> Result<u32, UbiError> {
        let pebs = self.0.borrow().wear.places.len() as u32;
        let mut found = 0;
        for peb in 0..pebs {
            let mut device = self.0.borrow_mut();
            found += u32::from(device.check_bitflips(peb)?);
            device.let_thread_run();
        }
        Ok(found)
    }

    /// Bytes of an erase block, of which [`Ubi::leb_bytes`] are left for data.
    pub fn peb_bytes(&self) -> u32 {
        self.0.borrow().io.layout.peb_bytes
    }

    /// Whether an error has made the device read-only.
    pub fn is_read_only(&self) -> bool {
        self.0.borrow().io.read_only
    }

    pub fn peb_counts(&self) -> PebCounts {
        let device = self.0.borrow();
        let mut counts = PebCounts { bad_pebs: device.space.bad_pebs, ..PebCounts::default() };
        let mut nowhere_pebs = 0;
        for place in &device.wear.places {
            match place {
                Place::Free | Place::Pooled | Place::Anchor => counts.free_pebs += 1,
                Place::Fastmap => counts.fastmap_pebs += 1,
                Place::Used | Place::Protected => counts.used_pebs += 1,
                Place::Scrub | Place::Erroneous => {
                    counts.used_pebs += 1;
                    counts.doubtful_pebs += 1;
                }
                Place::Pending => counts.pending_pebs += 1,
                Place::Nowhere => nowhere_pebs += 1,
            }
        }
        counts.kept_pebs = nowhere_pebs - counts.bad_pebs;
        counts
    }
}
