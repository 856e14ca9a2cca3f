//! What may be asked of a simulated machine from outside of its programs.

use crate::{Answer, Calls, ImageGiven, Runs, SystemError};
use ambassador::delegatable_trait;
use ffslab_flash::Torn;
use ffslab_fs::{BlockSpace, Unwritten};
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_text::words::size_text;
use std::ops::Range;

/// What was done on a mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountDone {
    /// Its directory: "/", "/data".
    pub at: String,
    pub fs: &'static str,
    /// Size of the partition or volume.
    pub bytes: u64,
    /// Erase blocks of the partition on the chip; `None`: it is a volume of a UBI that others share.
    pub blocks: Option<Range<u32>>,
    /// Other mounts are volumes on this one's UBI.
    pub is_shared: bool,
    /// By programs.
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// `None`: the blocks of a volume are those of others, too.
    pub page_programs: Option<u64>,
    /// Of each erase block of the partition, apart from those of formatting.
    pub erases: Vec<u32>,
    /// Of the mounted file system.
    pub free_bytes: Option<u64>,
}

/// What a layer knows that levels wear by differences of erases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levelling {
    /// The difference from which on data move.
    pub from_erases: u32,
    /// Its counter of each erase block; 0 for those that it does not use.
    pub counted_erases: Vec<u32>,
}

