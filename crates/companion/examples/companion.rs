//! The companion alone, without the server: quick to build while one works on it.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let no_server = |_: &std::path::Path, _: &[String]| Err("this program has no server in it".to_owned());
    companion::run(&arguments, no_server)
}
