use super::*;

fn parse(json: &str) -> Result<Step, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

#[test]
fn a_step_of_the_measured_cases_is_understood_and_written_back() {
    let json = r#"{"step":"requests","file":"target","op":"write","pattern":"random","request_B":4096,"count":5120,"range_B":14680064,"seed":1,"gap_us":0}"#;
    let step = parse(json).unwrap();
    assert_eq!(step.title(), "requests \"target\"");
    assert_eq!(step.calls(), 5120);
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_value(&step).unwrap(), value);
}

#[test]
fn null_counts_and_expected_failures_are_understood() {
    let many =
        r#"{"step":"create_many","dir":"","count":null,"bytes":65536,"request_B":4096,"fsync":false,"until":"ENOSPC"}"#;
    assert!(matches!(
        parse(many).unwrap(),
        Step::CreateMany(CreateMany { count: None, until: Some(Until::NoSpc), .. })
    ));
    let stat = r#"{"step":"stat","file":"x","fails":"ENOENT"}"#;
    assert_eq!(parse(stat).unwrap(), Step::Stat(Stat { file: "x".into(), fails: Some(Failure::NoEnt) }));
}

#[test]
fn unknown_keys_and_steps_are_refused_even_where_a_step_has_no_keys() {
    assert!(parse(r#"{"step":"umount","force":true}"#).unwrap_err().contains("force"));
    assert!(parse(r#"{"step":"unlink","file":"x","flie":"y"}"#).unwrap_err().contains("flie"));
    assert!(parse(r#"{"step":"unmount"}"#).unwrap_err().contains("unmount"));
}

#[test]
fn people_may_write_units() {
    let toml = "step = \"create\"\nfile = \"target\"\nbytes = \"5 MiB\"\nrequest_B = \"4 KiB\"\n";
    let step: Step = toml::from_str(toml).unwrap();
    let (file, content) = ("target".into(), ContentName::Random);
    let expected =
        Create { file, bytes: Bytes(5 << 20), request_bytes: Bytes(4096), content, content_file: None, fails: None };
    assert_eq!(step, Step::Create(expected));
}

#[test]
fn values_that_nothing_could_run_are_named() {
    let check = |json: &str| parse(json).unwrap().check().unwrap_err().to_string();
    assert!(check(r#"{"step":"create","file":"x","bytes":1,"request_B":0}"#).contains("request_B is 0"));
    let large =
        check(r#"{"step":"requests","file":"x","op":"write","pattern":"random","request_B":"1024 GiB","count":1}"#);
    assert_eq!(large, "request_B is 1099511627776: a request has at most 256 MiB (268435456)");
    let ages = check(r#"{"step":"sleep","us":18446744073709551615}"#);
    assert_eq!(ages, "us is 18446744073709551615: a sleep has at most 366 days (31622400000000 us)");
    assert!(check(r#"{"step":"open","file":"x","flags":["create"]}"#).contains("exactly one of"));
    assert!(check(r#"{"step":"create_many","dir":"","bytes":1}"#).contains("count is missing"));
    assert!(check(r#"{"step":"setxattr","file":"x","name":"user.a"}"#).contains("either a value"));
    assert!(check(r#"{"step":"setxattr","file":"x","name":"user.a","value":"v","bytes":3}"#).contains("either"));
    let narrow =
        r#"{"step":"requests","file":"x","op":"read","pattern":"random","request_B":4096,"count":1,"range_B":100}"#;
    assert!(check(narrow).contains("range_B 100 is less than request_B 4096"));
    let requests = |rest: &str| {
        check(&format!(r#"{{"step":"requests","file":"x","op":"read","request_B":512,"count":1,{rest}}}"#))
    };
    assert!(requests(r#""pattern":"listed""#).contains("order is missing"));
    assert!(requests(r#""pattern":"random","order":[1]"#).contains("order belongs to"));
    assert!(check(r#"{"step":"unlink_many","dir":"","count":1,"name":"f"}"#).contains("one run of #"));
}

#[test]
fn the_schema_knows_every_step_and_refuses_other_keys() {
    let schema = serde_json::to_value(schemars::schema_for!(Step)).unwrap();
    let alternatives = schema["oneOf"].as_array().unwrap();
    assert_eq!(alternatives.len(), Step::NAMES.len());
    for (alternative, name) in alternatives.iter().zip(Step::NAMES) {
        let mut inner = alternative;
        if let Some(path) = alternative["$ref"].as_str() {
            inner = schema.pointer(&path[1..]).unwrap();
        }
        assert_eq!(alternative["properties"]["step"]["const"], *name);
        let closed = [&inner["additionalProperties"], &alternative["unevaluatedProperties"]];
        assert!(closed.contains(&&serde_json::Value::Bool(false)), "{name} takes unknown keys");
    }
}
