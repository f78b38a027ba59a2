//! Links are made, followed, forged, outlived and pushed out, at times that the tests choose.

use jackfield_core::{
    store::memory::MemoryStore,
    units::{Size, Span},
};

use super::*;

const BASE: &str = "https://hub.example/base/";

fn files_with(total: usize) -> Files {
    let files = Files::new(&Limits {
        files_total: Size(total),
        file_link: Span::secs(60),
        ..Limits::default()
    });
    files.serve_at(BASE, FileKey::new("key"));
    files
}

fn files() -> Files {
    files_with(1 << 20)
}

fn file(name: &str, base64: &str) -> File {
    File {
        name: Some(name.into()),
        mime: Some("text/plain".into()),
        source: FileSource::Bytes(base64.into()),
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Takes a URL apart: id, name as in the URL, expires, signature.
fn split(url: &str) -> [&str; 4] {
    let rest = url
        .strip_prefix("https://hub.example/base/v1/files/")
        .unwrap();
    let (id, rest) = rest.split_once('/').unwrap();
    let (name, rest) = rest.split_once("?expires=").unwrap();
    let (expires, signature) = rest.split_once("&sig=").unwrap();
    [id, name, expires, signature]
}

fn link(url: &str) -> Link<'_> {
    let [id, name, expires, signature] = split(url);
    Link {
        id,
        name,
        expires,
        signature,
    }
}

fn bytes(held: &ServedFile) -> Vec<u8> {
    held.pieces().flatten().collect()
}

#[test]
fn a_link_leads_to_the_bytes_until_it_ends() {
    let files = files();
    let url = files.link_at(&file("a.txt", "aGk="), at(1000)).unwrap();
    assert_eq!(link(&url).expires, "1060");
    for now in [1000, 1059] {
        let held = files.open_at(link(&url), at(now)).unwrap();
        assert_eq!((held.name(), held.mime()), ("a.txt", "text/plain"));
        assert_eq!((held.len(), bytes(&held)), (2, b"hi".to_vec()));
    }
    let ended = files.open_at(link(&url), at(1060));
    assert_eq!(ended.unwrap_err(), BadLink::Gone);
}

#[test]
fn a_file_is_dropped_when_its_last_link_has_ended() {
    let files = files();
    let first = files.link_at(&file("a", "aGk="), at(1000)).unwrap();
    files.link_at(&file("b", "aGk="), at(1000)).unwrap();
    files.link_at(&file("a", "aGk="), at(1030)).unwrap();
    files.expire(at(1060));
    assert_eq!(files.kept.cache.lock().used(), held("a").weight());
    assert!(files.open_at(link(&first), at(1059)).is_ok());
    files.expire(at(1090));
    assert_eq!(files.kept.cache.lock().used(), 0);
}

#[tokio::test]
async fn the_hub_itself_drops_what_has_ended() {
    let limits = Limits {
        file_link: Span::secs(60),
        ..Limits::default()
    };
    let hub = Hub::open(Arc::new(MemoryStore::default()), limits).await;
    let hub = hub.unwrap();
    let files = Files::for_hub(&hub);
    files.serve_at(BASE, FileKey::new("key"));
    let now = Timestamp::now();
    let ended = now - Duration::from_secs(61);
    files.link_at(&file("old", "aGk="), ended).unwrap();
    files.link_at(&file("new", "aGk="), now).unwrap();
    hub.sweep(tokio::time::Instant::now());
    assert_eq!(files.kept.cache.lock().used(), held("new").weight());
}

fn held(name: &str) -> ServedFile {
    ServedFile::of(&file(name, "aGk=")).unwrap()
}

#[test]
fn the_same_file_is_kept_once_and_others_beside_it() {
    let files = files();
    let one = files.link_at(&file("a", "aGk="), at(1000)).unwrap();
    let again = files.link_at(&file("a", "aGk="), at(1001)).unwrap();
    assert_eq!(link(&one).id, link(&again).id);
    assert_ne!(link(&one).signature, link(&again).signature);
    let used = files.kept.cache.lock().used();
    assert_eq!(used, held("a").weight());
    let mut ids = vec![link(&one).id.to_owned()];
    let other_mime = File {
        mime: None,
        ..file("a", "aGk=")
    };
    for other in [file("b", "aGk="), file("a", "aGo="), other_mime] {
        let url = files.link_at(&other, at(1000)).unwrap();
        ids.push(link(&url).id.to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    assert!(files.kept.cache.lock().used() > 3 * used);
}

#[test]
fn a_link_that_was_changed_in_any_part_is_forged() {
    let files = files();
    let url = files.link_at(&file("a.txt", "aGk="), at(1000)).unwrap();
    let other = files.link_at(&file("b.txt", "aGo="), at(1000)).unwrap();
    let (good, other) = (link(&url), link(&other));
    let short = &good.signature[1..];
    let upper = good.signature.to_uppercase();
    for forged in [
        Link {
            id: other.id,
            ..good
        },
        Link {
            name: "b.txt",
            ..good
        },
        Link { name: "", ..good },
        Link {
            expires: "1061",
            ..good
        },
        Link {
            expires: "01060",
            ..good
        },
        Link {
            expires: "",
            ..good
        },
        Link {
            signature: other.signature,
            ..good
        },
        Link {
            signature: short,
            ..good
        },
        Link {
            signature: &upper,
            ..good
        },
        Link {
            signature: "",
            ..good
        },
    ] {
        let opened = files.open_at(forged, at(1000));
        assert_eq!(opened.unwrap_err(), BadLink::Forged, "{forged:?}");
        // Whether it has ended is nothing for those who cannot prove that they got it.
        let opened = files.open_at(forged, at(5000));
        assert_eq!(opened.unwrap_err(), BadLink::Forged, "{forged:?}");
    }
    let stranger = files_with(1 << 20);
    stranger.link_at(&file("a.txt", "aGk="), at(1000)).unwrap();
    assert!(stranger.open_at(good, at(1000)).is_ok(), "the same key");
    let stranger = Files::new(&Limits::default());
    stranger.serve_at(BASE, FileKey::new("another key"));
    stranger.link_at(&file("a.txt", "aGk="), at(1000)).unwrap();
    let opened = stranger.open_at(good, at(1000));
    assert_eq!(opened.unwrap_err(), BadLink::Forged);
}

#[test]
fn a_signature_is_what_any_other_tool_computes() {
    // printf 'ab.1060.é.txt' | openssl dgst -sha256 -hmac key
    let signature = FileKey::new("key").sign("ab", "1060", "é.txt");
    assert_eq!(signature, EXPECTED);
}

const EXPECTED: &str = "97ba31bb721547f2a6be9e57180f0dccfc72fd529c5e74b89a0c1407914b93d5";

#[test]
fn when_it_is_full_the_oldest_go_first_and_what_is_linked_again_is_new() {
    let files = files_with(2 * held("a").weight());
    let url = |name| files.link_at(&file(name, "aGk="), at(1000)).unwrap();
    let is_there = |url: &str| files.open_at(link(url), at(1000)).is_ok();
    let (a, b) = (url("a"), url("b"));
    url("a");
    let c = url("c");
    assert!(is_there(&a) && !is_there(&b) && is_there(&c));
    let gone = files.open_at(link(&b), at(1000)).unwrap_err();
    assert_eq!(gone, BadLink::Gone);
    assert!(files.kept.cache.lock().used() <= 2 * held("a").weight());
    // One that never fits pushes nobody out.
    let large = file("d", &"aGk0".repeat(1000));
    assert_eq!(files.link_at(&large, at(1000)), None);
    assert!(is_there(&a) && is_there(&c));
}

#[test]
fn large_files_come_in_pieces_byte_for_byte() {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let files = files();
    for len in [0, 1, 2, 3, 49_151, 49_152, 49_153, 98_304, 200_000] {
        let content: Vec<u8> = (0..len).map(|n: usize| (n * 31 % 251) as u8).collect();
        let file = file("x", &STANDARD.encode(&content));
        let url = files.link_at(&file, at(1000)).unwrap();
        let held = files.open_at(link(&url), at(1000)).unwrap();
        assert_eq!((held.len(), held.is_empty()), (len, len == 0));
        assert!(bytes(&held) == content, "{len}");
    }
}

#[test]
fn what_is_no_base64_has_no_link_but_keeps_its_words() {
    let files = files();
    let two = format!("{}aGk=", "aGk0".repeat((64 << 10) / 4 - 1) + "aGk=");
    for text in ["a", "aGk", "a Gk=", "aGk=aGk=", "%%%%", "é", &two] {
        let file = file("x", text);
        assert_eq!(files.link_at(&file, at(1000)), None, "{}", text.len());
        assert_eq!(files.url(&file), format!("data:text/plain;base64,{text}"));
    }
}

#[test]
fn a_hub_without_an_address_makes_no_links_and_follows_none() {
    let files = Files::new(&Limits::default());
    assert_eq!(files.link(&file("a", "aGk=")), None);
    assert_eq!(files.url(&file("a", "aGk=")), "data:text/plain;base64,aGk=");
    let signature = FileKey::new("").sign("x", "9999999999", "a");
    let link = Link {
        id: "x",
        name: "a",
        expires: "9999999999",
        signature: &signature,
    };
    assert_eq!(files.open(link).unwrap_err(), BadLink::Forged);
}

#[test]
fn a_file_that_has_an_address_keeps_it() {
    let files = files();
    let linked = File::from_url("https://e/f".into(), None, None);
    assert_eq!(files.url(&linked), "https://e/f");
    assert_eq!(files.link(&linked), None);
    assert_eq!(files.kept.cache.lock().used(), 0);
}

#[test]
fn the_name_in_the_link_is_encoded_and_no_path() {
    let files = files();
    let url = files.link_at(&file("../é \"x\".txt", "aGk="), at(1000));
    let url = url.unwrap();
    let [id, name, expires, signature] = split(&url);
    assert_eq!(name, "%C3%A9%20%22x%22.txt");
    let link = Link {
        id,
        name: "é \"x\".txt",
        expires,
        signature,
    };
    assert_eq!(files.open_at(link, at(1000)).unwrap().name(), link.name);
}

#[test]
fn one_owner_does_not_push_out_the_files_of_another() {
    let owner = |name: &str| Owner::parse(name).unwrap();
    let files = files_with(10 * held("x-0").weight());
    let (ann, bob) = (files.of(&owner("ann")), files.of(&owner("bob")));
    let anns = ann.link_at(&file("x-0", "aGk="), at(1000)).unwrap();
    let link_all = || {
        let name = |n: i32| file(&format!("y-{n}"), "aGk=");
        let linked = (0..10).map(|n| bob.link_at(&name(n), at(1001)).unwrap());
        linked.collect::<Vec<_>>()
    };
    let bobs = link_all();
    assert!(files.open_at(link(&anns), at(1002)).is_ok());
    assert!(files.open_at(link(&bobs[0]), at(1002)).is_err(), "its own");
    assert!(files.open_at(link(&bobs[1]), at(1002)).is_ok());
    // The same file of another owner is another one.
    let again = bob.link_at(&file("x-0", "aGk="), at(1003)).unwrap();
    assert_ne!(link(&anns).id, link(&again).id);
    files.expire(at(1060));
    assert!(
        link_all()
            .iter()
            .all(|url| files.open_at(link(url), at(1059)).is_ok()),
        "alone it has all"
    );
}
