//! QEMU's machine `virt` with an image, in virtual time.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Signal, set_parent_process_death_signal};
use tempfile::TempDir;

use crate::HypError;
use crate::board::Board;
use crate::layout::TRACE_BYTES;

const PROGRAM: &str = "qemu-system-aarch64";
/// Cores run in turns, which end when a core sets a timer and else at the next timer of any: one
/// that is busy and sets none would take the whole periods of those that have just set theirs. A
/// device's timer of this period ends turns, too; in microseconds. After each timer the first core
/// is served first: one that is busy and never yields is better not before others.
const TURN_US: u32 = 50;

/// Files in the folder of a machine: what it boots, what it traces into and what it prints, and what
/// QEMU itself has to say, for which a pipe that nobody reads would be too short.
const IMAGE: &str = "image.elf";
const TRACE: &str = "trace";
const CONSOLE: &str = "console";
const COMPLAINTS: &str = "complaints";

/// A machine that runs.
#[derive(Debug)]
pub(crate) struct Machine {
    process: Child,
    folder: TempDir,
}

impl Machine {
    /// Turns a machine on that boots `image` and traces.
    pub(crate) fn start(image: &[u8], board: &Board) -> Result<Self, HypError> {
        let failed = |error| HypError::Failed(format!("a folder for the machine: {error}"));
        let folder = TempDir::with_prefix("ringfence-machine-").map_err(failed)?;
        let path = folder.path().join(IMAGE);
        fs::write(&path, image).map_err(|error| HypError::file(&path, error))?;
        let trace = folder.path().join(TRACE);
        let made = File::create(&trace).and_then(|file| file.set_len(TRACE_BYTES));
        made.map_err(|error| HypError::file(&trace, error))?;
        let complaints = folder.path().join(COMPLAINTS);
        let complaints =
            File::create(&complaints).map_err(|error| HypError::file(&complaints, error))?;
        let mut command = Command::new(PROGRAM);
        die_with_us(&mut command);
        let process = command
            .args(arguments(board))
            // Names of files that are options of QEMU's could have no comma.
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(complaints)
            .spawn()
            .map_err(|error| {
                HypError::Unsupported(format!(
                    "`{PROGRAM}` is needed to run the hypervisor and does not start ({error}); on \
                     Debian and Ubuntu: apt-get install qemu-system-arm"
                ))
            })?;
        Ok(Self { process, folder })
    }

    /// The file that is the memory of the trace.
    pub(crate) fn trace(&self) -> PathBuf {
        self.folder.path().join(TRACE)
    }

    /// What it has printed so far.
    pub(crate) fn console(&self) -> String {
        self.text(CONSOLE).replace('\r', "")
    }

    fn text(&self, file: &str) -> String {
        let bytes = fs::read(self.folder.path().join(file)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether it has turned itself off.
    ///
    /// # Errors
    /// QEMU has failed.
    pub(crate) fn is_off(&mut self) -> Result<bool, HypError> {
        let failed = |error| HypError::Failed(format!("{PROGRAM}: {error}"));
        let Some(status) = self.process.try_wait().map_err(failed)? else {
            return Ok(false);
        };
        if status.success() {
            return Ok(true);
        }
        Err(HypError::Failed(format!(
            "{PROGRAM} failed ({status}): {}",
            self.text(COMPLAINTS).trim()
        )))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone then.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Should we be killed, the machine still ends.
fn die_with_us(command: &mut Command) {
    let end = || set_parent_process_death_signal(Some(Signal::KILL)).map_err(Into::into);
    // SAFETY: between fork and exec the closure makes one system call, and nothing else.
    unsafe { command.pre_exec(end) };
}

/// The command as it would be typed in a folder that is made for the run.
pub(crate) fn command_line(board: &Board) -> String {
    format!("{PROGRAM} {}", arguments(board).join(" "))
}

fn arguments(board: &Board) -> Vec<String> {
    let ram_bytes: u64 = board.ram.iter().map(|ram| ram.end - ram.start).sum();
    let words = format!(
        "-M virt,virtualization=on,gic-version={gic} -cpu cortex-a53 -smp {cores} -m {all}M \
         -object memory-backend-ram,id=ram,size={rest} \
         -object memory-backend-file,id=trace,size={TRACE_BYTES},share=on,mem-path={TRACE} \
         -numa node,cpus=0-{last},memdev=ram -numa node,memdev=trace \
         -accel tcg,thread=single -icount shift=0,sleep=off -rtc base=2026-01-01,clock=vm \
         -netdev hubport,id=none,hubid=0 \
         -object filter-buffer,id=turns,netdev=none,interval={TURN_US} \
         -nodefaults -no-user-config -display none -serial file:{CONSOLE} -kernel {IMAGE}",
        gic = board.gic.version(),
        cores = board.cores,
        last = board.cores - 1,
        all = ram_bytes >> 20,
        rest = ram_bytes - TRACE_BYTES,
    );
    words.split(' ').map(str::to_owned).collect()
}
