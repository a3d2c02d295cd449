//! SIGINT and SIGTERM as a wish to stop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals as Incoming};

use crate::value::{Cancel, Wish};

/// The signals of this process, while it is held. A first SIGINT or SIGTERM raises the wish to `Drain`, a
/// second to `Abort`; a third ends the process at once.
#[derive(Debug)]
pub struct Signals {
    first: Arc<AtomicI32>,
    handle: Handle,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Signals {
    /// The first signal that came: 2 or 15.
    #[must_use]
    pub fn first(&self) -> Option<i32> {
        match self.first.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal),
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts to listen, on a thread of its own; each signal raises `cancel` by one step.
///
/// # Errors
/// Where the handlers or the thread cannot be set up.
pub fn watch_signals(cancel: Cancel) -> io::Result<Signals> {
    let mut incoming = Incoming::new([SIGINT, SIGTERM])?;
    let handle = incoming.handle();
    let first = Arc::new(AtomicI32::new(0));
    let seen = Arc::clone(&first);
    let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in incoming.forever() {
            let _ = seen.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
            if cancel.wish() == Wish::Abort {
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
            cancel.raise();
        }
    })?;
    Ok(Signals { first, handle, thread: Some(thread) })
}
