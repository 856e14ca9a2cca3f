//! The phases of JFFS2, which has no block device: counted are the operations of the flash.

use super::steps::permutation;
use super::{Phase, RunError};
use crate::bdbuf::{Bdbuf, BdbufConfig};
use crate::imfs::{Imfs, ImfsOptions};
use crate::jffs2::{Compression, Jffs2, NorFlash};
use crate::libio::{Fd, Libio, OpenFlags, Whence};
use ffslab_flash::Traffic;
use ffslab_fs::Errno;
use ffslab_mtd::Mtd;
use ffslab_sim::{Sim, SimConfig};
use serde::Deserialize;

const FILE: &[u8] = b"/mnt/f.dat";

/// How a run was set up. The names are those of the measured cases.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct FlashSettings {
    pub flash_bytes: u32,
    #[serde(rename = "erase_block")]
    pub erase_block_bytes: u32,
    /// none, zlib, rtime.
    pub compressor: String,
    /// What is written: random, text, zero.
    pub data: String,
    #[serde(rename = "io_size")]
    pub io_bytes: usize,
    pub file_bytes: u64,
}

struct Run<'a> {
    settings: &'a FlashSettings,
    compression: Compression,
    libio: Libio,
    flash: Mtd,
    traffic: Traffic,
    calls: u64,
    phases: Vec<Phase>,
    data: Vec<u8>,
}

/// Runs all phases of a case.
pub fn run(settings: &FlashSettings) -> Result<Vec<Phase>, RunError> {
    let compression = match settings.compressor.as_str() {
        "none" => Compression::None,
        "zlib" => Compression::Zlib,
        "rtime" => Compression::Rtime,
        other => {
            let known = "none, zlib, rtime";
            return Err(RunError::Unknown { what: "compressor", value: other.into(), known });
        }
    };
    let data = content(&settings.data, settings.io_bytes)?;
    let sim = Sim::new(SimConfig::default());
    let blocks = settings.flash_bytes / settings.erase_block_bytes.max(1);
    let flash = Mtd::from(NorFlash::new(sim.clone(), settings.erase_block_bytes, blocks));
    let cache = Bdbuf::new(sim, BdbufConfig::default())?;
    let mut libio = Libio::new(cache, Box::new(Imfs::new(ImfsOptions::default())), 64);
    libio.mkdir(b"/mnt", 0o777).map_err(|error| RunError::Call { phase: "set-up".into(), error })?;
    let traffic = flash.traffic();
    let mut run = Run { settings, compression, libio, flash, traffic, calls: 0, phases: Vec::new(), data };
    run.all()?;
    Ok(run.phases)
}

fn content(kind: &str, bytes: usize) -> Result<Vec<u8>, RunError> {
    // The text that the measured cases wrote was not recorded, so this one stands in for it.
    const TEXT: &[u8] = b"The quick brown fox jumps over the lazy dog. ";
    match kind {
        "zero" => Ok(vec![0; bytes]),
        "text" => Ok(TEXT.iter().copied().cycle().take(bytes).collect()),
        "random" => {
            let mut state = 1u32;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            Ok((0..bytes).map(|_| next()).collect())
        }
        other => Err(RunError::Unknown { what: "kind of data", value: other.into(), known: "random, text, zero" }),
    }
}

