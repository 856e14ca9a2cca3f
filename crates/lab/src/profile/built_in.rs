//! The profiles that are part of the binary, and profiles from files.

use super::ProfileError;
use crate::input::parse_toml;
use ffslab_workload::input::{read_text, InputKind};
use ffslab_workload::text::{io_reason, nearest};
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

/// Returns the label and the text of a profile that another crate will parse.
///
/// Errors: one line; there is no profile of that name or path.
pub(crate) fn find_text(kind: Kind, name: &str, base_dir: &Path) -> Result<(String, String), String> {
    find(kind, name, base_dir).map(|found| (found.label, found.text)).map_err(|error| error.to_string())
}

macro_rules! built_in {
    ($($kind:ident $folder:literal: $($name:literal),+;)+) => {
        pub(super) const BUILT_IN: &[(Kind, &str, &str)] = &[
            $($((Kind::$kind, $name,
                 include_str!(concat!("../../../../profiles/", $folder, "/", $name, ".toml")))),+),+
        ];
    };
}

built_in! {
    Board "boards": "apf27", "omap3evm", "zero-overhead";
    Part "parts": "micron-slc-apf27", "micron-slc-omap3evm", "mt29f2g08aac", "mt29f2g08abaea", "mt29f4g08aaa", "tc58nvg1s3e";
    Kernel "kernels": "2.6.37", "6.1";
    RtemsBoard "boards": "beaglebone-black";
    BlockDevice "block-devices": "ram-disk-beaglebone", "sd-card", "usb-stick";
}

/// The text of a profile, its label in error messages, and the folder that paths in it are relative to.
pub(super) struct Text {
    pub label: String,
    pub text: String,
    pub folder: PathBuf,
}

impl Text {
    pub fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, ProfileError> {
        parse_toml(&self.text, &self.label).map_err(|e| ProfileError(e.to_string()))
    }
}

pub(super) fn find(kind: Kind, name: &str, base_dir: &Path) -> Result<Text, ProfileError> {
    if let Some((_, _, text)) = BUILT_IN.iter().find(|(k, n, _)| *k == kind && *n == name) {
        let label = format!("profiles/{}/{name}.toml", kind.folder());
        return Ok(Text { label, text: text.to_string(), folder: base_dir.to_path_buf() });
    }
    if name.contains('/') || name.ends_with(".toml") {
        return read(&base_dir.join(name), kind.name());
    }
    let known: Vec<&str> = BUILT_IN.iter().filter(|(k, _, _)| *k == kind).map(|(_, n, _)| *n).collect();
    let hint = nearest(name, known.iter().copied()).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    Err(ProfileError(format!(
        "unknown {} `{name}`: {hint}known: {}, or the path of a file such as ./my-{}.toml",
        kind.name(),
        known.join(", "),
        kind.folder().trim_end_matches('s')
    )))
}

pub(super) fn read(path: &Path, what: &str) -> Result<Text, ProfileError> {
    // A user would not write "././my-board.toml", so messages do not either.
    let path = &path.components().collect::<PathBuf>();
    let text = read_text(path, InputKind::Profile).map_err(|error| {
        ProfileError(format!("{what} file {}: cannot be read: {}", path.display(), io_reason(&error)))
    })?;
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    Ok(Text { label: path.display().to_string(), text, folder })
}
