//! JSON Schemas of what people write and of what the laboratory answers, made from the Rust types that read and write
//! them. `ffslab schema` prints them, and the types of the Python package are made from them.

use crate::activity::Activity;
use crate::experiment::ExperimentFile;
use crate::inspect::Inspected;
use crate::planned::PlannedVariant;
use crate::recognise::parts::Part;
use crate::result::{Summary, VariantSummary};
use crate::session::SessionTotals;
use crate::stack_keys::StackTable;
use crate::validate::ValidationReport;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// A type that has a JSON Schema.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    pub name: &'static str,
    /// What the type describes, in a line.
    pub about: &'static str,
    make: fn() -> Schema,
}

impl Described {
    /// Its JSON Schema (draft 2020-12).
    pub fn schema(&self) -> Value {
        (self.make)().to_value()
    }
}

/// All types that have a schema. The first one describes what people write, the others what ffslab answers.
pub const SCHEMAS: &[Described] = &[
    Described { name: "experiment", about: "experiment files", make: read::<ExperimentFile> },
    Described { name: "summary", about: "what an experiment did: summary.json", make: written::<Summary> },
    Described { name: "inspection", about: "what is in the partitions of an image", make: written::<Vec<Inspected>> },
    Described { name: "validation", about: "comparisons with measured cases", make: written::<ValidationReport> },
    Described { name: "variant", about: "a variant of a summary", make: written::<VariantSummary> },
    Described { name: "plan", about: "the variants of an experiment", make: written::<Vec<PlannedVariant>> },
    Described { name: "stack", about: "the machine of an experiment", make: written::<StackTable> },
    Described { name: "partitions", about: "the partitions of an image", make: written::<Vec<Part>> },
    Described { name: "totals", about: "what a machine has done", make: written::<SessionTotals> },
    Described { name: "activity", about: "what a machine has done, by kind of work", make: written::<Activity> },
];

fn read<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()
}

fn written<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}
