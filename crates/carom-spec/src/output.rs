//! Result files: complete under their name, or not there at all.
//!
//! A file is written to a temporary neighbour, made durable and then renamed: a full disk, a crash or a killed process never
//! leaves half a file under the final name, and what had that name before stays until the new file is complete.
//!
//! Results never replace what they were made from: [`check_distinct`] refuses outputs that are inputs.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Why a file could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteError {
    /// The path as it was asked for.
    pub path: PathBuf,
    /// The reason, as the end of a sentence.
    pub reason: String,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write '{}': {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for WriteError {}

impl From<WriteError> for String {
    fn from(error: WriteError) -> Self {
        error.to_string()
    }
}

/// Writes a file whole or not at all.
///
/// ```
/// use std::io::Write;
///
/// let path = std::env::temp_dir().join(format!("carom_doc_{}.csv", std::process::id()));
/// carom_spec::output::write_whole(&path, |file| file.write_all(b"a,b\n1,2\n"))?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"a,b\n1,2\n");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), carom_spec::output::WriteError>(())
/// ```
///
/// # Errors
/// When [`check_target`] refuses the path, or anything fails on the way; the temporary file is removed then.
pub fn write_whole<E: fmt::Display>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), WriteError> {
    let error = |reason: String| WriteError {
        path: path.to_owned(),
        reason,
    };
    let target = Target::of(path).map_err(error)?;
    let (temporary, file) = target.temporary().map_err(error)?;
    let outcome = write_durably(file, write).and_then(|()| {
        target
            .take_over(&temporary)
            .map_err(|cause| cause.to_string())
    });
    if outcome.is_err() {
        // There is nothing more to do if removing it fails.
        let _ = fs::remove_file(&temporary);
    }
    forget(&temporary);
    outcome.map_err(error)
}

/// Refuses a path that [`write_whole`] could not write: ask before hours of work, not after.
///
/// # Errors
/// When its folder does not exist or takes no new files, or the path is a folder, a device, a pipe or write-protected.
pub fn check_target(path: &Path) -> Result<(), WriteError> {
    let error = |reason: String| WriteError {
        path: path.to_owned(),
        reason,
    };
    let target = Target::of(path).map_err(error)?;
    // Permissions have many forms (modes, lists, read-only mounts, quotas); only trying tells.
    let (temporary, _) = target.temporary().map_err(error)?;
    let removed = fs::remove_file(&temporary);
    forget(&temporary);
    removed.map_err(|cause| error(cause.to_string()))
}

/// Refuses outputs that are inputs of the same work, by whatever path or link, and outputs that are one file: ask before the
/// work, with every file that it reads.
///
/// # Errors
/// With the first output that would replace another file of the work.
pub fn check_distinct<'p>(
    outputs: &[&Path],
    inputs: impl IntoIterator<Item = &'p Path>,
) -> Result<(), WriteError> {
    let refuse = |path: &Path, reason: String| {
        Err(WriteError {
            path: path.to_owned(),
            reason,
        })
    };
    for (index, output) in outputs.iter().enumerate() {
        let place = Place::of(output);
        if let Some(other) = outputs[..index]
            .iter()
            .find(|path| Place::of(path) == place)
        {
            let other = other.display();
            return refuse(
                output,
                format!("'{other}' is written there; name another file"),
            );
        }
    }
    for input in inputs {
        let place = Place::of(input);
        if let Some(output) = outputs.iter().find(|path| Place::of(path) == place) {
            let input = input.display();
            let reason = format!("it is the input '{input}' and would be lost; name another file");
            return refuse(output, reason);
        }
    }
    Ok(())
}

/// What two paths to one file have in common.
#[derive(PartialEq, Eq)]
enum Place {
    /// Device and number of a file that is there: the same through links of either kind.
    #[cfg(unix)]
    File(u64, u64),
    /// Links followed as far as there is something.
    Path(PathBuf),
}

