//! Access to the volume: the one file that knows UBI.
//!
//! Follows `fs/ubifs/io.c` (`ubifs_leb_read`, `ubifs_leb_write` ...): after an error of a write the file system is
//! read-only.

use crate::error::{Fail, Res};
use crate::geometry::Geometry;
use ffslab_fs::Errno;
use ffslab_sim::Sim;
use ffslab_ubi::{DataLife, UbiError, Volume};

impl From<UbiError> for Fail {
    fn from(error: UbiError) -> Fail {
        match error {
            UbiError::PowerCut => Fail::Errno(Errno::PowerCut),
            UbiError::Uncorrectable => Fail::BadMessage,
            UbiError::NoSpace => Fail::Errno(Errno::NoSpc),
            UbiError::ReadOnly => Fail::Errno(Errno::RoFs),
            _ => Fail::Errno(Errno::Io),
        }
    }
}

/// How long UBIFS of 2.6.37 tells UBI that data will stay (`UBI_SHORTTERM` in its `log.c`, `master.c`, `tnc_commit.c`, `lpt_commit.c` ...);
/// exceptions call [`Lebs::expecting`].
const LIFE_OF_MOST: DataLife = DataLife::Short;

/// The LEBs of the volume: whatever is read from flash or written to it goes through here. Nothing here knows space,
/// journal or index, so a read or a write cannot change them.
pub(crate) struct Lebs {
    pub sim: Sim,
    volume: Volume,
    pub geo: Geometry,
    /// After an error nothing is written any more.
    pub read_only: bool,
    /// Mounted read-only: what a power cut left is mended in memory alone.
    pub ro_mount: bool,
    /// Data nodes' check sums are tested only during mount, unless the mount option says otherwise.
    pub check_data_crc: bool,
    pub max_sqnum: u64,
    /// Buffers of one LEB each that nobody uses now.
    pub buffers: Vec<Vec<u8>>,
}

impl Lebs {
    pub fn new(sim: Sim, mut volume: Volume, geo: Geometry) -> Lebs {
        volume.expect(LIFE_OF_MOST);
        Lebs {
            sim,
            volume,
            geo,
            read_only: false,
            ro_mount: false,
            check_data_crc: true,
            max_sqnum: 0,
            buffers: Vec::new(),
        }
    }

    pub fn volume_id(&self) -> u32 {
        self.volume.id()
    }

    pub fn is_mapped(&self, lnum: u32) -> bool {
        self.volume.is_mapped(lnum)
    }

    /// Erase counter of the block that holds the LEB.
    pub fn erases_of(&self, lnum: u32) -> u32 {
        self.volume.erases_of(lnum)
    }

    /// Bytes for an observer of the simulation: no flash operation, no time.
    pub fn look(&self, lnum: u32, offs: u32, bytes: &mut [u8]) -> Res<()> {
        Ok(self.volume.look(lnum, offs, bytes)?)
    }

    pub fn read(&self, lnum: u32, offs: u32, bytes: &mut [u8]) -> Res<()> {
        Ok(self.volume.read(lnum, offs, bytes)?)
    }

    /// Reads bytes that carry a check sum of their own, and leaves it to that check sum to find damage: when the
    /// programming of a page was cut off by a power loss, its data may be right although the ECC bytes that confirm
    /// them are missing. Linux fails with an I/O error in this case where it reads LPT nodes.
    pub fn read_checked(&self, lnum: u32, offs: u32, bytes: &mut [u8]) -> Res<()> {
        match self.read(lnum, offs, bytes) {
            Err(Fail::BadMessage) => Ok(()),
            result => result,
        }
    }

    pub fn write(&mut self, lnum: u32, offs: u32, bytes: &[u8]) -> Res<()> {
        self.check_writable()?;
        let result = self.volume.write(lnum, offs, bytes);
        self.written(result)
    }

    /// Replaces the content of a LEB, all or nothing.
    pub fn change(&mut self, lnum: u32, bytes: &[u8]) -> Res<()> {
        self.check_writable()?;
        let result = self.volume.change(lnum, bytes);
        self.written(result)
    }

    /// What `write` writes is expected to stay so long.
    pub fn expecting<R>(&mut self, life: DataLife, write: impl FnOnce(&mut Lebs) -> R) -> R {
        self.volume.expect(life);
        let result = write(self);
        self.volume.expect(LIFE_OF_MOST);
        result
    }

    pub fn map(&mut self, lnum: u32) -> Res<()> {
        self.check_writable()?;
        let result = self.volume.map(lnum);
        self.written(result)
    }

    pub fn unmap(&mut self, lnum: u32) -> Res<()> {
        self.check_writable()?;
        let result = self.volume.unmap(lnum);
        self.takes_next_lock();
        self.written(result)
    }

    /// The lock that the kernel takes next after an unmap, which has woken UBI's thread (`wake_up_process` in `drivers/mtd/ubi/wl.c`):
    /// on a kernel whose tasks may lose the CPU in the middle of a call it is a scheduling point (`might_sleep` in `mutex_lock` and
    /// `down_write`).
    fn takes_next_lock(&self) {
        if self.sim.preempts_calls() {
            self.volume.cond_resched();
        }
    }

    /// Where the kernel has a `cond_resched` in the middle of something that takes long.
    pub fn cond_resched(&self) {
        self.volume.cond_resched();
    }

    pub fn check_writable(&self) -> Res<()> {
        if self.read_only || self.ro_mount {
            return Err(Fail::Errno(Errno::RoFs));
        }
        Ok(())
    }

    fn written(&mut self, result: Result<(), UbiError>) -> Res<()> {
        result.map_err(|error| {
            self.read_only = true;
            Fail::from(error)
        })
    }
}
