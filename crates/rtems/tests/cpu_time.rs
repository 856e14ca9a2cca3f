//! CPU time: it changes no count, adds up to the clock, and makes the differences that it should, from its causes.

use ffslab_block::Device;
use ffslab_profiles::{block_device, rtems_board};
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig, BdbufCounts};
use ffslab_rtems::cpu::Cpu;
use ffslab_rtems::imfs::{Imfs, ImfsOptions};
use ffslab_rtems::jffs2::{Compression, Jffs2, NorFlash};
use ffslab_rtems::libio::{Libio, OpenFlags, Whence};
use ffslab_rtems::yaffs2::Yaffs2;
use ffslab_rtems::{dosfs, rfs, Quirks};
use ffslab_sim::{Sim, SimConfig};
use std::path::Path;

const FILE_BYTES: usize = 1 << 20;

struct System {
    libio: Libio,
    sim: Sim,
}

fn cache(priced: bool, cache_kib: u32) -> (Bdbuf, Sim) {
    let sim = Sim::new(SimConfig::default());
    let config = BdbufConfig {
        buffer_max_bytes: 1024,
        cache_memory_bytes: cache_kib << 10,
        tick_us: 1000,
        ..BdbufConfig::default()
    };
    let mut cache = Bdbuf::new(sim.clone(), config).unwrap();
    if priced {
        cache.set_cpu(Cpu::priced(sim.clone(), rtems_board("beaglebone-black", Path::new("")).unwrap()));
    }
    (cache, sim)
}

/// A file system on a RAM disk of 4 MiB, with a file of 1 MiB.
fn on_ram_disk(fs: &str, priced: bool, cache_kib: u32) -> System {
    let (mut cache, sim) = cache(priced, cache_kib);
    let profile = block_device("ram-disk-beaglebone", Path::new("")).unwrap();
    let disk = cache.add_disk(Device::new(profile, 512, 8192));
    let mut libio = match fs {
        "rfs" => {
            let options = rfs::FormatOptions { block_bytes: 1024, ..rfs::FormatOptions::default() };
            rfs::format(&mut cache, disk, &options).unwrap();
            let mounted = rfs::Rfs::mount(&mut cache, disk, &rfs::MountOptions::default()).unwrap();
            mount(cache, Box::new(mounted))
        }
        "dosfs" => {
            dosfs::format(&mut cache, disk, &dosfs::FormatOptions::default()).unwrap();
            let mounted = dosfs::Dosfs::mount(&mut cache, disk, Quirks::Rtems2018).unwrap();
            mount(cache, Box::new(mounted))
        }
        _ => mount(cache, Box::new(Imfs::new(ImfsOptions::default()))),
    };
    write(&mut libio, 4096);
    System { libio, sim }
}

fn mount(cache: Bdbuf, fs: Box<dyn ffslab_rtems::libio::FileSystem>) -> Libio {
    let mut libio = Libio::new(cache, Box::new(Imfs::new(ImfsOptions::default())), 8);
    libio.mkdir(b"/mnt", 0o777).unwrap();
    libio.mount(fs, b"/mnt", true).unwrap();
    libio
}

/// Writes the file in requests of this size.
fn write(libio: &mut Libio, io_bytes: usize) {
    let fd = libio.open(b"/mnt/f", OpenFlags::CREATE, 0o644).unwrap();
    let data: Vec<u8> = (0..io_bytes).map(|i| (i * i / 7) as u8).collect();
    for _ in 0..FILE_BYTES / io_bytes {
        libio.write(fd, &data).unwrap();
    }
    libio.close(fd).unwrap();
}

impl System {
    /// Reads the whole file with `call`; nanoseconds.
    fn read_ns(&mut self, io_bytes: usize, call: impl Fn(&mut Libio, usize, u64, &mut [u8])) -> u64 {
        let fd = self.libio.open(b"/mnt/f", OpenFlags::READ, 0).unwrap();
        let before_ns = self.sim.now_ns();
        let mut data = vec![0; io_bytes];
        for at in (0..FILE_BYTES as u64).step_by(io_bytes) {
            call(&mut self.libio, fd, at, &mut data);
        }
        let duration_ns = self.sim.now_ns() - before_ns;
        self.libio.close(fd).unwrap();
        duration_ns
    }

