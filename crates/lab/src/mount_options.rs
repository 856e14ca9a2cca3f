//! Mount options, by the names that mount(8) takes them under.
//!
//! Those that every file system has (`fs/namespace.c`, `fs/fs_context.c` of Linux 6.1; mount(8) of util-linux) either do
//! what they do on Linux or are refused with a reason. Times of access are kept by none of the three: JFFS2 sets
//! `SB_NOATIME` (`jffs2_fill_super`, `fs/jffs2/super.c`), UBIFS does without `CONFIG_UBIFS_ATIME_SUPPORT` (`ubifs_mount`,
//! `fs/ubifs/super.c`), YAFFS2's port does (`yaffs_internal_read_super`, `yaffs_vfs_multi.c`); `atime_needs_update` of
//! `fs/inode.c` looks at that before it looks at options of the mount. So these are accepted and change nothing, there as here.

/// Options that every file system has, and what is left for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountOptions {
    pub read_only: bool,
    /// What is mounted changes, instead of being mounted.
    pub remount: bool,
    /// Every write(2) waits until its data are safe, as with `O_DSYNC` (`SB_SYNCHRONOUS`).
    pub synchronous: bool,
    /// `dirsync`: changes of names are written before their call returns (`SB_DIRSYNC`). A file system that does not
    /// write them at once anyway refuses it ([`crate::file_systems::Mountable::check_generic_options`]).
    pub synchronous_directories: bool,
    /// What the kernel that programs run on does with files of the mount; `None`: as it does by itself. Nothing is
    /// executed and no device opened on the simulated board, so only `ffslab mount` has use for them.
    pub suid: Option<bool>,
    pub dev: Option<bool>,
    pub exec: Option<bool>,
    pub others: Vec<String>,
}

/// Without effect, here and on Linux: the default, times of access (see above), messages of the kernel.
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
    "nolazytime",
    "nomand",
    "silent",
    "loud",
];

/// Refused, each with the reason.
const REFUSED: &[(&str, &str)] = &[
    ("lazytime", "time stamps that are kept in memory alone are not simulated: leave it out"),
    ("mand", "Linux has no mandatory locks since 5.15 (fs/namespace.c), and locks are not simulated: leave it out"),
];

/// What the messages about unknown options say of those that every file system has.
pub(crate) const GENERIC: &str = "ro, rw, remount, sync and the other generic options of mount(8)";

impl MountOptions {
    /// Reads the options of a mount; each text may hold several with commas between them. Of two that contradict
    /// each other the later one counts.
    ///
    /// Errors: one line about an option that is known and cannot be done.
    pub fn of(options: &[String]) -> Result<MountOptions, String> {
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
                    Some((_, reason)) => return Err(format!("mount option \"{option}\": {reason}")),
                    None => found.others.push(option.to_string()),
                },
            }
        }
        Ok(found)
    }
}

/// For file systems that have no options of their own.
///
/// Errors: one line about the first option.
pub fn no_options(fs: &str, options: &[String]) -> Result<(), String> {
    match options.first() {
        Some(option) => {
            Err(format!("unknown mount option \"{option}\": {fs} has {GENERIC} here, settings stand in the stack"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_systems;

    fn of(text: &str) -> Result<MountOptions, String> {
        MountOptions::of(&[text.to_string()])
    }

    #[test]
    fn generic_options_are_honoured_or_refused() {
        for option in WITHOUT_EFFECT {
            assert_eq!(of(option), Ok(MountOptions::default()), "{option}");
        }
        for (option, _) in REFUSED {
            assert!(of(option).unwrap_err().contains(option));
        }
        assert!(of("rw,sync").unwrap().synchronous);
        assert!(!of("sync,async").unwrap().synchronous);
        for (option, ubifs_takes_it) in [("ro", true), ("sync", false), ("dirsync", false)] {
            let options = of(option).unwrap();
            for fs in file_systems::all() {
                let Some(mountable) = fs.mountable else { continue };
                let answer = mountable.check_generic_options(&options);
                assert_eq!(answer.is_ok(), ubifs_takes_it || fs.name != "ubifs", "{} {option}", fs.name);
                assert!(answer.is_ok() || answer.unwrap_err().contains("fs/ubifs/journal.c"));
            }
        }
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
