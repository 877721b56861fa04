//! The `chronodrome` command.

fn main() -> std::process::ExitCode {
    chronodrome::cli::main()
}
