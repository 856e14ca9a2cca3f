//! The arguments of one call, looked up in the tables of descriptors.

use super::args::{self, CURRENT_DIRECTORY};
use super::descriptors::Object;
use super::error::StraceError;
use super::follow::{Follower, Place};
use super::line::Parsed;
use super::{Handle, Outcome};
use std::rc::Rc;

/// A complete call, and the state before it.
pub struct Interpreter<'a> {
    pub follower: &'a mut Follower,
    pub place: Place,
    pub parsed: &'a Parsed<'a>,
    pub result: &'a Outcome,
    pub held: Option<Rc<Object>>,
}

/// The object of a descriptor argument.
pub enum Known {
    File(Handle, Vec<u8>),
    PathOnly(Vec<u8>),
    Other,
    Unknown,
}

impl Interpreter<'_> {
    pub fn text(&self, at: usize) -> Result<&str, StraceError> {
        self.parsed.arguments.get(at).copied().ok_or_else(|| StraceError::FewArguments {
            call: self.parsed.name.to_string(),
            count: self.parsed.arguments.len(),
            needed: at + 1,
        })
    }

    pub fn wrong(&self, at: usize, expected: &'static str) -> StraceError {
        let found = self.parsed.arguments.get(at).copied().unwrap_or_default().to_string();
        StraceError::Argument { call: self.parsed.name.to_string(), number: at + 1, found, expected }
    }

    pub fn unsigned(&self, at: usize) -> Result<u64, StraceError> {
        let number = args::number(self.text(at)?).and_then(|n| u64::try_from(n).ok());
        number.ok_or_else(|| self.wrong(at, "a number"))
    }

    pub fn string(&self, at: usize) -> Result<Vec<u8>, StraceError> {
        args::string(self.text(at)?).ok_or_else(|| self.wrong(at, "a string"))
    }

    pub fn owner(&self, at: usize) -> Result<Option<u32>, StraceError> {
        match args::number(self.text(at)?) {
            Some(-1) => Ok(None),
            Some(id) => Ok(Some(id as u32)),
            None => Err(self.wrong(at, "a number")),
        }
    }

    pub fn descriptor(&self, at: usize) -> Result<(i32, Option<Vec<u8>>), StraceError> {
        args::descriptor(self.text(at)?).ok_or_else(|| self.wrong(at, "a descriptor"))
    }

    pub fn known(&mut self, at: usize) -> Result<Known, StraceError> {
        let (descriptor, annotation) = self.descriptor(at)?;
        let held = if at == 0 { self.held.clone() } else { None };
        let object = held.or_else(|| self.follower.object(self.place, descriptor, annotation.clone()));
        Ok(match object.as_deref() {
            Some(Object::File { handle, path }) => Known::File(*handle, path.clone()),
            Some(Object::PathOnly { path }) => Known::PathOnly(path.clone()),
            Some(Object::Other) => Known::Other,
            // Standard streams, and with -y all objects that are not files, do not matter for the replay.
            None if descriptor <= 2 || annotation.is_some() || self.text(at)?.contains('<') => Known::Other,
            None => Known::Unknown,
        })
    }

    /// Absolute path of a path argument; `None` when the argument is NULL, or when the directory from which the path
    /// starts is not known.
    pub fn path(&mut self, directory: Option<usize>, at: usize) -> Result<Option<Vec<u8>>, StraceError> {
        let Some(path) = args::string(self.text(at)?) else { return Ok(None) };
        if path.starts_with(b"/") {
            return Ok(Some(normal(&path)));
        }
        let base = match directory.map(|d| self.descriptor(d)).transpose()? {
            Some((descriptor, _)) if descriptor != CURRENT_DIRECTORY => match self.known(directory.unwrap_or(0))? {
                Known::File(_, base) | Known::PathOnly(base) => base,
                _ => return Ok(None),
            },
            here => {
                let process = self.place.process;
                let shown = here.and_then(|(_, annotation)| annotation);
                let known = self.follower.processes().directory(process);
                if let (None, Some(shown)) = (&known, &shown) {
                    self.follower.processes().set_directory(process, shown.clone());
                }
                shown.or(known).unwrap_or_else(|| b".".to_vec())
            }
        };
        Ok(Some(normal(&[&base[..], b"/", &path].concat())))
    }
}

/// A path without `//`, `.` and `..`, which are resolved by name only because symbolic links are not known here. If the
/// starting directory is not known the path begins with `.`.
fn normal(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    let relative = !path.starts_with(b"/");
    for part in path.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." if parts.last().is_some_and(|p| *p != b"..") => drop(parts.pop()),
            b".." if !relative => {}
            other => parts.push(other),
        }
    }
    let start: &[u8] = if relative { b"." } else { b"" };
    let mut whole = start.to_vec();
    for part in parts {
        whole.push(b'/');
        whole.extend_from_slice(part);
    }
    if whole.is_empty() {
        whole.push(b'/');
    }
    whole
}
