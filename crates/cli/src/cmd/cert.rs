//! `jackfield cert`: creates a private CA, and a certificate for the hub.

use std::{
    fs::{DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result};
use clap::Args;
use jackfield_sdk::Fingerprint;
use jiff::{Span, Zoned, civil::Date};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use serde_json::json;

use crate::{
    exit::{CliError, ExitKind},
    output, shell,
};

/// Common name of the CA. CAs of the same name differ by their keys.
const CA_NAME: &str = "Jackfield CA";
/// Validity of the CA in days: longer than the hub's certificates, so that clients rarely need a new CA.
const CA_DAYS: i64 = 3650;
/// Default validity of a certificate in days: the maximum that the strictest clients accept from private CAs.
const DAYS: u16 = 825;
/// Names of the hub on its own machine, for local commands.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Create a private CA and a certificate for a hub, for TLS without a public CA.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Creates ca.pem and ca-key.pem (the CA and its key), cert.pem and key.pem (the hub's certificate with \
                       the CA, and its key). Nothing is overwritten. To renew the certificate, remove cert.pem and \
                       key.pem and run this again: the CA stays, and clients need no change.\n\nExample:\n  jackfield cert \
                       hub.lan 192.168.1.10 --dir tls"
)]
pub(crate) struct Cert {
    /// Create the certificate for these names and addresses of the hub, besides localhost [default: this machine's name]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Write the files to this folder [default: this one]
    #[arg(
        long,
        value_name = "DIR",
        default_value = ".",
        hide_default_value = true
    )]
    dir: PathBuf,
    /// Make the certificate valid for this many days
    #[arg(long, value_name = "N", default_value_t = DAYS, value_parser = clap::value_parser!(u16).range(1..=3650))]
    days: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Paths of the files.
struct CertFiles {
    ca: PathBuf,
    ca_key: PathBuf,
    cert: PathBuf,
    key: PathBuf,
}

impl CertFiles {
    fn new(dir: &Path) -> Self {
        Self {
            ca: dir.join("ca.pem"),
            ca_key: dir.join("ca-key.pem"),
            cert: dir.join("cert.pem"),
            key: dir.join("key.pem"),
        }
    }

    /// Checks that no file would be overwritten. Returns whether a CA exists already.
    fn check(&self) -> Result<bool, CliError> {
        if let Some(taken) = [&self.cert, &self.key].into_iter().find(|it| it.exists()) {
            return Err(CliError::new(
                ExitKind::Usage,
                format!("{} exists already", taken.display()),
                "name another folder with --dir DIR; to renew the certificate of this CA, remove cert.pem and key.pem first",
            ));
        }
        match (self.ca.exists(), self.ca_key.exists()) {
            (true, true) => Ok(true),
            (false, false) => Ok(false),
            (has_ca, _) => {
                let (there, gone) = match has_ca {
                    true => (&self.ca, &self.ca_key),
                    false => (&self.ca_key, &self.ca),
                };
                Err(CliError::new(
                    ExitKind::Usage,
                    format!("{} exists without {}", there.display(), gone.display()),
                    "restore the other file, or name another folder with --dir DIR",
                ))
            }
        }
    }
}

