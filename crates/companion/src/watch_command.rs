//! `evenkeel watch`: the same as `top` as a live page, with graphs of the last ten minutes.
//!
//! Invariant: it listens on 127.0.0.1 only, answers two paths, and reads no more of a request than its head. A server
//! that goes away is connected to again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bench::Result;
use clap::Args;
use client::Dsn;
use report::Subject;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::live::Live;
use crate::output::say;
use crate::tables::Table;

const HEAD_MAX: usize = 8 * 1024;
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Args)]
pub struct Watch {
    /// The server: mysql://user:password@host:port.
    #[arg(long)]
    dsn: String,
    /// The port of the page on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 3380)]
    port: u16,
}

type Shown = Arc<Mutex<String>>;

impl Watch {
    pub fn run(&self) -> Result<bool> {
        let dsn = Dsn::parse(&self.dsn).map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        runtime.block_on(async {
            let listener = TcpListener::bind(("127.0.0.1", self.port)).await;
            let listener = listener.map_err(|error| format!("127.0.0.1:{}: {error}", self.port))?;
            let address = listener.local_addr().map_err(|error| error.to_string())?;
            say!("watch {dsn} at http://{address}/ (Ctrl-C ends)");
            let first = json!({ "state": "connecting", "trouble": false, "tables": [] }).to_string();
            let shown: Shown = Arc::new(Mutex::new(first));
            tokio::spawn(look_forever(dsn, Arc::clone(&shown)));
            loop {
                tokio::select! {
                    accepted = listener.accept() => if let Ok((socket, _)) = accepted {
                        tokio::spawn(timeout(PATIENCE, answer(socket, Arc::clone(&shown))));
                    },
                    _ = tokio::signal::ctrl_c() => return Ok(true),
                }
            }
        })
    }
}

fn show(shown: &Shown, value: &Value) {
    *shown.lock().expect("nobody panics while holding the page's data") = value.to_string();
}

async fn look_forever(dsn: Dsn, shown: Shown) {
    loop {
        let why = match timeout(PATIENCE, Live::connect(&dsn)).await {
            Ok(Ok(live)) => look_while_it_answers(live, &shown).await,
            Ok(Err(error)) => error,
            Err(_) => client::Error::Usage("no answer".into()),
        };
        show(&shown, &json!({ "state": format!("{dsn}: {why}"), "trouble": true, "tables": [] }));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn look_while_it_answers(mut live: Live, shown: &Shown) -> client::Error {
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let tables = match live.look().await {
            Ok(tables) => tables,
            Err(error) => return error,
        };
        let page = report::data(&[Subject::new("server", live.recording.clone())]);
        let tables: Vec<Value> = tables.iter().map(Table::json).collect();
        show(shown, &json!({ "state": live.headline(), "trouble": false, "page": page, "tables": tables }));
    }
}

async fn answer(mut socket: TcpStream, shown: Shown) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = socket.read(&mut part).await?;
        if count == 0 || head.len() > HEAD_MAX {
            return Ok(());
        }
        head.extend_from_slice(&part[..count]);
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let (status, kind, body) = match line {
        b"GET / HTTP/1.1" => ("200 OK", "text/html; charset=utf-8", report::live_html("evenkeel watch")),
        b"GET /data HTTP/1.1" => {
            let data = shown.lock().expect("nobody panics while holding the page's data").clone();
            ("200 OK", "application/json", data)
        }
        _ => ("404 Not Found", "text/plain", "there is / and /data".into()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(body.as_bytes()).await?;
    socket.shutdown().await
}
