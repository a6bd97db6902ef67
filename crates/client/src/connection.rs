//! The dialogue with a server: connect, ask, prepare, and several commands in flight.
//!
//! Invariant: answers come in the order of what was sent; whoever calls `send*` n times then `flush` receives n
//! answers. A connection whose call failed with a fatal error is not used again.

use tokio::net::{TcpStream, UnixStream};

use crate::answer::Answer;
use crate::dsn::{Dsn, TlsMode};
use crate::field::{Reader, put_field};
use crate::greeting::{self, Greeting, server_error};
use crate::statement::Statement;
use crate::stream::{Socket, Stream};
use crate::value::Value;
use crate::{Error, Result, auth, tls};

const QUIT: u8 = 1;
const QUERY: u8 = 3;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const CLOSE: u8 = 0x19;
const MORE_RESULTS: u64 = 8;
/// utf8mb4_general_ci: the one utf8mb4 collation whose number all servers share.
const COLLATION: u8 = 45;
const PACKET_MAX: u32 = 1 << 30;
/// This statement cannot be prepared.
const CANNOT_PREPARE: u16 = 1295;
const NO_TLS: Error = Error::Client {
    code: 2026,
    message: "SSL connection error: SSL is required but the server doesn't support it",
};
const NO_KEY: Error = Error::Client {
    code: 2061,
    message: "Authentication plugin 'caching_sha2_password' reported error: Authentication requires secure connection.",
};

/// A session with a server.
pub struct Connection {
    pub(crate) stream: Stream,
    capabilities: u32,
    version: String,
    thread: u32,
    /// Whether each answer still to come is in the binary form, in order.
    expected: std::collections::VecDeque<bool>,
}

impl Connection {
    /// Connects and logs in.
    pub async fn connect(dsn: &Dsn) -> Result<Self> {
        let (socket, is_socket) = match &dsn.socket {
            Some(path) => {
                let place = path.display().to_string();
                let socket = UnixStream::connect(path).await;
                (Socket::Unix(socket.map_err(|error| Error::Connect { place, error })?), true)
            }
            None => {
                let socket = TcpStream::connect((dsn.host.as_str(), dsn.port)).await;
                let place = format!("{}:{}", dsn.host, dsn.port);
                let socket = socket.map_err(|error| Error::Connect { place, error })?;
                socket.set_nodelay(true)?;
                (Socket::Tcp(socket), false)
            }
        };
        let mut stream = Stream::new(socket);
        let packet = stream.next_packet().await?;
        let greeting = Greeting::parse(stream.packet(packet))?;
        let mut wanted = greeting::LONG_PASSWORD
            | greeting::FOUND_ROWS
            | greeting::LONG_FLAG
            | greeting::PROTOCOL_41
            | greeting::TRANSACTIONS
            | greeting::SECURE_CONNECTION
            | greeting::MULTI_STATEMENTS
            | greeting::MULTI_RESULTS
            | greeting::PS_MULTI_RESULTS
            | greeting::PLUGIN_AUTH
            | greeting::PLUGIN_AUTH_LENENC
            | greeting::DEPRECATE_EOF;
        if !dsn.database.is_empty() {
            wanted |= greeting::CONNECT_WITH_DB;
        }
        if dsn.tls != TlsMode::Disabled && !is_socket {
            wanted |= greeting::SSL;
        }
        let capabilities = wanted & greeting.capabilities;
        if capabilities & greeting::PROTOCOL_41 == 0 {
            return Err(Error::Protocol("the server is older than MySQL 4.1"));
        }
        let is_private = is_socket || capabilities & greeting::SSL != 0;
        if wanted & greeting::SSL != capabilities & greeting::SSL {
            return Err(NO_TLS);
        }
        let (version, thread) = (greeting.version.clone(), greeting.thread);
        let mut connection = Self { stream, capabilities, version, thread, expected: Default::default() };
        connection.log_in(dsn, greeting, is_private).await?;
        Ok(connection)
    }

    async fn log_in(&mut self, dsn: &Dsn, greeting: Greeting, is_private: bool) -> Result<()> {
        if self.capabilities & greeting::SSL != 0 {
            let at = self.stream.begin_packet();
            put_head(&mut self.stream.out, self.capabilities);
            self.stream.end_packet(at);
            self.stream.flush().await?;
            let Socket::Tcp(socket) = std::mem::replace(&mut self.stream.socket, Socket::Gone) else {
                return Err(Error::Protocol("TLS goes over TCP only"));
            };
            self.stream.socket = Socket::Tls(Box::new(tls::encrypt(dsn, socket).await?));
        }
        let Greeting { mut plugin, salt, .. } = greeting;
        if plugin.is_empty() {
            plugin = "mysql_native_password".into();
        }
        // A method that this client lacks may be the server's default only; the account's own comes with the switch.
        let proof = auth::proof(&plugin, &dsn.password, &salt, is_private).unwrap_or_default();
        self.introduce(dsn, &plugin, &proof).await?;
        self.prove(dsn, salt, is_private).await
    }

