//! The steps over many small files.

use super::error::StepError;
use super::is_default;
use super::words::{ContentName, Until};
use ffslab_text::quantity::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

step_keys! {
    /// Makes files in a directory; "" is the root.
    CreateMany {
        dir: String,
        /// Names of the files: the `#` stand for the number of the file, which has at least as many digits. Absent:
        /// f0000, f0001 ...
        #[serde(default = "default_name", skip_serializing_if = "is_default_name")]
        name: String,
        /// Number of files; absent only together with `until`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// Size of each file.
        bytes: Bytes,
        /// Bytes of one write; absent: one write.
        #[serde(rename = "request_B", default, skip_serializing_if = "Option::is_none")]
        request_bytes: Option<Bytes>,
        /// Each file is followed by fsync before it is closed.
        #[serde(default)]
        fsync: bool,
        #[serde(default, skip_serializing_if = "is_default")]
        content: ContentName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_file: Option<String>,
        /// Continue until this happens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Until>,
    }
    /// stat(2) of the files of `create_many`, in the order of creation.
    StatMany {
        dir: String,
        /// As in `create_many`.
        #[serde(default = "default_name", skip_serializing_if = "is_default_name")]
        name: String,
        count: u64,
    }
    /// Opens, reads (`bytes` from the beginning) and closes the files of `create_many`, in the order of creation.
    ReadMany {
        dir: String,
        /// As in `create_many`.
        #[serde(default = "default_name", skip_serializing_if = "is_default_name")]
        name: String,
        count: u64,
        /// Bytes that are read of each file.
        bytes: Bytes,
        /// Bytes of one read; absent: one read for all.
        #[serde(rename = "request_B", default, skip_serializing_if = "Option::is_none")]
        request_bytes: Option<Bytes>,
    }
    /// Deletes the files of `create_many`, in the order of creation.
    UnlinkMany {
        dir: String,
        /// As in `create_many`.
        #[serde(default = "default_name", skip_serializing_if = "is_default_name")]
        name: String,
        count: u64,
    }
}

const NAME: &str = "f####";

fn default_name() -> String {
    NAME.to_string()
}

fn is_default_name(name: &str) -> bool {
    name == NAME
}

/// The path of file number `i` in a directory, by a `name` that `check_name` has accepted.
pub fn path_of_many(dir: &str, name: &str, i: u64) -> String {
    let slash = if dir.is_empty() { "" } else { "/" };
    let digits = name.bytes().filter(|byte| *byte == b'#').count();
    let start = name.find('#').unwrap_or(name.len());
    let (before, after) = (&name[..start], &name[start + digits..]);
    format!("{dir}{slash}{before}{i:0digits$}{after}")
}

/// Errors: a name without a place for the number, or with two, or with folders.
pub(super) fn check_name(name: &str) -> Result<(), StepError> {
    let places = name.split(|letter| letter != '#').filter(|run| !run.is_empty()).count();
    if places != 1 || name.contains('/') {
        return Err(StepError::NumberedName { name: name.to_string() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_stands_where_the_name_has_its_place() {
        assert_eq!(path_of_many("", NAME, 7), "f0007");
        assert_eq!(path_of_many("d", NAME, 12_345), "d/f12345");
        assert_eq!(path_of_many("d", "file##.txt", 3), "d/file03.txt");
        assert_eq!(path_of_many("a/b", "#", 10), "a/b/10");
        assert_eq!(check_name("a long name ##.text"), Ok(()));
        for name in ["", "f", "f#g#", "d/f#"] {
            assert!(check_name(name).unwrap_err().to_string().contains("one run of #"), "{name}");
        }
    }
}
