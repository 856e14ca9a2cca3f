//! The phases themselves.

use super::Run;
use crate::libio::{Fd, OpenFlags, Whence};
use ffslab_fs::Errno;

const FILE: &[u8] = b"/mnt/f.dat";

/// The generator of the measured cases: 0..n in random order.
pub(super) fn permutation(n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut state = 12345u32;
    for i in (1..n).rev() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        order.swap(i, (state >> 8) as usize % (i + 1));
    }
    order
}

impl Run {
    fn requests(&self) -> usize {
        (self.settings.file_bytes / self.settings.io_bytes as u64) as usize
    }

    fn buffer(&self) -> Vec<u8> {
        vec![0x5a; self.settings.io_bytes]
    }

    fn seek(&mut self, fd: Fd, request: usize) -> Result<(), Errno> {
        let offset = (request * self.settings.io_bytes) as i64;
        self.libio.lseek(fd, offset, Whence::Set).map(|_| ())
    }

    /// Makes `count` reads of the request size.
    fn reads(&mut self, fd: Fd, order: Option<&[usize]>, count: usize) -> Result<(), Errno> {
        let mut buffer = self.buffer();
        for i in 0..count {
            if let Some(order) = order {
                self.seek(fd, order[i])?;
            }
            self.call(|libio| libio.read(fd, &mut buffer))?;
        }
        Ok(())
    }

    fn writes(&mut self, fd: Fd, order: Option<&[usize]>, count: usize) -> Result<(), Errno> {
        let buffer = self.buffer();
        for i in 0..count {
            if let Some(order) = order {
                self.seek(fd, order[i])?;
            }
            self.call(|libio| libio.write(fd, &buffer))?;
        }
        Ok(())
    }

    /// How many requests are written. RFS of 2018 makes a file shorter when less than a block is written into its full
    /// last block, so the requests in the last block are left out.
    fn requests_without_last(&self) -> usize {
        self.requests() - (self.settings.fs_block_bytes as usize).div_ceil(self.settings.io_bytes)
    }

    pub(super) fn io(&mut self) -> Result<(), Errno> {
        self.format_and_mount()?;
        self.file_phases()?;
        self.many_files()?;
        self.unmount()
    }

    pub(super) fn small(&mut self) -> Result<(), Errno> {
        self.format_and_mount()?;
        self.file_phases()?;
        self.unmount()
    }

    pub(super) fn meta(&mut self) -> Result<(), Errno> {
        self.format_and_mount()?;
        self.many_files()?;
        self.unmount()
    }

    fn unmount(&mut self) -> Result<(), Errno> {
        if self.is_in_memory() {
            return Ok(());
        }
        self.single("unmount", |libio| libio.unmount(b"/mnt"))
    }

    fn file_phases(&mut self) -> Result<(), Errno> {
        let n = self.requests();
        let reduced = self.requests_without_last().max(1).min(n);
        let order = permutation(n);
        let reduced_order = permutation(reduced);

        let fd = self.single("open_create", |libio| libio.open(FILE, OpenFlags::CREATE, 0o644))?;
        self.writes(fd, None, n)?;
        self.phase("seq_write_append");
        self.single("fsync_1", |libio| libio.fsync(fd))?;
        self.single("close_1", |libio| libio.close(fd))?;

        let fd = self.single("open_rdonly", |libio| libio.open(FILE, OpenFlags::READ, 0))?;
        self.reads(fd, None, n)?;
        self.phase("seq_read");
        self.reads(fd, Some(&order), n)?;
        self.phase("rand_read");
        self.single("close_2", |libio| libio.close(fd))?;

        let fd = self.single("open_wronly", |libio| libio.open(FILE, OpenFlags::WRITE, 0))?;
        self.writes(fd, None, n)?;
        self.phase("seq_overwrite");
        self.single("fsync_2", |libio| libio.fsync(fd))?;
        self.writes(fd, Some(&reduced_order), reduced)?;
        self.phase("rand_overwrite");
        self.single("fsync_3", |libio| libio.fsync(fd))?;
        self.single("close_3", |libio| libio.close(fd))?;

        let fd = self.single("open_rdwr", |libio| libio.open(FILE, OpenFlags::READ_WRITE, 0))?;
        self.mixed(fd, &reduced_order)?;
        self.single("fsync_4", |libio| libio.fsync(fd))?;
        self.single("unlink_open", |libio| libio.unlink(FILE))?;
        self.single("close_after_unlink", |libio| libio.close(fd))?;

        let second = b"/mnt/g.dat";
        let fd = self.single("open_create_2", |libio| libio.open(second, OpenFlags::CREATE, 0o644))?;
        if self.settings.test == "io" {
            let bytes = self.settings.file_bytes;
            self.single("ftruncate_extend", |libio| libio.ftruncate(fd, bytes))?;
            self.writes(fd, None, n)?;
            self.phase("seq_write_after_truncate");
        }
        self.single("close_4", |libio| libio.close(fd))?;
        self.single("unlink_closed", |libio| libio.unlink(second))?;

        if self.settings.fs == "rfs" && self.settings.io_bytes < self.settings.fs_block_bytes as usize {
            return Ok(());
        }
        let third = b"/mnt/h.dat";
        let fd = self.single("open_create_3", |libio| libio.open(third, OpenFlags::CREATE, 0o644))?;
        self.writes(fd, Some(&order), n)?;
        self.phase("rand_write_new_file");
        self.single("close_5", |libio| libio.close(fd))?;
        self.single("unlink_3", |libio| libio.unlink(third))
    }