    /// Who logs in, by which method, and the first proof.
    async fn introduce(&mut self, dsn: &Dsn, plugin: &str, proof: &[u8]) -> Result<()> {
        let at = self.stream.begin_packet();
        let out = &mut self.stream.out;
        put_head(out, self.capabilities);
        out.extend_from_slice(dsn.user.as_bytes());
        out.push(0);
        if self.capabilities & greeting::PLUGIN_AUTH_LENENC != 0 {
            put_field(out, proof);
        } else {
            out.push(proof.len() as u8);
            out.extend_from_slice(proof);
        }
        if self.capabilities & greeting::CONNECT_WITH_DB != 0 {
            out.extend_from_slice(dsn.database.as_bytes());
            out.push(0);
        }
        if self.capabilities & greeting::PLUGIN_AUTH != 0 {
            out.extend_from_slice(plugin.as_bytes());
            out.push(0);
        }
        self.stream.end_packet(at);
        self.stream.flush().await
    }

    /// Answers what the server asks until it lets the client in.
    async fn prove(&mut self, dsn: &Dsn, mut salt: Vec<u8>, is_private: bool) -> Result<()> {
        loop {
            let range = self.stream.next_packet().await?;
            let packet = self.stream.packet(range).to_vec();
            match packet.first() {
                Some(0) => return Ok(()),
                Some(0xff) => return Err(server_error(&packet)),
                Some(0xfe) => {
                    let mut reader = Reader::new(&packet[1..]);
                    let plugin = String::from_utf8_lossy(reader.zero_ended()?).into_owned();
                    salt = reader.rest.strip_suffix(&[0]).unwrap_or(reader.rest).to_vec();
                    let proof = auth::proof(&plugin, &dsn.password, &salt, is_private)?;
                    if proof == [1] && !dsn.asks_for_key {
                        return Err(NO_KEY);
                    }
                    self.say(&proof).await?;
                }
                // caching_sha2_password: 3 is "known", 4 is "tell me the password itself".
                Some(1) if packet.get(1) == Some(&3) => {}
                Some(1) if packet.get(1) == Some(&4) && is_private => {
                    self.say(&auth::in_the_clear(&dsn.password)).await?;
                }
                Some(1) if packet.get(1) == Some(&4) && !dsn.asks_for_key => return Err(NO_KEY),
                Some(1) if packet.get(1) == Some(&4) => self.say(&[2]).await?,
                Some(1) => {
                    let sealed = auth::under_key(&dsn.password, &salt, &packet[1..])?;
                    self.say(&sealed).await?;
                }
                _ => return Err(Error::Protocol("an unknown packet while logging in")),
            }
        }
    }

    async fn say(&mut self, body: &[u8]) -> Result<()> {
        let at = self.stream.begin_packet();
        self.stream.out.extend_from_slice(body);
        self.stream.end_packet(at);
        self.stream.flush().await
    }

    /// The server's version as it told when greeting.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The connection's number at the server, for KILL.
    #[must_use]
    pub fn thread(&self) -> u32 {
        self.thread
    }

    pub(crate) fn put_command(&mut self, command: u8) -> usize {
        self.stream.sequence = 0;
        let at = self.stream.begin_packet();
        self.stream.out.push(command);
        at
    }

    /// Puts a query behind what is to be sent.
    pub fn send_query(&mut self, text: &[u8]) {
        self.put_query(text);
        self.expected.push_back(false);
    }

    pub(crate) fn put_query(&mut self, text: &[u8]) {
        let at = self.put_command(QUERY);
        self.stream.out.extend_from_slice(text);
        self.stream.end_packet(at);
    }

    /// Whether the last packet of a result is an OK packet.
    pub(crate) fn ends_with_ok(&self) -> bool {
        self.capabilities & greeting::DEPRECATE_EOF != 0
    }

