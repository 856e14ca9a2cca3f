//! # text: what people type, and what they are told
//!
//! **Role.** Files of people, read with a limit and told by name where they cannot be ([`input`]); the numbers that people write in them
//! ([`Bytes`], [`Micros`]); TOML that is wrong, told with the line and what would be right ([`toml_text`]); names and values shown so that
//! a terminal bears them ([`quoting`]); the words that messages share ([`words`]).
//!
//! **Follows.** TOML 1.0; `ls` of GNU (`--quoting-style=shell-escape`); Unicode Standard Annex 9.
//!
//! **Leaves out.** What the text is about: nothing here knows flash. Sentences of one message stand with those who tell it.

pub mod input;
pub mod quantity;
pub mod quoting;
pub mod toml_text;
pub mod words;

pub use quantity::{Bytes, Micros};
