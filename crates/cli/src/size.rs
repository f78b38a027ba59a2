//! Sizes for people, in the units of the configuration file: the one format of all commands.

/// Formats a number of bytes: `1 byte`, `12 KiB`, `9.5 MiB`.
pub(crate) fn format_size(bytes: u64) -> String {
    let tenths = |unit: u32| {
        let (whole, rest) = (bytes >> unit, bytes & ((1 << unit) - 1));
        format!("{whole}.{}", (rest * 10) >> unit)
    };
    match bytes {
        1 => "1 byte".to_owned(),
        0..0x400 => format!("{bytes} bytes"),
        0x400..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{} MiB", tenths(20)),
        _ => format!("{} GiB", tenths(30)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_as_people_say_them() {
        for (bytes, told) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            ((1 << 20) - 1, "1023 KiB"),
            (1 << 20, "1.0 MiB"),
            (50 << 20, "50.0 MiB"),
            ((1 << 30) - 1, "1023.9 MiB"),
            (3 << 29, "1.5 GiB"),
            (u64::MAX, "17179869183.9 GiB"),
        ] {
            assert_eq!(format_size(bytes), told);
        }
    }
}
