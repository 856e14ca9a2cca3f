//! The simulated machine under test: chip, partition, file system, system calls.

use crate::board::Board;
use crate::call::{Answer, Call, Outcome};
use crate::nodes::Xattrs;
use crate::program::Program;
use crate::{Failure, Subject};
use ffslab_flash::{Chip, Faults, Geometry, Torn};
use ffslab_fs::Result;
use ffslab_linux::{Fd, OpenFlags, PagePolicies, Vfs};
use ffslab_mtd::{MediumImage, Mtd, NandPartition};
use ffslab_sim::{EventSink, NandWait, OpEvent, Sim};
use ffslab_system::{Calls, Refusal};

/// Memory of the simulated machine, and how its tasks wait for the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// 0: the smallest size that the page cache accepts, 16 pages, so that nearly every page is read again.
    pub page_cache_bytes: u64,
    pub read_ahead_bytes: u32,
    pub nand_wait: NandWait,
    /// Who decides in the page cache in place of the kernel.
    pub policies: PagePolicies,
}

impl Machine {
    pub const USUAL: Machine = Machine {
        page_cache_bytes: 64 << 20,
        read_ahead_bytes: 128 << 10,
        nand_wait: NandWait::Busy,
        policies: PagePolicies { read_ahead: None, write_back: None },
    };
    pub const TINY: Machine = Machine { page_cache_bytes: 0, read_ahead_bytes: 0, ..Machine::USUAL };
    /// Tasks sleep while the chip works, so that other tasks run in between.
    pub const ASLEEP: Machine = Machine { nand_wait: NandWait::Sleep, ..Machine::USUAL };
}

/// One machine with one partition that covers its chip.
pub struct Rig<'a> {
    pub subject: &'a dyn Subject,
    pub mtd: Mtd,
    pub vfs: Vfs,
    pub program: Program<'a>,
    sim: Sim,
}

impl<'a> Rig<'a> {
    /// An erased chip, switched on; nothing is mounted.
    pub fn new(subject: &'a dyn Subject, machine: Machine) -> std::result::Result<Rig<'a>, Failure> {
        Rig::on(subject, machine, |sim| subject.medium(sim))
    }

    /// A machine with the subject's medium, whose NAND chip `prepare` has set up.
    pub fn with_chip(
        subject: &'a dyn Subject,
        machine: Machine,
        prepare: impl FnOnce(&mut Chip) -> std::result::Result<(), Failure>,
    ) -> std::result::Result<Rig<'a>, Failure> {
        let rig = Rig::new(subject, machine)?;
        rig.nand()?.with_chip(prepare)?;
        Ok(rig)
    }

