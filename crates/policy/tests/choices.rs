//! Each rule chooses what its paper says, and no choice that is wrong gets through.

use ffslab_policy::{
    checked, levelling_policies, register, unregister, victim_policies, AgeUnit, CandidateTable, Candidates, Entry,
    Expression, FreeBlocks, FreeSpec, LevellingSpec, Pcg, Refusal, Room, SpecError, VictimPolicy, VictimSpec, Victims,
    WearOfBlocks, VICTIM_COLUMNS,
};
use rand_pcg::rand_core::SeedableRng;
use std::sync::Arc;

fn table() -> CandidateTable {
    let mut table = CandidateTable::new(64, Room::Pages, AgeUnit::Writes);
    let rows = [(7, 60, 4, 9, 5_000, 4_000), (8, 20, 44, 3, 100, 10), (9, 40, 24, 1, 3_000, 2_900)];
    for (block, valid, invalid, erases, age, idle) in rows {
        table.push(Entry { block, valid, invalid, erases, age, idle, stream: 0 });
    }
    table
}

fn chosen(policy: &str) -> u32 {
    let table = table();
    let mut rng = Pcg::seed_from_u64(1);
    let mut made = VictimSpec::parse(policy).unwrap().make().unwrap();
    table.block(checked(made.as_mut(), &table.view(), &mut rng).unwrap().unwrap())
}

#[test]
fn each_rule_chooses_what_its_paper_says() {
    // Cost-benefit: 4000 * 4 / 120 = 133, 10 * 44 / 40 = 11, 2900 * 24 / 80 = 870. CAT divides by 9, 3 and 1 erases.
    let expected = [
        ("greedy", 8),
        ("fifo", 7),
        ("lru", 7),
        ("windowed-greedy(1)", 7),
        ("windowed-greedy(2)", 9),
        ("windowed-greedy(3)", 8),
        ("d-choices(1000)", 8),
        ("cost-benefit", 9),
        ("cat", 9),
        ("invalid / (2*valid) * idle", 9),
        ("-erases", 9),
        ("erases", 7),
        ("min(invalid, 30) + 0.001 * block", 8),
        ("(1 - u) ^ 2", 8),
    ];
    for (policy, block) in expected {
        assert_eq!(chosen(policy), block, "{policy}");
    }
}

#[test]
fn random_draws_all_alike_and_d_choices_prefer_the_better() {
    let table = table();
    let mut rng = Pcg::seed_from_u64(2);
    for (policy, shares) in [("random", [1. / 3., 1. / 3., 1. / 3.]), ("d-choices(2)", [1. / 9., 5. / 9., 3. / 9.])] {
        let mut made = VictimSpec::parse(policy).unwrap().make().unwrap();
        let mut counts = [0u32; 3];
        for _ in 0..30_000 {
            counts[made.choose(&table.view(), &mut rng).unwrap()] += 1;
        }
        for (count, share) in counts.iter().zip(shares) {
            assert!((f64::from(*count) / 30_000. - share).abs() < 0.015, "{policy}: {counts:?}");
        }
    }
}

#[test]
fn all_built_in_rules_gain_something_where_they_must() {
    for named in victim_policies() {
        let mut table = table();
        table.must_gain = true;
        for block in 0..500 {
            table.push(Entry { block, valid: 64, age: 1_000_000, idle: 1_000_000, ..Entry::default() });
        }
        let mut made = VictimSpec::parse(named.name).unwrap().make().unwrap();
        let mut rng = Pcg::seed_from_u64(3);
        for _ in 0..50 {
            let at = checked(made.as_mut(), &table.view(), &mut rng).unwrap().unwrap();
            assert!(table.view().invalid[at] > 0, "{}", named.name);
        }
    }
}

struct Fixed(usize);

impl VictimPolicy for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }

    fn choose(&mut self, _candidates: &Candidates<'_>, _rng: &mut Pcg) -> Option<usize> {
        Some(self.0)
    }
}

#[test]
fn an_illegal_choice_is_refused_once_and_for_all() {
    let fill = |table: &mut CandidateTable| {
        table.must_gain = true;
        table.push(Entry { block: 5, valid: 64, ..Entry::default() });
        table.push(Entry { block: 6, valid: 63, invalid: 1, ..Entry::default() });
    };
    let victims = |at| Victims::new(Box::new(Fixed(at)), 1, CandidateTable::default());
    let good = victims(1);
    assert_eq!((good.choose(fill), good.choices(), good.refusal()), (Ok(Some(6)), 1, None));
    let outside = victims(2);
    let refusal = Refusal::OutOfRange { policy: "fixed".into(), at: 2, count: 2 };
    assert_eq!(outside.choose(fill), Err(refusal.clone()));
    assert_eq!((outside.choose(fill), outside.choices(), outside.refusal()), (Ok(None), 1, Some(refusal)));
    let full = victims(0);
    assert_eq!(full.choose(fill), Err(Refusal::NoGain { policy: "fixed".into(), block: 5 }));
}

