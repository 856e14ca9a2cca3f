//! # ecc: the codes of NAND controllers, found in dumps and used
//!
//! **Role.** Computes the codes that controllers and drivers put beside the data of NAND ([`code`]), knows how they lay pages out
//! ([`controllers`], [`layout`]), finds from a dump alone which of them wrote it ([`find()`]), and corrects its pages ([`scheme`]).
//!
//! **Follows.** Lin and Costello, *Error Control Coding*, for the mathematics. Where each controller's convention is written stands
//! in its row in [`controllers`].
//!
//! **Leaves out.** Hamming codes, which are in `flash` with the engines that ffslab simulates. What the pages hold.

pub mod bch;
pub mod bits;
pub mod code;
pub mod controllers;
pub mod field;
pub mod find;
pub mod layout;
pub mod reed_solomon;
pub mod scheme;
mod scrambler;
mod screen;

pub use code::{Code, CodeKind};
pub use find::{find, has_no_code};
pub use scheme::{Mask, Report, Scheme};