    fn on(
        subject: &'a dyn Subject,
        machine: Machine,
        make: impl FnOnce(&Sim) -> std::result::Result<Mtd, Failure>,
    ) -> std::result::Result<Rig<'a>, Failure> {
        let Board { sim, mtd, vfs } = Board::on(machine, 1_300_000_000, make)?;
        let program = Program::new(subject.own_entries(), subject.keeps_set_times());
        Ok(Rig { subject, mtd, vfs, program, sim })
    }

    /// A machine with the content of a snapshot.
    pub fn with_image(
        subject: &'a dyn Subject,
        machine: Machine,
        image: &MediumImage,
    ) -> std::result::Result<Rig<'a>, Failure> {
        let rig = Rig::new(subject, machine)?;
        rig.mtd.restore(image).map_err(Failure::of)?;
        Ok(rig)
    }

    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    pub fn geometry(&self) -> Geometry {
        self.subject.geometry()
    }

    /// Mounts. An error of the file system is returned.
    pub fn mount(&mut self) -> std::result::Result<(), Failure> {
        let fs = self.subject.mount(self.mtd.clone()).map_err(|text| Failure::new(format!("mount: {text}")))?;
        self.vfs.mount(fs).map_err(|error| Failure::new(format!("mount: {error}")))
    }

    /// Closes everything and unmounts.
    pub fn umount(&mut self) -> Result<()> {
        self.program.close_all(&mut self.vfs)?;
        self.vfs.umount()
    }

    /// Switches the power off and on: the content of RAM is lost, and a planned cut is cancelled.
    pub fn power_cycle(&mut self) {
        // What the medium does by itself ends.
        self.mtd.cut_power_after(0, Torn::Nothing);
        self.program.forget_all();
        self.vfs.crash();
        self.mtd.restart();
    }

    pub fn set_faults(&mut self, faults: &Faults) -> std::result::Result<(), Failure> {
        self.nand()?.with_chip(|chip| chip.set_faults(faults)).map_err(Failure::of)
    }

    /// The NAND that it stands on, for checks of what only NAND has.
    ///
    /// Errors: it stands on another medium.
    pub fn nand(&self) -> std::result::Result<&NandPartition, Failure> {
        self.mtd.nand().ok_or_else(|| Failure::new("this check is for NAND alone"))
    }

    pub fn snapshot(&self) -> MediumImage {
        self.mtd.snapshot()
    }

    /// Programs and erases so far.
    pub fn modifying_operations(&self) -> u64 {
        self.mtd.modifying_operations()
    }

    /// All flash operations so far.
    pub fn operations(&self) -> u64 {
        self.sim.total().operations()
    }

    /// Panics when more than `count` further flash operations are made, which is the only way to stop a file system
    /// that does not end. For callers that catch the panic.
    pub fn limit_operations(&mut self, count: u64) {
        self.sim.set_sink(Some(Box::new(OperationLimit { left: count, limit: count })));
    }

    /// The file system's limits, for the model: name length, file size.
    pub fn limits(&self) -> (usize, u64) {
        self.vfs.fs().map_or((255, u64::from(u32::MAX)), |fs| (fs.name_bytes_max(), fs.file_bytes_max()))
    }

    /// The share of the partition that statfs(2) reports as free, in per cent.
    pub fn free_percent(&mut self) -> Result<u64> {
        let statfs = self.vfs.statfs()?;
        Ok(statfs.blocks_free * 100 / statfs.blocks.max(1))
    }

    // ---- system calls --------------------------------------------------------------------------------------

    /// Makes a call on the system under test.
    ///
    /// # Errors
    /// The inner result is that of the program; the outer one fails when the file system could not be mounted again.
    pub fn call(&mut self, call: &Call) -> std::result::Result<Outcome, Failure> {
        match call {
            Call::Remount => {
                if let Err(error) = self.umount() {
                    return Ok(Err(error));
                }
                self.mount()?;
                Ok(Ok(Answer::Done))
            }
            Call::SyncAndCrash => {
                if let Err(refusal) = self.vfs.sync() {
                    return Ok(Err(refusal.errno()));
                }
                self.power_cycle();
                self.mount()?;
                Ok(Ok(Answer::Done))
            }
            _ => Ok(self.program.make(&mut self.vfs, call).map_err(Refusal::errno)),
        }
    }

    /// Reads a whole file, in pieces that do not end at the ends of pages.
    pub fn read_file(&mut self, path: &[u8]) -> Result<Vec<u8>> {
        let fd = self.vfs.open(path, OpenFlags { no_follow: true, ..OpenFlags::READ }, 0)?;
        let result = self.read_descriptor(fd);
        self.vfs.close(fd)?;
        result
    }

    /// Reads the whole content of a descriptor; the file position does not change.
    pub fn read_descriptor(&mut self, fd: Fd) -> Result<Vec<u8>> {
        let mut data = Vec::new();
        let mut piece = vec![0xEE; 30_001];
        loop {
            let count = self.vfs.pread(fd, &mut piece, data.len() as u64)?;
            if count == 0 {
                return Ok(data);
            }
            data.extend_from_slice(&piece[..count]);
        }
    }

    /// All extended attributes; none if the file system does not support them.
    pub fn xattrs(&mut self, path: &[u8]) -> Result<Xattrs> {
        if !self.subject.features().xattrs {
            return Ok(Xattrs::new());
        }
        let names = self.vfs.llistxattr(path)?;
        names.into_iter().map(|name| Ok((name.clone(), self.vfs.lgetxattr(path, &name)?))).collect()
    }

    /// Makes or replaces a whole file.
    pub fn write_file(&mut self, path: &[u8], data: &[u8], fsync: bool) -> Result<()> {
        let flags = OpenFlags { create: true, truncate: true, ..OpenFlags::WRITE };
        let fd = self.vfs.open(path, flags, 0o644)?;
        let mut result = Ok(());
        let mut written = 0;
        while written < data.len() && result.is_ok() {
            result = self.vfs.write(fd, &data[written..]).map(|count| written += count);
        }
        if fsync && result.is_ok() {
            result = self.vfs.fsync(fd);
        }
        Ok(self.vfs.close(fd).and(result)?)
    }
}

struct OperationLimit {
    left: u64,
    limit: u64,
}

impl EventSink for OperationLimit {
    fn flash_op(&mut self, _event: &OpEvent) {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => panic!("more than {} flash operations: the file system does not come to an end", self.limit),
        }
    }
}
