//! The process's surroundings: variables, users, host, limits.

use std::path::PathBuf;

/// What the process was started in; asked anew at each call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Environment;

impl Environment {
    /// An environment variable; `None` where unset or no UTF-8.
    #[must_use]
    pub fn variable(self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    /// The arguments the process was started with, its own name first.
    pub fn arguments(self) -> impl Iterator<Item = std::ffi::OsString> {
        std::env::args_os()
    }

    /// The working directory.
    ///
    /// # Errors
    /// Where it was removed or cannot be told.
    pub fn working_directory(self) -> std::io::Result<PathBuf> {
        std::env::current_dir()
    }

    /// The home directory: for `None` that of the running user (`HOME`, when set to an absolute path), else of the named one
    /// (`/etc/passwd`).
    #[must_use]
    pub fn home(self, user: Option<&str>) -> Option<PathBuf> {
        match user {
            None => self.variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
            Some(user) => std::fs::read_to_string("/etc/passwd").ok()?.lines().find_map(|line| {
                let mut fields = line.split(':');
                let home = (fields.next() == Some(user)).then(|| fields.nth(4))??;
                home.starts_with('/').then(|| PathBuf::from(home))
            }),
        }
    }

    /// All home directories that `/etc/passwd` names, and the running user's.
    #[must_use]
    pub fn homes(self) -> Vec<PathBuf> {
        let table = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let named = table.lines().filter_map(|line| line.split(':').nth(5)).filter(|home| home.len() > 1);
        named.map(PathBuf::from).chain(self.home(None)).collect()
    }

    /// This host's name.
    #[must_use]
    pub fn hostname(self) -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    /// The id of this boot of the machine, empty where the kernel tells none.
    #[must_use]
    pub fn boot_id(self) -> String {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
    }

    /// This process's id.
    #[must_use]
    pub fn process_id(self) -> u32 {
        std::process::id()
    }

    /// The user whose rights count.
    #[must_use]
    pub fn user_id(self) -> u32 {
        rustix::process::geteuid().as_raw()
    }

    /// Whether that is root.
    #[must_use]
    pub fn is_root(self) -> bool {
        self.user_id() == 0
    }

    /// Number of processors this process may use.
    #[must_use]
    pub fn processors(self) -> usize {
        std::thread::available_parallelism().map_or(1, Into::into)
    }

    /// How many directory handles may be kept open at once: a quarter of `RLIMIT_NOFILE`, at most 512 (DESIGN §6).
    #[must_use]
    pub fn handle_budget(self) -> usize {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(2048);
        usize::try_from(limit / 4).unwrap_or(512).clamp(8, 512)
    }
}
