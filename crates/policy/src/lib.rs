//! # policy: who chooses which block, at every layer that has to choose
//!
//! **Role.** Rules by which a layer with garbage collection chooses its victim, its next free block and the moment to level
//! wear: as named rules of the literature, as a score expression that is compiled once, or as an object of somebody else.
//! A layer fills a [`CandidateTable`] at a decision point (never per flash operation) and asks through the one checked
//! wrapper [`Victims`]. This crate knows no layer.
//!
//! **Follows.** The papers that each rule names in [`victim_policies`], [`free_policies`] and [`levelling_policies`].
//!
//! **Leaves out.** What happens to the chosen block. A policy may be slow, it cannot lose data: an illegal choice is
//! refused with its reason, and the layer continues by its own rule until the run stops.

mod built_in;
mod candidates;
mod eviction;
mod expression;
mod free;
mod free_pool;
mod leveller;
mod levelling;
mod named;
mod spec;
mod stream;
mod victim;

pub use candidates::{AgeUnit, CandidateTable, Candidates, Entry, Room};
pub use eviction::{eviction_policies, EvictionSpec};
pub use expression::{Expression, ExpressionError};
pub use free::{free_policies, FreeBlocks, FreePolicy, FreeSpec};
pub use free_pool::FreePool;
pub use leveller::{Leveller, Wears};
pub use levelling::{levelling_policies, Levelling, LevellingSpec, WearOfBlocks, ENDURANCE_ERASES};
pub use named::{Named, Parameter, SpecError};
pub use spec::{register, unregister, victim_policies, VictimMaker, VictimSpec, OWN_RULE};
pub use stream::{stream_policies, HotPages, StreamSpec};
pub use victim::{checked, Refusal, VictimPolicy, Victims};

/// The random numbers of all policies. A layer seeds them once for a mount, so a run can be repeated to the byte.
pub type Pcg = rand_pcg::Pcg32;
