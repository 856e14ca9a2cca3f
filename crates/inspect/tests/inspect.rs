//! RFS volumes, which no tool outside RTEMS makes: looked into, whole and damaged.

use ffslab_block::Device;
use ffslab_block::DeviceProfile;
use ffslab_images::{read_trees, Wanted};
use ffslab_inspect::{inspect, InspectOptions, Inspection};
use ffslab_machine::file_systems::image_formats;
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig};
use ffslab_rtems::imfs::{Imfs, ImfsOptions};
use ffslab_rtems::libio::{Libio, OpenFlags};
use ffslab_rtems::{rfs, Quirks};
use ffslab_sim::{Sim, SimConfig};
use ffslab_workload::SplitMix64;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

const VOLUME_BYTES: usize = 1 << 20;

/// A volume with two directories, whose files were written in turns, piece by piece.
fn volume() -> Vec<u8> {
    let mut cache = Bdbuf::new(Sim::new(SimConfig::default()), BdbufConfig::default()).unwrap();
    let disk = cache.add_disk(Device::new(DeviceProfile::instant(), 512, (VOLUME_BYTES / 512) as u32));
    let options = rfs::FormatOptions { initialise_inodes: true, ..rfs::FormatOptions::default() };
    rfs::format(&mut cache, disk, &options).unwrap();
    let mut libio = Libio::new(cache, Box::new(Imfs::new(ImfsOptions::default())), 8);
    libio.mkdir(b"/mnt", 0o777).unwrap();
    let options = rfs::MountOptions { quirks: Quirks::Fixed, ..rfs::MountOptions::default() };
    let mounted = rfs::Rfs::mount(libio.cache_mut(), disk, &options).unwrap();
    libio.mount(Box::new(mounted), b"/mnt", true).unwrap();
    libio.mkdir(b"/mnt/a", 0o755).unwrap();
    let write = |libio: &mut Libio, path: &[u8], data: &[u8]| {
        let flags = OpenFlags { append: true, ..OpenFlags::CREATE };
        let fd = libio.open(path, flags, 0o644).unwrap();
        assert_eq!(libio.write(fd, data).unwrap(), data.len());
        libio.close(fd).unwrap();
    };
    write(&mut libio, b"/mnt/a/whole", &[7; 60_000]);
    for _ in 0..30 {
        write(&mut libio, b"/mnt/torn", &[1; 2048]);
        write(&mut libio, b"/mnt/other", &[2; 2048]);
    }
    libio.unmount(b"/mnt").unwrap();
    libio.cache_mut().syncdev(disk).unwrap();
    libio.cache().device(disk).image().to_vec()
}

/// A new file that holds the image.
fn file_of(image: &[u8]) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("ffslab-inspect-{}-{number}", std::process::id()));
    std::fs::write(&path, image).unwrap();
    path
}

fn look(image: &[u8]) -> Result<Inspection, String> {
    look_on("sd-card", image)
}

fn look_on(device: &str, image: &[u8]) -> Result<Inspection, String> {
    let path = file_of(image);
    let options = InspectOptions { device: device.to_string(), ..InspectOptions::default() };
    let found = inspect(&path, &options).map_err(|error| error.to_string());
    std::fs::remove_file(path).unwrap();
    found.and_then(|mut parts| parts.remove(0).found)
}

#[test]
fn an_rfs_volume_is_recognised_and_scattered_files_cost_more() {
    let image = volume();
    let found = look(&image).unwrap();
    assert_eq!((found.layout.fs.name(), found.damage_count), ("rfs", 0));
    let file = |name: &str| found.files.iter().find(|file| file.path == name).unwrap();
    assert_eq!((file("a/whole").size_bytes, file("torn").size_bytes), (60_000, 61_440));
    let (whole, torn) = (file("a/whole").read.unwrap(), file("torn").read.unwrap());
    assert!(torn.pieces > 5 * whole.pieces, "{torn:?} {whole:?}");
    let used: u32 = found.blocks.iter().filter_map(|block| block.valid_bytes).sum();
    assert!((60_000 + 2 * 61_440..400_000).contains(&used), "{used} B in use");
    assert!(found.mount.is_some_and(|mount| mount.time_us > 0.0));
}

#[test]
fn a_device_is_a_profile_or_the_path_of_one() {
    let image = volume();
    let time_us = |device: &str| look_on(device, &image).unwrap().mount.unwrap().time_us;
    let stick = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/block-devices/usb-stick.toml");
    assert_eq!(time_us(stick), time_us("usb-stick"));
    assert_ne!(time_us(stick), time_us("sd-card"));
    let refused = look_on("sd-crad", &image).unwrap_err();
    assert!(refused.starts_with("unknown block device `sd-crad`: did you mean `sd-card`?"), "{refused}");
}

#[test]
fn the_files_of_an_rfs_volume_are_read() {
    let path = file_of(&volume());
    let tree = read_trees(&path, &Wanted::default(), &image_formats()).unwrap().remove(0).tree.unwrap();
    std::fs::remove_file(path).unwrap();
    let found: Vec<(String, usize)> = tree
        .entries
        .iter()
        .map(|entry| (String::from_utf8_lossy(&entry.path).into_owned(), entry.data.len()))
        .collect();
    let expected = [("", 0), ("a", 0), ("a/whole", 60_000), ("other", 61_440), ("torn", 61_440)];
    assert_eq!(found, expected.map(|(name, bytes)| (name.to_string(), bytes)));
}

#[test]
fn a_thousand_damaged_rfs_volumes_are_looked_into() {
    let good = volume();
    let interesting: Vec<usize> = (0..good.len()).filter(|&at| !matches!(good[at], 0 | 1 | 2 | 7 | 0xFF)).collect();
    let mut mounted = 0;
    for run in 0..1000 {
        // The same damage in each run of the test.
        let mut random = SplitMix64::new(run);
        let mut below = |bound: usize| random.below(bound as u64) as usize;
        let mut image = good.clone();
        for _ in 0..1 + below(8) {
            let at = match below(3) {
                0 => interesting[below(interesting.len())],
                1 => below(8192),
                _ => below(image.len()),
            };
            image[at] = [0, 0xFF, 0x80, 1, below(256) as u8][below(5)];
        }
        if below(10) == 0 {
            image.truncate(1 + below(good.len()));
        }
        match look(&image) {
            Ok(found) => mounted += u32::from(found.mount.is_some()),
            Err(text) => assert!(text.len() > 10 && !text.contains('\n'), "no clear line: {text:?}"),
        }
    }
    assert!(mounted > 300, "{mounted} of 1000 mounted: the damage is too heavy to test anything");
}
