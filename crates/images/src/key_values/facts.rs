//! A row of the table that `inspect` shows of a store.

use schemars::JsonSchema;
use serde::Serialize;

/// Whether a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    /// It is what a program reads.
    Current,
    /// A newer one of the same key counts.
    Older,
    /// Its key was deleted, or it was marked as erased.
    Erased,
}

/// A value under a key, as it stands in a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KeyFacts {
    /// `None`: the store has none, or the key is in none.
    pub namespace: Option<String>,
    pub key: String,
    /// As the tools of the store call it: "u8", "string", "blob", "data".
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Bytes of the value.
    #[serde(rename = "size_B")]
    pub size_bytes: u64,
    /// The value, or how it begins: numbers in decimal digits, text in quotes, other bytes in hexadecimal digits. `None`: it is damaged.
    pub value: Option<String>,
    pub state: KeyState,
    /// The page or sector that it stands in.
    pub block: u32,
    /// Its number among the entries of that page or sector.
    #[serde(rename = "entry")]
    pub number: u32,
}
