//! Who of a stack takes the decisions for which `[stack.policy]` has rules: the file system, or the page cache above it.

use super::descriptor::Mountable;
use super::table;
use crate::error::MachineError;
use crate::policy_keys::{wrong, wrong_victim, Policies, PolicyKeys};
use ffslab_linux::PagePolicies;
use ffslab_policy::{ReadAheadPolicy, VictimSpec, WriteBackOrder};
use ffslab_text::words::join_names;

/// The policies that the keys name, for a file system.
///
/// Errors: a name that is not known, a score with a mistake, a file system whose victims no policy chooses, no file system
/// where the page cache is to decide, a rule for what only other layers decide.
pub(crate) fn policies_of(
    keys: &PolicyKeys,
    fs: &str,
    mountable: Option<&dyn Mountable>,
) -> Result<Policies, MachineError> {
    keys.only(&["victim", "free", "levelling", "read_ahead", "write_back"], fs)?;
    check_wear(keys, fs, mountable)?;
    Ok(Policies { victim: victim(keys, fs, mountable)?, pages: pages(keys, fs, mountable)?, seed: keys.seed })
}

/// Errors: a name that is not known, a file system that asks nobody which block is written next.
fn check_wear(keys: &PolicyKeys, fs: &str, mountable: Option<&dyn Mountable>) -> Result<(), MachineError> {
    let given = [("free", keys.free()?.is_some()), ("levelling", keys.levelling()?.is_some())];
    let takes = mountable.is_some_and(|mountable| mountable.takes_wear_policies());
    match given.into_iter().find(|(_, is_given)| *is_given && !takes) {
        Some((key, _)) => Err(nobody_decides(key, fs, |of| of.takes_wear_policies())),
        None => Ok(()),
    }
}

fn pages(keys: &PolicyKeys, fs: &str, mountable: Option<&dyn Mountable>) -> Result<PagePolicies, MachineError> {
    let read_ahead = keys.read_ahead.as_deref().map(ReadAheadPolicy::parse).transpose().map_err(wrong("read_ahead"))?;
    let write_back = keys.write_back.as_deref().map(WriteBackOrder::parse).transpose().map_err(wrong("write_back"))?;
    let pages = PagePolicies { read_ahead: read_ahead.flatten(), write_back: write_back.flatten() };
    let given = [("read_ahead", pages.read_ahead.is_some()), ("write_back", pages.write_back.is_some())];
    match given.into_iter().find(|(_, is_given)| *is_given && mountable.is_none()) {
        Some((key, _)) => Err(nobody_decides(key, fs, |_| true)),
        None => Ok(pages),
    }
}

fn victim(keys: &PolicyKeys, fs: &str, mountable: Option<&dyn Mountable>) -> Result<Option<VictimSpec>, MachineError> {
    let Some(text) = &keys.victim else { return Ok(None) };
    let victim = VictimSpec::parse(text).map_err(wrong_victim)?;
    if victim.is_own_rule() {
        return Ok(None);
    }
    if mountable.is_some_and(|mountable| mountable.takes_victim_policy()) {
        Ok(Some(victim))
    } else {
        Err(nobody_decides("victim", fs, |of| of.takes_victim_policy()))
    }
}

/// Names the file systems that ask for such a policy.
fn nobody_decides(key: &'static str, fs: &str, asks: fn(&dyn Mountable) -> bool) -> MachineError {
    let asking = table::all().into_iter().filter(|fs| fs.mountable.is_some_and(asks));
    let owners = join_names(&asking.map(|fs| fs.name).collect::<Vec<_>>());
    MachineError::NoDecision { key, fs: fs.to_string(), owners }
}

#[cfg(test)]
mod tests {
    use super::table::mountable;
    use super::*;

    fn error(fs: &str, keys: PolicyKeys) -> String {
        policies_of(&keys, fs, Some(mountable(fs).unwrap())).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_are_told_with_what_there_is() {
        let victim = |text: &str| PolicyKeys { victim: Some(text.into()), ..PolicyKeys::default() };
        let unknown = error("jffs2", victim("gredy"));
        assert!(unknown.starts_with("policy.victim: unknown policy `gredy`; there are kernel, greedy,"), "{unknown}");
        assert!(unknown.ends_with("did you mean `greedy`?"), "{unknown}");
        let score = error("ubifs", victim("invalid / vald"));
        assert!(score.starts_with("policy.victim: `invalid / vald`, character 11: unknown name `vald`"), "{score}");
        let none = policies_of(&victim("greedy"), "none", None).unwrap_err().to_string();
        assert_eq!(none, "policy.victim: with fs = \"none\" no policy chooses; one does with jffs2, yaffs2 and ubifs");
        let pages = PolicyKeys { read_ahead: Some("fixd(64)".into()), ..PolicyKeys::default() };
        let unknown = error("jffs2", pages);
        assert!(
            unknown.starts_with("policy.read_ahead: unknown policy `fixd`; there are kernel, none, fixed,"),
            "{unknown}"
        );
        assert!(unknown.ends_with("did you mean `fixed`?"), "{unknown}");
        let order = PolicyKeys { write_back: Some("inode-order".into()), ..PolicyKeys::default() };
        let none = policies_of(&order, "none", None).unwrap_err().to_string();
        assert!(
            none.starts_with("policy.write_back: with fs = \"none\" no policy chooses; one does with jffs2"),
            "{none}"
        );
        let no_cache = order.without_page_cache("RTEMS").unwrap_err().to_string();
        assert_eq!(no_cache, "policy.write_back: RTEMS has no page cache that could decide: leave it out");
        let free = |text: &str| PolicyKeys { free: Some(text.into()), ..PolicyKeys::default() };
        let unknown = error("ubifs", free("leastworn"));
        assert!(unknown.starts_with("policy.free: unknown policy `leastworn`; there are kernel, first,"), "{unknown}");
        assert!(unknown.ends_with("did you mean `least-worn`?"), "{unknown}");
        assert_eq!(
            error("jffs2", free("fifo")),
            "policy.free: with fs = \"jffs2\" no policy chooses; one does with ubifs, squashfs and erofs"
        );
        let levelling = PolicyKeys { levelling: Some("dual-pool(0)".into()), ..PolicyKeys::default() };
        assert!(error("ubifs", levelling).starts_with("policy.levelling: policy `dual-pool`: erases = `0`"));
        assert_eq!(
            policies_of(&free("kernel"), "jffs2", Some(mountable("jffs2").unwrap())).unwrap(),
            Policies::default()
        );
        let policies = policies_of(&victim("kernel"), "yaffs2", Some(mountable("yaffs2").unwrap())).unwrap();
        assert_eq!(policies, Policies::default());
    }
}
