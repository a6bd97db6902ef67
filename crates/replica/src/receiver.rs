//! The loop of a receiver: connect, follow, and again: at once where a source was lost that had been followed, then after a while.
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use binlog::GtidSet;
use client::{Connection, Dsn, DumpFrom, Error, TlsMode};
use instance::replication::{Channel, Failure, Part, ReceiverState, SourceSettings};
use instance::{Instance, LogLevel, unix_now_us};

use crate::greeting::{Refusal, Wishes, connect_by_domains, greet};
use crate::stream::{Stream, StreamEnd};

const ER_CONNECT: u16 = 2003;
const ER_LOST: u16 = 2013;
/// The source cannot send what was asked for: it would say the same again.
const ER_SOURCE_FATAL: u16 = 13114;
const ER_BINLOG_READ: u16 = 1236;

/// A source that was followed for so long is connected to again without a rest.
const FOLLOWED: Duration = Duration::from_secs(1);

/// How a connection has ended.
enum Attempt {
    Stopped,
    Again,
    /// Nobody is there, but may be later: the error of it.
    Lost(u16, String),
    /// The same of a source that was followed for a while.
    Ended(u16, String),
    /// It would end the same way again.
    Refused(u16, String),
}

/// Receives for the channel until it is asked to stop.
pub async fn receive(instance: Arc<Instance>, channel: Arc<Channel>) {
    let mut attempts = 0;
    // As MySQL says it.
    let mut verb = "connecting";
    while channel.is_wanted(Part::Receiver) {
        let outcome = attempt(&instance, &channel, &mut attempts).await;
        let settings = channel.settings.lock().clone();
        let source = format!("source '{}@{}:{}'", settings.user, settings.host, settings.port);
        let (times, seconds) = (settings.retry_count, settings.connect_retry.max(1));
        match outcome {
            Attempt::Stopped => break,
            Attempt::Again => continue,
            Attempt::Refused(number, message) => {
                fail(&instance, &channel, number, &message);
                break;
            }
            Attempt::Ended(number, message) => {
                verb = "reconnecting";
                let message = format!(
                    "Error reading from {source}. It is connected to again at once, then up to {times} times with a delay of \
                     {seconds} seconds between attempts. Message: {message}"
                );
                fail(&instance, &channel, number, &message);
            }
            Attempt::Lost(number, message) => {
                attempts += 1;
                let message = format!(
                    "Error {verb} to {source}. This was attempt {attempts}/{times}, with a delay of {seconds} seconds between \
                     attempts. Message: {message}"
                );
                fail(&instance, &channel, number, &message);
                if times > 0 && attempts >= times {
                    break;
                }
                show(
                    &channel,
                    ReceiverState::Connecting,
                    "Waiting to reconnect after a failed source event read",
                );
                rest(&channel, Duration::from_secs(seconds)).await;
            }
        }
    }
    show(&channel, ReceiverState::Off, "");
    channel.ended(Part::Receiver);
}

fn show(channel: &Channel, state: ReceiverState, doing: &'static str) {
    let mut status = channel.status.lock();
    (status.receiver, status.receiver_doing) = (state, doing);
}

fn fail(instance: &Instance, channel: &Channel, number: u16, message: &str) {
    channel.status.lock().receiver_failure =
        Failure { number, message: message.to_owned(), at_us: unix_now_us() };
    let told = format!("replica receiver for channel '{}': {message} (error {number})", channel.name);
    instance.log_at(LogLevel::Error, &told);
}

/// Sleeps, unless it is asked to stop.
async fn rest(channel: &Channel, length: Duration) {
    let sleep = tokio::time::sleep(length);
    let mut sleep = std::pin::pin!(sleep);
    loop {
        let news = channel.relay.news();
        if !channel.is_wanted(Part::Receiver) {
            return;
        }
        tokio::select! {
            () = &mut sleep => return,
            _ = news => {}
        }
    }
}

/// As in MySQL, SOURCE_SSL=1 is never given up for a source without TLS.
fn dsn_of(settings: &SourceSettings, port: u16) -> Dsn {
    let tls = match (settings.ssl, settings.ssl_verify || !settings.ssl_ca.is_empty()) {
        (false, _) => TlsMode::Disabled,
        (true, false) => TlsMode::Required,
        (true, true) => TlsMode::Verify,
    };
    Dsn {
        user: settings.user.clone(),
        password: settings.password.clone(),
        host: settings.host.clone(),
        port,
        database: String::new(),
        socket: None,
        tls,
        authority: (!settings.ssl_ca.is_empty()).then(|| settings.ssl_ca.clone().into()),
        asks_for_key: settings.get_public_key,
    }
}

fn outcome(error: Error, otherwise: u16) -> Attempt {
    match error {
        Error::Server { code: ER_BINLOG_READ, message, .. } => Attempt::Refused(
            ER_SOURCE_FATAL,
            format!(
                "Got fatal error {ER_BINLOG_READ} from source when reading data from binary log: '{message}'"
            ),
        ),
        Error::Server { code, message, .. } => Attempt::Lost(code, message),
        Error::Client { code, message } => Attempt::Lost(code, message.to_owned()),
        Error::Io(error) => {
            let why = match error.kind() {
                ErrorKind::UnexpectedEof => "the source has ended it".to_owned(),
                _ => error.to_string(),
            };
            Attempt::Lost(ER_LOST, format!("Lost connection to MySQL server during query ({why})"))
        }
        other => Attempt::Lost(otherwise, other.to_string()),
    }
}

