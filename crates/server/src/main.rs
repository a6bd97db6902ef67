//! The `evenkeel` program: what was asked for, done.

use std::process::ExitCode;

use server::options::{Command, help_text, long_help_text, parse_command_line};

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: env::coroutine::CountedAllocator<mimalloc::MiMalloc> =
    env::coroutine::CountedAllocator(mimalloc::MiMalloc);

#[cfg(not(feature = "mimalloc"))]
#[global_allocator]
static ALLOCATOR: env::coroutine::CountedAllocator<std::alloc::System> =
    env::coroutine::CountedAllocator(std::alloc::System);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if companion::is_command(&arguments) {
        return companion::run(&arguments, server::examine);
    }
    let result = match parse_command_line(&arguments) {
        Ok(Command::Help) => {
            print!("{}", help_text());
            Ok(())
        }
        Ok(Command::HelpOf(text)) => {
            print!("{text}");
            Ok(())
        }
        Ok(Command::LongHelp) => {
            print!("{}", long_help_text());
            Ok(())
        }
        Ok(Command::PrintOptions(options)) => {
            println!("{}", options.join(" "));
            Ok(())
        }
        Ok(Command::Valid(notes)) => {
            notes.iter().for_each(|note| eprintln!("evenkeel: {note}"));
            Ok(())
        }
        Ok(Command::Version) => {
            println!("{}", server::version_text());
            Ok(())
        }
        Ok(Command::Verify(directory, key)) => return verify(&directory, key.as_deref()),
        Ok(Command::Restore(plan)) => server::restore(&plan),
        Ok(Command::RestoreTable(plan)) => server::restore_table(&plan),
        Ok(Command::Prune(plan)) => server::prune(&plan),
        Ok(Command::Inspect(directory, what)) => server::inspect(&directory, what),
        Ok(Command::Serve(settings)) => match server::run(*settings) {
            Ok(code) => return code,
            Err(message) => Err(message),
        },
        Err(message) => Err(message),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("evenkeel: {message}");
            ExitCode::FAILURE
        }
    }
}

fn verify(directory: &std::path::Path, key_file: Option<&std::path::Path>) -> ExitCode {
    match server::verify(directory, key_file) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("evenkeel: {message}");
            ExitCode::from(2)
        }
    }
}
