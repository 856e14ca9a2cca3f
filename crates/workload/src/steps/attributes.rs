//! The steps about symbolic links and what a file has beside its data.

use super::error::StepError;
use super::words::{Failure, FallocateFlag};
use ffslab_text::quantity::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

step_keys! {
    /// symlink(2): makes the symbolic link `file`.
    Symlink {
        file: String,
        /// What the link holds.
        target: String,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// readlink(2).
    Readlink {
        file: String,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// chmod(2).
    Chmod {
        file: String,
        /// The permissions in octal digits, as "640".
        permissions: String,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// chown(2).
    Chown {
        file: String,
        /// Absent: the owner stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uid: Option<u32>,
        /// Absent: the group stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gid: Option<u32>,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// utimensat(2): sets the times of a file, in seconds since 1970.
    Utimens {
        file: String,
        /// Of the last access; absent: it stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        accessed_s: Option<u32>,
        /// Of the last change of the data; absent: it stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        modified_s: Option<u32>,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// statfs(2).
    Statfs {}
    /// ftruncate(2): `truncate` of the open file, by its descriptor.
    Ftruncate {
        file: String,
        bytes: Bytes,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
    /// fallocate(2) of an open file. No file system for raw flash has it: what it is asked for ends in ENOTSUP (EOPNOTSUPP).
    Fallocate {
        file: String,
        /// Where the range begins.
        #[serde(default)]
        offset: Bytes,
        bytes: Bytes,
        /// Absent: space is reserved, and the file grows.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flags: Vec<FallocateFlag>,
        /// The error in which it is to end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fails: Option<Failure>,
    }
}

/// The bits of permissions in octal digits. `None`: they are none.
pub fn permission_bits(octal: &str) -> Option<u32> {
    let is_octal = (1..=4).contains(&octal.len()) && octal.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    u32::from_str_radix(octal, 8).ok().filter(|_| is_octal)
}

impl Chmod {
    /// Errors: permissions that are no octal number.
    pub(super) fn check(&self) -> Result<(), StepError> {
        match permission_bits(&self.permissions) {
            Some(_) => Ok(()),
            None => Err(StepError::Permissions { permissions: self.permissions.clone() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_octal_digits() {
        assert_eq!(permission_bits("640"), Some(0o640));
        assert_eq!(permission_bits("4755"), Some(0o4755));
        for wrong in ["", "8", "rw", "+7", "12345"] {
            assert_eq!(permission_bits(wrong), None, "{wrong}");
        }
    }
}
