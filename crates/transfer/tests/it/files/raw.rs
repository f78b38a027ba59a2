//! Malformed archives, built by hand.

use std::io::Write as _;

use flate2::{Compression, Crc, write::DeflateEncoder};

/// An archive entry; every field may contradict the content.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    /// Name in the local header, if different from the central directory.
    pub(crate) local_name: Option<Vec<u8>>,
    pub(crate) flags: u16,
    pub(crate) local_flags: u16,
    pub(crate) method: u16,
    pub(crate) local_method: Option<u16>,
    pub(crate) crc: u32,
    pub(crate) packed_size: u32,
    pub(crate) size: u32,
    pub(crate) attributes: u32,
    pub(crate) content: Vec<u8>,
    /// Start offset in the central directory, if different from the real offset.
    pub(crate) start: Option<u32>,
}

impl Entry {
    pub(crate) fn new(name: impl AsRef<[u8]>, content: &[u8]) -> Self {
        let mut crc = Crc::new();
        crc.update(content);
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
        packed.write_all(content).unwrap();
        let packed = packed.finish().unwrap();
        Self {
            name: name.as_ref().to_vec(),
            local_name: None,
            flags: 0,
            local_flags: 0,
            method: 8,
            local_method: None,
            crc: crc.sum(),
            packed_size: u32::try_from(packed.len()).unwrap(),
            size: u32::try_from(content.len()).unwrap(),
            attributes: 0,
            content: packed,
            start: None,
        }
    }

    pub(crate) fn stored(name: &str, content: &[u8]) -> Self {
        let size = u32::try_from(content.len()).unwrap();
        Self {
            method: 0,
            packed_size: size,
            content: content.to_vec(),
            ..Self::new(name, content)
        }
    }

    /// Sets the Unix mode.
    pub(crate) fn mode(name: &str, mode: u32) -> Self {
        Self {
            attributes: mode << 16,
            ..Self::new(name, b"x")
        }
    }

    fn local(&self) -> Vec<u8> {
        let name = self.local_name.as_ref().unwrap_or(&self.name);
        let mut record = b"PK\x03\x04\x14\x00".to_vec();
        record.extend(self.local_flags.to_le_bytes());
        record.extend(self.local_method.unwrap_or(self.method).to_le_bytes());
        record.extend([0; 4]);
        for number in [self.crc, self.packed_size, self.size] {
            record.extend(number.to_le_bytes());
        }
        record.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        record.extend([0; 2]);
        record.extend(name);
        record.extend(&self.content);
        record
    }

    fn central(&self, start: u32) -> Vec<u8> {
        let mut record = b"PK\x01\x02\x14\x00\x14\x00".to_vec();
        record.extend(self.flags.to_le_bytes());
        record.extend(self.method.to_le_bytes());
        record.extend([0; 4]);
        for number in [self.crc, self.packed_size, self.size] {
            record.extend(number.to_le_bytes());
        }
        record.extend(u16::try_from(self.name.len()).unwrap().to_le_bytes());
        record.extend([0; 8]);
        record.extend(self.attributes.to_le_bytes());
        record.extend(self.start.unwrap_or(start).to_le_bytes());
        record.extend(&self.name);
        record
    }
}

/// Writes an archive of these entries.
pub(crate) fn zip(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut central = Vec::new();
    for entry in entries {
        central.extend(entry.central(u32::try_from(bytes.len()).unwrap()));
        bytes.extend(entry.local());
    }
    with_directory(bytes, &central, entries.len())
}

/// Appends this central directory to the entries.
pub(crate) fn with_directory(mut bytes: Vec<u8>, central: &[u8], count: usize) -> Vec<u8> {
    let start = u32::try_from(bytes.len()).unwrap();
    let count = u16::try_from(count).unwrap().to_le_bytes();
    bytes.extend(central);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count);
    bytes.extend(count);
    bytes.extend(u32::try_from(central.len()).unwrap().to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}
