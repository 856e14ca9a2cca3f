//! The table of media.

use super::descriptor::Descriptor;
use super::BUILT_IN;
use crate::error::{MachineError, RegisterError};
use ffslab_profiles::PartKind;
use ffslab_text::words::{join_names, nearest};
use std::sync::{PoisonError, RwLock};

/// Those that joined, in the order of their names: who comes first must not change a result.
static REGISTERED: RwLock<Vec<&'static Descriptor>> = RwLock::new(Vec::new());

/// All media, those of this crate first.
pub fn all() -> Vec<&'static Descriptor> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    BUILT_IN.iter().chain(registered.iter()).copied().collect()
}

/// Adds a medium of another crate. It counts from the next look-up on, so it is registered before experiments run.
///
/// Errors: there is one of this name, or the name could not be written in an experiment.
pub fn register(medium: &'static Descriptor) -> Result<(), RegisterError> {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let name = medium.name;
    if name.is_empty() || !name.bytes().all(is_part) {
        return Err(RegisterError::Name { kind: "medium", name });
    }
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    if BUILT_IN.iter().chain(registered.iter()).any(|known| known.name == name) {
        return Err(RegisterError::Twice { kind: "medium", name });
    }
    let at = registered.partition_point(|known| known.name < name);
    registered.insert(at, medium);
    Ok(())
}

/// The medium of this name for the partition of a stack with Linux.
///
/// Errors: there is none, or it does not stand there.
pub fn on_linux(name: &str) -> Result<&'static Descriptor, MachineError> {
    let all = all();
    let known: Vec<&str> = all.iter().filter(|medium| medium.on_linux.is_some()).map(|medium| medium.name).collect();
    match all.iter().find(|medium| medium.name == name) {
        Some(medium) if medium.on_linux.is_some() => Ok(medium),
        Some(medium) => {
            let (title, known) = (medium.title, join_names(&known));
            let needed = format!("a partition of Linux cannot stand on {title} here; it can on {known}");
            Err(MachineError::word("medium", name, needed))
        }
        None => {
            let hint = nearest(name, known.iter().copied());
            let hint = hint.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
            let needed = format!("{hint}a partition of Linux stands on {}", join_names(&known));
            Err(MachineError::word("medium", name, needed))
        }
    }
}

/// The medium that a part of this kind is for a stack with Linux.
///
/// Errors: none is made of such parts there.
pub fn of_part(part: &str, kind: PartKind) -> Result<&'static Descriptor, MachineError> {
    let found = all().into_iter().find(|medium| medium.of_parts.contains(&kind) && medium.on_linux.is_some());
    found.ok_or_else(|| {
        let known: Vec<&str> =
            all().iter().filter(|medium| medium.on_linux.is_some()).map(|medium| medium.name).collect();
        let needed = format!("it is a {}; a partition of Linux stands on {}", kind.title(), join_names(&known));
        MachineError::word("part", part, needed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_once_and_media_stand_where_they_can() {
        let names: Vec<&str> = all().iter().map(|medium| medium.name).collect();
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
        assert!(register(&crate::media::NAND).unwrap_err().to_string().contains("already"));
        assert_eq!(on_linux("nand").unwrap().title, "raw NAND");
        assert!(on_linux("nadn").err().unwrap().to_string().contains("did you mean `nand`?"));
        assert_eq!(of_part("w25n01gv", PartKind::SpiNand).unwrap().name, "spi-nand");
        assert!(on_linux("block-device").err().unwrap().to_string().contains("cannot stand on a block device here"));
    }

    /// What is made has the sizes that were asked for.
    #[test]
    fn media_of_rtems_have_the_sizes_that_were_asked_for() {
        let sizes = crate::media::Sizes { erase_block_bytes: 64 << 10, size_bytes: 1 << 20 };
        for medium in all() {
            let Some(how) = &medium.on_rtems else { continue };
            let mtd = (how.make)(&sizes, &ffslab_sim::Sim::new(ffslab_sim::SimConfig::default())).unwrap();
            assert_eq!(mtd.size_bytes(), sizes.size_bytes, "{}", medium.name);
            assert_eq!((how.chip)(&sizes).is_some(), mtd.nand().is_some(), "{}", medium.name);
        }
    }
}
