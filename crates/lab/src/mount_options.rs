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
const GENERIC: &str = "ro, rw, remount, sync and the other generic options of mount(8)";

impl MountOptions {
    /// Reads the options of a mount of `fs`; each text may hold several with commas between them. Of two that contradict
    /// each other the later one counts.
    ///
    /// Errors: one line about an option that is known and cannot be done.
    pub fn of(fs: &str, options: &[String]) -> Result<MountOptions, String> {
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
                // Neither JFFS2 nor YAFFS2 asks for IS_DIRSYNC: names are written when they change.
                "dirsync" if fs != "ubifs" => {}
                _ if WITHOUT_EFFECT.contains(&option) => {}
                _ => match REFUSED.iter().find(|(name, _)| *name == option) {
                    Some((_, reason)) => return Err(format!("mount option \"{option}\": {reason}")),
                    None => found.others.push(option.to_string()),
                },
            }
        }
        let dirsync = found.others.iter().any(|option| option == "dirsync");
        if fs == "ubifs" && (dirsync || found.synchronous) {
            let option = if dirsync { "dirsync" } else { "sync" };
            return Err(format!(
                "mount option \"{option}\": that all names of a UBIFS are written at once (IS_DIRSYNC, fs/ubifs/journal.c) is \
                 not simulated: give files and directories the flag (chattr +S, +D), or open files with O_SYNC"
            ));
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

/// Those of the Linux port of YAFFS2 that change what a mount does.
///
/// Errors: one line about an option that it does not have.
pub fn yaffs2_options(settings: ffslab_yaffs2::Options, options: &[String]) -> Result<ffslab_yaffs2::Options, String> {
    let mut settings = settings;
    for option in options {
        match option.as_str() {
            "no-checkpoint-read" => settings.checkpoint_read = false,
            "no-checkpoint-write" => settings.checkpoint_write = false,
            "no-checkpoint" => (settings.checkpoint_read, settings.checkpoint_write) = (false, false),
            "disable-summary" => settings.block_summaries = false,
            "no-cache" => settings.short_op_cache_pages = 0,
            "lazy-loading-off" => settings.lazy_loading = false,
            "tags-ecc-off" => settings.tags_ecc = false,
            "empty-lost-and-found-off" => settings.empty_lost_and_found = false,
            _ => {
                return Err(format!(
                    "unknown mount option \"{option}\": yaffs2 has no-checkpoint, no-checkpoint-read, \
                     no-checkpoint-write, disable-summary, no-cache, lazy-loading-off, tags-ecc-off, \
                     empty-lost-and-found-off, {GENERIC}"
                ))
            }
        }
    }
    Ok(settings)
}

/// Those of UBIFS that change what a mount does (`fs/ubifs/super.c`).
///
/// Errors: one line about an option that it does not have.
pub fn ubifs_options(settings: ffslab_ubifs::Options, options: &[String]) -> Result<ffslab_ubifs::Options, String> {
    let mut settings = settings;
    for option in options {
        match option.as_str() {
            "bulk_read" => settings.bulk_read = true,
            "no_bulk_read" => settings.bulk_read = false,
            "chk_data_crc" => settings.check_data_crc = true,
            "no_chk_data_crc" => settings.check_data_crc = false,
            _ => {
                return Err(format!(
                    "unknown mount option \"{option}\": ubifs has bulk_read, no_bulk_read, chk_data_crc, \
                     no_chk_data_crc, {GENERIC}; compression stands in the stack"
                ))
            }
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fs: &str, text: &str) -> Result<MountOptions, String> {
        MountOptions::of(fs, &[text.to_string()])
    }

    #[test]
    fn generic_options_are_honoured_or_refused() {
        for option in WITHOUT_EFFECT {
            for fs in ["jffs2", "yaffs2", "ubifs"] {
                assert_eq!(of(fs, option), Ok(MountOptions::default()), "{fs} {option}");
            }
        }
        for (option, _) in REFUSED {
            assert!(of("jffs2", option).unwrap_err().contains(option));
        }
        assert!(of("jffs2", "rw,sync").unwrap().synchronous);
        assert!(!of("jffs2", "sync,async").unwrap().synchronous);
        assert_eq!(of("yaffs2", "dirsync"), Ok(MountOptions::default()));
        for option in ["sync", "dirsync"] {
            assert!(of("ubifs", option).unwrap_err().contains("fs/ubifs/journal.c"));
        }
        let of_programs = of("jffs2", "nosuid,dev,noexec").unwrap();
        assert_eq!((of_programs.suid, of_programs.dev, of_programs.exec), (Some(false), Some(true), Some(false)));
    }

    #[test]
    fn options_are_separated_by_commas_and_the_rest_is_the_file_systems() {
        let found = of("yaffs2", "ro,noatime,no-cache,,disable-summary").unwrap();
        assert!(found.read_only);
        assert_eq!(found.others, ["no-cache", "disable-summary"]);
    }
}
