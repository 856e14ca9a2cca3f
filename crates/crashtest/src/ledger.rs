//! What must be on the medium, what may be, and what cannot: the contract of fsync(2).
//!
//! Data are safe when fsync of the file, or sync, has succeeded; a name is safe when fsync of its directory, or sync, has. Anything
//! else may be there or not, independently for each name and each byte, with two exceptions: a replaced name stands for the old or
//! the new file, and a node that had a safe name, and has had some name ever since, is found under one of its names.
//! `crates/conformance/src/history.rs` is the same contract over a model that carries out calls made from seeds: it judges permissions,
//! attributes and numbers of links, too, and forgives what a file system does not promise. Here are only the effects of whatever a
//! program called, and a copy for each instant that is judged. Neither knows of the other, so that each tests the other's file systems.

use crate::log::{Effect, Node, NodeKind, ROOT};
use crate::tree::{shown, FileOrSo, Tree};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A file's states since it was last safe.
#[derive(Clone, Debug)]
struct File {
    kind: NodeKind,
    safe: Arc<Vec<u8>>,
    pending: Vec<Pending>,
    size: u64,
    size_least: u64,
    size_most: u64,
    links: u32,
}

#[derive(Clone, Debug)]
enum Pending {
    Data { at: u64, data: Arc<[u8]> },
    Size(u64),
}

type Name = (Node, Arc<[u8]>);

/// The promises at an instant.
#[derive(Clone, Debug)]
pub struct Ledger {
    nodes: HashMap<Node, File>,
    /// What each name has stood for since it was last safe, the present last.
    names: BTreeMap<Name, Vec<Option<Node>>>,
    /// Nodes that must be found under some name.
    must_exist: BTreeSet<Node>,
    /// Whether zeros, and data that were cut off, may be replaced by older data.
    older_data: bool,
}

impl Ledger {
    /// Of an empty file system.
    pub fn new(older_data: bool) -> Ledger {
        let root = File::new(NodeKind::Directory);
        let nodes = HashMap::from([(ROOT, root)]);
        Ledger { nodes, names: BTreeMap::new(), must_exist: BTreeSet::new(), older_data }
    }

    /// Whether nothing must survive yet.
    pub fn nothing_is_safe(&self) -> bool {
        self.must_exist.is_empty()
    }

    pub fn apply(&mut self, effect: &Effect) {
        match effect {
            Effect::Made { node, kind } => drop(self.nodes.insert(*node, File::new(kind.clone()))),
            Effect::Named { directory, name, to } => self.named((*directory, name.clone()), *to),
            Effect::Data { node, at, data } => {
                if let Some(file) = self.nodes.get_mut(node) {
                    file.size = file.size.max(at + data.len() as u64);
                    file.size_most = file.size_most.max(file.size);
                    file.pending.push(Pending::Data { at: *at, data: data.clone() });
                }
            }
            Effect::Size { node, bytes } => {
                if let Some(file) = self.nodes.get_mut(node) {
                    file.size = *bytes;
                    file.size_least = file.size_least.min(*bytes);
                    file.size_most = file.size_most.max(*bytes);
                    file.pending.push(Pending::Size(*bytes));
                }
            }
            Effect::Safe { node } => {
                if let Some(file) = self.nodes.get_mut(node) {
                    file.is_safe();
                    if file.kind == NodeKind::Directory {
                        self.names_are_safe(*node);
                    }
                }
            }
            Effect::AllSafe => self.all_is_safe(),
            Effect::Told(_) => {}
        }
    }

    fn named(&mut self, name: Name, to: Option<Node>) {
        let values = self.names.entry(name).or_insert_with(|| vec![None]);
        let before = values.last().copied().flatten();
        if before == to {
            return;
        }
        values.push(to);
        if let Some(file) = to.and_then(|node| self.nodes.get_mut(&node)) {
            file.links += 1;
        }
        if let Some((node, file)) = before.and_then(|node| Some((node, self.nodes.get_mut(&node)?))) {
            file.links -= 1;
            if file.links == 0 {
                self.must_exist.remove(&node);
            }
        }
    }

    fn names_are_safe(&mut self, directory: Node) {
        let is_safe = directory == ROOT || self.must_exist.contains(&directory);
        let first = (directory, Arc::from(&b""[..]));
        for (_, values) in self.names.range_mut(first..).take_while(|((of, _), _)| *of == directory) {
            values.drain(..values.len() - 1);
            if is_safe {
                self.must_exist.extend(values[0]);
            }
        }
        self.names.retain(|(of, _), values| *of != directory || values[0].is_some());
    }

