//! Mount options, by the names that mount(8) takes them under.

/// Options that every file system has, and what is left for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountOptions {
    pub read_only: bool,
    /// What is mounted changes, instead of being mounted.
    pub remount: bool,
    pub others: Vec<String>,
}

impl MountOptions {
    pub fn of(options: &[String]) -> MountOptions {
        let mut found = MountOptions::default();
        for option in options {
            match option.as_str() {
                "ro" => found.read_only = true,
                "rw" => found.read_only = false,
                "remount" => found.remount = true,
                _ => found.others.push(option.clone()),
            }
        }
        found
    }
}

/// For file systems that have no options of their own.
///
/// Errors: one line about the first option.
pub fn no_options(fs: &str, options: &[String]) -> Result<(), String> {
    match options.first() {
        Some(option) => Err(format!(
            "unknown mount option \"{option}\": {fs} has ro, rw and remount here, settings stand in the stack"
        )),
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
                    "unknown mount option \"{option}\": yaffs2 has ro, rw, remount, no-checkpoint, no-checkpoint-read, \
                     no-checkpoint-write, disable-summary, no-cache, lazy-loading-off, tags-ecc-off, \
                     empty-lost-and-found-off"
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
                "unknown mount option \"{option}\": ubifs has ro, rw, remount, bulk_read, no_bulk_read, chk_data_crc, no_chk_data_crc; \
                     compression stands in the stack"
            ))
            }
        }
    }
    Ok(settings)
}
