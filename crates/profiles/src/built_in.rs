//! The profiles that are part of the binary, and profiles from files.

use crate::error::ProfileError;
use crate::kernel::{FILE, LINUX};
use crate::names::told;
use ffslab_text::input::{read_text, InputKind};
use ffslab_text::toml_text::parse_toml;
use ffslab_text::words::io_reason;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Part,
    Board,
    Kernel,
    /// Times of code on a board with RTEMS.
    RtemsBoard,
    BlockDevice,
    /// A class of flash controllers with their driver (`classes`).
    Controller,
    /// A class of CPUs.
    Core,
}

impl Kind {
    pub const ALL: [Kind; 7] =
        [Kind::Part, Kind::Board, Kind::Kernel, Kind::RtemsBoard, Kind::BlockDevice, Kind::Controller, Kind::Core];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Part => "part",
            Kind::Board => "board",
            Kind::Kernel => "kernel",
            Kind::RtemsBoard => "board with RTEMS",
            Kind::BlockDevice => "block device",
            Kind::Controller => "controller",
            Kind::Core => "core",
        }
    }

    /// The folder of the built-in profiles of this kind; kernels stand in one file.
    pub fn folder(self) -> &'static str {
        match self {
            Kind::Part => "parts",
            Kind::Board | Kind::RtemsBoard => "boards",
            Kind::Kernel => "kernels",
            Kind::BlockDevice => "block-devices",
            Kind::Controller => "controllers",
            Kind::Core => "cores",
        }
    }
}

/// Those of the repository's folder `profiles/` with a file each (`build.rs`).
const FILES: &[(Kind, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/built_in.rs"));

/// The versions of Linux that are listed, with what a file of each would say.
static KERNELS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    LINUX.names().into_iter().filter_map(|name| LINUX.profile(&name).map(|text| (name, text))).collect()
});

/// All built-in profiles, each with its kind, name and text, in the order in which people read them.
pub(crate) static BUILT_IN: LazyLock<Vec<(Kind, &'static str, &'static str)>> = LazyLock::new(|| {
    let (before, behind): (Vec<_>, Vec<_>) =
        FILES.iter().partition(|(kind, ..)| matches!(kind, Kind::Board | Kind::Part));
    let kernels = KERNELS.iter().map(|(name, text)| (Kind::Kernel, name.as_str(), text.as_str()));
    before.into_iter().chain(kernels).chain(behind).collect()
});

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

/// The kind of the built-in profile of this name; every version of Linux whose rules are known is one, listed or not.
pub(crate) fn kind_of_built_in(name: &str) -> Option<Kind> {
    let listed = BUILT_IN.iter().find(|(_, one, _)| *one == name).map(|(kind, ..)| *kind);
    listed.or_else(|| LINUX.series(name).map(|_| Kind::Kernel))
}

/// The name of the kernel's profile to which a release belongs, as `uname -r` says it: 6.1.192, 6.12.107+deb13-amd64.
///
/// Errors: its rules are not known; the message lists the versions whose are.
pub fn kernel_series(release: &str) -> Result<String, ProfileError> {
    let version = release.split(['-', '+']).next().unwrap_or(release);
    LINUX.series(version).ok_or_else(|| {
        let told = told(version, &[Kind::Kernel], "kernel");
        ProfileError::Unknown { what: Kind::Kernel.name(), name: release.to_string(), told }
    })
}

pub(crate) fn find(kind: Kind, name: &str, base_dir: &Path) -> Result<Text, ProfileError> {
    let text = match kind {
        Kind::Kernel => LINUX.profile(name),
        _ => BUILT_IN.iter().find(|(k, n, _)| *k == kind && *n == name).map(|(_, _, text)| text.to_string()),
    };
    if let Some(text) = text {
        let label = match kind {
            Kind::Kernel => format!("{FILE}: {name}"),
            _ => format!("profiles/{}/{name}.toml", kind.folder()),
        };
        return Ok(Text { label, text, folder: base_dir.to_path_buf() });
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
