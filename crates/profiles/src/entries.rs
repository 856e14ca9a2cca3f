//! The keys of a profile, as files say them and as bases, classes and layers are merged to one.

use crate::error::ProfileError;
use crate::part::kind::PartKind;
use ffslab_text::toml_text::{friendlier, TomlError};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// What a key says, and where.
#[derive(Clone)]
pub(crate) struct Entry {
    /// A text, or a constant as a table of value, source, status and ci95.
    pub value: Value,
    pub file: String,
    pub line: usize,
}

impl Entry {
    /// The number of a constant.
    pub fn number(&self) -> Option<f64> {
        match self.value.get("value")? {
            Value::Integer(whole) => Some(*whole as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        }
    }

    pub fn error(&self, message: String) -> ProfileError {
        let (file_name, line) = (self.file.clone(), Some(self.line));
        TomlError { file_name, line, message }.into()
    }

    /// Makes of a constant one of which somebody else's profile says so much.
    pub fn assume(&mut self, number: Option<f64>, says: impl Fn(&str) -> String) {
        let Some(constant) = self.value.as_table_mut() else { return };
        let source = constant.get("source").and_then(Value::as_str).unwrap_or_default();
        constant.insert("source".to_string(), Value::from(says(source)));
        constant.insert("status".to_string(), Value::from("unverified"));
        constant.remove("ci95");
        if let Some(number) = number {
            constant.insert("value".to_string(), Value::Float(number));
        }
    }
}

/// The board whose CPU's times are those with factor 1.
pub(crate) const REFERENCE_BOARD: &str = "omap3evm";

/// What a profile and its bases say together.
pub(crate) struct Merged {
    /// By key with its table: `driver.read_us`.
    pub entries: BTreeMap<String, Entry>,
    pub file: String,
    /// Of a part: which kind.
    pub part_kind: PartKind,
    /// Of a board: how many times as long the CPU takes as that of the reference board ([`REFERENCE_BOARD`]); `None`: it does not
    /// build on that.
    pub cpu_times: Option<f64>,
    /// Of a board: the one whose driver was taken over for another part, as no controller is named.
    pub driver_of: Option<String>,
}

impl Merged {
    /// The file that was asked for, for messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Makes of the keys what reads them.
    ///
    /// Errors: a value that its key cannot have, with its place.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ProfileError> {
        let mut table = Table::new();
        for (path, entry) in &self.entries {
            let (within, name) =
                path.rsplit_once('.').map_or((None, path.as_str()), |(table, name)| (Some(table), name));
            let into = match within {
                Some(within) => table.entry(within).or_insert_with(|| Table::new().into()).as_table_mut(),
                None => Some(&mut table),
            };
            into.expect("a table has no key of its own").insert(name.to_string(), entry.value.clone());
        }
        table.try_into().map_err(|error: toml::de::Error| self.located(&error))
    }

    /// The constants by key, each read as `T`; not the scale that is in them already.
    ///
    /// Errors: one that `T` cannot be, with its place.
    pub fn constants<T: DeserializeOwned>(&self) -> Result<BTreeMap<String, T>, ProfileError> {
        let is_constant = |(path, entry): &(&String, &Entry)| !entry.value.is_str() && *path != "cpu_time_scale";
        let constants = self.entries.iter().filter(is_constant);
        let table: Table = constants.map(|(path, entry)| (path.clone(), entry.value.clone())).collect();
        table.try_into().map_err(|error: toml::de::Error| self.located(&error))
    }

    /// An error with the place of the key that it is about.
    fn located(&self, error: &toml::de::Error) -> ProfileError {
        let message = friendlier(error.message());
        // The key stands in the text of the error alone: "... in `driver.read_us.value`".
        let said = error.to_string();
        let path = said.rsplit_once("in `").and_then(|(_, path)| path.trim_end().strip_suffix('`')).unwrap_or_default();
        let of_key = |path: &str| Some((path.to_string(), self.entries.get(path)?));
        let found = of_key(path).or_else(|| of_key(path.rsplit_once('.')?.0));
        match found {
            Some((path, entry)) => entry.error(format!("{path}: {message}")),
            None => TomlError { file_name: self.file.clone(), line: None, message }.into(),
        }
    }

    /// What a key says whose value is a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.entries.get(key)?.value.as_str()
    }
}

/// The factor of the CPU's times.
pub(crate) fn factor(scale: &Entry) -> Result<f64, ProfileError> {
    let number = scale.number().filter(|number| *number > 0.0 && *number <= 1_000.0);
    number.ok_or_else(|| scale.error("cpu_time_scale: a number above 0 and up to 1000 is needed".to_string()))
}
