//! The program `twinlane`: everything is in the library.

fn main() -> std::process::ExitCode {
    twinlane::cli::main().into()
}