    fn plain_ns(&mut self, io_bytes: usize) -> u64 {
        self.read_ns(io_bytes, |libio, fd, _, data| assert_eq!(libio.read(fd, data), Ok(data.len())))
    }
}

#[test]
fn time_changes_no_count() {
    for fs in ["rfs", "dosfs"] {
        let counts = |priced: bool| -> BdbufCounts {
            let mut system = on_ram_disk(fs, priced, 10);
            system.plain_ns(512);
            assert_eq!(system.sim.total().cpu_ns > 0, priced);
            system.libio.cache().counts()
        };
        assert_eq!(counts(true), counts(false), "{fs}");
    }
}

#[test]
fn every_nanosecond_has_a_cause() {
    for fs in ["rfs", "dosfs", "imfs"] {
        let mut system = on_ram_disk(fs, true, 32);
        system.libio.read_clock_ns();
        system.plain_ns(4096);
        let total = system.sim.total();
        let named_ns = total.cpu_ns + total.driver_ns + total.busy_ns + system.sim.program_ns() + system.sim.idle_ns();
        assert_eq!(named_ns, system.sim.now_ns(), "{fs}");
    }
}

/// pread asks for the offset, seeks and seeks back; readv checks its vectors.
#[test]
fn seeks_and_vectors_cost_their_calls() {
    let mut system = on_ram_disk("rfs", true, 10);
    let plain_ns = system.plain_ns(1024);
    let pread_ns = system.read_ns(1024, |libio, fd, at, data| assert_eq!(libio.pread(fd, data, at), Ok(data.len())));
    let readv_ns = system.read_ns(1024, |libio, fd, at, data| {
        libio.lseek(fd, at as i64, Whence::Set).unwrap();
        assert_eq!(libio.readv(fd, &mut [data]), Ok(1024));
    });
    assert!(plain_ns < readv_ns && readv_ns < pread_ns, "{plain_ns} {readv_ns} {pread_ns}");
}

/// The drop of figure 7: a cache beyond L1 misses as often as a small one, and each of its buffers is cold.
#[test]
fn a_cache_that_is_too_large_for_the_cpu_and_too_small_for_the_file_only_costs() {
    let at = |kib: u32| on_ram_disk("rfs", true, kib).plain_ns(4096);
    let (small, middling, whole) = (at(10), at(512), at(2048));
    assert!(middling > small + small / 20, "{small} {middling}");
    assert!(whole < small, "{small} {whole}");
}

/// Its window of one sector and the FAT entry behind each cluster cost more than the larger blocks of RFS.
#[test]
fn dosfs_is_dearer_than_rfs() {
    let ns = |fs: &str| on_ram_disk(fs, true, 10).plain_ns(4096);
    let (rfs, dosfs) = (ns("rfs"), ns("dosfs"));
    assert!(dosfs > rfs + rfs / 10, "{rfs} {dosfs}");
}

#[test]
fn on_flash_in_memory_checksums_and_compression_decide() {
    let jffs2_ns = |compression: Compression| {
        let (cache, sim) = cache(true, 10);
        let flash = NorFlash::new(sim.clone(), 65_536, 64).into();
        let mut libio = mount(cache, Box::new(Jffs2::mount(&flash, compression).unwrap()));
        write(&mut libio, 4096);
        sim.now_ns()
    };
    let yaffs2_ns = {
        let (cache, sim) = cache(true, 10);
        let flash = ffslab_mtd::ram::flash(&sim, 4 << 20).unwrap();
        let mut libio = mount(cache, Box::new(Yaffs2::mount(&flash).unwrap()));
        write(&mut libio, 4096);
        sim.now_ns()
    };
    let (plain_ns, zlib_ns) = (jffs2_ns(Compression::None), jffs2_ns(Compression::Zlib));
    assert!(yaffs2_ns < plain_ns && plain_ns * 2 < zlib_ns, "{yaffs2_ns} {plain_ns} {zlib_ns}");
}
