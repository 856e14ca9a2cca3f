//! The systems by name: one descriptor each, in one table. Nothing else lists them.
//!
//! A system is a type of keys, the `[stack]` table of an experiment with it, which says what machine they describe
//! ([`SystemKeys`]), and a machine that can be built again and again ([`crate::spec::Spec`]).

mod bare;
mod descriptor;
mod linux;
mod rtems;
mod schema;

pub use descriptor::{Descriptor, SystemKeys};
pub use schema::NamesFilledIn;

use crate::bare_keys::BareKeys;
use crate::error::MachineError;
use crate::rtems_keys::RtemsKeys;
use crate::spec::MachineSpec;
use crate::stack_keys::StackKeys;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::path::Path;

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
            pub fn read<'de, D: Deserializer<'de>>(system: &Descriptor, from: D) -> Result<StackTable, D::Error> {
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
    /// A table as text.
    ///
    /// Errors: as those of [`StackTable::of`]; a text that is no TOML.
    pub fn parse(text: &str) -> Result<StackTable, toml::de::Error> {
        StackTable::of(toml::from_str(text)?)
    }

    /// A table as a program gives it.
    ///
    /// Errors: unknown keys and systems, values of another kind.
    pub fn of(mut keys: toml::Table) -> Result<StackTable, toml::de::Error> {
        let Some(name) = keys.get("system").cloned() else { return StackTable::read(by_default(), keys) };
        let name = String::deserialize(name)?;
        let Some(system) = find(&name) else {
            let known: Vec<&str> = TABLE.iter().map(|system| system.name).collect();
            let text = format!("system = \"{name}\": unknown, known are {}", known.join(", "));
            return Err(serde::de::Error::custom(text));
        };
        if system == by_default() {
            // Its keys are those of a table that names no system.
            keys.remove("system");
        }
        StackTable::read(system, keys)
    }

    /// The machine that the table describes, and the table with all values filled in.
    ///
    /// Errors: one line that says what is wrong with a key, a profile or an image.
    pub fn machine(&self, base_dir: &Path) -> Result<(MachineSpec, StackTable), MachineError> {
        let mut filled = self.clone();
        let spec = filled.keys_mut().machine(base_dir)?;
        Ok((spec, filled))
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
            let (spec, _) = table.machine(Path::new(".")).unwrap();
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
