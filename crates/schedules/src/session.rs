//! One session of a schedule: a thread with a connection that runs one statement after the other.
//!
//! Invariant: a session has at most one statement under way; the answer comes through the channel that all sessions
//! of a schedule share. The runner (`run`) keeps account of who is busy.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use mysql::{Conn, OptsBuilder};

use crate::outcome::outcome;

/// The answer to a step.
#[derive(Debug)]
pub struct Answer {
    /// 0 for `s1`.
    pub session: usize,
    pub text: String,
}

pub struct Session {
    commands: Option<Sender<String>>,
    thread: Option<JoinHandle<()>>,
    pub connection_id: u32,
}

impl Session {
    pub fn start(
        session: usize,
        options: OptsBuilder,
        answers: Sender<Answer>,
    ) -> Result<Session, mysql::Error> {
        let mut client = Conn::new(options)?;
        let connection_id = client.connection_id();
        let (commands, received): (Sender<String>, Receiver<String>) = channel();
        let thread = std::thread::spawn(move || {
            for sql in received {
                let text = outcome(&mut client, &sql);
                if answers.send(Answer { session, text }).is_err() {
                    return;
                }
            }
        });
        Ok(Session { commands: Some(commands), thread: Some(thread), connection_id })
    }

    pub fn send(&self, sql: String) {
        let commands = self.commands.as_ref().expect("the session has not ended");
        // A thread that has ended shows as an answer that never comes.
        let _ = commands.send(sql);
    }

    /// Ends the connection; waits for it unless a statement hangs in it.
    pub fn end(mut self, hangs: bool) {
        self.commands = None;
        if let Some(thread) = self.thread.take()
            && !hangs
        {
            let _ = thread.join();
        }
    }
}
