//! Tests of the crate, in one program.

mod codes;
mod schemes;
