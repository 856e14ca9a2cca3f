//! A profile by its name or path: its text, or why there is none.

use crate::built_in::{is_path, Kind, BUILT_IN};
use crate::error::ProfileError;
use crate::kernel::{FILE, LINUX};
use crate::names::told;
use ffslab_text::input::{read_text, InputKind};
use ffslab_text::toml_text::parse_toml;
use ffslab_text::words::io_reason;
use std::path::{Path, PathBuf};

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
