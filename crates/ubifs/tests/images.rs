//! Images exchanged with the real tools: `mkfs.ubifs` and `ubinize` of mtd-utils make them, `ubi_reader` (PyPI) reads them.
//!
//! A test whose tool is missing says so and passes, unless `FFSLAB_NOTHING_LEFT_OUT` is set.

use crate::support;

use ffslab_conformance::real_tools::{run, tool, Folder};
use ffslab_flash::{Geometry, ImageLayout};
use ffslab_fs::XattrMode;
use ffslab_linux::{Calls, OpenFlags};
use ffslab_ubifs::{Compression, Options};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use support::{content, Bench, Files};

const BLOCKS: u32 = 96;
const PLAIN: ImageLayout = ImageLayout { oob: false, hamming_ecc: false };
const GEOMETRY: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: BLOCKS };

/// Names and contents: random and compressible ones, an empty one, one of several MiB.
fn files() -> Vec<(String, Vec<u8>)> {
    let text = |bytes: usize| b"one word after the other, ".iter().copied().cycle().take(bytes).collect::<Vec<u8>>();
    let mut files = vec![("empty".to_string(), Vec::new()), ("large".to_string(), content(5, 3 << 20))];
    for i in 0..60 {
        files.push((format!("random {i}"), content(i, 1 + i as usize * 311)));
        files.push((format!("text {i}"), text(i as usize * 977)));
    }
    files
}

fn image(bench: &Bench) -> Vec<u8> {
    let mut image = Vec::new();
    bench.nand.with_chip(|chip| chip.write_image(&mut image, 0..BLOCKS, PLAIN)).unwrap();
    image
}

#[test]
fn ubi_reader_reads_what_we_write() {
    let Some(extract) = tool("ubireader_extract_files", "PyPI: ubi_reader") else { return };
    for compression in [Compression::None, Compression::Lzo, Compression::Zlib, Compression::Zstd] {
        let folder = Folder::new(&format!("ubifs-ours-{compression:?}"));
        let mut bench = Bench::new(GEOMETRY, 16 << 20, Options { compression, ..Options::default() });
        bench.mount().unwrap();
        bench.vfs.mkdir(b"folder", 0o755).unwrap();
        for (name, data) in files() {
            let fd = bench.open_new(&format!("folder/{name}"));
            bench.vfs.pwrite(fd, &data, 0).unwrap();
            bench.vfs.close(fd).unwrap();
        }
        bench.vfs.unlink(b"folder/text 7").unwrap();
        bench.vfs.umount().unwrap();
        fs::write(folder.path("image"), image(&bench)).unwrap();
        run(Command::new(&extract).arg("-o").arg(folder.path("out")).arg(folder.path("image")));
        let listed = Command::new("find").arg(folder.path("out")).args(["-name", "folder"]).output().unwrap();
        let root = PathBuf::from(String::from_utf8(listed.stdout).unwrap().trim());
        for (name, data) in files() {
            if name == "text 7" {
                assert!(!root.join(&name).exists());
            } else {
                assert!(fs::read(root.join(&name)).unwrap() == data, "{compression:?}: {name}");
            }
        }
    }
}

/// Gives a file of this computer an extended attribute. `false`: its file system does not keep them, or Python is missing.
fn set_xattr(file: &std::path::Path, name: &str, value: &str) -> bool {
    let program = "import os, sys; os.setxattr(sys.argv[1], sys.argv[2], sys.argv[3].encode())";
    let set = Command::new("python3").args(["-c", program]).arg(file).args([name, value]).output();
    set.is_ok_and(|output| output.status.success())
}

#[test]
fn we_read_and_change_what_mkfs_ubifs_makes() {
    let (Some(mkfs), Some(ubinize)) = (tool("mkfs.ubifs", "mtd-utils"), tool("ubinize", "mtd-utils")) else { return };
    for (compression, name) in [(Compression::None, "none"), (Compression::Lzo, "lzo"), (Compression::Zlib, "zlib")] {
        let folder = Folder::new(&format!("ubifs-theirs-{name}"));
        fs::create_dir_all(folder.path("root/folder")).unwrap();
        for (file, data) in files() {
            fs::write(folder.path("root/folder").join(file), data).unwrap();
        }
        let value = "so long that it does not fit in a page ".repeat(60);
        // Debian builds it without.
        let copies_xattrs = fs::read(&mkfs).unwrap().windows(9).any(|text| text == b"lgetxattr");
        let has_xattrs = copies_xattrs
            && set_xattr(&folder.path("root/folder/large"), "user.comment", &value)
            && set_xattr(&folder.path("root/folder"), "user.short", "s");
        run(Command::new(&mkfs)
            .args(["-m", "2048", "-e", "129024", "-c", "80", "-x", name, "-r"])
            .arg(folder.path("root"))
            .arg("-o")
            .arg(folder.path("fs")));
        let list = format!(
            "[v]\nmode=ubi\nimage={}\nvol_id=0\nvol_type=dynamic\nvol_name=v\nvol_size=9MiB\n",
            folder.path("fs").display()
        );
        fs::write(folder.path("list"), list).unwrap();
        run(Command::new(&ubinize)
            .args(["-m", "2048", "-p", "131072", "-s", "512", "-O", "512", "-o"])
            .arg(folder.path("image"))
            .arg(folder.path("list")));
        let mut bench = Bench::new(GEOMETRY, 16 << 20, Options { compression, ..Options::default() });
        let bytes = fs::read(folder.path("image")).unwrap();
        bench.nand.with_chip(|chip| chip.load_bytes("theirs", &bytes, 0..BLOCKS, PLAIN)).unwrap();
        bench.file_system().unwrap().check().unwrap();
        bench.mount().unwrap();
        if has_xattrs {
            assert_eq!(bench.vfs.getxattr(b"folder/large", b"user.comment").unwrap(), value.as_bytes());
            assert_eq!(bench.vfs.listxattr(b"folder").unwrap(), [b"user.short"]);
            bench.vfs.setxattr(b"folder/large", b"user.comment", b"changed", XattrMode::Replace).unwrap();
            bench.vfs.removexattr(b"folder", b"user.short").unwrap();
        }
        for (file, data) in files() {
            let path = format!("folder/{file}");
            let fd = bench.vfs.open(path.as_bytes(), OpenFlags::READ_WRITE, 0).unwrap();
            let mut read = vec![0; data.len() + 1];
            assert_eq!(bench.vfs.pread(fd, &mut read, 0).unwrap(), data.len(), "{file}");
            assert!(read[..data.len()] == data, "{name}: {file}");
            bench.vfs.pwrite(fd, b"changed", 0).unwrap();
            bench.vfs.close(fd).unwrap();
        }
        bench.vfs.umount().unwrap();
        bench.file_system().unwrap().check().unwrap();
    }
}
