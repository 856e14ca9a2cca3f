//! From a path to a location: one look-up per component, inside the file system of that component.
//!
//! Follows `sup_fs_eval_path.c`, `sup_fs_eval_path_generic.c` and `sup_fs_next_token.c` of `cpukit/libcsupport`.

use super::fs::{Kind, Node, Step};
use super::Libio;
use crate::causes;
use ffslab_fs::Errno;

/// What the caller of an evaluation wants of the path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    /// The last name may be missing.
    pub make: bool,
    /// The last name must be missing.
    pub exclusive: bool,
    /// A symbolic link at the end is followed.
    pub follow: bool,
    /// The node is to be written, so its file system must not be mounted read-only.
    pub write: bool,
    /// The path may end in delimiters behind a missing name (`mkdir("a/")`).
    pub residual_delimiters: bool,
    /// The path must not end in ".".
    pub reject_dot: bool,
}

/// A location: a node in a mounted file system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Location {
    pub mount: usize,
    pub node: Node,
}

/// The result of a successful evaluation. The file system of its location stays locked until [`Libio::end`].
#[derive(Debug)]
pub(super) struct Evaluated {
    pub at: Location,
    /// The last name of the path, if it does not exist but may be made.
    pub missing: Option<Vec<u8>>,
}

/// The deepest nesting of symbolic links (`RTEMS_FILESYSTEM_SYMLOOP_MAX`).
const LINKS_MAX: u32 = 32;

struct Context<'a> {
    path: &'a [u8],
    token: Option<&'a [u8]>,
    /// The last name of a symbolic link's target, if it does not exist.
    missing: Option<Vec<u8>>,
    at: Location,
    flags: Flags,
    links: u32,
}

fn split_delimiters(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|&c| c != b'/').unwrap_or(path.len());
    &path[start..]
}

impl Libio {
    /// Finds the location of a path.
    pub(super) fn evaluate(&mut self, path: &[u8], flags: Flags) -> Result<Evaluated, Errno> {
        if path.is_empty() {
            return Err(Errno::NoEnt);
        }
        let _why = self.cache.sim().because(&causes::METADATA);
        self.cache.cpu.call();
        let start = self.clone_location(if path[0] == b'/' { self.root() } else { self.current });
        self.continue_from(start, path, flags)
    }

    /// Evaluates a path from a location on. The caller gives the location away.
    pub(super) fn continue_from(&mut self, at: Location, path: &[u8], flags: Flags) -> Result<Evaluated, Errno> {
        let mut context = Context { path, token: None, missing: None, at, flags, links: 0 };
        let result = self.walk(&mut context);
        let result = result.and_then(|()| self.check_end(&context));
        match result {
            Ok(()) => {
                let missing = context.token.map(<[u8]>::to_vec).or(context.missing);
                Ok(Evaluated { at: context.at, missing })
            }
            Err(error) => {
                self.free_inside(context.at);
                self.unlock(context.at.mount);
                Err(error)
            }
        }
    }

    /// Evaluates a path and returns the location of what it names and that of its directory: for unlink, rmdir, rename.
    pub(super) fn evaluate_with_parent(
        &mut self,
        path: &[u8],
        flags: Flags,
        parent_writes: bool,
    ) -> Result<(Evaluated, Location), Errno> {
        let split = path.iter().rposition(|&c| c == b'/').map_or(0, |at| at + 1);
        let (parent, name) = match split {
            0 => (&b"."[..], path),
            _ => path.split_at(split),
        };
        if path.is_empty() {
            return Err(Errno::NoEnt);
        }
        let parent_flags = Flags { follow: true, write: parent_writes, ..Flags::default() };
        let found = self.evaluate(parent, parent_flags)?;
        let parent = self.clone_location(found.at);
        match self.continue_from(found.at, name, flags) {
            Ok(found) => Ok((found, parent)),
            Err(error) => {
                self.free_inside(parent);
                self.unlock(parent.mount);
                Err(error)
            }
        }
    }

    /// Gives the location of an evaluation back (`rtems_filesystem_eval_path_cleanup`).
    pub(super) fn end(&mut self, at: Location) {
        self.free_inside(at);
        self.unlock(at.mount);
    }

    pub(super) fn end_with_parent(&mut self, at: Location, parent: Location) {
        self.free_inside(parent);
        self.end(at);
    }

    fn walk(&mut self, context: &mut Context) -> Result<(), Errno> {
        while !context.path.is_empty() {
            self.walk_inside(context)?;
        }
        Ok(())
    }

    /// Looks up the names of a path that are in one file system (`eval_path_h`).
    fn walk_inside(&mut self, context: &mut Context) -> Result<(), Errno> {
        let mount = context.at.mount;
        self.with(mount, |fs, cache| fs.start_path(cache, context.at.node))?;
        let mut link = None;
        let mut mounted = None;
        let result = self.walk_names(context, &mut link, &mut mounted);
        // A symbolic link is followed before `end_path` is called, so RFS holds the directory's inode meanwhile.
        let result = match (result, link) {
            (Ok(()), Some(target)) => self.follow(context, &target),
            (result, _) => result,
        };
        let ended = self.with(mount, |fs, cache| fs.end_path(cache));
        if let Some(mounted) = mounted {
            self.restart(context, mounted);
        }
        result.and(ended)
    }

