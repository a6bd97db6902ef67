//! A hop between client and server that can be cut: the server sees its client's socket closed, without a last word.

use std::io::{self, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use crate::Server;

/// Carries one connection. Its threads end with either side.
pub struct Relay {
    pub port: u16,
    to_server: TcpStream,
}

impl Relay {
    pub fn start(server: &Server) -> io::Result<Relay> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let to_server = TcpStream::connect((server.host.as_str(), server.port))?;
        to_server.set_nodelay(true)?;
        let server_side = to_server.try_clone()?;
        thread::spawn(move || {
            // A client that never comes is an error of its own, told elsewhere.
            if let Ok((client, _)) = listener.accept() {
                let _ = carry(&client, &server_side);
            }
        });
        Ok(Relay { port, to_server })
    }

    pub fn cut(&self) -> io::Result<()> {
        self.to_server.shutdown(Shutdown::Both)
    }
}

fn carry(client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (mut from_client, mut into_server) = (client.try_clone()?, server.try_clone()?);
    let upwards = thread::spawn(move || {
        let _ = copy(&mut from_client, &mut into_server);
        let _ = into_server.shutdown(Shutdown::Both);
    });
    let (mut from_server, mut into_client) = (server.try_clone()?, client.try_clone()?);
    let _ = copy(&mut from_server, &mut into_client);
    client.shutdown(Shutdown::Both)?;
    let _ = upwards.join();
    Ok(())
}
