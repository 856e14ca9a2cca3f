//! # machine: from a description to a running system
//!
//! **Role.** Holds the tables of file systems, systems and media, reads the `[stack]` table of an experiment
//! ([`systems::StackTable`]), and builds what it describes as often as one likes ([`spec::MachineSpec`]): clock, medium, driver,
//! file system, system calls. What runs on it asks only [`ffslab_system::System`].
//!
//! **Follows.** The boards, kernels and parts of `profiles`; the order in which Linux and RTEMS start and mount.
//!
//! **Leaves out.** Steps, states, sessions and results (`lab`); measured cases (`validate`).
//!
//! Its files are layers: keys ([`stack_keys`], [`rtems_keys`], [`device_keys`]) and media; file systems, which read keys and stand on media;
//! machines ([`stack`], [`rtems`], `bare`), which mount file systems, and [`mounts`], which puts several stacks on one machine;
//! [`systems`], which knows all machines.

pub mod ageing_keys;
mod bare;
mod bare_keys;
pub mod block_device;
mod cards;
pub mod device_keys;
mod device_units;
pub mod error;
pub mod exact_micros;
pub mod fault_keys;
pub mod file_systems;
pub mod flash_device;
pub mod loaders;
pub mod media;
pub mod mount_options;
pub mod mounts;
mod own_tables;
pub mod policy_keys;
pub mod rtems;
pub mod rtems_keys;
pub mod spec;
pub mod stack;
pub mod stack_keys;
pub mod systems;
pub mod ubi_volume;
pub mod vm_keys;
pub mod yaffs2_keys;

pub use error::{MachineError, RegisterError};
pub use file_systems::register;
pub use spec::MachineSpec;
pub use systems::StackTable;
