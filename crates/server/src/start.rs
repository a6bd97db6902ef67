//! Up and down: the steps between a command line and a running server, and back to a clean data directory.
//!
//! Order up: log, data directory and its lock, workers, engine, sessions, accounts, TLS, listeners, the line that
//! says it is ready. Down: no new clients, sessions end, the engine closes, workers stop. Invariant: a step that
//! fails undoes those before it and gives one message. Called by `main`.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use archive::Archive;
use instance::{Instance, KillKind};

use crate::attachment::Attachment;
use crate::data_directory::DataDirectory;
use crate::events::ClockWatch;
use crate::listener::{SocketFile, accept_socket, accept_tcp, bind_socket, bind_tcp, is_loopback, resolve};
use crate::log;
use crate::log_archive;
use crate::log_files::LogFiles;
use crate::machine;
use crate::open_store::{PASSWORD_VARIABLE, on_worker, open_store};
use crate::options::Settings;
use crate::page_repair::PageRepairs;
use crate::pid_file::PidFile;
use crate::repeated::Repeated;
use crate::restore_table::{RestorePlaces, Restorer, remove_remains};
use crate::service_manager::ServiceManager;
use crate::shared::Shared;
use crate::signals::{StopSignals, Wish};
use crate::stop::{RESTART_EXIT_CODE, StopRequests};
use crate::version::{PROTOCOL_VERSION, VERSION_COMMENT};
use crate::worker::WorkerPool;

/// A clean stop must be over in five seconds; this much of it may be spent on sessions.
const SESSIONS_END_MAX: Duration = Duration::from_secs(2);
const FAILURE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// What a log file of this start begins with, as MySQL writes it.
fn log_head(settings: &Settings) -> String {
    let socket = settings.socket.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
    format!(
        "evenkeel, Version: {PROTOCOL_VERSION} ({VERSION_COMMENT}). started with:\nTcp port: {}  Unix socket: {socket}\n\
         Time                 Id Command    Argument\n",
        settings.port
    )
}

/// Serves until a signal or a session ends it; the exit code tells a supervisor whether to start it again.
pub fn run(mut settings: Settings) -> Result<ExitCode, String> {
    settings.fit_to_machine(machine::memory_bytes());
    if let Some(path) = &settings.log_error {
        log::open_file(path)?;
    }
    let worker_count = match settings.worker_count {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => count,
    };
    if let Some(files_max) = env::real::open_as_many_files_as_possible() {
        settings.fit_to_files(files_max, worker_count);
    }
    for warning in &settings.warnings {
        log::warning(warning);
    }
    settings.check_address_space(env::real::address_space_limit())?;
    crate::panics::install();
    choose_page_size(settings.uses_large_pages);
    let directory = DataDirectory::open(&settings.datadir)?;
    let _pid_file = settings.pid_file.as_deref().map(PidFile::write).transpose()?;
    // The main thread only waits for signals; they must not kill it while the rest comes up.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let mut signals = runtime.block_on(async { StopSignals::install() })?;
    let attachment = crate::attachment::prepare(&runtime, &mut settings, &directory)?;
    let logs = LogFiles::start(directory.path(), log_head(&settings))?;
    let (pool, threads) = WorkerPool::start(worker_count, settings.session_moves)?;
    let served = serve(&runtime, &mut signals, attachment, &settings, (&directory, &pool, &logs));
    pool.stop(threads);
    logs.settle();
    served
}

/// Before the first thread starts and before the pool takes memory.
fn choose_page_size(large: bool) {
    if !large {
        if !env::real::refuse_large_pages() {
            log::warning("large-pages=OFF: the system does not let this program refuse large pages");
        }
    } else if env::real::code_in_large_pages().is_none() {
        log::note("the system has no large pages for the program's code");
    }
}

