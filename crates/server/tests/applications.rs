//! Applications drive the server: the small suites of tests/applications that have been installed there.
//!
//! `tests/applications/run NAME` installs one; what is absent says so and passes, as clients do. The runner starts the
//! server itself, and what fails beside its lists of known failures fails here.

use std::path::Path;
use std::process::Command;

/// What the runner says when nothing that it was asked for is installed.
const EXIT_SKIPPED: i32 = 77;

fn check(application: &str) {
    let runner = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/applications/run");
    let answer = Command::new(&runner)
        .args(["--installed", application])
        .env("EVENKEEL_PROGRAM", env!("CARGO_BIN_EXE_evenkeel"))
        .output();
    let Ok(answer) = answer else {
        println!("skipped: {application}: python3 absent");
        return;
    };
    let text = String::from_utf8_lossy(&answer.stdout);
    let errors = String::from_utf8_lossy(&answer.stderr);
    println!("{}", text.trim());
    let status = answer.status;
    assert!(status.success() || status.code() == Some(EXIT_SKIPPED), "{status}\n{text}{errors}");
}

#[test]
fn django_in_part() {
    check("django-small");
}

#[test]
fn knex() {
    check("knex");
}

#[test]
fn sequelize() {
    check("sequelize");
}

#[test]
fn typeorm() {
    check("typeorm");
}
