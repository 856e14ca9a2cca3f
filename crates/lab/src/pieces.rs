//! What a variant leaves for the result of its experiment. It is made where the variant ran.

use crate::columns::{BlockColumns, RequestColumns};
use crate::observed::StackColumns;
use crate::ready::Ready;
use crate::repeats::figures_of;
use crate::result::VariantSummary;
use crate::run::Outcome;
use crate::table::Columns;
use serde::Serialize;
use serde_json::value::{to_raw_value, RawValue};

/// As what the summary of a variant is kept.
pub(crate) trait Told: Send + Sized {
    fn of(summary: VariantSummary) -> Self;
}

impl Told for VariantSummary {
    fn of(summary: VariantSummary) -> VariantSummary {
        summary
    }
}

/// The summary of a variant as it stands in `summary.json`, for who only hands it on.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct VariantText(pub(crate) Box<RawValue>);

impl Told for VariantText {
    fn of(summary: VariantSummary) -> VariantText {
        VariantText(to_raw_value(&summary).expect("a summary can be written"))
    }
}

/// See [`crate::result::RunResult`], of which this is the part of a variant.
#[derive(Debug)]
pub(crate) struct Piece<T> {
    pub told: T,
    /// Those that runs are compared by.
    pub figures: Vec<Option<f64>>,
    pub requests: RequestColumns,
    pub blocks: BlockColumns,
    /// By the names that the steps give.
    pub images: Vec<(String, Vec<u8>)>,
    pub logs: Vec<(String, String)>,
    pub film: Option<Columns>,
    pub stacks: Option<StackColumns>,
}

impl<T: Told> Piece<T> {
    pub fn of(ready: &Ready, mut outcome: Outcome) -> Piece<T> {
        let name = &ready.variant.name;
        let summary = VariantSummary::of(ready.variant.into(), ready.keys.clone(), &ready.spec, &outcome);
        let mut blocks = BlockColumns::default();
        blocks.extend(name, &outcome);
        Piece {
            figures: figures_of(|figure| summary.figure(figure)),
            told: T::of(summary),
            blocks,
            images: std::mem::take(&mut outcome.images).into_iter().map(|saved| (saved.file, saved.image)).collect(),
            logs: std::mem::take(&mut outcome.logs),
            film: outcome.film.take(),
            stacks: outcome.stacks.take().map(|rows| StackColumns::of(name, rows)),
            requests: RequestColumns::of(name, outcome.requests),
        }
    }
}