    /// Alternates between reads and writes.
    fn mixed(&mut self, fd: Fd, order: &[usize]) -> Result<(), Errno> {
        let mut buffer = self.buffer();
        for (i, &request) in order.iter().enumerate() {
            self.seek(fd, request)?;
            match i % 2 {
                0 => self.call(|libio| libio.read(fd, &mut buffer))?,
                _ => self.call(|libio| libio.write(fd, &buffer))?,
            };
        }
        self.phase("rand_mixed_50_50");
        Ok(())
    }

    fn many_files(&mut self) -> Result<(), Errno> {
        let short = |i: usize| format!("/mnt/d/file{i:02}.txt");
        let long = |i: usize| format!("/mnt/d/a long file name number {i:02}.text");
        self.single("mkdir", |libio| libio.mkdir(b"/mnt/d", 0o755))?;
        self.create_20(short)?;
        self.phase("create_20_short_names_100B");
        self.create_20(long)?;
        self.phase("create_20_long_names_100B");

        let entries = self.call(|libio| {
            let fd = libio.open(b"/mnt/d", OpenFlags::READ, 0)?;
            let mut entries = 0;
            while libio.read_dir(fd)?.is_some() {
                entries += 1;
            }
            libio.close(fd)?;
            Ok(entries)
        })?;
        self.phase(&format!("readdir_{entries}_entries"));

        let mut buffer = [0; 100];
        for i in 0..20 {
            self.call(|libio| {
                let fd = libio.open(short(i).as_bytes(), OpenFlags::READ, 0)?;
                libio.read(fd, &mut buffer)?;
                libio.close(fd)
            })?;
        }
        self.phase("open_read_close_20");
        for i in 0..20 {
            self.call(|libio| libio.unlink(short(i).as_bytes()))?;
        }
        self.phase("unlink_20_short");
        for i in 0..20 {
            self.call(|libio| libio.unlink(long(i).as_bytes()))?;
        }
        self.phase("unlink_20_long");
        self.single("rmdir", |libio| libio.rmdir(b"/mnt/d"))
    }

    fn create_20(&mut self, name: impl Fn(usize) -> String) -> Result<(), Errno> {
        for i in 0..20 {
            self.call(|libio| {
                let fd = libio.open(name(i).as_bytes(), OpenFlags::CREATE, 0o644)?;
                libio.write(fd, &[0x5a; 100])?;
                libio.close(fd)
            })?;
        }
        Ok(())
    }

    pub(super) fn hold(&mut self) -> Result<(), Errno> {
        const STEP_NS: u64 = 250_000_000;
        self.format_and_mount()?;
        let fd = self.single("open_create", |libio| libio.open(FILE, OpenFlags::CREATE, 0o644))?;
        self.writes(fd, None, 4)?;
        self.phase("write_4");
        for step in 1..=12 {
            self.libio.sleep_until(step * STEP_NS);
            self.phase(&format!("idle_to_{}_us", step * STEP_NS / 1000));
            if step == 6 {
                self.single("close", |libio| libio.close(fd))?;
            }
        }
        self.unmount()
    }
}
