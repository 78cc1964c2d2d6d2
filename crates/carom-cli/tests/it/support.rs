//! Running the program with a time limit, and folders that disappear.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longest time a run may take: far beyond what any of them needs on a busy machine.
const LIMIT: Duration = Duration::from_mins(2);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// None if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// What was run, for messages.
    what: String,
}

/// The program, to be run from the root of the repository.
pub(crate) fn carom() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carom"));
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the program with arguments.
pub(crate) fn run<S: AsRef<OsStr>>(arguments: &[S]) -> Outcome {
    finish(carom().args(arguments))
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Outcome {
    let what = format!("{command:?}");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait(child, what)
}

/// Waits for the end; a run that does not end is ended, and the test fails.
pub(crate) fn wait(mut child: Child, what: String) -> Outcome {
    let stdout = child.stdout.take().map(drain);
    let stderr = child.stderr.take().map(drain);
    let begin = Instant::now();
    let mut pause = Duration::from_micros(200);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("does not end: {what}");
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    let text = |reader: Option<std::thread::JoinHandle<String>>| {
        reader.map_or(String::new(), |reader| reader.join().unwrap())
    };
    Outcome {
        code: status.code(),
        stdout: text(stdout),
        stderr: text(stderr),
        what,
    }
}

fn drain(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Outcome {
    /// Exit code 0.
    #[track_caller]
    pub(crate) fn succeeds(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// Exit code 3: an identification that is doubtful, and says so.
    #[track_caller]
    pub(crate) fn is_doubtful(&self) -> &Self {
        assert_eq!(self.code, Some(3), "{self:#?}");
        assert!(self.stderr.contains("warning: doubtful"), "{self:#?}");
        self
    }

    /// A failure as it must be: the exit code, no panic, and a message with these words.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, words: &[&str]) -> &Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(self.stderr.contains("error"), "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "no '{word}': {self:#?}");
        }
        self.is_in_order()
    }

    /// What holds for every run.
    #[track_caller]
    pub(crate) fn is_in_order(&self) -> &Self {
        assert!(matches!(self.code, Some(0..=3)), "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        // A doubtful identification has an answer, and says its doubts there.
        if matches!(self.code, Some(1 | 2)) {
            assert!(!self.stderr.trim().is_empty(), "{self:#?}");
        }
        self
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|cause| panic!("{cause}: {self:#?}"))
    }

    pub(crate) fn what(&self) -> &str {
        &self.what
    }
}

/// A folder of its own for a test, removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("carom_cli_{name}_{}_{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file.
    pub(crate) fn with(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The names of all files, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Words of a command line.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Whether a command of the system works here.
pub(crate) fn tool(command: &mut Command) -> bool {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// One array as numpy writes it, with any header and body.
pub(crate) fn npy(descriptor: &str, shape: &str, body: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descriptor}, 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(body);
    bytes
}
