//! FAT volumes exchanged with dosfstools and mtools, both ways.

use crate::system;

use ffslab_conformance::real_tools::{run, tool, Folder};
use ffslab_rtems::{dosfs, Quirks};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use system::{Fs, System};

const MIB: usize = 1 << 20;

fn content(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes).map(|i| ((i * 7 + seed * 13) >> 2) as u8).collect()
}

/// Paths and contents.
type Files = Vec<(String, Vec<u8>)>;

/// What fsck.fat has to say; nothing to correct.
fn fsck(image: &Path) {
    let Some(fsck) = tool("fsck.fat", "Debian: dosfstools") else { return };
    run(Command::new(fsck).arg("-n").arg("-v").arg(image));
}

/// Directories, long and short names, files that grow, shrink, move and go.
fn fill(system: &mut System, seed: usize) -> Files {
    let mut files = Vec::new();
    system.libio.mkdir(b"/mnt/dir", 0o755).unwrap();
    system.libio.mkdir(b"/mnt/dir/Another directory with a long name", 0o755).unwrap();
    for i in 0..60 {
        let folder = ["", "/dir", "/dir/Another directory with a long name"][i % 3];
        let name = match i % 4 {
            0 => format!("short{i:02}.txt"),
            1 => format!("A longer name, of file {i}.text"),
            2 => format!("Mixed{i}.Dat"),
            _ => format!("NOEXT{i}"),
        };
        let path = format!("/mnt{folder}/{name}");
        let data = content(i * 317 % 9000, i + seed);
        system.write_file(&path, &data).unwrap();
        files.push((path, data));
    }
    for i in (0..60).rev().step_by(5) {
        let (path, _) = files.remove(i);
        system.libio.unlink(path.as_bytes()).unwrap();
    }
    for (i, (path, data)) in files.iter_mut().enumerate() {
        if i % 6 == 1 {
            let new = format!("/mnt/dir/renamed file number {i}");
            system.libio.rename(path.as_bytes(), new.as_bytes()).unwrap();
            *path = new;
        }
        if i % 7 == 2 {
            data.truncate(data.len() / 2);
            system.write_file(path, data).unwrap();
        }
    }
    system.libio.rename(b"/mnt/dir/Another directory with a long name", b"/mnt/moved").unwrap();
    for (path, _) in &mut files {
        *path = path.replace("/dir/Another directory with a long name/", "/moved/");
    }
    files
}

/// Volumes of all FAT types: size, sectors per cluster.
const VOLUMES: [(usize, u32); 6] = [(MIB, 0), (2 * MIB, 8), (2 * MIB, 16), (16 * MIB, 0), (16 * MIB, 1), (80 * MIB, 1)];

#[test]
fn the_real_tools_read_what_we_write() {
    let folder = Folder::new("dosfs-written");
    for (size, cluster) in VOLUMES {
        let mut system = System::new(Fs::Dosfs(cluster), Quirks::Fixed, size);
        let files = fill(&mut system, 1);
        let image = folder.path("volume");
        fs::write(&image, system.into_image()).unwrap();
        fsck(&image);
        let Some(mcopy) = tool("mcopy", "Debian: mtools") else { return };
        for (path, data) in &files {
            let out = folder.path("file");
            let _ = fs::remove_file(&out);
            let inside = path.strip_prefix("/mnt").unwrap();
            run(Command::new(&mcopy).arg("-i").arg(&image).arg(format!("::{inside}")).arg(&out));
            assert!(fs::read(&out).unwrap() == *data, "{path} on {size} B, {cluster} sectors per cluster");
        }
    }
}

/// A volume made by mkfs.fat and filled by mtools.
fn foreign(folder: &Folder, size: usize, arguments: &[&str]) -> Option<(PathBuf, Files)> {
    let mkfs = tool("mkfs.fat", "Debian: dosfstools")?;
    let (mmd, mcopy) = (tool("mmd", "Debian: mtools")?, tool("mcopy", "Debian: mtools")?);
    let image = folder.path("foreign");
    fs::write(&image, vec![0; size]).unwrap();
    run(Command::new(mkfs).args(arguments).arg(&image));
    run(Command::new(mmd).arg("-i").arg(&image).arg("::/folder"));
    let mut files = Vec::new();
    for i in 0..40 {
        let name = ["plain.txt", "UPPER.DAT", "A long name with blanks.html", "mIxEd.c"][i % 4];
        let inside = format!("{}/{i}{name}", ["", "/folder"][i % 2]);
        let data = content(i * 731 % 12_000, i);
        let source = folder.path("source");
        fs::write(&source, &data).unwrap();
        run(Command::new(&mcopy).arg("-i").arg(&image).arg(&source).arg(format!("::{inside}")));
        files.push((format!("/mnt{inside}"), data));
    }
    Some((image, files))
}

#[test]
fn we_read_and_change_what_the_real_tools_wrote() {
    let folder = Folder::new("dosfs-foreign");
    let volumes: [(usize, &[&str]); 4] = [
        (2 * MIB, &["-F", "12"]),
        (16 * MIB, &["-F", "16"]),
        (16 * MIB, &["-F", "16", "-s", "8", "-r", "112"]),
        (40 * MIB, &["-F", "32", "-s", "1"]),
    ];
    for (size, arguments) in volumes {
        let Some((image, files)) = foreign(&folder, size, arguments) else { return };
        let mut system = System::with_image(Fs::Dosfs(0), Quirks::Fixed, fs::read(&image).unwrap());
        system.mount().unwrap();
        for (path, data) in &files {
            assert!(system.read_file(path).unwrap() == *data, "{path}, mkfs.fat {arguments:?}");
        }
        assert_eq!(system.list("/mnt/folder").unwrap().len(), 20);
        let ours = fill(&mut system, 2);
        system.libio.unlink(files[0].0.as_bytes()).unwrap();
        system.write_file(&files[1].0, b"other content").unwrap();
        system.remount();
        for (path, data) in &ours {
            assert!(system.read_file(path).unwrap() == *data, "{path}");
        }
        fs::write(&image, system.into_image()).unwrap();
        fsck(&image);
    }
}

/// What RTEMS 2018 writes in plain work is good too; only some calls damage a volume.
#[test]
fn fsck_accepts_plain_work_with_the_quirks_of_2018() {
    let folder = Folder::new("dosfs-2018");
    let mut system = System::with_image(Fs::Dosfs(0), Quirks::Rtems2018, vec![0; 16 * MIB]);
    let disk = system.disk;
    let label = Some("RTEMS".into());
    let options = dosfs::FormatOptions { label, ..dosfs::FormatOptions::default() };
    dosfs::format(system.libio.cache_mut(), disk, &options).unwrap();
    system.mount().unwrap();
    system.libio.mkdir(b"/mnt/d", 0o755).unwrap();
    for i in 0..40 {
        system.write_file(&format!("/mnt/d/a long file name number {i:02}.text"), &content(5000, i)).unwrap();
    }
    for i in 0..20 {
        system.libio.unlink(format!("/mnt/d/a long file name number {i:02}.text").as_bytes()).unwrap();
    }
    let image = folder.path("volume");
    fs::write(&image, system.into_image()).unwrap();
    fsck(&image);
}