impl Cert {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let dir = std::path::absolute(&self.dir)?;
        let files = CertFiles::new(&dir);
        let has_ca = files.check()?;
        let names = self.names();
        let today = Zoned::now().date();
        let expires = day(today, self.days.into())?;
        let leaf = leaf(&names, today, expires)?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dir)
            .with_context(|| format!("cannot create the folder {}", dir.display()))?;
        let (ca, issuer) = match has_ca {
            true => read_ca(&files, today)?,
            false => make_ca(&files, today)?,
        };
        let key = KeyPair::generate()?;
        let certificate = leaf.signed_by(&key, &issuer)?;
        // The CA is appended, so that clients can check its fingerprint.
        write(&files.cert, &format!("{}{ca}", certificate.pem()))?;
        write(&files.key, &key.serialize_pem())?;
        let ca = CertificateDer::from_pem_slice(ca.as_bytes())
            .with_context(|| format!("cannot read {}", files.ca.display()))?;
        self.tell(&files, &names, Fingerprint::of(&ca), expires)
    }

    /// Returns the names for the certificate.
    fn names(&self) -> Vec<String> {
        let mut names = self.names.clone();
        if names.is_empty() {
            let uname = rustix::system::uname();
            names.extend(uname.nodename().to_str().ok().map(str::to_owned));
        }
        names.extend(HERE.map(str::to_owned));
        names.retain(|name| !name.is_empty());
        let mut known = Vec::new();
        names.retain(|name| {
            let is_new = !known.contains(name);
            known.push(name.clone());
            is_new
        });
        names
    }

    fn tell(
        &self,
        files: &CertFiles,
        names: &[String],
        ca: Fingerprint,
        expires: Date,
    ) -> Result<ExitCode> {
        if self.json {
            output::json(&json!({
                "ca": files.ca,
                "ca_key": files.ca_key,
                "cert": files.cert,
                "key": files.key,
                "fingerprint": ca.to_string(),
                "names": names,
                "expires": expires.to_string(),
            }))?;
            return Ok(ExitKind::Ok.into());
        }
        output::facts(&[
            ("ca", files.ca.display().to_string()),
            ("cert", files.cert.display().to_string()),
            ("key", files.key.display().to_string()),
            ("fingerprint", ca.to_string()),
            ("names", names.join(", ")),
            ("expires", expires.to_string()),
        ])?;
        let text = |path: &Path| toml::Value::from(path.display().to_string()).to_string();
        output::print_message(&format!(
            "\nin the hub's jackfield.toml:\n  [tls]\n  cert = {}\n  key = {}",
            text(&files.cert),
            text(&files.key)
        ));
        let name = names.first().map_or("localhost", String::as_str);
        let host = match name.contains(':') {
            true => format!("[{name}]"),
            false => name.to_owned(),
        };
        let (hub, file) = (
            shell::word(&format!("https://{host}:7411")),
            shell::word(&files.ca.display().to_string()),
        );
        output::print_message(&format!(
            "\nclients need the CA's file or its fingerprint (JACKFIELD_CA holds either; jackfield invite passes the fingerprint on):\n  \
             jackfield ls --hub {hub} --ca {file}\n  jackfield ls --hub {hub} --ca {ca}\n\n\
             Keep {} secret: anyone who has it can impersonate any hub to these clients.",
            files.ca_key.display()
        ));
        Ok(ExitKind::Ok.into())
    }
}

/// Returns the [`Date`] `days` after `from`.
fn day(from: Date, days: i64) -> Result<Date> {
    Ok(from.checked_add(Span::new().days(days))?)
}

/// Sets the validity of a certificate. Clocks of clients may be some hours behind.
fn valid(params: &mut CertificateParams, today: Date, until: Date) -> Result<()> {
    let time = |date: Date| {
        let part = |number: i8| number.unsigned_abs();
        date_time_ymd(date.year().into(), part(date.month()), part(date.day()))
    };
    params.not_before = time(day(today, -1)?);
    params.not_after = time(until);
    Ok(())
}

fn ca_params(today: Date) -> Result<CertificateParams> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, CA_NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    valid(&mut params, today, day(today, CA_DAYS)?)?;
    Ok(params)
}

fn leaf(names: &[String], today: Date, until: Date) -> Result<CertificateParams> {
    let is_name = |name: &String| {
        // A star stands for one label, and is not allowed in an address.
        let name = name.strip_prefix("*.").unwrap_or(name);
        ServerName::try_from(name).is_ok()
    };
    if let Some(wrong) = names.iter().find(|name| !is_name(name)) {
        return Err(CliError::usage(format!(
            "NAME {wrong:?} is neither a DNS name nor an IP address; use one such as hub.lan or 192.168.1.10"
        ))
        .into());
    }
    let mut params = CertificateParams::new(names)?;
    let name = names.first().map_or("localhost", String::as_str);
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    valid(&mut params, today, until)?;
    Ok(params)
}

/// Creates a CA. Returns the certificate as PEM, and the [`Issuer`].
fn make_ca(files: &CertFiles, today: Date) -> Result<(String, Issuer<'static, KeyPair>)> {
    let (params, key) = (ca_params(today)?, KeyPair::generate()?);
    let pem = params.self_signed(&key)?.pem();
    write(&files.ca_key, &key.serialize_pem())?;
    write(&files.ca, &pem)?;
    Ok((pem, Issuer::new(params, key)))
}

/// Reads the existing CA. Name and key identify the issuer, and both are the same every time.
fn read_ca(files: &CertFiles, today: Date) -> Result<(String, Issuer<'static, KeyPair>)> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let key = KeyPair::from_pem(&read(&files.ca_key)?)
        .with_context(|| format!("cannot read a key from {}", files.ca_key.display()))?;
    Ok((read(&files.ca)?, Issuer::new(ca_params(today)?, key)))
}

/// Writes a new file that only the owner can read.
fn write(path: &Path, text: &str) -> Result<()> {
    let write = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
