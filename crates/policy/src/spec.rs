//! The table of the victim policies, what users may write for one, and the register for policies of others.

use crate::built_in::{self, ByKey, ByScore, DChoices, Random, WindowedGreedy};
use crate::candidates::{CandidateTable, Candidates, VICTIM_COLUMNS};
use crate::expression::Expression;
use crate::named::{is_name, is_named, parse, split, text_of, Named, Parameter, SpecError, OWN_RULE};
use crate::victim::{VictimPolicy, Victims};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// Makes a policy of somebody else for a mount.
pub type VictimMaker = Arc<dyn Fn() -> Box<dyn VictimPolicy> + Send + Sync>;

/// A victim policy before there is one: what is written in an experiment, checked.
#[derive(Clone)]
pub struct VictimSpec(Kind);

#[derive(Clone)]
enum Kind {
    Own,
    BuiltIn { at: usize, parameter: u32 },
    Score(Expression),
    Registered { name: String, make: VictimMaker },
}

type Make = fn(&'static Named, u32) -> Box<dyn VictimPolicy>;
type Key = fn(&Candidates<'_>, usize) -> f64;

fn by_key(named: &'static Named, key: Key) -> Box<dyn VictimPolicy> {
    Box::new(ByKey { name: named.name, key })
}

const fn named(name: &'static str, about: &'static str, paper: &'static str) -> Named {
    Named { name, about, paper, parameter: None }
}

/// The built-in policies. A new one is one more entry here.
static TABLE: [Named; 8] = [
    named(
        "greedy",
        "The block with most to gain.",
        "M. Rosenblum and J. Ousterhout, The Design and Implementation of a Log-Structured File System, SOSP 1991",
    ),
    named(
        "random",
        "A random block, all with the same probability.",
        "B. Van Houdt, A Mean Field Model for a Class of Garbage Collection Algorithms in Flash-Based Solid State Drives, SIGMETRICS 2013",
    ),
    named(
        "fifo",
        "The block that was written longest ago.",
        "J. Menon and L. Stockmeyer, An Age-Threshold Algorithm for Garbage Collection in Log-Structured Arrays and File Systems, IBM Research Report RJ 10120, 1998; P. Desnoyers, Analytic Modeling of SSD Write Performance, SYSTOR 2012 (there called LRU)",
    ),
    named(
        "lru",
        "The block that was changed longest ago: neither written, nor anything in it made obsolete.",
        "least recently used, as caches do; where only writes count it is fifo (P. Desnoyers, SYSTOR 2012)",
    ),
    Named {
        name: "d-choices",
        about: "The best of d random blocks.",
        paper: "B. Van Houdt, SIGMETRICS 2013; Y. Li, P. Lee and J. Lui, Stochastic Modeling of Large-Scale Solid-State Storage Systems, SIGMETRICS 2013",
        parameter: Some(Parameter { name: "d", about: "blocks that are drawn", least: 1, most: 65_536, default: 2 }),
    },
    Named {
        name: "windowed-greedy",
        about: "The block with most to gain among the w that were written longest ago.",
        paper: "X.-Y. Hu, E. Eleftheriou, R. Haas, I. Iliadis and R. Pletka, Write Amplification Analysis in Flash-Based Solid State Drives, SYSTOR 2009",
        parameter: Some(Parameter { name: "w", about: "blocks in the window", least: 1, most: 1_048_576, default: 32 }),
    },
    named(
        "cost-benefit",
        "The highest age * (1 - u) / 2u, with age since the last change and u the share that is valid.",
        "A. Kawaguchi, S. Nishioka and H. Motoda, A Flash-Memory Based File System, USENIX 1995",
    ),
    named(
        "cat",
        "Cost age times: the lowest u / (1 - u) * erases / age, with age since the last change.",
        "M.-L. Chiang, P. Lee and R.-C. Chang, Using Data Clustering to Improve Cleaning Performance for Flash Memory, Software: Practice and Experience 1999",
    ),
];

/// Who makes them, in the order of the table.
static MAKERS: [Make; 8] = [
    |named, _| by_key(named, built_in::invalid),
    |_, _| Box::new(Random),
    |named, _| by_key(named, built_in::age),
    |named, _| by_key(named, built_in::idle),
    |named, draws| Box::new(DChoices { name: text_of(named, draws), draws }),
    |named, window| {
        Box::new(WindowedGreedy { name: text_of(named, window), window: window as usize, order: Vec::new() })
    },
    |named, _| by_key(named, built_in::cost_benefit),
    |named, _| by_key(named, built_in::cat),
];

static REGISTERED: RwLock<Vec<(String, VictimMaker)>> = RwLock::new(Vec::new());

/// The built-in victim policies.
pub fn victim_policies() -> &'static [Named] {
    &TABLE
}

/// Adds a policy of somebody else under a name that experiments can use from now on.
///
/// Errors: it cannot be a name, or there is one of this name.
pub fn register(name: &str, make: VictimMaker) -> Result<(), SpecError> {
    if !is_name(name) || VICTIM_COLUMNS.iter().any(|column| column.name == name) {
        return Err(SpecError::NotAName { name: name.to_string() });
    }
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let is_taken = name == OWN_RULE
        || TABLE.iter().any(|known| known.name == name)
        || registered.iter().any(|(known, _)| known == name);
    if is_taken {
        return Err(SpecError::Taken { name: name.to_string() });
    }
    registered.push((name.to_string(), make));
    Ok(())
}

/// Forgets a policy of somebody else. Mounts that use it keep it.
pub fn unregister(name: &str) {
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).retain(|(known, _)| known != name);
}

