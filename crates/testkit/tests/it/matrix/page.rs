//! The documentation page is generated from the table.

use std::{env, fs, path::Path};

#[test]
fn the_page_is_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocols/matrix.md");
    let page = jackfield_hub::matrix::page();
    if env::var_os("JACKFIELD_BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/protocols/matrix.md is not what the table says; JACKFIELD_BLESS=1 writes it anew"
    );
}
