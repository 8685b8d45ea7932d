//! Reads the lines of a file one at a time, in constant memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value};

use super::fields::{FileFormat, LineFields};
use super::strict::{MisplacedQuote, StrictCsvReader};
use base::error::{Error, Result};
use base::json::has_reserved_key;

/// Maximum bytes of a line, or of a record that spans several lines.
const LINE: usize = 1024 * 1024;

/// Byte order mark that some programs put at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file that can be read several times.
pub struct ImportFile {
    name: String,
    file: File,
    format: FileFormat,
}

impl ImportFile {
    /// Opens the file at a path. `-` copies standard input to an anonymous temporary file that exists until the process
    /// ends. Without `format`, the file's extension decides.
    pub fn open(path: &Path, format: Option<FileFormat>) -> Result<Self> {
        let name = path.display().to_string();
        let unreadable = |error| Error::Config(format!("{name} cannot be read: {error}"));
        let extension = path.extension().and_then(|extension| extension.to_str());
        let told = match extension {
            Some("csv") => Some(FileFormat::Csv),
            Some("jsonl" | "ndjson") => Some(FileFormat::Jsonl),
            _ => None,
        };
        let Some(format) = format.or(told) else {
            return Err(Error::Config(format!("{name} ends in neither .csv nor .jsonl: add --format")));
        };
        let file = if path.as_os_str() == "-" {
            copy_input(io::stdin().lock())?
        } else {
            let file = File::open(path).map_err(unreadable)?;
            let is_file = file.metadata().map_err(unreadable)?.is_file();
            if is_file { file } else { copy_input(file)? }
        };
        Ok(Self { name, file, format })
    }

    /// The path as the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads all lines from the first one, with these columns allowed. Readers share the file position: use one at a
    /// time.
    pub fn lines(&self, columns: &'static [&'static str]) -> Result<ImportLines> {
        let unreadable = |error| Error::Config(format!("{} cannot be read: {error}", self.name));
        let mut file = self.file.try_clone().map_err(unreadable)?;
        file.rewind().map_err(unreadable)?;
        let left = Arc::new(AtomicUsize::new(LINE));
        let mut input = BufReader::new(BoundedReader { inner: file, left: left.clone() });
        if input.fill_buf().map_err(unreadable)?.starts_with(BYTE_ORDER_MARK) {
            input.consume(BYTE_ORDER_MARK.len());
        }
        let records = match self.format {
            FileFormat::Jsonl => RecordReader::Jsonl { input, line: 0 },
            FileFormat::Csv => {
                let mut input = csv::Reader::from_reader(StrictCsvReader::new(input));
                let names: Vec<String> = match input.headers() {
                    Ok(names) => names.iter().map(str::to_owned).collect(),
                    Err(error) => {
                        let line = find_misplaced_quote(&error).map_or(1, |of| of.line);
                        return Err(Error::Config(format!("{}:{line}: {}", self.name, csv_error_message(&error))));
                    }
                };
                check_columns(&names, columns).map_err(|why| Error::Config(format!("{}:1: {why}", self.name)))?;
                RecordReader::Csv { input: Box::new(input), names }
            }
        };
        Ok(ImportLines { records, columns, left, is_over: false })
    }
}

fn copy_input(mut input: impl Read) -> Result<File> {
    let folder = std::env::temp_dir();
    let unusable = |error| Error::Config(format!("cannot buffer the input in {} (TMPDIR): {error}", folder.display()));
    let mut file = tempfile::tempfile_in(&folder).map_err(unusable)?;
    io::copy(&mut input, &mut file).map_err(unusable)?;
    Ok(file)
}

fn check_columns(names: &[String], columns: &[&str]) -> Result<(), String> {
    if names.is_empty() {
        return Err("is empty: the first line must name the columns".into());
    }
    for (place, name) in names.iter().enumerate() {
        if !columns.contains(&name.as_str()) {
            return Err(unknown_column(name, columns));
        }
        if names[..place].contains(name) {
            return Err(format!("names the column {name:?} twice"));
        }
    }
    Ok(())
}

