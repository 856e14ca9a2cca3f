use super::*;
use std::path::Path;

const HEAD: &str = r#"title = "t"
[stack]
board = "omap3evm"
fs = "jffs2"
partition_blocks = 160
"#;

const OPEN: &str = r#"[[measure]]
step = "open"
file = "target"
flags = ["rdonly"]
"#;

const REQUESTS: &str = r#"[[measure]]
step = "requests"
file = "target"
op = "read"
pattern = "sequential"
request_B = "4 KiB"
count = 8
"#;

fn parse(parts: &[&str]) -> Result<Experiment, LabError> {
    Experiment::parse(&parts.concat(), "a.toml")
}

fn error(parts: &[&str]) -> String {
    let text = parse(parts).unwrap_err().to_string();
    assert!(!text.contains('\n'), "more than one line: {text}");
    text
}

#[test]
fn without_axes_there_is_one_variant() {
    let experiment = parse(&[HEAD, OPEN, REQUESTS]).unwrap();
    assert_eq!(experiment.variants.len(), 1);
    let variant = &experiment.variants[0];
    assert_eq!((variant.name.as_str(), variant.seed, variant.measure.len()), ("base", 1, 2));
    assert_eq!(variant.measure[0].title(), "open \"target\"");
}

#[test]
fn axes_make_the_cross_product_with_the_first_axis_slowest() {
    let axes = "[axes]\nread_ahead_KiB = [128, 0]\nrequests.count = [8, 16, 32]\n";
    let experiment = parse(&[HEAD, OPEN, REQUESTS, axes]).unwrap();
    let names: Vec<&str> = experiment.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names.len(), 6);
    assert_eq!(names[0], "read_ahead_KiB=128, requests.count=8");
    assert_eq!(names[1], "read_ahead_KiB=128, requests.count=16");
    assert_eq!(names[5], "read_ahead_KiB=0, requests.count=32");
    let last = &experiment.variants[5];
    assert_eq!(last.stack.linux().unwrap().read_ahead_kib, Some(0));
    assert!(matches!(&last.measure[1], Step::Requests(requests) if requests.count == 32));
}

#[test]
fn an_axis_chooses_the_policy() {
    let axes = "[axes]\npolicy.victim = [\"kernel\", \"invalid / (2*valid) * age\"]\n";
    let experiment = parse(&[HEAD, OPEN, axes]).unwrap();
    let victims: Vec<_> = experiment
        .variants
        .iter()
        .map(|variant| variant.stack.linux().unwrap().policy.clone().unwrap().victim.unwrap())
        .collect();
    assert_eq!(victims, ["kernel", "invalid / (2*valid) * age"]);
}

