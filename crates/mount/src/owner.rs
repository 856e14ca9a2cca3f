//! The owner of the file system's root, and whether the user who mounts it can write there.
//!
//! The kernel checks permissions by the simulated attributes (`default_permissions`). A new file system's root belongs to
//! root, as mkfs and the file systems themselves make it; on a board somebody with the right to calls chown(2).

use ffslab_fs::Stat;
use ffslab_lab::Session;
use ffslab_machine::mount_options::MountOptions;
use ffslab_system::{Caller, OptionError, Refusal};
use nix::unistd::{getegid, geteuid, getgroups};
use thiserror::Error;

/// Makes `owner` the owner of the root directory, as chown(2) does; this is kept on the medium. Nothing is done when
/// `owner` is the owner already, or when the mount is read-only.
///
/// Errors: options that cannot be, why it failed.
pub fn give_root(session: &mut Session, (now, owner): (&Stat, Caller), options: &[String]) -> Result<(), OwnerError> {
    if MountOptions::of(options)?.read_only || (now.uid, now.gid) == (owner.uid, owner.gid) {
        return Ok(());
    }
    session.system_mut().chown(b"/", Some(owner.uid), Some(owner.gid)).map_err(|why| OwnerError::Refused {
        owner,
        now: Caller { uid: now.uid, gid: now.gid },
        why,
    })
}

/// Why the root directory has another owner than was asked for. One line.
#[derive(Debug, Error)]
pub enum OwnerError {
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error(
        "the root of the file system cannot be given to {}:{}: {why}; --owner {}:{} leaves it to whom it belongs",
        owner.uid, owner.gid, now.uid, now.gid
    )]
    Refused { owner: Caller, now: Caller, why: Refusal },
}

/// A hint for a user who has mounted the file system and cannot write to its root.
pub fn remark(root: &Stat) -> Option<String> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let groups = getgroups().unwrap_or_default();
    let is_member = group == root.gid || groups.iter().any(|group| group.as_raw() == root.gid);
    let shift = if user == root.uid {
        6
    } else if is_member {
        3
    } else {
        0
    };
    if user == 0 || root.permissions >> shift & 0o2 != 0 {
        return None;
    }
    Some(format!(
        "the root of the file system belongs to {}:{} with mode {:04o}, so you ({user}:{group}) cannot write there: \
         mount with --owner {user}:{group} to have it",
        root.uid, root.gid, root.permissions
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_fs::{FileKind, TimeSpec};

    #[test]
    fn who_cannot_write_is_told_so() {
        let time = TimeSpec { seconds: 0, nanoseconds: 0 };
        let mut root = Stat {
            ino: 1,
            kind: FileKind::Directory,
            permissions: 0o555,
            uid: geteuid().as_raw(),
            gid: getegid().as_raw(),
            links: 2,
            size_bytes: 0,
            blocks: 0,
            device: 0,
            accessed: time,
            modified: time,
            changed: time,
        };
        assert_eq!(remark(&root).is_some(), !geteuid().is_root());
        root.permissions = 0o755;
        assert_eq!(remark(&root), None);
    }
}