impl Run<'_> {
    fn phase(&mut self, name: &str) {
        let traffic = self.flash.traffic();
        let flash = traffic - std::mem::replace(&mut self.traffic, traffic);
        let calls = std::mem::take(&mut self.calls);
        self.phases.push(Phase { name: name.into(), calls, flash, ..Phase::default() });
    }

    fn call<R>(&mut self, call: impl FnOnce(&mut Libio) -> Result<R, Errno>) -> Result<R, RunError> {
        self.calls += 1;
        call(&mut self.libio).map_err(|error| {
            let after = self.phases.last().map_or("none", |phase| phase.name.as_str());
            RunError::Call { phase: format!("after {after}"), error }
        })
    }

    fn single<R>(&mut self, name: &str, call: impl FnOnce(&mut Libio) -> Result<R, Errno>) -> Result<R, RunError> {
        let result = self.call(call)?;
        self.phase(name);
        Ok(result)
    }

    fn mount(&mut self, name: &str) -> Result<(), RunError> {
        let fs = Jffs2::mount(&self.flash, self.compression)?;
        self.single(name, |libio| libio.mount(Box::new(fs), b"/mnt", true))
    }

    fn requests(&self) -> usize {
        (self.settings.file_bytes / self.settings.io_bytes.max(1) as u64) as usize
    }

    fn seek(&mut self, fd: Fd, request: usize) -> Result<(), RunError> {
        let offset = (request * self.settings.io_bytes) as i64;
        let moved = self.libio.lseek(fd, offset, Whence::Set);
        moved.map(|_| ()).map_err(|error| RunError::Call { phase: "seek".into(), error })
    }

    fn writes(&mut self, fd: Fd, order: &[usize]) -> Result<(), RunError> {
        let data = std::mem::take(&mut self.data);
        for &request in order {
            self.seek(fd, request)?;
            self.call(|libio| libio.write(fd, &data))?;
        }
        self.data = data;
        Ok(())
    }

    fn reads(&mut self, fd: Fd, order: &[usize]) -> Result<(), RunError> {
        let mut buffer = vec![0; self.settings.io_bytes];
        for &request in order {
            self.seek(fd, request)?;
            self.call(|libio| libio.read(fd, &mut buffer))?;
        }
        Ok(())
    }

    fn all(&mut self) -> Result<(), RunError> {
        let in_order: Vec<usize> = (0..self.requests()).collect();
        let random = permutation(self.requests());
        self.mount("mount_erased")?;
        let fd = self.single("open_create", |libio| libio.open(FILE, OpenFlags::CREATE, 0o644))?;
        self.writes(fd, &in_order)?;
        self.phase("seq_write_append");
        // RTEMS's default handler of fsync fails.
        self.single("fsync", |libio| {
            libio.fsync(fd).or_else(|error| (error == Errno::Inval).then_some(()).ok_or(error))
        })?;
        self.single("close", |libio| libio.close(fd))?;

        let fd = self.single("open_rdonly", |libio| libio.open(FILE, OpenFlags::READ, 0))?;
        self.reads(fd, &in_order)?;
        self.phase("seq_read");
        self.reads(fd, &random)?;
        self.phase("rand_read");
        self.libio.close(fd).map_err(|error| RunError::Call { phase: "close".into(), error })?;
        let fd = self.single("reopen", |libio| libio.open(FILE, OpenFlags::READ_WRITE, 0))?;
        self.writes(fd, &in_order)?;
        self.phase("seq_overwrite");
        self.writes(fd, &random)?;
        self.phase("rand_overwrite");
        for _ in 0..6 {
            self.writes(fd, &random)?;
        }
        self.phase("rand_overwrite_x6_gc");
        self.single("close", |libio| libio.close(fd))?;
        self.single("unmount", |libio| libio.unmount(b"/mnt"))?;
        self.mount("remount")?;
        self.single("unlink", |libio| libio.unlink(FILE))?;

        self.single("mkdir", |libio| libio.mkdir(b"/mnt/d", 0o755))?;
        let name = |i: usize| format!("/mnt/d/file{i:02}.txt");
        let short: Vec<u8> = self.data.iter().copied().cycle().take(100).collect();
        for i in 0..20 {
            self.call(|libio| {
                let fd = libio.open(name(i).as_bytes(), OpenFlags::CREATE, 0o644)?;
                libio.write(fd, &short)?;
                libio.close(fd)
            })?;
        }
        self.phase("create_20_100B");
        for i in 0..20 {
            self.call(|libio| libio.unlink(name(i).as_bytes()))?;
        }
        self.phase("unlink_20");
        Ok(())
    }
}
