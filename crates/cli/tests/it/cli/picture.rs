//! The picture of the README: a terminal recording of the real program running `docs/picture.script`, drawn as
//! `docs/picture.svg`. `cargo xtask picture` draws it anew; otherwise the test checks that the picture still matches
//! the program's output.

mod recording;
mod script;
mod svg;

use std::{env, fs, path::Path};

use self::{recording::record, script::Step};

#[tokio::test]
async fn the_picture_shows_what_the_program_prints() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let script = fs::read_to_string(docs.join("picture.script")).expect("the script");
    let rows = record(&Step::all(&script)).await;
    let path = docs.join("picture.svg");
    if env::var_os("JACKFIELD_BLESS").is_some() {
        fs::write(&path, svg::draw(&rows)).expect("it is written");
    }
    let drawn = fs::read_to_string(&path).unwrap_or_default();
    // Times differ from run to run; text and colours must be the same.
    let (then, today) = (svg::letters(&drawn), svg::letters(&svg::draw(&rows)));
    assert_eq!(
        then.join("\n"),
        today.join("\n"),
        "draw it anew with `cargo xtask picture`"
    );
    assert!(drawn.len() < 60_000, "{} bytes are too many", drawn.len());
}
