//! JSON Schemas of what people write and of what the laboratory answers, made from the Rust types that read and write
//! them. `ffslab schema` prints them, and the types of the Python package are made from them.

use crate::activity::Activity;
use crate::ageing::AgeingSummary;
use crate::experiment::ExperimentFile;
use crate::keys::Keys;
use crate::life::Lives;
use crate::planned::PlannedVariant;
use crate::result::{Summary, VariantSummary};
use crate::session::SessionTotals;
use ffslab_images::Part;
use ffslab_machine::systems::NamesFilledIn;
use ffslab_machine::StackTable;
use ffslab_profiles::{ProfileName, ShownProfile};
use ffslab_workload::steps::Explained;
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
    /// A type that is written.
    pub const fn written<T: JsonSchema>(name: &'static str, about: &'static str) -> Described {
        Described { name, about, make: written::<T> }
    }

    /// Its JSON Schema (draft 2020-12).
    pub fn schema(&self) -> Value {
        (self.make)().to_value()
    }
}

/// All types that have a schema. The first one describes what people write, the others what ffslab answers.
pub const SCHEMAS: &[Described] = &[
    Described { name: "experiment", about: "experiment files", make: read::<ExperimentFile> },
    Described::written::<Summary>("summary", "what an experiment did: summary.json"),
    Described::written::<VariantSummary>("variant", "a variant of a summary"),
    Described::written::<Vec<PlannedVariant>>("plan", "the variants of an experiment"),
    Described::written::<Keys>("keys", "the variants of an experiment, with the keys under which results are kept"),
    Described::written::<StackTable>("stack", "the machine of an experiment"),
    Described::written::<Vec<Part>>("partitions", "the partitions of an image"),
    Described::written::<SessionTotals>("totals", "what a machine has done"),
    Described::written::<Activity>("activity", "what a machine has done, by kind of work"),
    Described::written::<AgeingSummary>("ageing", "what the model of ageing says of a chip"),
    Described::written::<Lives>("lives", "whole lives of devices"),
    Described::written::<Vec<ProfileName>>("profiles", "the built-in parts, boards, kernels and devices"),
    Described::written::<ShownProfile>("profile", "a part, board, kernel or device: its constants and their sources"),
];

fn read<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .with_transform(NamesFilledIn::AllThatThereAre)
        .with_transform(Explained)
        .into_generator()
        .into_root_schema_for::<T>()
}

fn written<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(NamesFilledIn::Any)
        .into_generator()
        .into_root_schema_for::<T>()
}
