//! Films as MP4, by the `ffmpeg` program where one is installed: pictures go in through a pipe, and the file appears under
//! its name when it is whole.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::{self, JoinHandle};

/// The `ffmpeg` program of this machine.
#[derive(Clone, Debug)]
pub struct Ffmpeg(PathBuf);

/// A film that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FfmpegError {
    #[error("no ffmpeg on the PATH; install it, or write a .gif")]
    NotFound,
    #[error("cannot run {}: {source}", program.display())]
    Run { program: PathBuf, source: io::Error },
    #[error("ffmpeg could not write {}: {message}", path.display())]
    Failed { path: PathBuf, message: String },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("a picture of the film has {found} bytes, not {width} × {height} × 3 as the first")]
    OtherSize { found: usize, width: usize, height: usize },
}

/// Size of the pictures, and how they are shown.
#[derive(Clone, Copy, Debug)]
pub struct FilmFormat {
    pub width: usize,
    pub height: usize,
    pub pictures_per_second: f64,
    /// Each pixel becomes a square of this many. Small pictures want at least 2: the format stores colours at half the
    /// resolution, so that single pixels lose theirs.
    pub enlarge: usize,
}

/// Writes all `pictures` (RGB, row by row) as the MP4 file `path`.
pub fn write_mp4<P: AsRef<[u8]>>(
    path: &Path,
    format: FilmFormat,
    pictures: impl IntoIterator<Item = P>,
) -> Result<(), FfmpegError> {
    let mut film = Ffmpeg::find().ok_or(FfmpegError::NotFound)?.film(path, format)?;
    for picture in pictures {
        film.push(picture.as_ref())?;
    }
    film.finish()
}

impl Ffmpeg {
    /// The first one on the `PATH`.
    pub fn find() -> Option<Self> {
        Self::find_in(&env::var_os("PATH")?)
    }

    fn find_in(path: &OsStr) -> Option<Self> {
        let name = format!("ffmpeg{}", env::consts::EXE_SUFFIX);
        env::split_paths(path).map(|folder| folder.join(&name)).find(|program| is_executable(program)).map(Self)
    }

    /// Starts the MP4 file `path`.
    pub fn film(&self, path: &Path, format: FilmFormat) -> Result<Mp4File, FfmpegError> {
        let FilmFormat { width, height, pictures_per_second, enlarge } = format;
        let temporary = temporary(path);
        let mut command = Command::new(&self.0);
        command.args(["-hide_banner", "-loglevel", "error", "-y"]);
        command.args(["-f", "rawvideo", "-pixel_format", "rgb24", "-video_size", &format!("{width}x{height}")]);
        command.args(["-framerate", &pictures_per_second.to_string(), "-i", "pipe:0", "-an"]);
        // Without a codec named, ffmpeg takes the best that it has for MP4. Both sides must be even.
        let filter = format!("scale=iw*{enlarge}:ih*{enlarge}:flags=neighbor,pad=ceil(iw/2)*2:ceil(ih/2)*2");
        command.args(["-vf", &filter, "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4"]);
        command.arg(file_argument(&temporary));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let cannot_run = |source| FfmpegError::Run { program: self.0.clone(), source };
        let mut child = command.spawn().map_err(cannot_run)?;
        let stdin = child.stdin.take().map(BufWriter::new);
        let mut stderr = child.stderr.take();
        let messages = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.as_mut().map(|stderr| stderr.read_to_end(&mut text));
            String::from_utf8_lossy(&text).trim().to_owned()
        });
        Ok(Mp4File { child, stdin, messages: Some(messages), temporary, path: path.to_owned(), width, height })
    }
}

/// An MP4 file being written. Dropped before [`finish`](Self::finish), it leaves nothing behind.
#[derive(Debug)]
pub struct Mp4File {
    child: Child,
    stdin: Option<BufWriter<ChildStdin>>,
    messages: Option<JoinHandle<String>>,
    temporary: PathBuf,
    path: PathBuf,
    width: usize,
    height: usize,
}

impl Mp4File {
    /// Adds a picture: RGB, row by row.
    pub fn push(&mut self, rgb: &[u8]) -> Result<(), FfmpegError> {
        let (width, height) = (self.width, self.height);
        if rgb.len() != 3 * width * height {
            return Err(FfmpegError::OtherSize { found: rgb.len(), width, height });
        }
        let Some(Ok(())) = self.stdin.as_mut().map(|stdin| stdin.write_all(rgb)) else {
            // The pipe breaks when ffmpeg ends early; its own words say why.
            return Err(self.end().err().unwrap_or_else(|| self.failed("it ended before the film did".into())));
        };
        Ok(())
    }

    /// Waits for ffmpeg and puts the film under its name.
    pub fn finish(mut self) -> Result<(), FfmpegError> {
        self.end()?;
        let written = fs::File::open(&self.temporary).and_then(|file| file.sync_all());
        written
            .and_then(|()| fs::rename(&self.temporary, &self.path))
            .map_err(|source| FfmpegError::Write { path: self.path.clone(), source })
    }