fn serve(
    runtime: &tokio::runtime::Runtime,
    signals: &mut StopSignals,
    attachment: Option<Attachment>,
    settings: &Settings,
    (directory, pool, logs): (&DataDirectory, &WorkerPool, &Arc<LogFiles>),
) -> Result<ExitCode, String> {
    let (server, archive) = open_store(settings, directory, pool, logs)?;
    prepare_restores(settings, directory, pool, (&server, &archive))?;
    let requests = StopRequests::default();
    requests.listen_to(&server);
    let attached = attachment.map_or(Ok(()), |attachment| attachment.run(runtime, signals, &server, pool));
    let listening = attached.and_then(|()| start_listening(settings, directory, pool, &server));
    let result = match listening {
        Ok(listening) => {
            let mut manager = ServiceManager::of_environment();
            manager.ready();
            crate::events::start(&server, pool);
            crate::replication::start(&server, pool, settings.replication_filters.clone());
            let end = runtime.block_on(wait_for_end(signals, &requests, &server, &mut manager, pool));
            manager.stopping();
            drop(listening.socket_file);
            crate::replication::stop(&server);
            end_sessions(&listening.shared, pool);
            end
        }
        Err(message) => Err(message),
    };
    let engine = server.engine().clone();
    let log = server.binary_log().cloned();
    let closed = on_worker(pool.first(), move || async move {
        if let Some(log) = log
            && let Err(error) = log.close().await
        {
            log::error(&format!("the binary log could not be closed: {error}"));
        }
        log_archive::close(archive).await;
        engine.close().await
    });
    match closed {
        Ok(Ok(())) => log::system("shutdown complete"),
        Ok(Err(error)) => log::error(&format!("the store could not be closed: {error}")),
        Err(message) => log::error(&message),
    }
    result.map(|()| if requests.wants_restart() { RESTART_EXIT_CODE.into() } else { ExitCode::SUCCESS })
}

/// A signal, or a failure that makes every further commit impossible. The engine is asked rather than listened
/// to: one look a second costs nothing, and clients get the error at once anyway.
async fn wait_for_end(
    signals: &mut StopSignals,
    requests: &StopRequests,
    server: &Instance,
    manager: &mut ServiceManager,
    pool: &WorkerPool,
) -> Result<(), String> {
    let mut full_disk = Repeated::default();
    let mut clock = ClockWatch::new();
    loop {
        tokio::select! {
            wish = signals.wait() => match wish {
                Wish::End(signal) => {
                    log::system(&format!("{signal}: shutting down"));
                    return Ok(());
                }
                Wish::NewLogs => server.reopen_logs(),
            },
            wish = requests.wait() => {
                log::system(&format!("{wish} of a client: shutting down"));
                return Ok(());
            }
            () = tokio::time::sleep(FAILURE_CHECK_INTERVAL) => {
                manager.keep_alive(pool);
                if clock.has_been_set() {
                    server.events.wake();
                }
                for damage in server.engine().take_damage_news() {
                    log::error(&format!("{damage}; CHECK TABLE and 'evenkeel verify' tell what is concerned"));
                }
                if let Some(count) = full_disk.count(server.engine().take_full_disk_news(), Instant::now()) {
                    log::error(&format!(
                        "the disk of the data directory is full ({count} writes failed): changes fail with error 1114, reading goes on; \
                         make space there, and changes succeed again without a restart"
                    ));
                }
                if let Some(error) = server.engine().failure() {
                    let message = format!("the store has failed and the server stops: {error}");
                    log::error(&message);
                    log::system("when the cause is gone, the next start recovers everything that was acknowledged");
                    return Err(message);
                }
            }
        }
    }
}

/// Removes what an end in the middle of a RESTORE TABLE has left, and lets new ones and repairs of pages begin.
fn prepare_restores(
    settings: &Settings,
    directory: &DataDirectory,
    pool: &WorkerPool,
    (server, archive): (&Arc<Instance>, &Option<Arc<Archive>>),
) -> Result<(), String> {
    let (instance, path) = (server.clone(), directory.path().to_owned());
    on_worker(pool.first(), move || remove_remains(instance, path))?;
    let places = Arc::new(RestorePlaces {
        backups: settings.backup_directory.clone(),
        key_file: settings.backup_key_file.clone(),
        archive: archive.clone(),
        data_directory: directory.path().to_owned(),
    });
    if places.backups.is_some() {
        let engine = server.engine();
        engine.set_page_repairer(Arc::new(PageRepairs::new(places.clone(), engine)));
    }
    server.backups.set_restorer(Arc::new(Restorer::new(places)));
    Ok(())
}

struct Listening {
    shared: Arc<Shared>,
    socket_file: Option<SocketFile>,
}

