//! From the greeting to a session: TLS, the proof of who the client is, its place and its database.
//!
//! Invariant: a session exists only for a client that proved an account; what is refused is answered with one
//! error packet. All of it together is limited by `connect_timeout`. Also serves COM_CHANGE_USER,
//! whose proof is limited by `net_read_timeout`.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use auth::{Account, ClientHost, ClientTls, Denial, Exchange, ExchangeStart, Plugin, Step, TemporaryLock};
use datum::{ErrorCode, SqlError, error_code};
use instance::logs::{AuditRecord, GeneralRecord, unix_micros};
use session::{ClientCapabilities, ConnectionInfo, Session, TlsInfo};
use wire::{Capabilities, ChangeUser, Event, HandshakeResponse};

use super::client::{Client, random_salt};
use super::reply::write_ok;
use crate::certificate::names_of;
use crate::connection::error_reply::write_error;
use crate::shared::ClientPlace;

const ACCOUNT_LOCKED: ErrorCode =
    ErrorCode::new(3118, "HY000", "Access denied for user '%s'@'%s'. Account is locked.");
const INSECURE_TRANSPORT: ErrorCode = ErrorCode::new(
    3159,
    "HY000",
    "Connections using insecure transport are prohibited while --require_secure_transport=ON.",
);

const ACCOUNT_BLOCKED: ErrorCode = ErrorCode::new(
    3955,
    "HY000",
    "Access denied for user '%s'@'%s'. Account is blocked for %s day(s) (%s day(s) remaining) due to %s consecutive \
     failed logins.",
);
const MUST_CHANGE_PASSWORD_LOGIN: ErrorCode = ErrorCode::new(
    1862,
    "HY000",
    "Your password has expired. To log in you must change it using a client that supports expired passwords.",
);

/// Why there is no session.
pub(super) enum End {
    /// The client left, or broke the protocol; what could be said is in the writer.
    Gone,
    Refused(SqlError),
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> Self {
        Self::Gone
    }
}

/// What a client says about itself, kept beyond its packet.
#[derive(Debug)]
pub(super) struct Introduction {
    user: String,
    proof: Vec<u8>,
    plugin: Vec<u8>,
    database: Option<Vec<u8>>,
    /// `None` keeps the session's.
    collation: Option<u16>,
    attributes: Vec<(String, String)>,
    is_change_of_user: bool,
}

impl Introduction {
    fn from_response(response: &HandshakeResponse<'_>) -> Self {
        Self {
            user: text(response.user),
            proof: response.proof.to_vec(),
            plugin: response.plugin.to_vec(),
            database: response.database.map(<[u8]>::to_vec),
            collation: Some(u16::from(response.collation)),
            attributes: response.attributes.iter().map(|(key, value)| (text(key), text(value))).collect(),
            is_change_of_user: false,
        }
    }

