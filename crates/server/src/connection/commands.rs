//! The loop of a session: the next command, its outcome, one write.
//!
//! Invariant: every command but those that the protocol leaves unanswered gets exactly one response, and a
//! response leaves before the next command is looked at. Called by `connection` after the login and after each move.

use std::pin::pin;
use std::time::{Duration, Instant};

use datum::error_code;
use instance::{KillKind, ProcessEntry};
use session::{ConnectionLimits, NumberedList, Session};
use wire::Event;

use super::client::Client;

use super::idle::{IdleTimer, Wake, unless_gone, wait_for_bytes};
use super::login::{End, Introduction, change_user};
use crate::connection::context::{After, Context, Prepared};
use crate::connection::error_reply::write_error;
use crate::worker::{Presence, Worker, has_had_slice, next_slice, next_worker, set_begun};

/// In a transaction, whose locks others may wait for, a session's slice goes on, but not for ever: a client that sends commands
/// without a pause stops nobody.
const COMMANDS_PER_SLICE_MAX: usize = 256;

/// Why a worker has no more to do for a session.
pub(super) enum Departure {
    Over,
    /// Its next command has arrived, and begins there.
    MovesTo(Worker),
}

/// A session and what the connection knows of it.
pub(super) struct Conversation {
    session: Box<Session>,
    prepared: NumberedList<Prepared>,
}

impl Conversation {
    pub(super) fn new(session: Box<Session>) -> Self {
        Self { session, prepared: NumberedList::default() }
    }

    /// Serves commands until there are no more, or until they go on elsewhere.
    pub(super) async fn serve(&mut self, client: &mut Client) -> Departure {
        let process = self.session.process().clone();
        let departure = serve_commands(client, &mut self.session, &process, &mut self.prepared).await;
        count_traffic(client, &process);
        departure
    }

    /// Boxed: what an end needs is not kept for the life of the session.
    pub(super) async fn close(self) {
        Box::pin(self.session.close()).await;
    }

    /// Without the client's word.
    pub(super) async fn abort(self) {
        self.session.instance().gauges().count_aborted_client();
        self.close().await;
    }
}

async fn serve_commands(
    client: &mut Client,
    session: &mut Session,
    process: &ProcessEntry,
    prepared: &mut NumberedList<Prepared>,
) -> Departure {
    let mut limits = session.limits();
    apply_limits(client, &limits);
    let mut timer = IdleTimer::new(seconds(limits.idle_timeout_s));
    let mut commands_of_slice = 0;
    let mut presence = Presence::default();
    loop {
        if !send(client, process).await || process.kill.state() == Some(KillKind::Connection) {
            break;
        }
        count_traffic(client, process);
        let mut settings_touched = false;
        let next = next_command(client, session, process, prepared, &limits, &mut settings_touched);
        let after = pin!(next).await;
        match after {
            Some(After::Continue) => {
                commands_of_slice += 1;
                if is_slice_over(session, commands_of_slice) {
                    commands_of_slice = 0;
                    // The client need not wait for its session's next turn to see what is done.
                    if !send(client, process).await {
                        break;
                    }
                    let_others_go_first(session).await;
                }
            }
            Some(After::Quit) => return Departure::Over,
            Some(After::SetMultiStatements(on)) => client.protocol.set_multi_statements(on),
            Some(After::ChangeUser(introduction)) => {
                prepared.clear();
                let limit = seconds(limits.net_read_timeout_s);
                if !has_changed_user(client, session, &introduction, limit).await {
                    break;
                }
                settings_touched = true;
            }
            None => {
                timer.set_limit(waiting_limit(client, &limits));
                set_begun(session.has_open_transaction());
                let wake = wait_for_bytes(client, &process.kill, &mut timer).await;
                set_begun(true);
                match wake {
                    Wake::Bytes if client.can_detach() => {
                        if let Some(worker) = next_worker(&mut presence) {
                            process.kill.forget_waiting();
                            return Departure::MovesTo(worker);
                        }
                    }
                    Wake::Bytes | Wake::Unsent => {}
                    Wake::Gone | Wake::Killed => break,
                    Wake::TimedOut => {
                        tell_timeout(client);
                        break;
                    }
                }
            }
        }
        if settings_touched {
            limits = session.limits();
            apply_limits(client, &limits);
        }
    }
    session.instance().gauges().count_aborted_client();
    Departure::Over
}

