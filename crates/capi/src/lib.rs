//! # capi: libffslab, the chip of `ffslab-chip` for C
//!
//! **Role.** The functions of `ffslab.h` (`python/ffslab/foreign/include`): checks pointers, turns errors into negative codes and a line of text,
//! lets no panic out.
//!
//! **Follows.** The header, which says what each function does; a test compares the two.
//!
//! **Leaves out.** Everything that is no translation.
#![allow(unsafe_code)]

mod functions;
mod guard;
mod types;