    pub(super) fn from_change(change: &ChangeUser<'_>) -> Self {
        Self {
            user: text(change.user),
            proof: change.proof.to_vec(),
            plugin: change.plugin.to_vec(),
            database: change.database.map(<[u8]>::to_vec),
            collation: change.collation,
            attributes: change.attributes.iter().map(|(key, value)| (text(key), text(value))).collect(),
            is_change_of_user: true,
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The session of a client that has just connected; otherwise the client only has to be closed.
pub(super) async fn log_in(client: &mut Client, place: &ClientPlace) -> Option<Box<Session>> {
    let limit = client.shared.server.connect_timeout();
    match tokio::time::timeout(limit, introduce_and_open(client, place)).await {
        Ok(Ok(session)) => Some(session),
        Ok(Err(End::Refused(error))) => {
            write_error(&mut client.writer, client.protocol.capabilities(), &error);
            None
        }
        Ok(Err(End::Gone)) | Err(_) => None,
    }
}

async fn introduce_and_open(client: &mut Client, place: &ClientPlace) -> Result<Box<Session>, End> {
    client.flush().await?;
    let introduction = introduction(client).await?;
    if client.shared.requires_secure_transport && !is_secure(client) {
        return Err(End::Refused(INSECURE_TRANSPORT.plain()));
    }
    let account = prove(client, &introduction).await?;
    if place.is_reserved && !instance::is_administrator(&account) {
        client.shared.server.gauges().count_refused();
        return Err(End::Refused(too_many_connections()));
    }
    let expired = expired_password(client, &account)?;
    let ticket = client.shared.server.admit(&account).map_err(End::Refused)?;
    let information = connection_info(client, &introduction, &account);
    let mut session = Box::new(Session::new(client.shared.server.clone(), crate::FAMILIES, information));
    session.hold(ticket, expired);
    if let Some(database) = &introduction.database {
        session.init_db(database).await.map_err(End::Refused)?;
    }
    session.log_connect();
    client.protocol.authenticated();
    write_ok(&mut client.writer, client.protocol.capabilities(), &session.ok_info());
    Ok(session)
}

/// COM_CHANGE_USER: proves the new account and starts the session anew under it. Until that is proved the old session holds
/// what it held, so the client has only so long, and KILL ends its wait.
pub(super) async fn change_user(
    client: &mut Client,
    session: &mut Session,
    introduction: &Introduction,
    limit: Duration,
) -> Result<(), End> {
    client.protocol.restart_authentication();
    let account = tokio::select! {
        account = prove(client, introduction) => account?,
        () = session.process().kill.connection_killed() => return Err(End::Gone),
        () = tokio::time::sleep(limit) => return Err(End::Gone),
    };
    let expired = expired_password(client, &account)?;
    let ticket = client.shared.server.admit(&account).map_err(End::Refused)?;
    let information = connection_info(client, introduction, &account);
    session.change_user(information).await.map_err(End::Refused)?;
    session.hold(ticket, expired);
    if let Some(database) = &introduction.database {
        session.init_db(database).await.map_err(End::Refused)?;
    }
    client.protocol.authenticated();
    write_ok(&mut client.writer, client.protocol.capabilities(), &session.ok_info());
    Ok(())
}

/// Reads until the client has introduced itself, starting TLS on the way when it asks.
async fn introduction(client: &mut Client) -> Result<Introduction, End> {
    loop {
        match client.protocol.next_event(&mut client.writer) {
            Ok(Some(Event::Introduced(response))) => return Ok(Introduction::from_response(&response)),
            Ok(Some(Event::TlsRequested)) => {
                let acceptor = client.shared.tls().expect("the protocol refuses TLS that was not offered");
                let first_bytes = client.protocol.take_tls_bytes();
                client.stream.get_mut().start_tls(&acceptor, first_bytes).await?;
                client.protocol.tls_established();
            }
            Ok(Some(_)) => return Err(End::Gone),
            Ok(None) => {
                if client.read().await? == 0 {
                    return Err(End::Gone);
                }
            }
            Err(_) => {
                client.must_linger = true;
                return Err(End::Gone);
            }
        }
    }
}

/// Carries the messages of the exchange until it ends.
async fn prove(client: &mut Client, introduction: &Introduction) -> Result<Arc<Account>, End> {
    let second_salt = random_salt();
    let tls = tls_of(client);
    let start = ExchangeStart {
        user: &introduction.user,
        host: client.host,
        plugin: &introduction.plugin,
        proof: &introduction.proof,
        salt: *client.salt.bytes(),
        second_salt: *second_salt.bytes(),
        is_secure: is_secure(client),
        tls: tls.as_ref(),
        can_switch: client.protocol.capabilities().has(Capabilities::PLUGIN_AUTH),
        must_switch: introduction.is_change_of_user,
        now_us: instance::unix_now_us(),
    };
    let (mut exchange, mut step) = Exchange::start(client.shared.server.accounts(), &start);
    loop {
        match step {
            Step::Switch(plugin) => client.writer.authentication_switch(Plugin::name(plugin), &second_salt),
            Step::Message(message) => client.writer.authentication_more(&message),
            Step::Accepted { account, last_message } => {
                if !last_message.is_empty() {
                    client.writer.authentication_more(last_message);
                }
                return Ok(account);
            }
            Step::Denied(denial) => return Err(End::Refused(denied(client, introduction, denial))),
        }
        client.flush().await?;
        let message = authentication_data(client).await?;
        let shared = client.shared.clone();
        step = exchange.respond(&message, || shared.key_pair());
    }
}

async fn authentication_data(client: &mut Client) -> Result<Vec<u8>, End> {
    loop {
        match client.protocol.next_event(&mut client.writer) {
            Ok(Some(Event::AuthenticationData(data))) => return Ok(data.to_vec()),
            Ok(Some(_)) => return Err(End::Gone),
            Ok(None) => {
                if client.read().await? == 0 {
                    return Err(End::Gone);
                }
            }
            Err(_) => {
                client.must_linger = true;
                return Err(End::Gone);
            }
        }
    }
}

fn is_tls(client: &Client) -> bool {
    client.stream.borrow().is_tls()
}

/// What an account may ask of the connection.
fn tls_of(client: &Client) -> Option<ClientTls> {
    let stream = client.stream.borrow();
    let (_, cipher) = stream.tls_parameters()?;
    Some(ClientTls { cipher, certificate: stream.client_certificate().and_then(names_of) })
}

/// Bytes of the socket file never leave the machine, so they count as protected.
fn is_secure(client: &Client) -> bool {
    is_tls(client) || client.host == ClientHost::Local
}

fn denied(client: &Client, introduction: &Introduction, denial: Denial) -> SqlError {
    let user = &introduction.user;
    let host = client.host.display_name();
    let error = match denial {
        Denial::Refused { used_password } => {
            let answer = if used_password { "YES" } else { "NO" };
            error_code::ER_ACCESS_DENIED_ERROR.with(&[user, &host, &answer])
        }
        Denial::Locked => ACCOUNT_LOCKED.with(&[user, &host]),
        Denial::Blocked(lock) => blocked(user, &host, lock),
        Denial::UnsupportedByClient => error_code::ER_NOT_SUPPORTED_AUTH_MODE.plain(),
    };
    crate::log::note(&error.message);
    log_refusal(client, user, &host, &error);
    error
}

/// To the general log as MySQL writes it, and to the audit log.
fn log_refusal(client: &Client, user: &str, host: &str, error: &SqlError) {
    let logs = &client.shared.server.logs;
    let (unix_us, thread) = (unix_micros(), u64::from(client.id.0));
    if logs.settings.general.load(Relaxed) {
        logs.write_general(&GeneralRecord {
            unix_us,
            thread,
            user_host: &format!("[{user}] @ {host}"),
            command: "Connect",
            argument: error.message.as_bytes(),
        });
    }
    if logs.settings.is_audited(&format!("{user}@{host}"), None) {
        logs.write_audit(&AuditRecord {
            unix_us,
            name: "Connect",
            connection: thread,
            status: error.errno,
            user,
            host,
            database: "",
            command_class: None,
            text: None,
        });
    }
}

fn blocked(user: &str, host: &str, lock: TemporaryLock) -> SqlError {
    let days = |days: i64| if days < 0 { "unlimited".to_owned() } else { days.to_string() };
    let (all, left) = (days(lock.days.into()), days(lock.days_left));
    ACCOUNT_BLOCKED.with(&[&user, &host, &all, &left, &lock.attempts])
}

/// Whether the password has to be changed before anything else; error 1862 for clients that do not know how.
fn expired_password(client: &Client, account: &Account) -> Result<bool, End> {
    let is_expired = client.shared.server.is_password_expired(account);
    let can_change = client.protocol.capabilities().has(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS);
    match is_expired && !can_change {
        true => Err(End::Refused(MUST_CHANGE_PASSWORD_LOGIN.plain())),
        false => Ok(is_expired),
    }
}

fn connection_info(client: &Client, introduction: &Introduction, account: &Account) -> ConnectionInfo {
    let capabilities = client.protocol.capabilities();
    ConnectionInfo {
        id: client.id,
        user: introduction.user.clone(),
        host: client.host.display_name(),
        account_user: account.name.user.clone(),
        account_host: account.name.host.as_str().to_owned(),
        peer: client.peer,
        attributes: introduction.attributes.clone(),
        capabilities: ClientCapabilities {
            found_rows: capabilities.has(Capabilities::FOUND_ROWS),
            multi_statements: capabilities.has(Capabilities::MULTI_STATEMENTS),
            ignore_space: capabilities.has(Capabilities::IGNORE_SPACE),
            interactive: capabilities.has(Capabilities::INTERACTIVE),
            session_track: capabilities.has(Capabilities::SESSION_TRACK),
        },
        collation_id: introduction.collation.unwrap_or(0),
        tls: client.stream.borrow().tls_parameters().map(|(version, cipher)| TlsInfo { version, cipher }),
    }
}

pub(super) fn too_many_connections() -> SqlError {
    error_code::ER_CON_COUNT_ERROR.plain()
}