impl VictimSpec {
    /// What a user writes: a name, a name with its parameter, or a score expression of which the highest value wins.
    ///
    /// Errors: what is wrong with it.
    pub fn parse(text: &str) -> Result<VictimSpec, SpecError> {
        let (name, _) = split(text);
        if name == OWN_RULE {
            return if text.trim() == OWN_RULE {
                Ok(VictimSpec(Kind::Own))
            } else {
                Err(SpecError::NoParameter { name: OWN_RULE })
            };
        }
        let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((name, make)) = registered.iter().find(|(known, _)| known == text.trim()) {
            return Ok(VictimSpec(Kind::Registered { name: name.clone(), make: make.clone() }));
        }
        if is_named(text, &VICTIM_COLUMNS) {
            return match parse(text, &TABLE) {
                Ok((at, parameter)) => Ok(VictimSpec(Kind::BuiltIn { at, parameter })),
                Err(SpecError::Unknown { name, mut known }) => {
                    known.insert(0, OWN_RULE.to_string());
                    known.extend(registered.iter().map(|(name, _)| name.clone()));
                    Err(SpecError::Unknown { name, known })
                }
                Err(error) => Err(error),
            };
        }
        Ok(VictimSpec(Kind::Score(Expression::compile(text, &VICTIM_COLUMNS)?)))
    }

    /// The name and the parameter of a built-in policy: for layers that keep such a rule up to date with each write.
    pub fn built_in(&self) -> Option<(&'static str, u32)> {
        match self.0 {
            Kind::BuiltIn { at, parameter } => Some((TABLE[at].name, parameter)),
            _ => None,
        }
    }

    /// Whether the layer keeps its own rule.
    pub fn is_own_rule(&self) -> bool {
        matches!(self.0, Kind::Own)
    }

    /// As it would be written.
    pub fn text(&self) -> String {
        match &self.0 {
            Kind::Own => OWN_RULE.to_string(),
            Kind::BuiltIn { at, parameter } => text_of(&TABLE[*at], *parameter),
            Kind::Score(expression) => expression.text().to_string(),
            Kind::Registered { name, .. } => name.clone(),
        }
    }

    /// A policy for one mount; `None`: the layer keeps its own rule.
    pub fn make(&self) -> Option<Box<dyn VictimPolicy>> {
        match &self.0 {
            Kind::Own => None,
            Kind::BuiltIn { at, parameter } => Some(MAKERS[*at](&TABLE[*at], *parameter)),
            Kind::Score(expression) => Some(Box::new(ByScore { expression: expression.clone() })),
            Kind::Registered { make, .. } => Some(make()),
        }
    }
}

impl Victims {
    /// `None`: the layer keeps its own rule.
    pub fn of(spec: &VictimSpec, seed: u64, table: CandidateTable) -> Option<Victims> {
        Some(Victims::new(spec.make()?, seed, table))
    }
}

impl PartialEq for VictimSpec {
    fn eq(&self, other: &VictimSpec) -> bool {
        self.text() == other.text()
    }
}

impl fmt::Debug for VictimSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VictimSpec").field(&self.text()).finish()
    }
}