fn unknown_column(name: &str, columns: &[&str]) -> String {
    format!("there is no column {name:?}: the columns are {}", columns.join(", "))
}

/// Fails once a record exceeds the maximum length.
struct BoundedReader {
    inner: File,
    left: Arc<AtomicUsize>,
}

impl Read for BoundedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let many = self.inner.read(buffer)?;
        let left = self.left.load(Ordering::Relaxed);
        // Bytes read ahead belong to the next record.
        if left == 0 {
            return Err(io::Error::other(format!("no line may have more than {LINE} bytes")));
        }
        self.left.store(left.saturating_sub(many), Ordering::Relaxed);
        Ok(many)
    }
}

enum RecordReader {
    Csv { input: Box<csv::Reader<StrictCsvReader<BufReader<BoundedReader>>>>, names: Vec<String> },
    Jsonl { input: BufReader<BoundedReader>, line: u64 },
}

/// A line with its number, or what is wrong with it.
pub type NumberedLine = (u64, Result<LineFields, String>);

/// The lines of a file.
pub struct ImportLines {
    records: RecordReader,
    columns: &'static [&'static str],
    left: Arc<AtomicUsize>,
    /// After a read error the start of the next line is unknown, so reading ends.
    is_over: bool,
}

impl Iterator for ImportLines {
    type Item = NumberedLine;

    fn next(&mut self) -> Option<NumberedLine> {
        if self.is_over {
            return None;
        }
        self.left.store(LINE, Ordering::Relaxed);
        match &mut self.records {
            RecordReader::Csv { input, names } => {
                let mut record = csv::StringRecord::new();
                let before = input.position().line();
                match input.read_record(&mut record) {
                    Ok(true) => {
                        let line = record.position().map_or(before, csv::Position::line);
                        let said = names.iter().zip(&record).filter(|(_, text)| !text.is_empty());
                        let said = said.map(|(name, text)| (name.clone(), Value::from(text)));
                        Some((line, Ok(LineFields::from_record(said.collect(), FileFormat::Csv))))
                    }
                    Ok(false) => None,
                    Err(error) => {
                        self.is_over = error.is_io_error();
                        let line = find_misplaced_quote(&error).map(|of| of.line);
                        let line = line.or(error.position().map(csv::Position::line)).unwrap_or(before);
                        Some((line, Err(csv_error_message(&error))))
                    }
                }
            }
            RecordReader::Jsonl { input, line } => loop {
                let mut text = Vec::new();
                *line += 1;
                return match input.read_until(b'\n', &mut text) {
                    Ok(0) => None,
                    Ok(_) if text.trim_ascii().is_empty() => continue,
                    Ok(_) => Some((*line, parse_json_line(&text, self.columns))),
                    Err(error) => {
                        self.is_over = true;
                        Some((*line, Err(error.to_string())))
                    }
                };
            },
        }
    }
}

fn parse_json_line(text: &[u8], columns: &[&str]) -> Result<LineFields, String> {
    if has_reserved_key(text) {
        return Err("it has a key with the reserved prefix $serde_json::private::".into());
    }
    let said: Map<String, Value> = serde_json::from_slice(text).map_err(|error| {
        // The JSON parser always reports line 1; the caller adds the line number of the file.
        let (why, column) = (error.to_string(), error.column());
        format!("not a JSON object: {} at column {column}", why.split(" at line ").next().unwrap_or_default())
    })?;
    match said.keys().find(|name| !columns.contains(&name.as_str())) {
        Some(name) => Err(unknown_column(name, columns)),
        None => Ok(LineFields::from_record(
            said.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            FileFormat::Jsonl,
        )),
    }
}

fn csv_error_message(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("has {len} fields, but the first line names {expected_len}")
        }
        csv::ErrorKind::Utf8 { err, .. } => format!("field {} is not UTF-8", err.field() + 1),
        csv::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}

/// The misplaced quote, if that is the cause of the error.
fn find_misplaced_quote(error: &csv::Error) -> Option<&MisplacedQuote> {
    match error.kind() {
        csv::ErrorKind::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}