impl Place {
    fn of(path: &Path) -> Self {
        #[cfg(unix)]
        if let Ok(found) = fs::metadata(path) {
            use std::os::unix::fs::MetadataExt;
            return Self::File(found.dev(), found.ino());
        }
        let name = path.file_name().unwrap_or_default();
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
        let whole = fs::canonicalize(path).or(folder.map(|folder| folder.join(name)));
        Self::Path(whole.unwrap_or_else(|_| path.to_owned()))
    }
}

/// Temporary files that exist now.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Tells temporary files of one process apart.
static COUNTER: AtomicUsize = AtomicUsize::new(0);

/// Removes the temporary files of writes that are under way; for programs that end at once.
pub fn remove_unfinished() {
    if let Ok(list) = UNFINISHED.lock() {
        for path in list.iter() {
            let _ = fs::remove_file(path);
        }
    }
}

fn forget(path: &Path) {
    if let Ok(mut list) = UNFINISHED.lock() {
        list.retain(|known| known != path);
    }
}

fn write_durably<E: fmt::Display>(
    file: File,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), String> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    write(&mut out).map_err(|cause| cause.to_string())?;
    out.flush().map_err(|cause| cause.to_string())?;
    out.get_ref().sync_all().map_err(|cause| cause.to_string())
}

/// Where a file goes.
struct Target {
    /// Links followed.
    path: PathBuf,
    folder: PathBuf,
    /// What has the name now.
    present: Option<fs::Metadata>,
}

impl Target {
    fn of(path: &Path) -> Result<Self, String> {
        if path.file_name().is_none() {
            return Err("it is not the name of a file".to_owned());
        }
        let path = followed(path)?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        match fs::metadata(&folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(format!("'{}' is not a folder", folder.display())),
            Err(cause) if cause.kind() == ErrorKind::NotFound => {
                return Err(format!("there is no folder '{}'", folder.display()));
            }
            Err(cause) => return Err(cause.to_string()),
        }
        let present = match fs::metadata(&path) {
            Ok(found) if found.is_dir() => return Err("it is a folder".to_owned()),
            // Renaming would replace the device itself by a file.
            Ok(found) if !found.is_file() => return Err("it is a device or a pipe".to_owned()),
            Ok(found) if found.permissions().readonly() => {
                return Err("the file is there and write-protected".to_owned());
            }
            Ok(found) => Some(found),
            Err(cause) if cause.kind() == ErrorKind::NotFound => None,
            Err(cause) => return Err(cause.to_string()),
        };
        Ok(Self {
            path,
            folder,
            present,
        })
    }