    fn all_is_safe(&mut self) {
        self.names.retain(|_, values| {
            values.drain(..values.len() - 1);
            values[0].is_some()
        });
        self.nodes.retain(|node, file| *node == ROOT || file.links > 0 || !file.pending.is_empty());
        self.nodes.values_mut().for_each(File::is_safe);
        self.must_exist = self.nodes.iter().filter(|(_, file)| file.links > 0).map(|(node, _)| *node).collect();
    }

    /// Checks whether these files may be found after a power cut now.
    ///
    /// Errors: what is missing, was never written, or is wrong, in a line.
    pub fn explains(&self, tree: &Tree) -> Result<(), String> {
        let mut children = Children::new();
        for path in tree.keys() {
            let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            children.entry(&path[..slash.max(1)]).or_default().push((&path[slash + 1..], path));
        }
        let mut found = BTreeSet::new();
        self.directory(ROOT, b"/", (tree, &children), &mut found)?;
        match self.must_exist.iter().find(|node| !found.contains(*node)) {
            Some(node) => Err(format!("{} is lost: it is under none of its names", self.some_name_of(*node))),
            None => Ok(()),
        }
    }

    fn directory(&self, directory: Node, path: &[u8], on: OnMedium, found: &mut BTreeSet<Node>) -> Result<(), String> {
        let (_, children) = on;
        let there = children.get(path).map_or(&[][..], Vec::as_slice);
        let first = (directory, Arc::from(&b""[..]));
        for ((_, name), values) in self.names.range(first..).take_while(|((of, _), _)| *of == directory) {
            if !values.contains(&None) && !there.iter().any(|(other, _)| **other == **name) {
                return Err(format!("{} is missing in {}", shown(name), shown(path)));
            }
        }
        for (name, below) in there {
            let Some(values) = self.names.get(&(directory, Arc::from(*name))) else {
                return Err(format!("{} was never made, or is long gone", shown(below)));
            };
            let mut reason = format!("{} should not be there any more", shown(below));
            let mut fits = false;
            for &node in values.iter().flatten() {
                match self.node(node, below, on, found) {
                    Ok(()) => fits = found.insert(node) | true,
                    Err(why) => reason = format!("{}: {why}", shown(below)),
                }
            }
            if !fits {
                return Err(reason);
            }
        }
        Ok(())
    }

    fn node(&self, node: Node, path: &[u8], on: OnMedium, found: &mut BTreeSet<Node>) -> Result<(), String> {
        let (Some(file), Some(seen)) = (self.nodes.get(&node), on.0.get(path)) else {
            return Err("nobody knows it".to_string());
        };
        match (&file.kind, seen) {
            (_, FileOrSo::Unreadable(error)) => Err(format!("cannot be read: {error}")),
            (NodeKind::Directory, FileOrSo::Directory) => self.directory(node, path, on, found),
            (NodeKind::File, FileOrSo::File(content)) => file.explains(content, self.older_data),
            (NodeKind::Symlink(target), FileOrSo::Symlink(other)) if **target == **other => Ok(()),
            (NodeKind::Symlink(_), FileOrSo::Symlink(other)) => Err(format!("points to {}", shown(other))),
            (NodeKind::Other, FileOrSo::Other) => Ok(()),
            _ => Err("is of another kind".to_string()),
        }
    }

    fn some_name_of(&self, node: Node) -> String {
        let name = self.names.iter().find(|(_, values)| values.contains(&Some(node)));
        name.map_or_else(|| format!("file {node}"), |((_, name), _)| shown(name))
    }
}

/// For each directory's path the names and paths in it.
type Children<'t> = BTreeMap<&'t [u8], Vec<(&'t [u8], &'t [u8])>>;

/// The files found, and their names by directories.
type OnMedium<'t> = (&'t Tree, &'t Children<'t>);

impl File {
    fn new(kind: NodeKind) -> File {
        File { kind, safe: Arc::default(), pending: Vec::new(), size: 0, size_least: 0, size_most: 0, links: 0 }
    }

    fn is_safe(&mut self) {
        if !self.pending.is_empty() {
            let safe = Arc::make_mut(&mut self.safe);
            for change in self.pending.drain(..) {
                match change {
                    Pending::Size(bytes) => safe.resize(bytes as usize, 0),
                    Pending::Data { at, data } => {
                        let end = at as usize + data.len();
                        if safe.len() < end {
                            safe.resize(end, 0);
                        }
                        safe[at as usize..end].copy_from_slice(&data);
                    }
                }
            }
        }
        (self.size_least, self.size_most) = (self.size, self.size);
    }

