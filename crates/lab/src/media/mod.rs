//! What holds the bytes below file systems, by name.

mod ecc_name;

pub use ecc_name::EccName;
