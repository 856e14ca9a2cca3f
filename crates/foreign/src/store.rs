//! A store of keys and values of a user's own, from a library.

use crate::c::keys::{self, Keys};
use crate::c::Settings;
use crate::device::Device;
use crate::error::{self, answer, MountError};
use crate::libraries::{Libraries, LoadError};
use ffslab_fs::{causes, Errno, KeyValueStore, Result};
use ffslab_mtd::Mtd;
use ffslab_sim::{Sim, FORMATTING};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// The code of a store in a library.
#[derive(Clone, Copy)]
pub struct StoreCode(&'static keys::Code);

static LOADED: Libraries<keys::Code> = Libraries::new();

impl StoreCode {
    /// The code of a library of this store.
    ///
    /// Errors: the file is none, or one of another ffslab or of another store.
    pub fn load(file: &Path, store: &str) -> std::result::Result<StoreCode, LoadError> {
        let code = LOADED.get(file, keys::load)?;
        if code.store != store {
            return Err(LoadError::OtherStore { file: file.display().to_string(), store: code.store.clone() });
        }
        Ok(StoreCode(code))
    }
}

impl fmt::Debug for StoreCode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("code of a store in a library")
    }
}

/// Names for numbers, by a pattern in which one run of `#` stands for the number.
#[derive(Clone, Debug)]
pub struct NumberNames {
    pub pattern: String,
    /// What the pattern makes of a number.
    pub name: fn(&str, u64) -> String,
}

impl NumberNames {
    fn name(&self, number: u64) -> String {
        (self.name)(&self.pattern, number)
    }

    /// The number that has this name; `None`: none does.
    fn number(&self, name: &[u8]) -> Option<u64> {
        let (start, end) = (self.pattern.find('#')?, self.pattern.rfind('#')? + 1);
        let digits = name.get(start..name.len().checked_sub(self.pattern.len() - end)?)?;
        let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
        (self.name(number).as_bytes() == name).then_some(number)
    }
}

/// A store that is to be made or mounted.
#[derive(Clone, Debug)]
pub struct StoreSetup {
    /// Its name.
    pub name: &'static str,
    pub code: StoreCode,
    pub settings: Settings,
    /// Of keys that are numbers: a program's keys are names of them. `None`: keys are bytes.
    pub names: Option<NumberNames>,
}

impl StoreSetup {
    /// Makes a new store, which is one on erased flash: all of it is erased, as programs do.
    ///
    /// Errors: a medium that fails.
    pub fn format(&self, medium: &Mtd) -> std::result::Result<(), MountError> {
        causes::register(medium.sim());
        let _why = medium.sim().because(&FORMATTING);
        let mut blocks = (0..medium.size_bytes()).step_by(medium.erase_block_bytes() as usize);
        blocks.try_for_each(|at| medium.erase(at)).map_err(MountError::Medium)
    }

    /// Errors: settings that it does not take, a medium that fails, no store is there.
    pub fn mount(&self, medium: &Mtd) -> std::result::Result<ForeignStore, MountError> {
        let (sim, name) = (medium.sim(), self.name);
        causes::register(sim);
        sim.register(&self.code.0.causes);
        let device = Device::new(Box::new(medium.clone()), &self.code.0.causes);
        let mut c = Keys::new(self.code.0, &self.settings, device).ok_or(MountError::Settings { fs: name })?;
        let mounted = c.mount();
        answer(name, c.device(), mounted)?;
        Ok(ForeignStore { name, c, medium: medium.clone(), names: self.names.clone(), code: self.code })
    }
}

/// A mounted store of a library.
pub struct ForeignStore {
    name: &'static str,
    c: Keys,
    medium: Mtd,
    names: Option<NumberNames>,
    code: StoreCode,
}

impl ForeignStore {
    /// What a call gave back.
    fn done(&self, code: i64) -> Result<u64> {
        error::done(self.c.device(), code)
    }

    /// A key as C takes it.
    ///
    /// Errors: it is longer than keys can be, or the name of no number that the store has.
    fn key<'k>(&self, name: &'k [u8]) -> Result<Cow<'k, [u8]>> {
        let Some(names) = &self.names else {
            return if name.len() <= self.key_bytes_max() { Ok(name.into()) } else { Err(Errno::NameTooLong) };
        };
        let number = names.number(name).filter(|number| *number < u64::from(self.code.0.numbers));
        number.map(|number| (number as u32).to_ne_bytes().to_vec().into()).ok_or(Errno::Inval)
    }

    /// What a program calls a key of C.
    ///
    /// Errors: it is no number where it should be one.
    fn name_of(&self, key: Vec<u8>) -> Result<Vec<u8>> {
        let Some(names) = &self.names else { return Ok(key) };
        let number = <[u8; 4]>::try_from(key).map(u32::from_ne_bytes).map_err(|_| Errno::Io)?;
        Ok(names.name(number.into()).into_bytes())
    }
}

impl KeyValueStore for ForeignStore {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sim(&self) -> &Sim {
        self.medium.sim()
    }

    fn key_bytes_max(&self) -> usize {
        match &self.names {
            Some(names) => names.name(u64::from(self.code.0.numbers) - 1).len(),
            None => self.code.0.key_bytes_max as usize,
        }
    }

    fn value_bytes_max(&self) -> usize {
        self.c.value_bytes_max() as usize
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let key = self.key(key)?;
        let code = self.c.set(&key, value);
        self.done(code).map(drop)
    }

    fn get(&mut self, key: &[u8]) -> Result<Vec<u8>> {
        let key = self.key(key)?;
        let mut value = vec![0; self.value_bytes_max()];
        let code = self.c.get(&key, &mut value);
        let bytes = self.done(code)?;
        value.truncate(bytes as usize);
        Ok(value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let key = self.key(key)?;
        let code = self.c.delete(&key);
        self.done(code).map(drop)
    }

    fn iterate(&mut self, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        let (items, code) = self.c.iterate();
        self.done(code)?;
        let mut named = BTreeMap::new();
        for (key, value) in items {
            let name = self.name_of(key)?;
            match value {
                Some(value) => named.insert(name, value),
                None => named.remove(&name),
            };
        }
        named.iter().for_each(|(name, value)| each(name, value));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_at_most_one_number() {
        let name = |_: &str, number: u64| format!("key{number:04}.x");
        let names = NumberNames { pattern: "key####.x".to_string(), name };
        assert_eq!(names.number(b"key0007.x"), Some(7));
        assert_eq!(names.number(b"key12345.x"), Some(12_345));
        for other in ["key007.x", "key00007.x", "key.x", ".x", "log0007.x", "key0007", "key+007.x", "key-007.x"] {
            assert_eq!(names.number(other.as_bytes()), None, "{other}");
        }
    }
}
