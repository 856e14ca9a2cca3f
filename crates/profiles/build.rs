//! Makes the table of the built-in profiles that have a file each from the folder `profiles/` of the repository, so that a new file there
//! is one without a line of code. Its kind is that of its folder; boards with RTEMS, which stand among the boards, have a key of their own.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Kinds as `built_in.rs` names them, with their folders, in the order in which people read them.
const FOLDERS: [(&str, &str); 6] = [
    ("Board", "boards"),
    ("Part", "parts"),
    ("RtemsBoard", "boards"),
    ("BlockDevice", "block-devices"),
    ("Controller", "controllers"),
    ("Core", "cores"),
];

fn main() {
    let folder = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says it")).join("../../profiles");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut table = String::from("&[\n");
    for (kind, name) in FOLDERS {
        for file in profiles_in(&folder.join(name)) {
            let text = std::fs::read_to_string(&file).expect("a profile can be read");
            let is_of_rtems = text.lines().any(|line| line.starts_with("bdbuf_call_ns"));
            if name == "boards" && is_of_rtems != (kind == "RtemsBoard") {
                continue;
            }
            let stem = file.file_stem().and_then(|stem| stem.to_str()).expect("profiles have plain names");
            let path = file.canonicalize().expect("it was read");
            writeln!(table, "    (Kind::{kind}, {stem:?}, include_str!({path:?})),").expect("a string takes all");
        }
    }
    table.push_str("]\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where to build")).join("built_in.rs");
    std::fs::write(out, table).expect("the folder for it is there");
}

/// The profiles of a folder, 6.6 before 6.12.
fn profiles_in(folder: &Path) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = std::fs::read_dir(folder).expect("the folder of profiles is there");
    let files = entries.map(|entry| entry.expect("its names can be read").path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort_by_key(|path| natural(&path.file_stem().unwrap_or_default().to_string_lossy()));
    files
}

/// A name in pieces, numbers as numbers.
fn natural(name: &str) -> Vec<(u64, String)> {
    let mut pieces: Vec<(u64, String)> = Vec::new();
    for c in name.chars() {
        match (c.to_digit(10), pieces.last_mut()) {
            (Some(digit), Some((number, text))) if text.is_empty() => *number = *number * 10 + u64::from(digit),
            (Some(digit), _) => pieces.push((digit.into(), String::new())),
            (None, Some((u64::MAX, text))) => text.push(c),
            (None, _) => pieces.push((u64::MAX, c.to_string())),
        }
    }
    pieces
}
