//! The companion alone, without the server: quick to build while one works on it.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    companion::run(&arguments)
}
