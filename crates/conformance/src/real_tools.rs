//! Programs that know the formats independently: tests exchange images with them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that is removed at the end of the test.
pub struct Folder(PathBuf);

impl Folder {
    /// An empty folder; `name` is unique among all tests.
    pub fn new(name: &str) -> Folder {
        let path = env::temp_dir().join(format!("ffslab-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Path of a program: on the search path, in the folders for administrators, or in the checkout's Python environment.
/// `None`, with a message, means that the test must be skipped; with `FFSLAB_NOTHING_LEFT_OUT` set it fails instead.
pub fn tool(name: &str, package: &str) -> Option<PathBuf> {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin");
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin"), venv]);
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    if found.is_none() {
        assert!(env::var_os("FFSLAB_NOTHING_LEFT_OUT").is_none(), "{name} is missing ({package})");
        eprintln!("skipped: {name} is missing ({package})");
    }
    found
}

/// Runs a program, which must end successfully.
pub fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}\n{}\n{}", text(&output.stdout), text(&output.stderr));
}