#[test]
fn quoted_axis_names_and_setup_steps_work_too() {
    let setup = "[[setup]]\nstep = \"create\"\nfile = \"target\"\nbytes = 1\n";
    let axes = "[axes]\n\"requests.count\" = [1]\n\"setup.create.bytes\" = [\"1 MiB\", 5]\n";
    let experiment = parse(&[HEAD, setup, REQUESTS, axes]).unwrap();
    let sizes: Vec<u64> = experiment
        .variants
        .iter()
        .map(|variant| match &variant.setup[0] {
            Step::Create(create) => create.bytes.0,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sizes, [1 << 20, 5]);
}

#[test]
fn unknown_keys_are_named_with_line_and_near_match() {
    assert_eq!(error(&["titel = \"t\"\n"]), "a.toml:1: unknown key `titel`: did you mean `title`?");
    let stack = HEAD.replace("partition_blocks", "partiton_blocks");
    assert_eq!(error(&[&stack, OPEN]), "a.toml:5: unknown key `partiton_blocks`: did you mean `partition_blocks`?");
    let stack = format!("{HEAD}seed = 3\n");
    let above = "a.toml:6: `seed` is no key of [stack]: it stands at the top of the file, above [stack]";
    assert_eq!(error(&[&stack, OPEN]), above);
    let step = OPEN.replace("flags", "flgas");
    assert_eq!(error(&[HEAD, &step]), "a.toml:9: measure step 1 (open): unknown key `flgas`: did you mean `flags`?");
    let step = OPEN.replace("\"open\"", "\"opne\"");
    assert_eq!(error(&[HEAD, &step]), "a.toml:7: measure step 1: unknown step `opne`: did you mean `open`?");
}

#[test]
fn missing_and_impossible_values_are_named() {
    assert_eq!(error(&["[stack]\n"]), "a.toml: the key `title` is missing");
    assert!(error(&[HEAD]).contains("no [[measure]] step"));
    let step = OPEN.replace("file = \"target\"\n", "");
    let text = error(&[HEAD, &step]);
    assert!(text.starts_with("a.toml:6: measure step 1 (open): the key `file` is missing"), "{text}");
    let step = REQUESTS.replace("\"4 KiB\"", "\"4 KB\"");
    let text = error(&[HEAD, &step]);
    assert!(
        text.starts_with("a.toml:11: measure step 1 (requests): request_B: size \"4 KB\" has no known unit"),
        "{text}"
    );
    let step = REQUESTS.replace("\"4 KiB\"", "0");
    let text = error(&[HEAD, &step]);
    assert!(text.starts_with("a.toml:6: measure step 1 (requests \"target\"): request_B is 0"), "{text}");
}

#[test]
fn wrong_axes_point_to_their_line() {
    let text = error(&[HEAD, REQUESTS, "[axes]\nread_ahead_KB = [128]\n"]);
    assert_eq!(text, "a.toml:14: unknown key `read_ahead_KB`: did you mean `read_ahead_KiB`?");
    let text = error(&[HEAD, REQUESTS, "[axes]\nreqests.count = [1]\n"]);
    assert_eq!(text, "a.toml:14: axis `reqests.count`: unknown measure step `reqests`: did you mean `requests`?");
    let text = error(&[HEAD, REQUESTS, "[axes]\nrequests.cuont = [1]\n"]);
    assert_eq!(text, "a.toml:14: measure step 1 (requests): unknown key `cuont`: did you mean `count`?");
    let text = error(&[HEAD, REQUESTS, "[axes]\nrequests.count = 1\n"]);
    assert!(text.contains("must be a list of values"), "{text}");
    let text = error(&[HEAD, REQUESTS, "[axes]\nrequests.count = [\"many\"]\n"]);
    assert!(text.starts_with("a.toml:14: measure step 1 (requests): count: invalid type"), "{text}");
    let text = error(&[HEAD, REQUESTS, "[axes]\nrequests.count = []\n"]);
    assert!(text.contains("must be a list of values"), "{text}");
}

#[test]
fn an_initial_state_in_one_line_comes_before_the_setup_and_can_be_varied() {
    let sync = "[[setup]]\nstep = \"sync\"\n";
    let initial = "initial = \"saturated\"\n";
    let titles = |variant: &Variant| variant.setup.iter().map(Step::title).collect::<Vec<_>>();
    let experiment = parse(&[initial, HEAD, sync, REQUESTS]).unwrap();
    assert_eq!(titles(&experiment.variants[0]), ["mount", "sleep", "saturate \"saturating\"", "sync", "sync"]);
    let text = resolved(&experiment);
    let again = Experiment::parse(&text, "resolved.toml").unwrap();
    assert_eq!(titles(&again.variants[0]), titles(&experiment.variants[0]));
    let axes = "[axes]\ninitial = [\"saturated\", \"filled 30 %\"]\n";
    let varied = parse(&[HEAD, sync, REQUESTS, axes]).unwrap();
    assert_eq!(varied.variants[1].name, "initial=filled 30 %");
    assert_eq!(titles(&varied.variants[1]), ["mount", "sleep", "occupy \"filled\"", "sync", "sync"]);
    let text = error(&["initial = \"empty\"\n", HEAD, REQUESTS]);
    assert!(text.starts_with("a.toml:1: initial = \"empty\": \"empty\" is not understood"), "{text}");
}

fn resolved(experiment: &Experiment) -> String {
    let stacks: Vec<&StackTable> = experiment.variants.iter().map(|variant| &variant.stack).collect();
    experiment.resolved(&stacks, Path::new("."))
}

#[test]
fn the_resolved_experiment_can_be_read_again() {
    let axes = "[axes]\nrequests.count = [8, 16]\n";
    let experiment = parse(&[HEAD, OPEN, REQUESTS, axes]).unwrap();
    let text = resolved(&experiment);
    let again = Experiment::parse(&text, "resolved.toml").unwrap();
    assert_eq!(again.variants.len(), 2);
    for (a, b) in experiment.variants.iter().zip(&again.variants) {
        assert_eq!((&a.name, &a.stack, &a.setup, &a.measure), (&b.name, &b.stack, &b.setup, &b.measure));
    }
}

#[test]
fn the_schema_and_the_reader_know_the_same_keys() {
    let schema = crate::SCHEMAS[0].schema();
    let mut keys: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let mut known = TOP_KEYS.to_vec();
    known.sort_unstable();
    assert_eq!(keys, known);
    assert_eq!(schema["additionalProperties"], false);
    assert!(schema["$defs"]["StackKeys"]["properties"]["read_ahead_KiB"].is_object());
}

#[test]
fn steps_of_one_file_system_are_left_out_for_the_others_that_it_is_compared_with() {
    let text = |fs: &str, axes: &str| {
        format!(
            "title = \"x\"\nstack = {{ board = \"omap3evm\", fs = \"{fs}\", partition_blocks = 60 }}\n\
             setup = [{{ step = \"mount\" }}, {{ step = \"umount\" }}, {{ step = \"ubi_detach\" }}]\n\
             measure = [{{ step = \"boot\" }}]\n{axes}"
        )
    };
    let compared = Experiment::parse(&text("jffs2", "axes = { fs = [\"jffs2\", \"ubifs\"] }\n"), "x").unwrap();
    assert_eq!(compared.variants.iter().map(|variant| variant.setup.len()).collect::<Vec<_>>(), [2, 3]);
    let alone = Experiment::parse(&text("jffs2", ""), "x").unwrap();
    assert_eq!(alone.variants[0].setup.len(), 3, "for one file system alone it is a mistake, and told");
}

#[test]
fn runs_differ_in_seeds_and_uptime_and_the_first_is_the_variant_itself() {
    let text = "title = \"x\"\nseed = 5\nrepeat = 3\nstack = { board = \"omap3evm\", fs = \"jffs2\", partition_blocks = 60 }\n\
                measure = [{ step = \"requests\", file = \"f\", op = \"read\", pattern = \"random\", request_B = 512, count = 1, seed = 9 }]\n\
                axes = { read_ahead_KiB = [0, 4] }\n";
    let experiment = Experiment::parse(text, "x").unwrap();
    let seeds: Vec<(u64, u64)> = experiment
        .variants
        .iter()
        .map(|variant| match &variant.measure[0] {
            Step::Requests(requests) => (variant.seed, requests.seed),
            _ => unreachable!("it is the only step"),
        })
        .collect();
    assert_eq!(seeds, [(5, 9), (6, 10), (7, 11), (5, 9), (6, 10), (7, 11)]);
    let uptimes: Vec<u64> = experiment
        .variants
        .iter()
        .map(|variant| variant.stack.linux().unwrap().uptime_us.unwrap_or_default().ns / 1_000)
        .collect();
    assert_eq!((uptimes[0], uptimes[3], uptimes[1] == uptimes[2]), (0, 0, false));
    assert_eq!(uptimes[1..3], uptimes[4..6], "what is compared has the same draws");
    assert_eq!(experiment.variants[4].name, "read_ahead_KiB=4, run=2");
    for wrong in ["repeat = 0", "repeat = 5001"] {
        let said = Experiment::parse(&text.replace("repeat = 3", wrong), "x").unwrap_err().to_string();
        assert!(said.starts_with("x:3: repeat"), "{said}");
    }
}

const MOUNT: &str = "[[stack.mount]]\nat = \"/data\"\nfs = \"jffs2\"\npartition_blocks = 50\n";

#[test]
fn axes_vary_the_keys_of_a_mount_and_the_written_experiment_makes_the_same_variants() {
    let axes = "[axes]\n\"/data.fs\" = [\"jffs2\", \"ubifs\"]\npartition_blocks = [60, 80]\n";
    let experiment = parse(&[HEAD, MOUNT, OPEN, axes]).unwrap();
    let names: Vec<&str> = experiment.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names[1], "/data.fs=jffs2, partition_blocks=80");
    let filled = |experiment: &Experiment| -> Vec<StackTable> {
        experiment.variants.iter().map(|variant| variant.stack.machine(Path::new(".")).unwrap().1).collect()
    };
    let stacks = filled(&experiment);
    assert_ne!(stacks[0], stacks[2]);
    let written = experiment.resolved(&stacks.iter().collect::<Vec<_>>(), Path::new("."));
    assert_eq!(filled(&Experiment::parse(&written, "b.toml").unwrap()), stacks);
    let unknown =
        parse(&[HEAD, MOUNT, OPEN, "[axes]\n\"/dta.fs\" = [\"jffs2\", \"ubifs\"]\n"]).unwrap_err().to_string();
    assert!(unknown.contains("did you mean `/data`"), "{unknown}");
}
