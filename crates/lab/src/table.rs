//! Tables of results: columns of equal length with their names.

use std::collections::HashMap;

/// A column of a table.
#[derive(Clone, Debug)]
pub enum Column {
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
    /// Numbers that not every row has.
    Optional(Vec<Option<u32>>),
    /// Names, and of each row the position of its name. In some tables the name "" stands for rows that have none.
    Texts(Vec<String>, Vec<u32>),
}

impl Column {
    /// Counts; NaN stands for those that a medium does not count, as it does for bytes that no file system tells.
    pub(crate) fn counted(counts: impl Iterator<Item = Option<u32>> + Clone) -> Column {
        match counts.clone().collect() {
            Some(numbers) => Column::U32(numbers),
            None => Column::F64(counts.map(|count| count.map_or(f64::NAN, f64::from)).collect()),
        }
    }

    /// Texts, of which many are the same; "" for those that are not there.
    pub(crate) fn texts<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Column {
        let (mut names, mut places) = (Vec::new(), HashMap::new());
        let mut place = |text: &'a str| {
            *places.entry(text).or_insert_with(|| {
                names.push(text.to_string());
                names.len() as u32 - 1
            })
        };
        let positions = texts.map(|text| place(text.unwrap_or_default())).collect();
        Column::Texts(names, positions)
    }
}

/// Columns of equal length with their names.
pub type Columns = Vec<(&'static str, Column)>;
