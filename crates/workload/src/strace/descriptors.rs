//! Which process has which descriptor: the tables of processes and threads, open file descriptions, current
//! directories.

use super::Handle;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a descriptor refers to.
#[derive(Clone, Debug)]
pub enum Object {
    /// A file or directory that was opened by this absolute path.
    File { handle: Handle, path: Vec<u8> },
    /// Opened with `O_PATH`: only a starting point for other paths.
    PathOnly { path: Vec<u8> },
    /// A pipe, socket, timer ...
    Other,
}

#[derive(Clone)]
struct Entry {
    object: Rc<Object>,
    close_on_exec: bool,
}

#[derive(Clone, Default)]
struct Process {
    files: Rc<RefCell<BTreeMap<i32, Entry>>>,
    /// The current directory. `None`: the trace has not shown it; relative paths then begin with `.`.
    directory: Rc<RefCell<Option<Vec<u8>>>>,
}

/// A clone, fork or vfork that has begun. The trace may show calls of the child before it returns.
struct Birth {
    parent: u32,
    child: Process,
}

/// All processes of a trace. Operations that close descriptors return the handles that lost their last descriptor.
#[derive(Default)]
pub struct Processes {
    processes: BTreeMap<u32, Process>,
    births: Vec<Birth>,
}

impl Processes {
    /// Makes sure that the process `id` is known. A new process is taken as the child of the oldest clone that has not
    /// returned, if there is one.
    pub fn meet(&mut self, id: u32) {
        if !self.processes.contains_key(&id) {
            let process = if self.births.is_empty() { Process::default() } else { self.births.remove(0).child };
            self.processes.insert(id, process);
        }
    }

    fn process(&self, id: u32) -> &Process {
        &self.processes[&id]
    }

    pub fn get(&self, id: u32, descriptor: i32) -> Option<Rc<Object>> {
        self.process(id).files.borrow().get(&descriptor).map(|e| e.object.clone())
    }

    /// Makes a descriptor refer to an object. If the descriptor referred to another one, that one is closed.
    pub fn set(&mut self, id: u32, descriptor: i32, object: Rc<Object>, close_on_exec: bool) -> Option<Handle> {
        let entry = Entry { object, close_on_exec };
        let before = self.process(id).files.borrow_mut().insert(descriptor, entry);
        before.and_then(|e| last_use(e.object))
    }

    pub fn set_close_on_exec(&mut self, id: u32, descriptor: i32, close_on_exec: bool) {
        if let Some(entry) = self.process(id).files.borrow_mut().get_mut(&descriptor) {
            entry.close_on_exec = close_on_exec;
        }
    }

    pub fn close(&mut self, id: u32, descriptor: i32) -> Option<Handle> {
        let entry = self.process(id).files.borrow_mut().remove(&descriptor);
        entry.and_then(|e| last_use(e.object))
    }

    /// Descriptors in use from `first` to `last`.
    pub fn in_range(&self, id: u32, first: i32, last: i32) -> Vec<i32> {
        if first > last {
            return Vec::new();
        }
        self.process(id).files.borrow().range(first..=last).map(|(d, _)| *d).collect()
    }

    pub fn directory(&self, id: u32) -> Option<Vec<u8>> {
        self.process(id).directory.borrow().clone()
    }

    pub fn set_directory(&mut self, id: u32, path: Vec<u8>) {
        *self.process(id).directory.borrow_mut() = Some(path);
    }

    /// Notes the beginning of a clone, whose flags tell what parent and child share.
    pub fn birth(&mut self, parent: u32, shares_files: bool, shares_directory: bool) {
        let own = self.process(parent);
        let files = if shares_files { own.files.clone() } else { Rc::new(RefCell::new(own.files.borrow().clone())) };
        let directory = if shares_directory {
            own.directory.clone()
        } else {
            Rc::new(RefCell::new(own.directory.borrow().clone()))
        };
        self.births.push(Birth { parent, child: Process { files, directory } });
    }

    /// Notes the end of a clone of `parent`, which returned this child, or failed (`None`).
    pub fn born(&mut self, parent: u32, child: Option<u32>) -> Vec<Handle> {
        let Some(at) = self.births.iter().position(|b| b.parent == parent) else {
            return Vec::new(); // the child has spoken before
        };
        let birth = self.births.remove(at);
        match child {
            Some(child) if !self.processes.contains_key(&child) => {
                self.processes.insert(child, birth.child);
                Vec::new()
            }
            _ => end(birth.child),
        }
    }

    /// Notes that a program was executed: the descriptor table is not shared any more, and close-on-exec descriptors
    /// are closed.
    pub fn exec(&mut self, id: u32) -> Vec<Handle> {
        let process = self.processes.get_mut(&id).expect("met before");
        let mut own = process.files.borrow().clone();
        let mut closed: Vec<Rc<Object>> = Vec::new();
        own.retain(|_, entry| {
            if entry.close_on_exec {
                closed.push(entry.object.clone());
            }
            !entry.close_on_exec
        });
        process.files = Rc::new(RefCell::new(own));
        closed.into_iter().filter_map(last_use).collect()
    }

    pub fn exit(&mut self, id: u32) -> Vec<Handle> {
        self.processes.remove(&id).map(end).unwrap_or_default()
    }
}

/// Removes a process. Its descriptors are closed unless another thread shares the table.
fn end(process: Process) -> Vec<Handle> {
    match Rc::try_unwrap(process.files) {
        Ok(files) => files.into_inner().into_values().filter_map(|e| last_use(e.object)).collect(),
        Err(_) => Vec::new(),
    }
}

/// Returns the handle if this was the last descriptor of its open file description.
pub fn last_use(object: Rc<Object>) -> Option<Handle> {
    match Rc::try_unwrap(object) {
        Ok(Object::File { handle, .. }) => Some(handle),
        _ => None,
    }
}