    /// Closes the pipe, which ends ffmpeg, and waits for it.
    fn end(&mut self) -> Result<(), FfmpegError> {
        let flushed = self.stdin.take().map_or(Ok(()), |mut stdin| stdin.flush());
        let status = self.child.wait().map_err(|source| FfmpegError::Run { program: "ffmpeg".into(), source })?;
        let message = self.messages.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        match (status.success(), flushed) {
            (true, Ok(())) => Ok(()),
            (true, Err(error)) => Err(self.failed(error.to_string())),
            (false, _) if message.is_empty() => Err(self.failed(status.to_string())),
            (false, _) => Err(self.failed(message)),
        }
    }

    fn failed(&self, message: String) -> FfmpegError {
        FfmpegError::Failed { path: self.path.clone(), message }
    }
}

impl Drop for Mp4File {
    fn drop(&mut self) {
        // A film that was finished has no process and no temporary file any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.temporary);
    }
}

/// In the same folder, so that the rename is one of a file within a file system.
fn temporary(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or(OsStr::new("film")));
    path.with_file_name(name).with_added_extension(format!("{}.partial", std::process::id()))
}

/// `ffmpeg` takes a name with a colon for a protocol and one with a dash for an option; `file:` in front ends both.
fn file_argument(path: &Path) -> OsString {
    let mut argument = OsString::from("file:");
    argument.push(path);
    argument
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: FilmFormat = FilmFormat { width: 21, height: 33, pictures_per_second: 15.0, enlarge: 3 };

    fn pictures() -> impl Iterator<Item = Vec<u8>> {
        (0..40).map(|brightness| vec![5 * brightness; 3 * 21 * 33])
    }

    fn files(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// A program with this name and this text.
    #[cfg(unix)]
    fn script(folder: &Path, text: &str) -> Ffmpeg {
        use std::os::unix::fs::PermissionsExt;
        let program = folder.join("ffmpeg");
        fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Ffmpeg::find_in(folder.as_os_str()).unwrap()
    }

    #[test]
    fn a_folder_without_ffmpeg_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Ffmpeg::find_in(folder.path().as_os_str()).is_none());
        // A file of that name that cannot be executed is none either.
        fs::write(folder.path().join("ffmpeg"), "").unwrap();
        assert!(cfg!(not(unix)) || Ffmpeg::find_in(folder.path().as_os_str()).is_none());
    }

    #[test]
    fn where_ffmpeg_is_installed_a_film_is_an_mp4_file_and_nothing_else_remains() {
        let Some(ffmpeg) = Ffmpeg::find() else { return };
        let folder = tempfile::tempdir().unwrap();
        // Odd sides, and a name that is no plain argument.
        let path = folder.path().join("-a: film.mp4");
        let mut film = ffmpeg.film(&path, FORMAT).unwrap();
        pictures().for_each(|picture| film.push(&picture).unwrap());
        assert!(!path.exists(), "the film has its name before it is whole");
        film.finish().unwrap();
        assert_eq!(&fs::read(&path).unwrap()[4..8], b"ftyp");
        assert_eq!(files(folder.path()), ["-a: film.mp4"]);
    }

    #[cfg(unix)]
    #[test]
    fn the_pictures_arrive_whole_and_in_order() {
        let (programs, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // The last argument is the file.
        let ffmpeg = script(programs.path(), "for last; do :; done\ncat > \"${last#file:}\"");
        let path = folder.path().join("film.mp4");
        let mut film = ffmpeg.film(&path, FORMAT).unwrap();
        pictures().for_each(|picture| film.push(&picture).unwrap());
        film.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), pictures().flatten().collect::<Vec<u8>>());
        assert_eq!(files(folder.path()), ["film.mp4"]);
    }

    #[cfg(unix)]
    #[test]
    fn what_ffmpeg_says_is_in_the_error_and_an_old_film_stays() {
        let (programs, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let ffmpeg = script(programs.path(), "echo 'no such encoder' >&2; exit 3");
        let path = folder.path().join("film.mp4");
        fs::write(&path, "old").unwrap();
        let mut film = ffmpeg.film(&path, FORMAT).unwrap();
        let pushed = pictures().try_for_each(|picture| film.push(&picture));
        let error = pushed.and_then(|()| film.finish()).unwrap_err().to_string();
        assert!(error.contains("no such encoder") && error.contains("film.mp4"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(files(folder.path()), ["film.mp4"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_film_that_is_dropped_leaves_no_file_and_a_wrong_picture_is_refused() {
        let (programs, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let ffmpeg = script(programs.path(), "for last; do :; done\ncat > \"${last#file:}\"");
        let mut film = ffmpeg.film(&folder.path().join("film.mp4"), FORMAT).unwrap();
        film.push(&[0; 3 * 21 * 33]).unwrap();
        let error = film.push(&[0; 100]).unwrap_err().to_string();
        assert!(error.contains("100 bytes, not 21 × 33 × 3"), "{error}");
        drop(film);
        assert!(files(folder.path()).is_empty());
    }
}