    fn explains(&self, found: &[u8], older_data: bool) -> Result<(), String> {
        let (least, most) = (self.size_least, self.size_most);
        if !(least..=most).contains(&(found.len() as u64)) {
            let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
            return Err(format!("has {} bytes, must have {wanted}", found.len()));
        }
        let same = found.len().min(self.safe.len());
        if found[..same] == self.safe[..same] && found[same..].iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        self.explains_each(found, older_data)
    }

    /// Of each byte that is not the safe one, whether somebody wrote it since.
    fn explains_each(&self, found: &[u8], older_data: bool) -> Result<(), String> {
        let mut fits = vec![false; found.len()];
        let same = found.len().min(self.safe.len());
        // Pieces that are as a whole in one state are no longer looked at byte by byte for the others.
        for by in [By::Piece, By::Byte] {
            mark(&mut fits[..same], &found[..same], &self.safe[..same], by);
            mark_zeros(&mut fits[same..], &found[same..], by);
            for change in &self.pending {
                match change {
                    Pending::Data { at, data } => {
                        let start = (*at as usize).min(found.len());
                        let end = (*at as usize + data.len()).min(found.len());
                        mark(&mut fits[start..end], &found[start..end], &data[..end - start], by);
                    }
                    Pending::Size(bytes) => {
                        let start = (*bytes as usize).min(found.len());
                        if older_data {
                            fits[start..].fill(true)
                        } else {
                            mark_zeros(&mut fits[start..], &found[start..], by)
                        }
                    }
                }
            }
        }
        let safe_at = |at: usize| self.safe.get(at).copied().unwrap_or(0);
        let is_forgiven = |at: usize| older_data && safe_at(at) == 0;
        let pieces = fits.chunks(PIECE_BYTES).enumerate().filter(|(_, piece)| !all_fit(piece));
        let mut doubtful = pieces.flat_map(|(number, piece)| (number * PIECE_BYTES..).take(piece.len()));
        match doubtful.find(|&at| !fits[at] && !is_forgiven(at)) {
            None => Ok(()),
            Some(at) => Err(format!(
                "byte {at} is {:#04x}, safe was {:#04x} (of {} bytes), and nobody wrote that since",
                found[at],
                safe_at(at),
                self.safe.len()
            )),
        }
    }
}

/// Contents are compared in pieces of so many bytes first: a comparison of slices is many times faster than one of bytes.
const PIECE_BYTES: usize = 256;

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Piece,
    Byte,
}

/// Marks where `found` is as in `state`, of the same length.
fn mark(fits: &mut [bool], found: &[u8], state: &[u8], by: By) {
    let pieces = fits.chunks_mut(PIECE_BYTES).zip(found.chunks(PIECE_BYTES)).zip(state.chunks(PIECE_BYTES));
    for ((fits, found), state) in pieces {
        if all_fit(fits) {
            continue;
        }
        if found == state {
            fits.fill(true);
        } else if by == By::Byte {
            fits.iter_mut().zip(found).zip(state).for_each(|((fit, byte), other)| *fit |= byte == other);
        }
    }
}

/// Marks where `found` is zero.
fn mark_zeros(fits: &mut [bool], found: &[u8], by: By) {
    for (fits, found) in fits.chunks_mut(PIECE_BYTES).zip(found.chunks(PIECE_BYTES)) {
        mark(fits, found, &[0; PIECE_BYTES][..found.len()], by);
    }
}

