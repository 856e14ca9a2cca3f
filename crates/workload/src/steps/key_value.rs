//! The steps about keys and values. A store has them itself; on a file system a key is a file in the root.

use super::checks::{check_order, nonzero};
use super::error::StepError;
use super::many::{check_name, path_of_many};
use super::words::{ContentName, KeyFile, Pattern};
use super::{default_seed, is_default};
use crate::prng::SplitMix64;
use ffslab_text::quantity::{Bytes, Micros};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

step_keys! {
    /// Gives keys values, one after the other. Each is safe when its call has returned.
    Set {
        /// Names of the keys: the `#` stand for the number of the key, which has at least as many digits.
        #[serde(default = "default_name", skip_serializing_if = "is_default_name")]
        name: String,
        /// Number of different keys.
        keys: u64,
        /// Size of each value.
        bytes: Bytes,
        /// Number of calls; absent: one for each key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// Which key comes next.
        #[serde(default = "default_pattern", skip_serializing_if = "is_default_pattern")]
        pattern: Pattern,
        /// `listed`: numbers of keys, from 0, in the order of the calls; then it begins again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        order: Vec<u64>,
        /// Seed of the random keys.
        #[serde(default = "default_seed")]
        seed: u64,
        /// How it is done on a file system; a store does it in its own way.
        #[serde(default, skip_serializing_if = "is_default")]
        files: KeyFile,
        /// Think time after each call.
        #[serde(default, skip_serializing_if = "is_default")]
        gap_us: Micros,
        #[serde(default, skip_serializing_if = "is_default")]
        content: ContentName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_file: Option<String>,
    }
    /// Reads values of keys. A key that is not there is counted, and no error.
    Get {
        /// As in `set`.
        #[serde(default = "default_name", skip_serializing_if = "is_default_name")]
        name: String,
        /// Number of different keys.
        keys: u64,
        /// Number of calls; absent: one for each key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// Which key comes next.
        #[serde(default = "default_pattern", skip_serializing_if = "is_default_pattern")]
        pattern: Pattern,
        /// `listed`: numbers of keys, from 0, in the order of the calls; then it begins again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        order: Vec<u64>,
        /// Seed of the random keys.
        #[serde(default = "default_seed")]
        seed: u64,
        /// Think time after each call.
        #[serde(default, skip_serializing_if = "is_default")]
        gap_us: Micros,
    }
    /// Deletes keys. A key that is not there is counted, as far as the store tells, and no error.
    Delete {
        /// As in `set`.
        #[serde(default = "default_name", skip_serializing_if = "is_default_name")]
        name: String,
        /// Number of different keys.
        keys: u64,
        /// Number of calls; absent: one for each key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// Which key comes next.
        #[serde(default = "default_pattern", skip_serializing_if = "is_default_pattern")]
        pattern: Pattern,
        /// `listed`: numbers of keys, from 0, in the order of the calls; then it begins again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        order: Vec<u64>,
        /// Seed of the random keys.
        #[serde(default = "default_seed")]
        seed: u64,
        /// Think time after each call.
        #[serde(default, skip_serializing_if = "is_default")]
        gap_us: Micros,
    }
    /// Reads all keys and their values, in one call.
    Iterate {}
}

const NAME: &str = "key####";

fn default_name() -> String {
    NAME.to_string()
}

fn is_default_name(name: &str) -> bool {
    name == NAME
}

fn default_pattern() -> Pattern {
    Pattern::Sequential
}

fn is_default_pattern(pattern: &Pattern) -> bool {
    *pattern == Pattern::Sequential
}

/// Which keys the calls of a step are about, in their order.
#[derive(Clone, Debug)]
pub struct KeyOrder<'a> {
    name: &'a str,
    keys: u64,
    pattern: Pattern,
    order: &'a [u64],
    prng: SplitMix64,
    /// Number of calls.
    pub count: u64,
}

impl KeyOrder<'_> {
    /// Of all keys, with `#` for the number.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Number and name of the key of call `i`; calls are asked for in their order.
    pub fn key(&mut self, i: u64) -> (u64, String) {
        let number = match self.pattern {
            Pattern::Sequential => i % self.keys,
            Pattern::Random => self.prng.below(self.keys),
            Pattern::Listed => self.order[(i % self.order.len() as u64) as usize],
        };
        (number, path_of_many("", self.name, number))
    }
}

macro_rules! ordered {
    ($($Name:ident),+) => {
        $(impl $Name {
            /// The keys of its calls.
            pub fn key_order(&self) -> KeyOrder<'_> {
                KeyOrder {
                    name: &self.name,
                    keys: self.keys,
                    pattern: self.pattern,
                    order: &self.order,
                    prng: SplitMix64::new(self.seed),
                    count: self.count.unwrap_or(self.keys),
                }
            }

            /// Errors: the key, what is wrong with it, and what would be right.
            pub(super) fn check(&self) -> Result<(), StepError> {
                nonzero("keys", self.keys)?;
                check_name(&self.name)?;
                check_order(self.pattern, &self.order)?;
                match self.order.iter().find(|number| **number >= self.keys) {
                    Some(number) => Err(StepError::NoSuchKey { number: *number, keys: self.keys }),
                    None => Ok(()),
                }
            }
        })+
    };
}

ordered! { Set, Get, Delete }