    fn walk_names(
        &mut self,
        context: &mut Context,
        link: &mut Option<Vec<u8>>,
        mounted: &mut Option<usize>,
    ) -> Result<(), Errno> {
        loop {
            let path = split_delimiters(context.path);
            let end = path.iter().position(|&c| c == b'/').unwrap_or(path.len());
            let (token, rest) = path.split_at(end);
            context.path = rest;
            context.token = Some(token).filter(|token| !token.is_empty());
            let Some(token) = context.token else { return Ok(()) };
            if context.at.node.kind != Kind::Directory {
                return Err(Errno::NotDir);
            }
            let has_path = !context.path.is_empty();
            let mut name = token;
            if token == b"." && !has_path && context.flags.reject_dot {
                return Err(Errno::Inval);
            }
            if token == b".." && self.is_mount_root(context.at) {
                match self.mount_point_of(context.at.mount) {
                    Some(point) => {
                        // Goes back to the directory on which this file system is mounted, and looks ".." up there.
                        context.path = path;
                        context.token = None;
                        self.restart_at(context, point);
                        return Ok(());
                    }
                    None => name = b".",
                }
            }
            let follow = context.flags.follow || has_path;
            let mut node = context.at.node;
            self.cache.cpu.spend(1, |costs| costs.path_component_ps + costs.lock_ps);
            let step = self.with(context.at.mount, |fs, cache| fs.look_up(cache, &mut node, name, follow));
            context.at.node = node;
            match step? {
                Step::Found => context.token = None,
                Step::FoundAndOut => {
                    context.token = None;
                    return Ok(());
                }
                Step::Link(target) => {
                    context.token = None;
                    *link = Some(target);
                    return Ok(());
                }
                Step::Mounted(mount) => {
                    context.token = None;
                    *mounted = Some(mount);
                    return Ok(());
                }
                Step::NoEntry => {
                    if has_path {
                        context.path = split_delimiters(context.path);
                        if !context.flags.residual_delimiters || !context.path.is_empty() {
                            return Err(Errno::NoEnt);
                        }
                    }
                    return Ok(());
                }
            }
            if !has_path {
                return Ok(());
            }
        }
    }

    /// `rtems_filesystem_eval_path_recursive`.
    fn follow(&mut self, context: &mut Context, target: &[u8]) -> Result<(), Errno> {
        if target.is_empty() {
            return Err(Errno::NoEnt);
        }
        if context.links >= LINKS_MAX {
            return Err(Errno::Loop);
        }
        if target[0] == b'/' {
            let root = self.root();
            self.restart_at(context, root);
        }
        let rest = context.path;
        let links = context.links + 1;
        let mut nested =
            Context { path: target, token: None, missing: None, at: context.at, flags: context.flags, links };
        let result = self.walk(&mut nested);
        context.at = nested.at;
        context.path = rest;
        let missing = nested.token.map(<[u8]>::to_vec).or(nested.missing);
        result?;
        if missing.is_some() && !rest.is_empty() {
            return Err(Errno::NoEnt);
        }
        context.missing = missing;
        Ok(())
    }

    fn restart(&mut self, context: &mut Context, mount: usize) {
        let root = Location { mount, node: self.mount_root(mount) };
        self.restart_at(context, root);
    }

    /// `rtems_filesystem_eval_path_restart`: continues the evaluation in another file system.
    fn restart_at(&mut self, context: &mut Context, to: Location) {
        self.free_inside(context.at);
        self.unlock(context.at.mount);
        context.at = self.clone_location(to);
    }

    /// The end of `rtems_filesystem_eval_path_continue`: checks whether the name must exist or must be missing, and
    /// whether the node may be used.
    fn check_end(&mut self, context: &Context) -> Result<(), Errno> {
        if context.token.is_some() || context.missing.is_some() {
            if !context.flags.make {
                return Err(Errno::NoEnt);
            }
            return self.check_access(context.at, true);
        }
        if context.flags.exclusive {
            return Err(Errno::Exist);
        }
        self.check_access(context.at, context.flags.write)
    }

    /// `check_access`: reads the node's mode, which costs time, and allows everything, because there are no users here.
    fn check_access(&mut self, at: Location, write: bool) -> Result<(), Errno> {
        if write && !self.is_writable(at.mount) {
            return Err(Errno::RoFs);
        }
        self.with(at.mount, |fs, cache| fs.stat(cache, at.node)).map(|_| ())
    }

    // ---- locations ---------------------------------------------------------------------------------------------------

    pub(super) fn clone_location(&mut self, of: Location) -> Location {
        self.with(of.mount, |fs, _| fs.clone_node(of.node));
        of
    }

    /// Gives a location back while the instance is locked.
    pub(super) fn free_inside(&mut self, at: Location) {
        self.with(at.mount, |fs, cache| fs.free_node(cache, at.node));
    }
}
