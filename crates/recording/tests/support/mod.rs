//! A server that speaks just enough of the protocol to be recorded, and that stalls and restarts when told to.
//!
//! Invariant: it answers SHOW GLOBAL STATUS and SHOW GLOBAL VARIABLES, and refuses all else, as an old server would.

use std::io::{Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const CAPABILITIES: u32 = 1 << 9 | 1 << 15 | 1 << 19 | 1 << 24;
const NAMES: u64 = 400;

/// What it does, to be changed at any time.
#[derive(Default)]
pub struct Orders {
    /// Milliseconds before an answer to SHOW GLOBAL STATUS.
    pub delay: AtomicU64,
    /// Connections are closed, and new ones at once.
    pub is_gone: AtomicBool,
    /// Counters since the start.
    pub questions: AtomicU64,
}

/// Starts it; answers its port.
pub fn start(orders: Arc<Orders>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten().filter(|_| !orders.is_gone.load(Relaxed)) {
            let orders = Arc::clone(&orders);
            std::thread::spawn(move || serve(socket, &orders));
        }
    });
    port
}

fn serve(mut socket: TcpStream, orders: &Orders) -> Result<()> {
    socket.set_nodelay(true)?;
    let mut greeting = b"\x0a8.0.0-pretended\0\x01\0\0\0saltsalt\0".to_vec();
    greeting.extend_from_slice(&CAPABILITIES.to_le_bytes()[..2]);
    greeting.extend_from_slice(&[45, 2, 0]);
    greeting.extend_from_slice(&CAPABILITIES.to_le_bytes()[2..]);
    greeting.push(21);
    greeting.extend_from_slice(&[0; 10]);
    greeting.extend_from_slice(b"saltsaltsalt\0mysql_native_password\0");
    send(&mut socket, 0, &[greeting])?;
    receive(&mut socket)?;
    send(&mut socket, 2, &[vec![0, 0, 0, 2, 0, 0, 0]])?;
    loop {
        let command = receive(&mut socket)?;
        if orders.is_gone.load(Relaxed) {
            return Ok(());
        }
        let questions = orders.questions.fetch_add(1, Relaxed);
        match command.get(1..).unwrap_or_default() {
            b"SHOW GLOBAL STATUS" => {
                std::thread::sleep(Duration::from_millis(orders.delay.load(Relaxed)));
                // One of six changes from one sample to the next, as of a real server.
                let value = |number| if number % 6 == 0 { questions + number } else { number };
                let names = (0..NAMES).map(|number| (format!("Name_{number}"), value(number).to_string()));
                let questions = ("Questions".to_owned(), questions.to_string());
                rows(&mut socket, names.chain([questions]))?;
            }
            b"SHOW GLOBAL VARIABLES" => rows(&mut socket, [("port".to_owned(), "1".to_owned())].into_iter())?,
            _ => send(&mut socket, 1, &[b"\xff\x28\x04#42000no such thing here".to_vec()])?,
        }
    }
}

fn rows(socket: &mut TcpStream, rows: impl Iterator<Item = (String, String)>) -> Result<()> {
    let mut packets = vec![vec![2]];
    for name in ["name", "value"] {
        let mut column = Vec::new();
        for field in ["def", "", "", "", name, ""] {
            put(&mut column, field);
        }
        column.extend_from_slice(&[0x0c, 45, 0, 255, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0]);
        packets.push(column);
    }
    for (name, value) in rows {
        let mut row = Vec::new();
        put(&mut row, &name);
        put(&mut row, &value);
        packets.push(row);
    }
    packets.push(vec![0xfe, 0, 0, 2, 0, 0, 0]);
    send(socket, 1, &packets)
}

fn put(packet: &mut Vec<u8>, field: &str) {
    packet.push(field.len() as u8);
    packet.extend_from_slice(field.as_bytes());
}

fn send(socket: &mut TcpStream, first: u8, packets: &[Vec<u8>]) -> Result<()> {
    let mut bytes = Vec::new();
    for (place, packet) in packets.iter().enumerate() {
        bytes.extend_from_slice(&(packet.len() as u32).to_le_bytes()[..3]);
        bytes.push(first.wrapping_add(place as u8));
        bytes.extend_from_slice(packet);
    }
    socket.write_all(&bytes)
}

fn receive(socket: &mut TcpStream) -> Result<Vec<u8>> {
    let mut head = [0; 4];
    socket.read_exact(&mut head)?;
    let mut packet = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    socket.read_exact(&mut packet)?;
    Ok(packet)
}
