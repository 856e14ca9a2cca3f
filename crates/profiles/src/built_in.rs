//! The profiles that are part of the binary, and profiles from files.

use crate::error::ProfileError;
use crate::names::told;
use ffslab_workload::input::{read_text, InputKind};
use ffslab_workload::text::io_reason;
use ffslab_workload::toml_text::parse_toml;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Part,
    Board,
    Kernel,
    /// Times of code on a board with RTEMS.
    RtemsBoard,
    BlockDevice,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Part, Kind::Board, Kind::Kernel, Kind::RtemsBoard, Kind::BlockDevice];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Part => "part",
            Kind::Board => "board",
            Kind::Kernel => "kernel",
            Kind::RtemsBoard => "board with RTEMS",
            Kind::BlockDevice => "block device",
        }
    }

    /// The folder of the built-in profiles of this kind.
    pub fn folder(self) -> &'static str {
        match self {
            Kind::Part => "parts",
            Kind::Board | Kind::RtemsBoard => "boards",
            Kind::Kernel => "kernels",
            Kind::BlockDevice => "block-devices",
        }
    }
}

/// Those of the repository's folder `profiles/`, each with its kind, name and text (`build.rs`).
pub(crate) const BUILT_IN: &[(Kind, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/built_in.rs"));

/// The text of a profile, its label in error messages, and the folder that paths in it are relative to.
pub(crate) struct Text {
    pub label: String,
    pub text: String,
    pub folder: PathBuf,
}

impl Text {
    pub fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, ProfileError> {
        Ok(parse_toml(&self.text, &self.label)?)
    }
}

/// Whether a profile is named by the path of its file, and not by the name of a built-in one.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

/// The names of the built-in profiles of a kind.
pub(crate) fn names(kind: Kind) -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().filter(move |(k, _, _)| *k == kind).map(|(_, name, _)| *name)
}

pub(crate) fn find(kind: Kind, name: &str, base_dir: &Path) -> Result<Text, ProfileError> {
    if let Some((_, _, text)) = BUILT_IN.iter().find(|(k, n, _)| *k == kind && *n == name) {
        let label = format!("profiles/{}/{name}.toml", kind.folder());
        return Ok(Text { label, text: text.to_string(), folder: base_dir.to_path_buf() });
    }
    if is_path(name) {
        return read(&base_dir.join(name), kind.name());
    }
    let what = kind.name();
    let told = told(name, &[kind], kind.folder().trim_end_matches('s'));
    Err(ProfileError::Unknown { what, name: name.to_string(), told })
}

pub(crate) fn read(path: &Path, what: &'static str) -> Result<Text, ProfileError> {
    // A user would not write "././my-board.toml", so messages do not either.
    let path = &path.components().collect::<PathBuf>();
    let text = read_text(path, InputKind::Profile).map_err(|error| ProfileError::Unreadable {
        what,
        path: path.display().to_string(),
        why: io_reason(&error),
    })?;
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    Ok(Text { label: path.display().to_string(), text, folder })
}