#[test]
fn scores_that_are_no_numbers_are_the_lowest() {
    let mut table = CandidateTable::new(4, Room::Pages, AgeUnit::Writes);
    table.push(Entry { block: 0, valid: 0, invalid: 0, ..Entry::default() });
    table.push(Entry { block: 1, valid: 4, invalid: 0, ..Entry::default() });
    table.push(Entry { block: 2, valid: 0, invalid: 4, ..Entry::default() });
    let score = |text: &str, at| {
        Expression::compile(text, &VICTIM_COLUMNS).unwrap().score(|column| table.view().value(column, at))
    };
    assert!(score("invalid / valid", 0).is_nan());
    assert_eq!(score("invalid / valid", 2), f64::INFINITY);
    assert_eq!(score("-2 ^ 2 + 1.5e1", 0), 11.0);
    let mut rng = Pcg::seed_from_u64(1);
    let mut choose = |text: &str| VictimSpec::parse(text).unwrap().make().unwrap().choose(&table.view(), &mut rng);
    assert_eq!(choose("invalid / valid"), Some(2));
    assert_eq!(choose("-invalid / valid - 1e9"), Some(1));
    assert_eq!(choose("0 * log(-1)"), Some(0));
}

#[test]
fn mistakes_are_told_with_their_place() {
    let error = |text: &str| VictimSpec::parse(text).unwrap_err().to_string();
    assert!(error("greedyy").starts_with("unknown policy `greedyy`; there are kernel, greedy, random, fifo,"));
    assert_eq!(error("greedy(3)"), "policy `greedy` has no parameter");
    assert_eq!(error("d-choices(0)"), "policy `d-choices`: d = `0`: a number from 1 to 65536 is needed");
    assert!(
        error("invalid / vald").starts_with("`invalid / vald`, character 11: unknown name `vald`; there are valid,")
    );
    assert_eq!(error("invalid * (age"), "`invalid * (age`, character 15: `)` is expected");
    assert_eq!(error("min(age)"), "`min(age)`, character 8: `,` and a second argument are expected");
    assert_eq!(error("age age"), "`age age`, character 5: an operator or the end is expected");
    assert!(error(&"(".repeat(4_000)).ends_with("more than 32 values would have to be kept at once"));
    assert_eq!(VictimSpec::parse("invalid-valid").unwrap().text(), "invalid-valid");
    assert_eq!(VictimSpec::parse(" d-choices ").unwrap().text(), "d-choices(2)");
    assert!(VictimSpec::parse("kernel").unwrap().make().is_none());
}

#[test]
fn policies_of_others_have_names_of_their_own() {
    let make = || -> Box<dyn VictimPolicy> { Box::new(Fixed(0)) };
    register("mine", Arc::new(make)).unwrap();
    assert_eq!(register("mine", Arc::new(make)), Err(SpecError::Taken { name: "mine".into() }));
    assert_eq!(register("greedy", Arc::new(make)), Err(SpecError::Taken { name: "greedy".into() }));
    assert_eq!(register("age", Arc::new(make)), Err(SpecError::NotAName { name: "age".into() }));
    assert_eq!(VictimSpec::parse("mine").unwrap().make().unwrap().name(), "fixed");
    unregister("mine");
    assert!(VictimSpec::parse("mine").is_err());
}

#[test]
fn free_blocks_are_chosen_by_place_wear_and_order() {
    let free = FreeBlocks { block: &[9, 4, 6], erases: &[5, 8, 2] };
    let mut rng = Pcg::seed_from_u64(1);
    for (name, at) in [("first", 1), ("least-worn", 2), ("most-worn", 1), ("fifo", 0)] {
        assert_eq!(FreeSpec::parse(name).unwrap().make().choose(&free, &mut rng), Some(at), "{name}");
    }
    let none = FreeBlocks { block: &[], erases: &[] };
    assert_eq!(FreeSpec::parse("random").unwrap().make().choose(&none, &mut rng), None);
}

/// One block in eight is rewritten, the others hold cold data. The data of a chosen block change places with the most worn
/// one's. Returns the spread of erases and the moves.
fn levelled(policy: &str) -> (u32, u32) {
    let (blocks, endurance_erases) = (64usize, 1_000);
    let mut rng = Pcg::seed_from_u64(4);
    let mut made = LevellingSpec::parse(policy).unwrap().make();
    let number: Vec<u32> = (0..blocks as u32).collect();
    let mut erases = vec![0u32; blocks];
    let mut is_closed: Vec<bool> = (0..blocks).map(|at| at >= blocks / 8).collect();
    let mut moves = 0;
    for turn in 0..20_000 {
        let hot: Vec<usize> = (0..blocks).filter(|at| !is_closed[*at]).collect();
        erases[hot[turn % hot.len()]] += 1;
        let wear = WearOfBlocks { block: &number, erases: &erases, is_closed: &is_closed, endurance_erases };
        if let Some(cold) = made.choose(&wear, &mut rng) {
            let worn = hot.into_iter().max_by_key(|at| erases[*at]).unwrap();
            is_closed.swap(cold, worn);
            erases[cold] += 1;
            moves += 1;
        }
    }
    (erases.iter().max().unwrap() - erases.iter().min().unwrap(), moves)
}

#[test]
fn levellers_keep_the_spread_small_and_the_others_do_not() {
    let (unlevelled, none) = levelled("none");
    assert_eq!((unlevelled, none), (2_500, 0));
    assert_eq!(levelled("dynamic").1, 0);
    for policy in ["threshold(50)", "rejuvenator(50)", "dual-pool(50)"] {
        let (spread, moves) = levelled(policy);
        assert!(spread <= 3 * 50 && moves > 0, "{policy}: a spread of {spread} after {moves} moves");
    }
    assert_eq!(levelling_policies().len(), 5);
}