fn all_fit(piece: &[bool]) -> bool {
    piece == &[true; PIECE_BYTES][..piece.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::rand_core::{Rng, SeedableRng};
    use rand_pcg::Pcg32;

    fn bytes(text: &str) -> Arc<[u8]> {
        Arc::from(text.as_bytes())
    }

    fn made(node: Node, name: &str) -> Vec<Effect> {
        let named = Effect::Named { directory: ROOT, name: bytes(name), to: Some(node) };
        vec![Effect::Made { node, kind: NodeKind::File }, named]
    }

    fn data(node: Node, text: &str) -> Effect {
        Effect::Data { node, at: 0, data: bytes(text) }
    }

    fn tree(files: &[(&str, &str)]) -> Tree {
        let file = |text: &str| FileOrSo::File(text.as_bytes().to_vec());
        files.iter().map(|(path, text)| (path.as_bytes().to_vec(), file(text))).collect()
    }

    fn after(effects: &[Vec<Effect>]) -> Ledger {
        let mut ledger = Ledger::new(false);
        effects.iter().flatten().for_each(|effect| ledger.apply(effect));
        ledger
    }

    #[test]
    fn what_was_not_synced_may_be_there_or_not() {
        let ledger = after(&[made(1, "a"), vec![data(1, "abc")]]);
        for found in [tree(&[]), tree(&[("/a", "")]), tree(&[("/a", "ab")]), tree(&[("/a", "a\0c")])] {
            ledger.explains(&found).unwrap();
        }
        assert!(ledger.explains(&tree(&[("/a", "abd")])).unwrap_err().contains("byte 2"));
        assert!(ledger.explains(&tree(&[("/b", "")])).unwrap_err().contains("never made"));
    }

    #[test]
    fn what_was_synced_must_be_there() {
        let synced = vec![data(1, "abc"), Effect::Safe { node: 1 }, Effect::Safe { node: ROOT }];
        let ledger = after(&[made(1, "a"), synced]);
        ledger.explains(&tree(&[("/a", "abc")])).unwrap();
        assert!(ledger.explains(&tree(&[])).unwrap_err().contains("missing"));
        assert!(ledger.explains(&tree(&[("/a", "ab")])).unwrap_err().contains("2 bytes"));
        assert!(ledger.explains(&tree(&[("/a", "ab\0")])).unwrap_err().contains("byte 2"));
    }

    #[test]
    fn a_replaced_name_stands_for_the_old_or_the_new_file() {
        let renamed = vec![
            data(2, "new"),
            Effect::Safe { node: 2 },
            Effect::Named { directory: ROOT, name: bytes("a"), to: Some(2) },
            Effect::Named { directory: ROOT, name: bytes("t"), to: None },
        ];
        let ledger = after(&[made(1, "a"), vec![data(1, "old"), Effect::AllSafe], made(2, "t"), renamed]);
        ledger.explains(&tree(&[("/a", "old")])).unwrap();
        ledger.explains(&tree(&[("/a", "new")])).unwrap();
        assert!(ledger.explains(&tree(&[("/t", "new")])).unwrap_err().contains("a is missing"));
        assert!(ledger.explains(&tree(&[("/a", "")])).is_err());
    }

    /// Bytes of three values, so that pieces often fit a state, and often only in parts.
    fn content(random: &mut Pcg32, bytes: usize) -> Vec<u8> {
        let mut content = vec![0; bytes];
        for _ in 0..random.next_u32() % 4 {
            let from = random.next_u32() as usize % bytes;
            content[from..].fill((random.next_u32() % 3) as u8);
        }
        content
    }

    #[test]
    fn pieces_are_judged_as_their_bytes_are() {
        let mut random = Pcg32::seed_from_u64(1);
        let mut explained = 0;
        for number in 0..5_000 {
            let mut file = File::new(NodeKind::File);
            file.size_most = u64::MAX;
            let bytes = 1 + random.next_u32() as usize % (3 * PIECE_BYTES);
            file.safe = Arc::new(content(&mut random, bytes));
            let mut found = if random.next_u32() % 2 == 0 { content(&mut random, bytes) } else { file.safe.to_vec() };
            for _ in 0..random.next_u32() % 3 {
                let at = random.next_u32() as usize % bytes;
                let data = content(&mut random, bytes);
                found.resize(found.len().max(at + bytes), 0);
                found[at..at + bytes].copy_from_slice(&data);
                file.pending.push(match random.next_u32() % 3 {
                    0 => Pending::Size(at as u64),
                    _ => Pending::Data { at: at as u64, data: Arc::from(data) },
                });
            }
            let older_data = random.next_u32() % 2 == 0;
            let fits = |(at, &byte): (usize, &u8)| {
                let safe = file.safe.get(at).copied().unwrap_or(0);
                let wrote = |change: &Pending| match change {
                    Pending::Data { at: from, data } => {
                        at.checked_sub(*from as usize).and_then(|at| data.get(at)) == Some(&byte)
                    }
                    Pending::Size(from) => at as u64 >= *from && (byte == 0 || older_data),
                };
                byte == safe || (older_data && safe == 0) || file.pending.iter().any(wrote)
            };
            let wrong = found.iter().enumerate().find(|byte| !fits(*byte)).map(|(at, _)| format!("byte {at} is"));
            match (file.explains(&found, older_data), wrong) {
                (Ok(()), None) => explained += 1,
                (Err(said), Some(wrong)) => assert!(said.starts_with(&wrong), "case {number}: {said}, not {wrong}"),
                (judged, wrong) => panic!("case {number}: {judged:?}, {wrong:?}"),
            }
        }
        assert!((500..4_500).contains(&explained), "{explained} of 5,000 contents may be found");
    }
}
