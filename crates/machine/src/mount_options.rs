//! Mount options, under the names by which mount(8) takes them.
//!
//! The options that every file system has (`fs/namespace.c`, `fs/fs_context.c` of Linux 6.1; mount(8) of util-linux)
//! either do what they do on Linux or are refused with a reason. The options for access times are accepted and change
//! nothing, as on Linux, because none of the three file systems keeps access times: JFFS2 sets `SB_NOATIME`
//! (`jffs2_fill_super`, `fs/jffs2/super.c`), as does UBIFS without `CONFIG_UBIFS_ATIME_SUPPORT` (`ubifs_mount`,
//! `fs/ubifs/super.c`) and the port of YAFFS2 (`yaffs_internal_read_super`, `yaffs_vfs_multi.c`), and
//! `atime_needs_update` of `fs/inode.c` looks at that flag before it looks at the options of the mount.

use ffslab_system::OptionError;

/// The options that every file system has, and in `others` those that are left for the file system itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountOptions {
    pub read_only: bool,
    /// The options of an existing mount change; nothing new is mounted.
    pub remount: bool,
    /// Every write(2) waits until its data are safe, as with `O_DSYNC` (`SB_SYNCHRONOUS`).
    pub synchronous: bool,
    /// `dirsync`: changes of names are written before their call returns (`SB_DIRSYNC`), where the file system does not write them at
    /// once in any case.
    pub synchronous_directories: bool,
    /// Whether the kernel of a host allows set-user-ID programs, devices and the execution of programs on the mount;
    /// `None` leaves it at the kernel's default. On the simulated board nothing is executed and no device is opened, so
    /// only `ffslab mount` uses these.
    pub suid: Option<bool>,
    pub dev: Option<bool>,
    pub exec: Option<bool>,
    pub others: Vec<String>,
}

/// Options without effect, both here and on Linux: the defaults, access times (see above), messages of the kernel, and `lazytime`, which is
/// about inodes of which nothing but a time has changed: UBIFS changes times as attributes (`update_mctime` of `fs/ubifs/file.c`), JFFS2 and
/// YAFFS2 write none of their own accord (`jffs2_dirty_inode` of `fs/jffs2/fs.c`).
const WITHOUT_EFFECT: &[&str] = &[
    "defaults",
    "noatime",
    "atime",
    "relatime",
    "norelatime",
    "strictatime",
    "nostrictatime",
    "nodiratime",
    "diratime",
    "lazytime",
    "nolazytime",
    "nomand",
    "silent",
    "loud",
];

/// Options that are refused, each with the reason.
const REFUSED: &[(&str, &str)] =
    &[("mand", "Linux has no mandatory locks since 5.15 (fs/namespace.c), and locks are not simulated: leave it out")];

/// How messages about unknown options name the options that every file system has.
pub(crate) const GENERIC: &str = "ro, rw, remount, sync and the other generic options of mount(8)";

impl MountOptions {
    /// Reads the options of a mount. Each text may hold several options with commas between them. If two contradict
    /// each other, the later one counts.
    ///
    /// Errors: an option that is known but cannot be simulated.
    pub fn of(options: &[String]) -> Result<MountOptions, OptionError> {
        let mut found = MountOptions::default();
        for option in options.iter().flat_map(|text| text.split(',')).filter(|option| !option.is_empty()) {
            match option {
                "ro" => found.read_only = true,
                "rw" => found.read_only = false,
                "remount" => found.remount = true,
                "sync" => found.synchronous = true,
                "async" => found.synchronous = false,
                "suid" | "nosuid" => found.suid = Some(option == "suid"),
                "dev" | "nodev" => found.dev = Some(option == "dev"),
                "exec" | "noexec" => found.exec = Some(option == "exec"),
                "dirsync" => found.synchronous_directories = true,
                _ if WITHOUT_EFFECT.contains(&option) => {}
                _ => match REFUSED.iter().find(|(name, _)| *name == option) {
                    Some((_, why)) => {
                        let option = option.to_string();
                        return Err(OptionError::NotSimulated { option, why });
                    }
                    None => found.others.push(option.to_string()),
                },
            }
        }
        Ok(found)
    }
}

/// Refuses all options, for file systems that have none of their own.
///
/// Errors: the first option.
pub fn no_options(fs: &'static str, options: &[String]) -> Result<(), OptionError> {
    match options.first() {
        Some(option) => {
            let known = format!("{GENERIC} here, settings stand in the stack");
            Err(OptionError::Unknown { option: option.clone(), fs, known })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<MountOptions, OptionError> {
        MountOptions::of(&[text.to_string()])
    }

    #[test]
    fn generic_options_are_honoured_or_refused() {
        for option in WITHOUT_EFFECT {
            assert_eq!(of(option), Ok(MountOptions::default()), "{option}");
        }
        for (option, _) in REFUSED {
            assert!(of(option).unwrap_err().to_string().contains(option));
        }
        assert!(of("rw,sync").unwrap().synchronous);
        assert!(!of("sync,async").unwrap().synchronous);
        let of_programs = of("nosuid,dev,noexec").unwrap();
        assert_eq!((of_programs.suid, of_programs.dev, of_programs.exec), (Some(false), Some(true), Some(false)));
    }

    #[test]
    fn options_are_separated_by_commas_and_the_rest_is_the_file_systems() {
        let found = of("ro,noatime,no-cache,,disable-summary").unwrap();
        assert!(found.read_only);
        assert_eq!(found.others, ["no-cache", "disable-summary"]);
    }
}
