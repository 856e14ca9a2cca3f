//! A littlefs that was built of sources and loaded does what the one that is linked does: the same calls, causes, bytes, time.

use crate::support;

use ffslab_bare::paths::{Make, PathProgram};
use ffslab_bare::Costs;
use ffslab_conformance::on::SPI_NOR;
use ffslab_fs::PathFileSystem;
use ffslab_littlefs::{format_by, Config, Littlefs, LoadError, Version};
use ffslab_mtd::Mtd;
use ffslab_system::{Calls, OpenFlags, System, SystemError};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiled as `python/ffslab/foreign/build.py` does.
fn library() -> PathBuf {
    let foreign = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/ffslab/foreign");
    let (ours, paths) = (foreign.join("littlefs"), foreign.join("paths"));
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("littlefs.so");
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-O2", "-fPIC", "-shared", "-Wl,-Bsymbolic", "-w", "-finstrument-functions"]);
    cc.args(["-DLFS_NO_DEBUG", "-DLFS_NO_WARN", "-DLFS_NO_ERROR", "-DLFS_MULTIVERSION", "-I"]);
    cc.arg(littlefs2_sys::SOURCES).arg("-I").arg(&ours).arg("-I").arg(paths);
    cc.arg(ours.join("littlefs.c")).arg("-o").arg(&library);
    let done = cc.output().expect("cc");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    library
}

struct Loaded(Version);

impl Make for Loaded {
    fn mount(&self, medium: &Mtd, _: &[String]) -> Result<Box<dyn PathFileSystem>, SystemError> {
        let config = Config::usual(medium.capabilities());
        Ok(Box::new(Littlefs::mount_by(self.0, medium, &config).map_err(SystemError::unusable)?))
    }

    fn format(&self, medium: &Mtd) -> Result<(), SystemError> {
        format_by(self.0, medium, &Config::usual(medium.capabilities())).map_err(SystemError::unusable)
    }
}

/// Bytes of the partition, time, and what each cause has cost, after a workload with a power cut.
fn outcome_of(version: Version) -> (Vec<u8>, u64, String) {
    let medium = support::medium(SPI_NOR, 24);
    let mut program =
        PathProgram::new(medium.sim().clone(), medium.clone(), Box::new(Loaded(version)), Costs::default(), 0);
    program.format().unwrap();
    program.mount(&[]).unwrap();
    let write = OpenFlags { create: true, ..OpenFlags::WRITE };
    for round in 0..40u32 {
        let name = format!("/file{}", round % 7);
        let fd = program.open(name.as_bytes(), write, 0o644).unwrap();
        program.pwrite(fd, &vec![round as u8; 700 * (round as usize % 11)], u64::from(round % 5) * 300).unwrap();
        program.fsync(fd).unwrap();
        program.close(fd).unwrap();
        if round % 9 == 8 {
            program.unlink(name.as_bytes()).unwrap();
        }
    }
    program.crash().unwrap();
    program.mount(&[]).unwrap();
    let causes = format!("{:?}", medium.sim().causes().since(&Default::default()));
    (program.image(false).unwrap(), medium.sim().now_ns(), causes)
}

#[test]
fn a_loaded_littlefs_is_the_linked_one() {
    let library = library();
    let loaded = Version::load(&library).unwrap();
    assert_eq!((loaded.number(), format!("{loaded:?}")), ((2, 9), "littlefs 2.9".to_string()));
    let (linked, loaded) = (outcome_of(Version::LINKED), outcome_of(loaded));
    assert_eq!(linked.2, loaded.2);
    assert_eq!(linked.1, loaded.1);
    assert!(linked.0 == loaded.0, "other bytes");
    assert!(linked.2.contains("compaction") || linked.2.contains("commit"), "{}", linked.2);
}

#[test]
fn what_is_no_library_is_told() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    assert!(matches!(Version::load(&file), Err(LoadError::Unloadable { .. })));
    let missing = Version::load(Path::new("/no/such/library.so")).unwrap_err();
    assert!(missing.to_string().starts_with("/no/such/library.so: there is no such file: "), "{missing}");
}
