//! Reads statements from a file, one to a line, and reports how many parse and the errors of the others.
//! Lines that begin with `#` name a section. Run: `cargo run -p parser --example parse_file -- FILE`.
use parser::ast::StatementKind;
use parser::{ParseOptions, parse};

fn main() -> std::io::Result<()> {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: parse_file FILE");
        std::process::exit(2);
    };
    let text = std::fs::read(path)?;
    let options = ParseOptions { parameters: true, ..ParseOptions::default() };
    let mut arena = bumpalo::Bump::new();
    let (mut total, mut parsed, mut by_words_only) = (0, 0, 0);
    for line in text.split(|&byte| byte == b'\n') {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        total += 1;
        arena.reset();
        match parse(line, options, &arena) {
            Ok(outcome) => {
                parsed += 1;
                if let StatementKind::Unsupported(unsupported) = outcome.statement.kind {
                    by_words_only += 1;
                    println!("leading words only: {}", unsupported.family);
                }
            }
            Err(error) => println!("{}\n    {error}", String::from_utf8_lossy(line)),
        }
    }
    println!("{parsed} of {total} statements parse, {by_words_only} of them by their leading words only");
    Ok(())
}
