//! The systems by name: one descriptor each, in one table. Nothing else in the laboratory lists them.
//!
//! A system is a type of keys, the `[stack]` table of an experiment with it, which says what machine they describe
//! ([`SystemKeys`]), and a machine that can be built again and again ([`Spec`]).

mod bare;
mod linux;
mod rtems;

use crate::bare::BareKeys;
use crate::error::LabError;
use crate::machine::{MachineSpec, Spec};
use crate::rtems::RtemsKeys;
use crate::stack_keys::StackKeys;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::path::Path;

/// What the laboratory knows of a system without a machine.
pub struct Descriptor {
    /// As users write it: `system = "linux"`.
    pub name: &'static str,
    /// As people write it: "Linux".
    pub title: &'static str,
    /// Who it is, for help texts.
    pub about: &'static str,
    /// The file systems that it mounts, by the names that it has for them.
    pub file_systems: fn() -> Vec<&'static str>,
}

impl PartialEq for Descriptor {
    fn eq(&self, other: &Descriptor) -> bool {
        self.name == other.name
    }
}

/// The keys of a `[stack]` table with one system.
pub trait SystemKeys {
    fn system(&self) -> &'static Descriptor;

    /// The name of the file system.
    fn fs(&self) -> &str;

    /// The name of the board.
    fn board(&self) -> &str;

    /// Names of profiles in the keys, which may be paths.
    fn profiles_mut(&mut self) -> Vec<&mut String>;

    /// The path of an image in the keys.
    fn image_mut(&mut self) -> Option<&mut String>;

    /// What they describe, and the keys with all values filled in.
    ///
    /// Errors: [`LabError::Input`] with one line that says what is wrong with a key, a profile or an image.
    fn machine(&self, base_dir: &Path) -> Result<(MachineSpec, StackTable), LabError>;
}

/// Makes the type of a `[stack]` table and the table of systems, from one line a system.
macro_rules! systems {
    ($($variant:ident($keys:ty) = $descriptor:path,)+) => {
        /// The `[stack]` table: of Linux, with `system = "rtems"` of RTEMS, with `system = "bare"` of a program without either.
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        #[serde(untagged)]
        pub enum StackTable {
            $($variant(Box<$keys>),)+
        }

        /// The systems in the order in which people read them; the first one is meant where none is named.
        static TABLE: &[&Descriptor] = &[$(&$descriptor,)+];

        impl StackTable {
            /// The keys, whichever system they are of.
            pub fn keys(&self) -> &dyn SystemKeys {
                match self {
                    $(StackTable::$variant(keys) => &**keys,)+
                }
            }

            pub fn keys_mut(&mut self) -> &mut dyn SystemKeys {
                match self {
                    $(StackTable::$variant(keys) => &mut **keys,)+
                }
            }

            /// Reads the keys of this system.
            ///
            /// Errors: unknown keys, values of another kind.
            pub(crate) fn read<'de, D: Deserializer<'de>>(system: &Descriptor, from: D) -> Result<StackTable, D::Error> {
                $(if system.name == $descriptor.name {
                    return <$keys>::deserialize(from).map(|keys| StackTable::$variant(Box::new(keys)));
                })+
                unreachable!("all descriptors are those of the table")
            }
        }

        $(impl From<$keys> for StackTable {
            fn from(keys: $keys) -> StackTable {
                StackTable::$variant(Box::new(keys))
            }
        })+
    };
}

systems! {
    Linux(StackKeys) = linux::LINUX,
    Rtems(RtemsKeys) = rtems::RTEMS,
    Bare(BareKeys) = bare::BARE,
}

/// All systems.
pub fn all() -> &'static [&'static Descriptor] {
    TABLE
}

/// The system of a table that names none.
pub fn by_default() -> &'static Descriptor {
    TABLE[0]
}

pub fn find(name: &str) -> Option<&'static Descriptor> {
    TABLE.iter().find(|system| system.name == name).copied()
}

impl StackTable {
    /// A table as a program writes it, each key on a line of its own.
    ///
    /// Errors: unknown keys and systems, values of another kind.
    pub fn parse(text: &str) -> Result<StackTable, toml::de::Error> {
        #[derive(Deserialize)]
        struct OfSystem {
            system: Option<String>,
        }
        let named = toml::from_str::<OfSystem>(text)?.system;
        let system = named.as_deref().map_or(Some(by_default()), find);
        match system {
            Some(system) if named.is_some() && system == by_default() => {
                // Its keys are those of a table that names no system.
                let mut keys: toml::Table = toml::from_str(text)?;
                keys.remove("system");
                StackTable::read(system, keys)
            }
            Some(system) => StackTable::read(system, toml::Deserializer::parse(text)?),
            None => {
                let known: Vec<&str> = TABLE.iter().map(|system| system.name).collect();
                let name = named.unwrap_or_default();
                let text = format!("system = \"{name}\": unknown, known are {}", known.join(", "));
                Err(serde::de::Error::custom(text))
            }
        }
    }

    /// The name of the file system.
    pub fn fs(&self) -> &str {
        self.keys().fs()
    }

    /// The name of the board.
    pub fn board(&self) -> &str {
        self.keys().board()
    }

    /// The keys of a stack with Linux.
    pub fn linux(&self) -> Option<&StackKeys> {
        match self {
            StackTable::Linux(keys) => Some(keys),
            _ => None,
        }
    }
}

/// A machine of this system and its keys.
fn described(spec: impl Spec, keys: impl Into<StackTable>) -> (MachineSpec, StackTable) {
    (MachineSpec::new(spec), keys.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_reads_its_keys_and_builds_its_machine() {
        for system in all() {
            let fs = (system.file_systems)()[0];
            let named = if *system == by_default() {
                "board = \"omap3evm\"\npartition_blocks = 40\n".to_string()
            } else {
                format!("system = \"{}\"\n", system.name)
            };
            let table = StackTable::parse(&format!("{named}fs = \"{fs}\"\n")).unwrap();
            assert_eq!((table.keys().system().name, table.fs()), (system.name, fs));
            let (spec, _) = MachineSpec::of(&table, Path::new(".")).unwrap();
            let mut machine = spec.build(None).unwrap();
            machine.mount(&[]).unwrap();
            assert!(machine.is_mounted(), "{}", system.name);
        }
    }

    #[test]
    fn an_unknown_system_is_named_with_those_that_there_are() {
        let error = StackTable::parse("system = \"vxworks\"\nfs = \"rfs\"\n").unwrap_err();
        let text = error.message().to_string();
        assert!(all().iter().all(|system| text.contains(system.name)), "{text}");
    }
}
