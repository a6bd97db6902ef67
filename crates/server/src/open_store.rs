//! Opens what a server serves: its store, with all that the settings join to it. Called once, by `start`.
use crate::binary_log::BinaryLogPlan;
use crate::copy_directory::CopyDirectories;
use crate::data_directory::DataDirectory;
use crate::log_archive::ArchivePlan;
use crate::log_files::LogFiles;
use crate::options::Settings;
use crate::random::random_u64;
use crate::version::{PROTOCOL_VERSION, VERSION_COMMENT};
use crate::worker::{Worker, WorkerPool, WorkerSpawner};
use crate::{log, machine};
use archive::Archive;
use engine::{Engine, EngineOptions, FlushAtCommit, Packing};
use env::TemporarySpace;
use instance::{Instance, InstanceConfig, SleepFuture, Timer};
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub const PASSWORD_VARIABLE: &str = "EVENKEEL_ROOT_PASSWORD";

pub fn open_store(
    settings: &Settings,
    directory: &DataDirectory,
    pool: &WorkerPool,
    logs: &Arc<LogFiles>,
) -> Result<(Arc<Instance>, Option<Arc<Archive>>), String> {
    let config = InstanceConfig {
        version: PROTOCOL_VERSION.to_owned(),
        version_comment: VERSION_COMMENT.to_owned(),
        variables: with_file_names(settings, directory)?,
        initial_root_password: initial_password(settings, directory.is_new())?,
        digest_seed: (random_u64(), random_u64()),
        timer: Arc::new(TokioTimer),
        session_memory_bytes: settings.session_memory_bytes(machine::memory_bytes()),
        system_tables: system_tables::join,
    };
    let spawner = Arc::new(WorkerSpawner::new(pool.clone()));
    let temporary_spawner = spawner.clone();
    let temporary_bytes = settings.temporary_space_bytes;
    let environment = env::real_env(directory.path(), spawner)
        .map_err(|error| format!("cannot use {}: {error}", directory.path().display()))?;
    let (binary_log, archive) = (BinaryLogPlan::of(settings), ArchivePlan::of(settings)?);
    let options = engine_options(settings);
    let logs = logs.clone();
    let hint = directory.hint_of_missing_files();
    let data_directory = directory.path().to_owned();
    on_worker(pool.first(), move || async move {
        let of_binary_log = binary_log.needed_from(&environment).await?;
        let of_archive = archive.needed_from(&environment).await?;
        let log_begin = engine::log_begin(&environment).await.unwrap_or_default();
        let keep_log_from = of_binary_log.into_iter().chain(of_archive).min();
        let options = EngineOptions { keep_log_from, ..options };
        let engine = Engine::open(environment.clone(), options)
            .await
            .map_err(|error| format!("the store cannot be opened: {error}{hint}"))?;
        let behind = engine.stats().pages_behind;
        if behind > 0 {
            log::system(&format!("the log was read; {behind} pages catch up with it in the background"));
        }
        let server = Instance::open(engine, config).await.map_err(|error| error.message)?;
        // First: who opens the binary log lets go what was kept for it.
        let archive = archive.start(&environment, server.engine().clone(), log_begin).await?;
        binary_log.open(environment, &server).await?;
        server.engine().release_opening_hold();
        server.set_temporary(temporary_space(&server, temporary_spawner, temporary_bytes).await?);
        server.set_log(log::at);
        server.logs.set_writer(logs);
        server.open_logs().map_err(|error| error.message)?;
        server.backups.set_directories(Arc::new(CopyDirectories));
        open_host_files(&server, &data_directory)?;
        let prepared = server.prepared_count();
        if prepared > 0 {
            log::warning(&format!(
                "{prepared} prepared XA transactions wait for a decision: XA RECOVER lists them"
            ));
        }
        Ok((server, archive))
    })?
}