/// A simulated machine with one medium. What is on the medium outlives mounts and power cuts.
///
/// A [`SystemError`] is one line for people: what, where, what would be right.
#[delegatable_trait]
pub trait System: Calls {
    /// The machine itself, for callers that ask what only one system knows. `None`: this passes calls on to a machine.
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }

    /// See [`System::as_any`].
    fn as_any_mut(&mut self) -> Option<&mut dyn std::any::Any> {
        None
    }

    // ---- mounts and power -------------------------------------------------------------------------------------------

    /// Mounts. What the medium needs for it, such as a new file system on an empty disk, is made before.
    ///
    /// Errors: what the file system says, options that it does not have.
    fn mount(&mut self, options: &[String]) -> Result<(), SystemError>;

    /// Makes a new file system on the medium, apart from the mount that would make it on an empty one.
    ///
    /// Errors: something is mounted, the medium is too small.
    fn format(&mut self) -> Result<(), SystemError> {
        Err(self.lacks("formatter here (the first mount of an empty medium makes the file system)").into())
    }

    /// Unmounts; all files are closed by then.
    fn umount(&mut self) -> Answer<()>;

    fn is_mounted(&self) -> bool;

    /// Power fails and comes back: memory and open files are lost, the medium keeps what it holds.
    ///
    /// Errors: it does not start again.
    fn crash(&mut self) -> Result<(), SystemError>;

    /// The power goes away at the `operations`-th program or erase from now.
    fn cut_power_after(&mut self, operations: u64, torn: Torn) -> Answer<()> {
        let mtd = self.mtd().ok_or_else(|| self.lacks("flash whose power could be cut at an operation"))?;
        mtd.cut_power_after(operations, torn);
        Ok(())
    }

    /// Whether the medium has power: [`System::cut_power_after`] takes it away.
    fn is_powered(&self) -> bool {
        self.mtd().is_none_or(Mtd::is_on)
    }

    /// Programs and erases since the medium was made, the unit of [`System::cut_power_after`].
    fn modifying_operations(&self) -> u64 {
        self.mtd().map_or(0, Mtd::modifying_operations)
    }

    fn ubi_attach(&mut self) -> Result<(), SystemError> {
        Err(self.lacks("UBI").into())
    }

    /// A stage of a boot begins: from here on code takes what it takes in this program. Where that is another than before, the power was
    /// cut. Returns what is not known of it, in a sentence. `fastmap`: whether its UBI knows that; `None`: as the kernel's.
    ///
    /// Errors: there is no boot to look at.
    fn begin_stage(&mut self, _runs: Runs, _fastmap: Option<bool>) -> Result<Option<&'static str>, SystemError> {
        Err(self.lacks("boot of several stages").into())
    }

    /// Whose code runs.
    fn runs(&self) -> Runs {
        Runs::Linux
    }

    /// Reads so many bytes of a volume of the UBI that is attached, or all of it, and no check sums. Returns how many it were.
    ///
    /// Errors: no such volume, a read that fails.
    fn ubi_read(&mut self, _volume: &str, _bytes: Option<u64>) -> Result<u64, SystemError> {
        Err(self.lacks("UBI").into())
    }

    fn ubi_detach(&mut self) -> Result<(), SystemError> {
        Err(self.lacks("UBI").into())
    }

    /// Makes one volume of all that is available.
    fn ubi_make_volume(&mut self) -> Result<(), SystemError> {
        Err(self.lacks("UBI").into())
    }

    /// The device lies switched off for so many seconds at this temperature: cells lose charge, virtual time stands still.
    ///
    /// Errors: something is mounted or attached; nothing ages there.
    fn lies(&mut self, time_s: f64, celsius: f64) -> Result<(), SystemError> {
        if self.is_mounted() {
            return Err(SystemError::Mounted { what: "the partition" });
        }
        if self.mtd().is_some_and(|mtd| mtd.lies(time_s, celsius)) {
            Ok(())
        } else {
            Err(self.lacks("medium that ages: [stack.ageing] says how").into())
        }
    }

    /// Reads all of the partition once, in search of bits that went wrong. What is found is counted, and moved where a layer
    /// does so.
    ///
    /// Errors: there is no flash, the power was cut.
    fn scrub(&mut self) -> Result<(), SystemError> {
        let mtd = self.mtd().ok_or_else(|| self.lacks("flash"))?;
        mtd.read_all_pages().map_err(SystemError::unusable)
    }

    // ---- the program's own words ----------------------------------------------------------------------------------------

    /// The program tells somebody that something is done and will stay: whoever judges power cuts holds it to that. Takes no time.
    fn told(&mut self, _what: &str) {}

    // ---- caches -------------------------------------------------------------------------------------------------------

    /// The largest window of read-ahead of files that are opened from now on.
    fn set_read_ahead_bytes(&mut self, _bytes: u32) -> Answer<()> {
        Err(self.lacks("read-ahead that could be set"))
    }

    /// Writes out the headers of changed directories alone, where a file system defers them.
    fn sync_directories(&mut self) -> Answer<()> {
        Err(self.lacks("directories whose headers wait in memory"))
    }

    // ---- measuring ----------------------------------------------------------------------------------------------------

    /// What waits in memory. When the next phase of a run begins ([`ffslab_sim::Sim::next_phase`]), it is written under a cause of
    /// its own ([`ffslab_sim::LEFT_BY_SETUP`]) unless calls change it again. Takes no time.
    fn unwritten(&mut self) -> Unwritten;

    /// How many erase blocks of a new partition wait for being made usable by tasks in the background.
    fn blocks_to_format(&self) -> u32 {
        0
    }

    /// The clock before and after a measured step, which the measuring program reads by a call.
    fn step_clock_ns(&mut self) -> u64 {
        self.read_clock_ns()
    }

    /// What the system counts beyond flash operations, since it was made: always the same names in the same order.
    fn counters(&self) -> Vec<(&'static str, i64)> {
        self.mtd().and_then(Mtd::health).map_or_else(Vec::new, |health| health.counters())
    }

    // ---- views: only look, take no time ---------------------------------------------------------------------------------

    /// Free space of the mounted file system; `None`: nothing is mounted, or asking would cost something.
    fn free_bytes(&mut self) -> Option<u64> {
        None
    }

    /// The largest file that the mounted file system takes.
    fn file_bytes_max(&self) -> u64;

    /// Size of the partition or device.
    fn medium_bytes(&self) -> u64;

    /// The same of the mount to which a path leads, where there are several.
    fn medium_bytes_at(&self, _path: &[u8]) -> u64 {
        self.medium_bytes()
    }

    /// What was done on each of several mounts since the machine was made; empty: there is one.
    fn mounts_done(&self) -> Vec<MountDone> {
        Vec::new()
    }

    /// What to say when it is too small: what it holds, and what would be right.
    fn too_small(&self) -> String {
        let bytes = size_text(self.medium_bytes());
        let blocks = self.mtd().map_or_else(String::new, |mtd| format!(" ({} blocks)", mtd.blocks()));
        format!("the partition holds {bytes}{blocks} with the file system's own needs; enlarge it or write less")
    }

    /// Why a device below the system failed last, if one did: errors of calls do not tell it.
    fn failure(&self) -> Option<String> {
        None
    }

    /// The flash below its file systems, for callers that work or look there; `None`: there is none. What it can do says
    /// [`Mtd::capabilities`].
    fn mtd(&self) -> Option<&Mtd> {
        None
    }

    /// Erases of each erase block of the partition since the medium was made; empty: it has no erase blocks that count.
    fn erase_counts(&self) -> Vec<u32> {
        self.mtd().map_or_else(Vec::new, Mtd::erase_counts)
    }

    /// Those of them that only made blocks of a new partition usable.
    fn formatting_erases(&self) -> Vec<u32> {
        self.mtd().map_or_else(Vec::new, Mtd::formatting_erases)
    }

    /// Erases that each erase block bears from now on; empty: none wears out there.
    fn erases_left(&self) -> Vec<u32> {
        self.mtd().map_or_else(Vec::new, Mtd::erases_left)
    }

    /// What a layer knows that levels wear by moving data; `None`: none looks at differences of erases.
    fn levelling(&self) -> Option<Levelling> {
        None
    }

    /// Wears each erase block by so many erases that nobody does: a leap over a time in which nothing else changes. No
    /// virtual time passes.
    ///
    /// Errors: the medium has no erase blocks, or a layer keeps counts that nobody could change.
    fn wear_on(&mut self, more_erases: &[u32]) -> Answer<()> {
        let done = self.mtd().map(|mtd| mtd.wear_on(more_erases));
        done.and_then(Result::ok).ok_or_else(|| self.lacks("erase blocks whose wear could leap"))
    }

    /// Programmed pages of each erase block.
    fn programmed_pages(&self) -> Vec<u32> {
        self.mtd().map_or_else(Vec::new, Mtd::programmed_pages)
    }

    /// What each erase block holds, as the mounted file system accounts for it; empty: it does not tell.
    fn block_space(&self) -> Vec<BlockSpace> {
        Vec::new()
    }

    // ---- the medium itself ----------------------------------------------------------------------------------------------

    /// The bytes on the medium at this instant, without what waits in memory, with OOB areas if wanted.
    ///
    /// Errors: it has none that could be taken.
    fn image(&self, oob: bool) -> Result<Vec<u8>, SystemError>;

    /// Puts an image on the medium, as a programmer does with a chip: nothing wears, no time passes.
    ///
    /// Errors: something is mounted, an image that does not fit.
    fn load(&mut self, _given: &ImageGiven, _image: &[u8]) -> Result<(), SystemError> {
        Err(self.lacks("chip that could be programmed outside of it").into())
    }

    /// What the medium holds, with everything that a later machine needs to go on from there.
    ///
    /// Errors: what is on it does not outlive the machine.
    fn snapshot(&self) -> Result<MediumImage, SystemError>;
}