async fn attempt(instance: &Arc<Instance>, channel: &Arc<Channel>, attempts: &mut u64) -> Attempt {
    show(channel, ReceiverState::Connecting, "Connecting to source");
    let settings = channel.settings.lock().clone();
    let limit = Duration::from_secs(instance.globals.by_name("replica_net_timeout").as_unsigned());
    let Ok(source_port) = u16::try_from(settings.port) else {
        let message = format!("Can't connect to MySQL server on '{}:{}'", settings.host, settings.port);
        return Attempt::Lost(ER_CONNECT, message);
    };
    let dsn = dsn_of(&settings, source_port);
    let connected = tokio::time::timeout(limit, Connection::connect(&dsn)).await;
    let mut connection = match connected {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return outcome(error, ER_CONNECT),
        Err(_) => return Attempt::Lost(ER_CONNECT, "the source does not answer".to_owned()),
    };
    let globals = &instance.globals;
    let own_id = globals.by_name("server_id").as_unsigned() as u32;
    let uuid = globals.by_name("server_uuid");
    let confirms = globals.by_name("rpl_semi_sync_replica_enabled").as_boolean();
    let wishes = Wishes { heartbeat_ms: settings.heartbeat_ms, confirms };
    let source = match greet(&mut connection, (own_id, uuid.as_text()), wishes).await {
        Ok(Ok(source)) => source,
        Ok(Err(Refusal { number, message })) => return Attempt::Refused(number, message),
        Err(error) => return outcome(error, ER_LOST),
    };
    {
        let mut status = channel.status.lock();
        (status.source_id, status.source_uuid) = (source.server_id, source.uuid.clone());
    }
    if confirms && !source.is_told {
        let told = format!(
            "replica receiver for channel '{}': the source does not support semi-synchronous replication, so it is not told what is \
             applied here",
            channel.name
        );
        instance.log_at(LogLevel::Warning, &told);
    }
    // From here on the applier stands still until there is something new.
    channel.relay.restart();
    if let Some(end) = wait_for_applier(channel).await {
        return end;
    }
    let port = globals.by_name("port").as_unsigned() as u16;
    let begun = begin(instance, channel, &mut connection, (own_id, port), source.is_mariadb).await;
    if let Err(error) = begun {
        return outcome(error, ER_LOST);
    }
    show(channel, ReceiverState::On, "Waiting for source to send event");
    let begun = Instant::now();
    channel.status.lock().forget_failure(Part::Receiver);
    *attempts = 0;
    channel.status.lock().confirms = source.is_told;
    let mut stream = Stream::new((instance.clone(), channel.clone()), &source, own_id);
    let end = stream.run(&mut connection, limit).await;
    channel.status.lock().confirms = false;
    match end {
        StreamEnd::Stopped => Attempt::Stopped,
        StreamEnd::Abandoned => Attempt::Again,
        StreamEnd::Lost(error) => match outcome(error, ER_LOST) {
            Attempt::Lost(number, message) if begun.elapsed() >= FOLLOWED => Attempt::Ended(number, message),
            other => other,
        },
    }
}

async fn wait_for_applier(channel: &Channel) -> Option<Attempt> {
    loop {
        let news = channel.relay.news();
        if !channel.is_wanted(Part::Receiver) {
            return Some(Attempt::Stopped);
        }
        if channel.relay.is_abandoned() {
            return Some(Attempt::Again);
        }
        if channel.relay.has_restarted() || !channel.is_running(Part::Applier) {
            return None;
        }
        news.await;
    }
}

/// Asks for the events behind what is applied.
async fn begin(
    instance: &Instance,
    channel: &Channel,
    connection: &mut Connection,
    (own_id, port): (u32, u16),
    is_mariadb: bool,
) -> Result<(), Error> {
    connection.register_replica(own_id, port).await?;
    let applied = channel.applied();
    {
        let mut status = channel.status.lock();
        (status.read_file, status.read_position) = (applied.file.clone(), applied.position);
    }
    if !channel.settings.lock().auto_position {
        let from = DumpFrom::Position { file: &applied.file, position: applied.position.max(4) };
        return connection.begin_dump(own_id, &from).await;
    }
    if is_mariadb {
        connect_by_domains(connection, &applied.domains).await?;
        let from = DumpFrom::Position { file: "", position: 4 };
        return connection.begin_dump(own_id, &from).await;
    }
    let mut executed = instance.replication.executed();
    if let Some(log) = instance.binary_log() {
        executed.add_all(&log.executed());
    }
    let purged = instance.globals.by_name("gtid_purged");
    executed.add_all(&GtidSet::parse(purged.as_text()).unwrap_or_default());
    let mut set = Vec::new();
    executed.encode(&mut set);
    connection.begin_dump(own_id, &DumpFrom::Executed(&set)).await
}