    /// Puts a statement with its values behind what is to be sent.
    pub fn send(&mut self, statement: &mut Statement, values: &[Value<'_>]) {
        if let Some(id) = statement.id {
            let at = self.put_command(EXECUTE);
            statement.put_binary(id, values, &mut self.stream.out);
            self.stream.end_packet(at);
        } else {
            let at = self.put_command(QUERY);
            statement.put_text(values, &mut self.stream.out);
            self.stream.end_packet(at);
        }
        self.expected.push_back(statement.id.is_some());
    }

    /// Sends what was put.
    pub async fn flush(&mut self) -> Result<()> {
        self.stream.flush().await
    }

    /// Reads the answer to the oldest command without one.
    pub async fn receive(&mut self, answer: &mut Answer) -> Result<()> {
        let is_binary = self.expected.pop_front().unwrap_or(false);
        answer.clear(is_binary);
        loop {
            if !self.receive_result(answer).await? {
                return Ok(());
            }
        }
    }

    /// Reads one result; answers whether another follows.
    async fn receive_result(&mut self, answer: &mut Answer) -> Result<bool> {
        let range = self.stream.next_packet().await?;
        let packet = self.stream.packet(range);
        let columns = match packet.first() {
            Some(0) => {
                let mut reader = Reader::new(&packet[1..]);
                answer.affected += reader.length()?.unwrap_or(0);
                answer.last_insert_id = reader.length()?.unwrap_or(0);
                return Ok(reader.integer(2)? & MORE_RESULTS != 0);
            }
            Some(0xff) => return Err(server_error(packet)),
            Some(0xfb) => {
                self.say(&[]).await?;
                return Err(Error::Usage("LOAD DATA LOCAL is not supported by this client".into()));
            }
            _ => Reader::new(packet).length()?.unwrap_or(0),
        };
        answer.clear_rows();
        for _ in 0..columns {
            let range = self.stream.next_packet().await?;
            answer.add_column(self.stream.packet(range))?;
        }
        let ends_with_ok = self.ends_with_ok();
        if !ends_with_ok {
            self.stream.next_packet().await?;
        }
        loop {
            let range = self.stream.next_packet().await?;
            let packet = self.stream.packet(range);
            match packet.first() {
                Some(0xfe) if ends_with_ok => {
                    let mut reader = Reader::new(&packet[1..]);
                    reader.length()?;
                    reader.length()?;
                    return Ok(reader.integer(2)? & MORE_RESULTS != 0);
                }
                Some(0xfe) if packet.len() < 9 => {
                    return Ok(Reader::new(&packet[1..]).integer(4)? >> 16 & MORE_RESULTS != 0);
                }
                Some(0xff) => return Err(server_error(packet)),
                _ => answer.add_row(packet),
            }
        }
    }

    /// Asks in text and reads the answer.
    pub async fn query(&mut self, text: &str, answer: &mut Answer) -> Result<()> {
        self.send_query(text.as_bytes());
        self.flush().await?;
        self.receive(answer).await
    }

    /// Asks in text; keeps the rows.
    pub async fn ask(&mut self, text: &str) -> Result<Answer> {
        let mut answer = Answer::keeping();
        self.query(text, &mut answer).await?;
        Ok(answer)
    }

    /// Sends one statement and reads its answer.
    pub async fn run(
        &mut self,
        statement: &mut Statement,
        values: &[Value<'_>],
        answer: &mut Answer,
    ) -> Result<()> {
        self.send(statement, values);
        self.flush().await?;
        self.receive(answer).await
    }

    /// Has the server prepare the statement; one that it cannot prepare goes on as text.
    pub async fn prepare(&mut self, statement: &mut Statement) -> Result<()> {
        let at = self.put_command(PREPARE);
        self.stream.out.extend_from_slice(statement.text().as_bytes());
        self.stream.end_packet(at);
        self.flush().await?;
        let range = self.stream.next_packet().await?;
        let packet = self.stream.packet(range);
        if packet.first() == Some(&0xff) {
            let error = server_error(packet);
            return if error.code() == Some(CANNOT_PREPARE) { Ok(()) } else { Err(error) };
        }
        let mut reader = Reader::new(packet);
        reader.bytes(1)?;
        let id = reader.integer(4)? as u32;
        let (columns, places) = (reader.integer(2)?, reader.integer(2)?);
        let has_ends = !self.ends_with_ok();
        for count in [places, columns] {
            let packets = if count > 0 { count + u64::from(has_ends) } else { 0 };
            for _ in 0..packets {
                self.stream.next_packet().await?;
            }
        }
        if places as usize != statement.places() {
            return Err(Error::Protocol("the server counts the places of a statement otherwise"));
        }
        statement.id = Some(id);
        statement.bound.clear();
        Ok(())
    }

    /// Has the server forget a prepared statement.
    pub async fn close_statement(&mut self, statement: &mut Statement) -> Result<()> {
        if let Some(id) = statement.id.take() {
            let at = self.put_command(CLOSE);
            self.stream.out.extend_from_slice(&id.to_le_bytes());
            self.stream.end_packet(at);
            self.flush().await?;
        }
        Ok(())
    }

    /// Says goodbye.
    pub async fn quit(mut self) {
        let at = self.put_command(QUIT);
        self.stream.end_packet(at);
        // The server may be gone already; then there is nobody to say it to.
        let _ = self.flush().await;
    }
}

/// What both the request for TLS and the introduction begin with.
fn put_head(out: &mut Vec<u8>, capabilities: u32) {
    out.extend_from_slice(&capabilities.to_le_bytes());
    out.extend_from_slice(&PACKET_MAX.to_le_bytes());
    out.push(COLLATION);
    out.extend_from_slice(&[0; 23]);
}
