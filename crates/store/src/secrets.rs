//! The hub's own secrets. Each [`HubSecret`] is a file of the data directory that only its owner may read,
//! created at the first start and never printed. Secrets are not in the database, so that a copy of the
//! database does not reveal them.

use std::{
    fmt, fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use crate::open::{create_private, make_dir, publish};

/// Number of random bytes in a secret.
const BYTES: usize = 32;

/// A secret of 256 bits, in hexadecimal digits. `Debug` does not show the digits.
#[derive(Clone)]
pub struct HubSecret(String);

impl HubSecret {
    /// Returns the secret in plain text. Take care where it goes.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HubSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Reads the [`HubSecret`] with this name, or creates it if it does not exist. If several processes start at
/// once, the first creates the secret and the others read it.
pub fn load_or_create(data_dir: &Path, name: &str) -> io::Result<HubSecret> {
    let path = data_dir.join(name);
    if let Some(secret) = load(data_dir, name)? {
        return Ok(secret);
    }
    make_dir(data_dir)?;
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // A unique name, also among the threads of this process.
    let temp = data_dir.join(format!("{name}.{}", &hex_name()?));
    let written = write(&temp, &secret).and_then(|()| publish(&temp, &path));
    match written {
        Ok(()) => Ok(HubSecret(secret)),
        Err(error) => {
            match fs::remove_file(&temp) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            // Another process created the secret first.
            if error.kind() == io::ErrorKind::AlreadyExists {
                read(&path)
            } else {
                Err(error)
            }
        }
    }
}

/// Reads the [`HubSecret`] with this name, if it exists.
pub fn load(data_dir: &Path, name: &str) -> io::Result<Option<HubSecret>> {
    match read(&data_dir.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

fn hex_name() -> io::Result<String> {
    let number = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!("new-{number:016x}"))
}

fn write(path: &Path, secret: &str) -> io::Result<()> {
    let mut file = create_private(path)?;
    writeln!(file, "{secret}")?;
    file.sync_all()
}

fn read(path: &Path) -> io::Result<HubSecret> {
    let refuse = |kind, why: &str| io::Error::new(kind, format!("{} {why}", path.display()));
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        let why = format!(
            "can be read by other users; run `chmod 600 {}`",
            path.display()
        );
        return Err(refuse(io::ErrorKind::PermissionDenied, &why));
    }
    let text = fs::read_to_string(path)?;
    let secret = text.trim();
    if secret.len() != 2 * BYTES || !secret.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let why =
            "does not hold a secret of 64 hexadecimal digits; remove it, and a new one is made";
        return Err(refuse(io::ErrorKind::InvalidData, why));
    }
    Ok(HubSecret(secret.to_owned()))
}