/// The error of a session that was idle too long, which answers no command.
fn tell_timeout(client: &mut Client) {
    client.writer.set_sequence(0);
    let error = error_code::ER_CLIENT_INTERACTION_TIMEOUT.plain();
    write_error(&mut client.writer, client.protocol.capabilities(), &error);
}

/// False when the client is refused, which it is told, or gone.
async fn has_changed_user(
    client: &mut Client,
    session: &mut Session,
    introduction: &Introduction,
    limit: Duration,
) -> bool {
    let changed = change_user(client, session, introduction, limit).await;
    if let Err(End::Refused(error)) = &changed {
        write_error(&mut client.writer, client.protocol.capabilities(), error);
    }
    changed.is_ok()
}

/// False when the client is gone.
async fn send(client: &mut Client, process: &ProcessEntry) -> bool {
    client.post() || client.flush_unless_killed(&process.kill).await.is_ok()
}

fn is_slice_over(session: &Session, commands: usize) -> bool {
    if session.has_open_transaction() { commands >= COMMANDS_PER_SLICE_MAX } else { has_had_slice(commands) }
}

async fn let_others_go_first(session: &Session) {
    if session.has_open_transaction() {
        return env::yield_now().await;
    }
    let began = Instant::now();
    next_slice().await;
    session.instance().gauges().count_slice_wait(began.elapsed());
}

fn count_traffic(client: &mut Client, process: &ProcessEntry) {
    let (received, sent) = client.stream.get_mut().take_traffic();
    process.count_traffic(received, sent);
}

fn seconds(count: u32) -> Duration {
    Duration::from_secs(u64::from(count))
}

/// In the middle of a packet a client may pause less long than between commands.
fn waiting_limit(client: &Client, limits: &ConnectionLimits) -> Duration {
    let idle = seconds(limits.idle_timeout_s);
    if client.protocol.has_pending_bytes() { idle.min(seconds(limits.net_read_timeout_s)) } else { idle }
}

fn apply_limits(client: &mut Client, limits: &ConnectionLimits) {
    client.protocol.set_max_allowed_packet(limits.max_allowed_packet as usize);
    client.write_timeout = seconds(limits.net_write_timeout_s);
}

/// Runs the next command that has arrived whole; `None` when there is none.
async fn next_command(
    client: &mut Client,
    session: &mut Session,
    process: &ProcessEntry,
    prepared: &mut NumberedList<Prepared>,
    limits: &ConnectionLimits,
    settings_touched: &mut bool,
) -> Option<After> {
    let capabilities = client.protocol.capabilities();
    let Client { stream, protocol, writer, write_timeout, must_linger, .. } = client;
    let command = match protocol.next_event(writer) {
        Ok(Some(Event::Command(command))) => command,
        Ok(Some(Event::Refused)) => return Some(After::Continue),
        Ok(None) => return None,
        Ok(Some(Event::TlsRequested | Event::Introduced(_) | Event::AuthenticationData(_))) => {
            unreachable!("after the login only commands arrive")
        }
        Err(_) => {
            *must_linger = true;
            return Some(After::Quit);
        }
    };
    let mut context = Context {
        session,
        process,
        prepared,
        stream,
        writer,
        capabilities,
        write_timeout: *write_timeout,
        long_data_bytes_max: limits.max_allowed_packet as usize,
        settings_touched,
    };
    Some(unless_gone(pin!(context.run(command)), stream, &process.kill).await)
}
