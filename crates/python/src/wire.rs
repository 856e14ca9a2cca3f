//! A part on its bus, for `ffslab chip serve`.

use crate::border::{to_json, to_python, InputError};
use crate::columns;
use crate::crash::torn_of;
use crate::given::table_of;
use ffslab_chip::wire::{Client, Wanted, Wire};
use ffslab_chip::ChipError;
use ffslab_lab::data::Table;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::BTreeMap;

fn refused(error: ChipError) -> PyErr {
    match error {
        ChipError::Lab(error) => to_python(error),
        other => InputError::new_err(other.to_string()),
    }
}

/// What was served: summary of a variant (JSON), columns of operations, and of blocks.
type Measured<'py> = (String, Bound<'py, PyDict>, Bound<'py, PyDict>);

/// Lives in the thread that made it: the simulation behind it is one thread.
#[pyclass(unsendable, module = "ffslab._native")]
pub struct ServedChip {
    wire: Wire,
    clients: BTreeMap<u64, Client>,
    next: u64,
    answers: Vec<u8>,
}

#[pymethods]
impl ServedChip {
    /// `causes`: first byte, end, and name. `held`: what `held` gave of such a chip.
    #[new]
    fn new(
        part: String,
        #[pyo3(from_py_with = table_of)] settings: Table,
        id: Option<Vec<u8>>,
        causes: Vec<(u64, u64, String)>,
        held: Option<&[u8]>,
    ) -> PyResult<ServedChip> {
        let causes_by_bytes = causes.into_iter().map(|(from, end, name)| (from..end, name)).collect();
        let wire = Wire::open(&Wanted { part, settings, id, causes_by_bytes }, held).map_err(refused)?;
        Ok(ServedChip { wire, clients: BTreeMap::new(), next: 0, answers: Vec::new() })
    }

    fn part_name(&self) -> &str {
        self.wire.part_name()
    }

    fn size_bytes(&self) -> u64 {
        self.wire.size_bytes()
    }

    /// The machine's keys, as JSON.
    fn keys(&self) -> PyResult<String> {
        to_json(self.wire.keys())
    }

    /// A client comes: its number, and what it is greeted by.
    fn connect<'py>(&mut self, py: Python<'py>) -> (u64, Bound<'py, PyBytes>) {
        let mut greeting = Vec::new();
        let client = self.wire.connect(&mut greeting);
        self.next += 1;
        self.clients.insert(self.next, client);
        (self.next, PyBytes::new(py, &greeting))
    }

    fn leaves(&mut self, client: u64) {
        self.clients.remove(&client);
    }

    /// Answers to what a client has sent, and whether its connection can go on.
    fn feed<'py>(&mut self, py: Python<'py>, client: u64, sent: &[u8]) -> PyResult<(Bound<'py, PyBytes>, bool)> {
        let of = self.clients.get_mut(&client).ok_or_else(|| PyKeyError::new_err(client))?;
        self.answers.clear();
        let goes_on = self.wire.feed(of, sent, &mut self.answers);
        Ok((PyBytes::new(py, &self.answers), goes_on))
    }

    fn cut_after(&mut self, operations: u64, torn: &str, seed: u64) -> PyResult<()> {
        self.wire.cut_after(operations, torn_of(torn, seed)?);
        Ok(())
    }

    fn is_powered(&self) -> bool {
        self.wire.is_powered()
    }

    /// Transactions, programs and erases, and what was refused.
    fn counts(&self) -> [u64; 3] {
        self.wire.counts()
    }

    /// The last refusal.
    fn why(&self) -> &str {
        self.wire.why()
    }

    fn end(&mut self) {
        self.wire.end();
    }

    /// What the cells hold, with their wear.
    fn held<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.wire.held().map_err(refused)?))
    }

    /// The bytes in the cells, each page of NAND followed by its out-of-band area.
    fn dump<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.wire.dump().map_err(refused)?))
    }

    fn load(&mut self, name: &str, image: &[u8]) -> PyResult<()> {
        self.wire.load(name, image).map_err(refused)
    }

    fn result<'py>(&mut self, py: Python<'py>) -> PyResult<Measured<'py>> {
        let result = self.wire.result().map_err(refused)?;
        Ok((to_json(&result.summary)?, columns::table(py, result.requests)?, columns::table(py, result.blocks)?))
    }
}
