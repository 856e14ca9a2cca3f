//! Tables of `[stack]` that belong to one file system, which reads its own.

use std::any::Any;

/// The keys of such a table.
pub trait OwnKeys: Any {
    /// Files that they name, relative to the experiment.
    fn files_mut(&mut self) -> Vec<&mut String> {
        Vec::new()
    }
}

/// A table that may be there.
pub(crate) trait OwnTable {
    fn is_given(&self) -> bool;

    fn files_mut(&mut self) -> Vec<&mut String>;

    fn as_any(&mut self) -> &mut dyn Any;
}

impl<K: OwnKeys> OwnTable for Option<K> {
    fn is_given(&self) -> bool {
        self.is_some()
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        self.as_mut().map(OwnKeys::files_mut).unwrap_or_default()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// All of them by name.
pub struct OwnTables<'k>(pub(crate) Vec<(&'static str, &'k mut dyn OwnTable)>);

impl OwnTables<'_> {
    pub(crate) fn of<K: OwnKeys>(&mut self, name: &str) -> &mut Option<K> {
        let table = self.0.iter_mut().find(|(known, _)| *known == name);
        table.and_then(|(_, table)| table.as_any().downcast_mut()).expect("a file system names a table that it has")
    }
}
