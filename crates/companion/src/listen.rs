//! The signal that ends a run early: runs stop at the first one and still report.
use bench::Stop;

/// Lets Ctrl-C end what goes on, on a thread of its own.
pub fn listen(stop: &Stop) {
    let stop = stop.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let Ok(runtime) = runtime {
            runtime.block_on(async {
                stop.listen();
                std::future::pending::<()>().await;
            });
        }
    });
}
