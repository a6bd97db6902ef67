//! `evenkeel top`: what a server does, on a terminal, every second.
//!
//! Invariant: the terminal is given back as it was, whatever ends the program. `q` ends, space holds still.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use bench::Result;
use clap::Args;
use client::Dsn;
use crossterm::event::{Event, KeyCode, KeyModifiers, poll, read};
use crossterm::{cursor, execute, terminal};

use crate::live::Live;
use crate::output::say;
use crate::tables::Table;

#[derive(Args)]
pub struct Top {
    /// The server: mysql://user:password@host:port.
    #[arg(long)]
    dsn: String,
    /// Print so many looks as plain text and end.
    #[arg(long)]
    looks: Option<u32>,
}

const PLAIN_WIDTH: usize = 160;
const PLAIN_HEIGHT: usize = 60;
const BOLD: &str = "\x1b[1m";
const NORMAL: &str = "\x1b[0m";

/// Gives the terminal back when it is dropped.
struct Screen;

impl Screen {
    fn open() -> std::io::Result<Self> {
        terminal::enable_raw_mode()?;
        execute!(stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(Self)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // There is nothing to be done about a terminal that is gone.
        let _ = execute!(stdout(), cursor::Show, terminal::LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

impl Top {
    pub fn run(&self) -> Result<bool> {
        let dsn = Dsn::parse(&self.dsn).map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        runtime.block_on(async {
            let failed = |error: client::Error| format!("{dsn}: {error}");
            let mut live = Live::connect(&dsn).await.map_err(failed)?;
            if self.looks.is_some() || !stdout().is_terminal() {
                for _ in 0..self.looks.unwrap_or(1) {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    let tables = live.look().await.map_err(failed)?;
                    let lines = draw(&live.headline(), &tables, PLAIN_WIDTH, PLAIN_HEIGHT);
                    say!("{}\n", lines.join("\n").replace(BOLD, "").replace(NORMAL, ""));
                }
                return Ok(true);
            }
            let screen = Screen::open().map_err(|error| error.to_string())?;
            let result = show(&mut live).await;
            drop(screen);
            result
        })
    }
}

async fn show(live: &mut Live) -> Result<bool> {
    let mut is_held = false;
    loop {
        if !is_held {
            let tables = live.look().await.map_err(|error| error.to_string())?;
            let (width, height) = terminal::size().unwrap_or((100, 40));
            put(&draw(&live.headline(), &tables, width.into(), height.into()))
                .map_err(|error| error.to_string())?;
        }
        for _ in 0..20 {
            if poll(Duration::ZERO).unwrap_or(false)
                && let Ok(Event::Key(key)) = read()
            {
                match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(true),
                    KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(true),
                    KeyCode::Char(' ') => is_held = !is_held,
                    _ => {}
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn put(lines: &[String]) -> std::io::Result<()> {
    let mut out = stdout().lock();
    write!(out, "\x1b[H")?;
    for (number, line) in lines.iter().enumerate() {
        write!(out, "{line}\x1b[K{}", if number + 1 < lines.len() { "\r\n" } else { "" })?;
    }
    write!(out, "\x1b[J")?;
    out.flush()
}

/// The lines of a screen: the tables share the height by how much they have to say.
fn draw(headline: &str, tables: &[Table], width: usize, height: usize) -> Vec<String> {
    let mut lines: Vec<String> = wrapped(headline, width);
    // Statements get half of what is left, the others share the rest.
    let room = height.saturating_sub(lines.len() + 3 * tables.len());
    for (number, table) in tables.iter().enumerate() {
        let share = if number == 0 { room / 2 } else { room / 2 / (tables.len() - 1).max(1) };
        lines.push(String::new());
        lines.push(format!("{BOLD}{}{NORMAL}", cut(&table.title, width)));
        if table.rows.is_empty() {
            lines.push(format!("  {}", table.none));
            continue;
        }
        lines.push(cut(&row(&table.head), width));
        lines.extend(table.rows.iter().take(share.max(1)).map(|cells| cut(&row(cells), width)));
    }
    lines.truncate(height);
    lines
}

fn row(cells: &[impl AsRef<str>]) -> String {
    let mut line = String::new();
    for (column, cell) in cells.iter().enumerate() {
        let cell = cell.as_ref();
        line.push_str(&if column + 1 < cells.len() { format!("{cell:>12} ") } else { format!(" {cell}") });
    }
    line
}

fn cut(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split("  ") {
        let line = lines.last_mut().expect("there is a first line");
        if !line.is_empty() && line.chars().count() + word.chars().count() + 2 > width {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { "  " });
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_terminal_is_not_overrun() {
        let table = Table {
            title: "Statements".into(),
            none: "none",
            head: vec!["per s", "statement"],
            rows: vec![vec!["1.0".into(), "SELECT ".repeat(50)]; 30],
        };
        let lines = draw("a  b  c", &vec![table; 4], 40, 20);
        assert!(lines.len() <= 20);
        assert!(lines.iter().all(|line| line.chars().count() <= 48), "{lines:?}");
        assert_eq!(wrapped("aaa  bbb  ccc", 8), ["aaa  bbb", "ccc"]);
    }
}
