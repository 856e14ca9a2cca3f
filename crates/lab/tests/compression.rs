//! How a file system compresses when nobody says so, and what an answer says of the bytes that it had to do with.

use ffslab_lab::result::VariantSummary;
use ffslab_lab::run_experiment;
use std::path::Path;

/// A file of 256 KiB of the content `content`, made durable.
fn run(stack: &str, content: &str) -> VariantSummary {
    let text = format!(
        "title = 'Compression'\n[stack]\nboard = 'zero-overhead'\npartition_blocks = 160\n{stack}\n\
         [[setup]]\nstep = 'mount'\n[[setup]]\nstep = 'sleep'\nus = '20 s'\n\
         [[measure]]\nstep = 'create'\nfile = 'f'\nbytes = '256 KiB'\n{content}\n[[measure]]\nstep = 'sync'\n"
    );
    let result = run_experiment(&text, "compression.toml", Path::new("."), &|_| true).unwrap();
    result.summary.variants.into_iter().next().unwrap()
}

fn compression(variant: &VariantSummary) -> Option<String> {
    let stack = serde_json::to_value(&variant.stack).unwrap();
    stack["compression"].as_str().map(str::to_string)
}

#[test]
fn unsaid_it_is_what_a_kernel_and_a_mkfs_do() {
    let mix = "content = 'mix'";
    for (stack, said) in [
        ("fs = 'jffs2'", Some("zlib-rtime")),
        ("fs = 'ubifs'", Some("lzo")),
        ("fs = 'yaffs2'", None),
        ("fs = 'jffs2'\ncompression = 'none'", Some("none")),
        ("fs = 'ubifs'\ncompression = 'none'", Some("none")),
    ] {
        let variant = run(stack, mix);
        assert_eq!(compression(&variant).as_deref(), said, "{stack}");
        let (pages, whole) = (variant.totals.page_programs, 256 / 2);
        let shrinks = said.is_some_and(|name| name != "none");
        assert_eq!(pages < whole * 3 / 4, shrinks, "{stack}: {pages} pages for {whole}");
    }
}

#[test]
fn without_lzo_jffs2_asks_the_others_in_their_order() {
    let pages = |compression: &str, content: &str| {
        run(&format!("fs = 'jffs2'\ncompression = '{compression}'"), content).totals.page_programs
    };
    assert_eq!(pages("zlib-rtime", "content = 'mix'"), pages("zlib", "content = 'mix'"));
    assert!(pages("zlib-rtime", "content = 'mix'") < pages("priority", "content = 'mix'"), "LZO, which is larger");
}

#[test]
fn random_bytes_are_told_where_they_are_compressed_and_nowhere_else() {
    let told = |stack: &str, content: &str| run(stack, content).notes.iter().any(|note| note.contains("random bytes"));
    assert!(told("fs = 'ubifs'", "") && told("fs = 'jffs2'", ""));
    assert!(!told("fs = 'ubifs'", "content = 'mix'") && !told("fs = 'ubifs'\ncompression = 'none'", ""));
    assert!(!told("fs = 'yaffs2'", ""), "it compresses nothing");
}
