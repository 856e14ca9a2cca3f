//! # policy: who chooses, at every layer that has to choose
//!
//! **Role.** Rules by which a layer with garbage collection chooses its victim, its next free block and the moment to level
//! wear, and by which a page cache chooses how far to read ahead and which file to write back: as named rules of the
//! literature, as a score expression that is compiled once, or as an object of somebody else. For victims a layer fills a
//! [`CandidateTable`] at a decision point (never per flash operation) and asks through the one checked wrapper [`Victims`]; the other
//! decisions ([`Decision`]) are fewer and smaller. This crate knows no layer.
//!
//! **Follows.** The papers that each rule names in [`victim_policies`], [`free_policies`], [`levelling_policies`],
//! [`read_ahead_policies`] and [`write_back_policies`].
//!
//! **Leaves out.** What happens to the chosen block. A policy may be slow, it cannot lose data: an illegal choice is
//! refused with its reason, and the layer continues by its own rule until the run stops.

mod built_in;
mod candidates;
mod decision;
mod decisions;
mod eviction;
mod expression;
mod free;
mod free_pool;
mod leveller;
mod levelling;
mod named;
mod other;
mod read_ahead;
mod refusal;
mod rule;
mod spec;
mod stream;
mod victim;
mod write_back;

pub use candidates::{AgeUnit, CandidateTable, Candidates, Columns, Entry, Room, VICTIM_COLUMNS};
pub use decision::{Answer, Decision};
pub use decisions::DECISIONS;
pub use eviction::{eviction_policies, EvictionSpec, MAP_EVICTION};
pub use expression::{Column, Expression, ExpressionError};
pub use free::{free_policies, FreeBlocks, FreePolicy, FreeSpec, FREE};
pub use free_pool::FreePool;
pub use leveller::{Leveller, Wears};
pub use levelling::{levelling_policies, Levelling, LevellingSpec, WearOfBlocks, ENDURANCE_ERASES, LEVELLING};
pub use named::{own_rule_or, Named, Parameter, SpecError};
pub use other::{register_decider, unregister_decider, Decider, DeciderMaker, OtherAtWork, OtherRule, Question};
pub use read_ahead::{
    read_ahead_policies, ReadAheadPolicy, ReadAheadRule, ReadAheadStream, ReadDemand, ReadWindow, READ_AHEAD,
};
pub use refusal::Refusal;
pub use spec::{register, unregister, victim_policies, VictimMaker, VictimSpec};
pub use stream::{stream_policies, HotPages, StreamSpec, STREAM};
pub use victim::{checked, VictimPolicy, Victims};
pub use write_back::{write_back_policies, DirtyFile, WriteBackOrder, WriteBackRule, WRITE_BACK};

/// The random numbers of all policies. A layer seeds them once for a mount, so a run can be repeated to the byte.
pub type Pcg = rand_pcg::Pcg32;
