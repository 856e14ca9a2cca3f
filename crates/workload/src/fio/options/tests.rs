use super::*;

/// The lists of docs/fio.md, by heading: the words in backquotes at the start of table rows or list items.
fn documented(heading: &str) -> Vec<String> {
    let text = include_str!("../../../../../docs/fio.md");
    let (_, section) = text.split_once(&format!("## {heading}\n")).unwrap_or_else(|| panic!("no heading {heading}"));
    let section = section.split("\n## ").next().unwrap();
    let mut names = Vec::new();
    for line in section.lines().filter(|line| line.starts_with("| `") || line.starts_with("`")) {
        let cell = line.trim_start_matches("| ").split(" |").next().unwrap();
        names.extend(cell.split('`').skip(1).step_by(2).map(str::to_string));
    }
    names.sort();
    names
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = names.filter(|name| !name.is_empty()).map(str::to_string).collect();
    names.sort();
    names
}

#[test]
fn the_documentation_lists_every_option() {
    assert_eq!(documented("Honoured"), sorted(HONOURED.iter().flat_map(|option| [option.name, option.alias])));
    assert_eq!(documented("One value only"), sorted(ONLY_SOME.iter().map(|option| option.name)));
    assert_eq!(documented("Without effect"), sorted(WITHOUT_EFFECT.iter().copied()));
    assert_eq!(documented("Refused"), sorted(NOT_HONOURED.iter().copied()));
}

#[test]
fn no_option_is_in_two_lists() {
    let mut all = sorted(
        HONOURED
            .iter()
            .flat_map(|option| [option.name, option.alias])
            .chain(ONLY_SOME.iter().map(|option| option.name))
            .chain(WITHOUT_EFFECT.iter().copied())
            .chain(NOT_HONOURED.iter().copied()),
    );
    let count = all.len();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn a_value_is_taken_left_out_or_wrong() {
    let mut job = Job::default();
    assert_eq!(apply(&mut job, "rw", "randrw:8"), Verdict::Taken);
    assert_eq!((job.access.random, job.requests_per_offset), (true, 8));
    assert_eq!(apply(&mut job, "rw", "read:-8k"), Verdict::Taken);
    assert_eq!(job.skip_offset, -8192);
    let not_honoured = |verdict| matches!(verdict, Verdict::NotHonoured(_));
    assert!(not_honoured(apply(&mut job, "rw", "randtrim")));
    assert!(not_honoured(apply(&mut job, "ioengine", "libaio")));
    assert!(not_honoured(apply(&mut job, "direct", "1")));
    assert!(not_honoured(apply(&mut job, "rate", "1m")));
    assert!(not_honoured(apply(&mut job, "filename", "/dev/sda")));
    assert!(
        matches!(apply(&mut job, "rw", "reed"), Verdict::Wrong { option, why: ValueError::Words(words) } if option == "rw=reed" && words.starts_with("read"))
    );
    assert!(matches!(apply(&mut job, "random_distribution", "zipf:1"), Verdict::Wrong { .. }));
    assert_eq!(apply(&mut job, "thread", ""), Verdict::Taken);
    assert_eq!(apply(&mut job, "iodepth", "4"), Verdict::Taken);
    assert!(matches!(apply(&mut job, "iodepth", "x"), Verdict::Wrong { .. }));
    assert!(not_honoured(apply(&mut job, "filename", "../../x")));
    assert_eq!(apply(&mut job, "write_iolog", "/tmp/a/log"), Verdict::Taken);
    assert_eq!(job.write_log.as_deref(), Some("log"));
}