/// What the settings give the engine; whose log is to be kept, the start adds.
pub fn engine_options(settings: &Settings) -> EngineOptions {
    EngineOptions {
        keep_log_from: None,
        page_size_bytes: settings.page_size_bytes,
        buffer_pool_bytes: settings.buffer_pool_bytes,
        // Growth beyond the machine's memory would only be paged out again.
        buffer_pool_bytes_max: settings
            .buffer_pool_bytes_max(machine::memory_bytes(), env::real::address_space_limit()),
        loads_hot_pages: settings.loads_hot_pages,
        redo_capacity_bytes: settings.redo_capacity_bytes,
        redo_memory_bytes: 0,
        undo_memory_bytes: 0,
        version_memory_bytes: 0,
        late_change_bytes: None,
        page_log_bytes: None,
        packing: if settings.packs_pages { Packing::WhenWorthwhile } else { Packing::Never },
        flush_at_commit: match settings.flush_log_at_commit {
            0 => FlushAtCommit::Lazy,
            1 => FlushAtCommit::Durable,
            _ => FlushAtCommit::Written,
        },
    }
}

/// The place for temporary files, without what an end in their midst has left there.
pub async fn temporary_space(
    server: &Instance,
    spawner: Arc<WorkerSpawner>,
    limit_bytes: u64,
) -> Result<Arc<TemporarySpace>, String> {
    let directory = server.globals.by_name("tmpdir").as_text().to_owned();
    let failed = |error: env::IoError| format!("cannot use tmpdir {directory}: {error}");
    let environment = env::real_env(Path::new(&directory), spawner).map_err(failed)?;
    let space = TemporarySpace::new(environment, "");
    if limit_bytes > 0 {
        space.set_limit(limit_bytes);
    }
    space.remove_remains().await.map_err(failed)?;
    Ok(space)
}

/// The files that statements may name; the folder for them must be there.
pub fn open_host_files(server: &Instance, data_directory: &Path) -> Result<(), String> {
    let allowed = server.globals.by_name("secure_file_priv").as_text().to_owned();
    if !allowed.is_empty() && !allowed.eq_ignore_ascii_case("NULL") {
        let is_folder = std::fs::metadata(&allowed).is_ok_and(|found| found.is_dir());
        if !is_folder {
            return Err(format!("Failed to access directory for --secure-file-priv: {allowed}"));
        }
    }
    let absolute = |error| format!("cannot find {}: {error}", data_directory.display());
    let data_directory = std::path::absolute(data_directory).map_err(absolute)?;
    let root = env::real_disk(Path::new("/")).map_err(|error| error.to_string())?;
    server.files.set(root, &data_directory.to_string_lossy());
    Ok(())
}

/// The variables that were given, and the names that follow from the machine's.
pub fn with_file_names(
    settings: &Settings,
    directory: &DataDirectory,
) -> Result<Vec<(String, String)>, String> {
    let mut variables = settings.variables.clone();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "localhost" } else { host.trim() };
    let file = |ending: &str| format!("{host}{ending}");
    for (name, value) in [
        ("hostname", host.to_owned()),
        ("server_uuid", crate::server_uuid::load(directory.path())?),
        ("log_bin", if settings.binary_log.is_some() { "ON" } else { "OFF" }.to_owned()),
        ("general_log_file", file(".log")),
        ("slow_query_log_file", file("-slow.log")),
    ] {
        if variables.iter().all(|(given, _)| given != name) {
            variables.push((name.to_owned(), value));
        }
    }
    Ok(variables)
}

/// Runs a future on a worker and waits for what it gives.
pub fn on_worker<F: Future<Output = T> + 'static, T: Send + 'static>(
    worker: &Worker,
    make: impl FnOnce() -> F + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = std::sync::mpsc::channel();
    worker.run(move || {
        crate::worker::spawn(async move {
            // Nobody waits any more only when the program is already ending.
            let _ = sender.send(make().await);
        });
    });
    receiver.recv().map_err(|_| "a worker ended before its work was done".to_owned())
}

/// The password of the first account, from the file, the environment, or none. Once there are accounts it has
/// no meaning, so a file that is gone by then is no error.
pub fn initial_password(settings: &Settings, is_new: bool) -> Result<String, String> {
    let Some(path) = &settings.initial_root_password_file else {
        return Ok(std::env::var(PASSWORD_VARIABLE).unwrap_or_default());
    };
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) if is_new => Err(format!("cannot read {}: {error}", path.display())),
        Err(_) => Ok(String::new()),
    }
}

pub(crate) struct TokioTimer;

impl Timer for TokioTimer {
    fn sleep(&self, duration: Duration) -> SleepFuture {
        Box::pin(tokio::time::sleep(duration))
    }
}