fn start_listening(
    settings: &Settings,
    directory: &DataDirectory,
    pool: &WorkerPool,
    server: &Arc<Instance>,
) -> Result<Listening, String> {
    let addresses = match settings.listens_on_tcp {
        true => resolve(&settings.bind_address, settings.port)?,
        false => Vec::new(),
    };
    let passwordless = server.accounts().passwordless();
    if let Some(address) = addresses.iter().find(|address| !is_loopback(address.ip()))
        && let Some(account) = passwordless.first()
    {
        return Err(format!(
            "refusing to listen on {address} while the account {account} has no password: give it one \
             (ALTER USER, or {PASSWORD_VARIABLE} on the first start) or listen on 127.0.0.1"
        ));
    }
    let shared = Shared::new(server.clone(), settings);
    if settings.offers_tls {
        shared.load_tls(directory.path())?;
        let (weak, datadir) = (Arc::downgrade(&shared), directory.path().to_owned());
        server.tls.set_reload(Box::new(move || weak.upgrade().ok_or("the server stops")?.load_tls(&datadir)));
    }
    let (backlog, socket) = (settings.backlog, settings.socket.clone());
    let (for_worker, pool_for_worker) = (shared.clone(), pool.clone());
    let bound = on_worker(pool.first(), move || async move {
        listen(addresses, backlog, socket.as_deref(), for_worker, pool_for_worker)
    })?;
    let (addresses, socket_file) = bound?;
    if directory.is_new() && !passwordless.is_empty() {
        log::warning("root@localhost has no password: anybody on this machine can log in as root");
    }
    if settings.metrics_port > 0 {
        let port = crate::metrics::serve(&settings.metrics_bind_address, settings.metrics_port, server)?;
        log::system(&format!("metrics: http://{}:{port}/metrics", settings.metrics_bind_address));
    }
    announce(&addresses, settings.socket.as_deref());
    Ok(Listening { shared, socket_file })
}

/// Runs on a worker: binds everything or nothing, then accepts.
fn listen(
    addresses: Vec<SocketAddr>,
    backlog: u32,
    socket: Option<&Path>,
    shared: Arc<Shared>,
    pool: WorkerPool,
) -> Result<(Vec<SocketAddr>, Option<SocketFile>), String> {
    let listeners: Result<Vec<_>, _> =
        addresses.into_iter().map(|address| bind_tcp(address, backlog)).collect();
    let listeners = listeners?;
    let socket = socket.map(bind_socket).transpose()?;
    let mut bound = Vec::new();
    for listener in listeners {
        bound.extend(listener.local_addr());
        crate::worker::spawn(accept_tcp(listener, shared.clone(), pool.clone()));
    }
    let socket_file = socket.map(|(listener, file)| {
        crate::worker::spawn(accept_socket(listener, shared.clone(), pool.clone()));
        file
    });
    Ok((bound, socket_file))
}

/// The one line that says how to connect; scripts wait for "ready".
fn announce(addresses: &[SocketAddr], socket: Option<&Path>) {
    let mut ways: Vec<String> = Vec::new();
    for address in addresses {
        let host =
            if address.ip().is_unspecified() { "127.0.0.1".to_owned() } else { address.ip().to_string() };
        ways.push(format!("mysql -h {host} -P {} -u root", address.port()));
    }
    if let Some(path) = socket {
        ways.push(format!("mysql -S {} -u root", path.display()));
    }
    log::system(&format!("ready for connections: {}", ways.join(" or ")));
}

fn end_sessions(shared: &Shared, pool: &WorkerPool) {
    let deadline = Instant::now() + SESSIONS_END_MAX;
    let processes = shared.server.processes();
    let mut is_for_all = false;
    loop {
        let all = processes.all();
        // Who reads the binary log gets what the others have committed.
        let left: Vec<_> = all.iter().filter(|process| is_for_all || !process.is_dump()).collect();
        // Again each time: a client may have logged in meanwhile.
        left.iter().for_each(|process| process.kill.kill(KillKind::Connection));
        if left.is_empty() {
            if is_for_all || all.is_empty() {
                return;
            }
            is_for_all = true;
            if let Some(log) = shared.server.binary_log().cloned() {
                // A failure has been told.
                let _ = on_worker(pool.first(), move || async move { log.catch_up().await });
            }
            continue;
        }
        if Instant::now() >= deadline {
            log::warning("some sessions did not end in time; their transactions are rolled back");
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