    /// A new file in the same folder, so that renaming does not copy.
    fn temporary(&self) -> Result<(PathBuf, File), String> {
        let name = self.path.file_name().unwrap_or_default();
        loop {
            let count = COUNTER.fetch_add(1, Ordering::Relaxed);
            let mut temporary = std::ffi::OsString::from(".");
            temporary.push(name);
            temporary.push(format!(".{}-{count}.partial", std::process::id()));
            let temporary = self.folder.join(temporary);
            // Never through a file or link that somebody else has put there.
            match OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&temporary)
            {
                Ok(file) => {
                    if let Ok(mut list) = UNFINISHED.lock() {
                        list.push(temporary.clone());
                    }
                    return Ok((temporary, file));
                }
                Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {}
                Err(cause) => {
                    let folder = self.folder.display();
                    return Err(format!("the folder '{folder}' takes no new file: {cause}"));
                }
            }
        }
    }

    /// Gives the finished file the final name.
    fn take_over(&self, temporary: &Path) -> std::io::Result<()> {
        if let Some(present) = &self.present {
            fs::set_permissions(temporary, present.permissions())?;
        }
        fs::rename(temporary, &self.path)?;
        // The name is durable once the folder is; not every file system lets folders be synchronised, and the file is
        // complete in any case.
        #[cfg(unix)]
        let _ = File::open(&self.folder).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

/// The file behind a link, so that the link stays one.
fn followed(path: &Path) -> Result<PathBuf, String> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => match fs::canonicalize(path) {
            Ok(target) => Ok(target),
            Err(cause) if cause.kind() == ErrorKind::NotFound => {
                Err("it is a link to something that does not exist".to_owned())
            }
            Err(cause) => Err(cause.to_string()),
        },
        _ => Ok(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own for each test, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("carom_output_{name}_{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
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

    #[test]
    fn failures_leave_what_was_there() {
        let folder = Folder::new("failure");
        let path = folder.0.join("run.csv");
        write_whole(&path, |file| file.write_all(b"old")).unwrap();
        let error = write_whole(&path, |file| {
            file.write_all(&vec![b'x'; 1 << 20]).unwrap();
            Err("out of paper")
        });
        let error = error.unwrap_err().to_string();
        assert!(error.ends_with("run.csv': out of paper"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(folder.names(), ["run.csv"]);
        write_whole(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(folder.names(), ["run.csv"]);
    }

    #[test]
    fn targets_that_cannot_be_written_are_refused_before_the_work() {
        let folder = Folder::new("refused");
        let file = folder.0.join("file");
        fs::write(&file, "").unwrap();
        for (path, word) in [
            (folder.0.join("nowhere/run.npz"), "there is no folder"),
            (folder.0.clone(), "it is a folder"),
            (file.join("run.npz"), "ot a "),
            (PathBuf::from(".."), "not the name of a file"),
            (PathBuf::new(), "not the name of a file"),
        ] {
            let error = check_target(&path).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
            let nothing = |_: &mut BufWriter<File>| Ok::<(), String>(());
            assert!(write_whole(&path, nothing).is_err());
        }
        let mut permissions = fs::metadata(&file).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&file, permissions.clone()).unwrap();
        let error = check_target(&file).unwrap_err().to_string();
        assert!(error.contains("write-protected"), "{error}");
        assert_eq!(folder.names(), ["file"]);
        check_target(&folder.0.join("new")).unwrap();
        assert_eq!(folder.names(), ["file"]);
    }

    #[test]
    fn outputs_that_are_inputs_are_refused_by_whatever_name() {
        let folder = Folder::new("distinct");
        fs::create_dir(folder.0.join("sub")).unwrap();
        let at = |name: &str| folder.0.join(name);
        let (model, run) = (at("model.xml"), at("run.npz"));
        fs::write(&model, "<mujoco/>").unwrap();
        fs::write(&run, "").unwrap();
        let inputs = || [model.as_path(), run.as_path()];
        let mut others = vec![at("model.xml"), at("sub/../model.xml")];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("model.xml", at("soft.xml")).unwrap();
            fs::hard_link(&model, at("hard.xml")).unwrap();
            others.extend([at("soft.xml"), at("hard.xml")]);
        }
        for output in &others {
            let error = check_distinct(&[&at("new.html"), output], inputs()).unwrap_err();
            assert_eq!(&error.path, output);
            assert!(
                error.reason.contains("model.xml' and would be lost"),
                "{error}"
            );
        }
        // Two new files of one name, and files that have nothing to do with each other.
        let error = check_distinct(&[&at("a"), &at("sub/../a")], inputs()).unwrap_err();
        assert!(error.reason.contains("is written there"), "{error}");
        check_distinct(&[&at("a"), &at("sub/a")], inputs()).unwrap();
        check_distinct(&[], inputs()).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_devices_stay_devices() {
        use std::os::unix::fs::symlink;
        let folder = Folder::new("links");
        let (file, link) = (folder.0.join("file"), folder.0.join("link"));
        fs::write(&file, "old").unwrap();
        symlink("file", &link).unwrap();
        write_whole(&link, |out| out.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        symlink("loop", folder.0.join("loop")).unwrap();
        assert!(check_target(&folder.0.join("loop")).is_err());
        symlink("absent", folder.0.join("dangling")).unwrap();
        let error = check_target(&folder.0.join("dangling")).unwrap_err();
        assert!(error.reason.contains("does not exist"), "{error}");
        let error = check_target(Path::new("/dev/null")).unwrap_err();
        assert!(error.reason.contains("device"), "{error}");
    }
}
