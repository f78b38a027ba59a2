//! Message attachments.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    sync::Arc,
};

use jackfield_connect::attachments::{Attachments, FetchedFiles};
use jackfield_sdk::{File, FileSource, HubAddress, Message, Part};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinSet,
};

/// An HTTP server that responds by request line, and records the request lines.
struct Server {
    origin: String,
    request_lines: Arc<parking_lot::Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Server {
    async fn start(answer: fn(&str) -> Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let request_lines = Arc::<parking_lot::Mutex<Vec<String>>>::default();
        let log = request_lines.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    match socket.read_u8().await {
                        Ok(byte) => request.push(byte),
                        Err(_) => break,
                    }
                }
                let request = String::from_utf8(request).unwrap();
                let line = request.lines().next().unwrap_or_default().to_owned();
                log.lock().push(request);
                // The client may have disconnected.
                socket.write_all(&answer(&line)).await.ok();
            }
        });
        Self {
            origin,
            request_lines,
            _tasks: tasks,
        }
    }

    fn file(&self, path: &str) -> File {
        File::at(format!("{}{path}", self.origin))
    }

    fn count(&self) -> usize {
        self.request_lines.lock().len()
    }
}

fn ok(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn with(files: impl IntoIterator<Item = File>) -> Message {
    let mut message = Message::default();
    message.request_id = "r/1".to_owned();
    message.parts = files.into_iter().map(Part::File).collect();
    message
}

fn attachments(hub: &str, allow_private: bool) -> Attachments {
    let hub = HubAddress::new(hub).unwrap().with_token("secret");
    Attachments::new(&hub, allow_private).unwrap()
}

/// Fetches the files of a message, for a hub that has none of them.
async fn take(files: impl IntoIterator<Item = File>, dir: &Path) -> FetchedFiles {
    let attachments = attachments("https://hub.example", false);
    attachments.fetch(&with(files), dir).await
}

#[tokio::test]
async fn bytes_lie_in_a_folder_of_the_request_under_harmless_names() {
    let dir = tempfile::tempdir().unwrap();
    let files = || {
        [
            File::bytes(*b"one").name("../../a.txt"),
            File::bytes(*b"two").name("a.txt"),
            File::bytes(*b"three"),
        ]
    };
    let taken = take(files(), dir.path()).await;
    assert_eq!(taken.problems, [""; 0]);
    let folder = dir.path().join(".attachments/1");
    let names = ["a.txt", "a-2.txt", "file-3"].map(|name| folder.join(name));
    assert_eq!(taken.files, names);
    for (path, text) in names.iter().zip(["one", "two", "three"]) {
        assert_eq!(fs::read_to_string(path).unwrap(), text);
        assert_eq!(
            fs::metadata(path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    let again = take(files(), dir.path()).await;
    assert_eq!(again.files[0], dir.path().join(".attachments/1-2/a.txt"));
    let ignored = dir.path().join(".attachments/.gitignore");
    assert_eq!(fs::read_to_string(ignored).unwrap(), "*\n");
}

#[tokio::test]
async fn bytes_that_are_not_base64_are_a_problem_and_leave_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = File::bytes([]).name("a.txt");
    file.source = FileSource::Bytes("?".into());
    let taken = take([file], dir.path()).await;
    assert!(taken.files.is_empty(), "{taken:?}");
    let problem = "the file a.txt could not be fetched: its bytes are not valid base64";
    assert_eq!(taken.problems, [problem]);
    let left = fs::read_dir(dir.path().join(".attachments/1")).unwrap();
    assert_eq!(left.count(), 0);
}

#[tokio::test]
async fn a_message_without_files_leaves_the_folder_alone() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(take([], dir.path()).await, FetchedFiles::default());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn the_hubs_own_links_are_fetched_without_a_token() {
    let server = Server::start(|line| match line {
        "GET /v1/files/x/a.png?sig=s HTTP/1.1" => ok(b"picture"),
        other => panic!("{other}"),
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let message = with([server.file("/v1/files/x/a.png?sig=s")]);
    let taken = attachments(&server.origin, false)
        .fetch(&message, dir.path())
        .await;
    assert_eq!(taken.problems, [""; 0]);
    assert!(taken.files[0].ends_with("a.png"), "{taken:?}");
    assert_eq!(fs::read(&taken.files[0]).unwrap(), b"picture");
    assert!(
        !server.request_lines.lock()[0]
            .to_lowercase()
            .contains("authorization")
    );
}

#[tokio::test]
async fn other_private_places_are_not_asked_unless_the_owner_allows_it() {
    let server = Server::start(|_| ok(b"hi")).await;
    let dir = tempfile::tempdir().unwrap();
    let port = server.origin.rsplit(':').next().unwrap().to_owned();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let taken = take(
            [File::at(format!("http://{host}:{port}/x?secret"))],
            dir.path(),
        )
        .await;
        assert!(taken.files.is_empty(), "{host}");
        let [problem] = &taken.problems[..] else {
            panic!("{taken:?}");
        };
        assert!(problem.contains("--allow-private"), "{problem}");
        assert!(!problem.contains("secret"), "{problem}");
    }
    assert_eq!(server.count(), 0);
    let allowed = attachments("https://hub.example", true);
    let taken = allowed.fetch(&with([server.file("/x")]), dir.path()).await;
    assert_eq!(taken.files.len(), 1, "{taken:?}");
}

#[tokio::test]
async fn nothing_but_files_is_fetched_from_the_hub() {
    let server = Server::start(|line| panic!("{line}")).await;
    for allow_private in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let paths = [
            "/v1/agents",
            "/v1/files/../agents",
            "/v1/files/%2e%2e/tokens",
            "/v1/files/x/..\\..\\..\\metrics",
        ];
        let message = with(paths.map(|path| server.file(path)));
        let taken = attachments(&server.origin, allow_private)
            .fetch(&message, dir.path())
            .await;
        assert_eq!(taken.files.len(), 0, "{taken:?}");
        assert_eq!(taken.problems.len(), paths.len());
        for problem in &taken.problems {
            assert!(problem.contains("only /v1/files/ of"), "{problem}");
        }
    }
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn what_cannot_be_had_is_told_and_the_rest_is_there() {
    let server = Server::start(|line| match line.split(' ').nth(1).unwrap() {
        "/v1/files/x/good" => ok(b"good"),
        "/v1/files/x/gone" => b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
        "/v1/files/x/moved" => {
            b"HTTP/1.1 302 Found\r\nLocation: /v1/files/x/good\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                .to_vec()
        }
        "/v1/files/x/cut" => b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec(),
        other => panic!("{other}"),
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let files = ["gone", "moved", "cut", "good"];
    let files = files.map(|name| server.file(&format!("/v1/files/x/{name}")));
    let odd = [File::at("ftp://x/y"), File::at("nonsense")];
    let message = with(files.into_iter().chain(odd));
    let taken = attachments(&server.origin, false)
        .fetch(&message, dir.path())
        .await;
    assert_eq!(taken.files, [dir.path().join(".attachments/1/good")]);
    let problem_text = taken.problems.join("\n");
    for words in [
        "the file gone could not be fetched",
        "410",
        "302",
        "the file cut could not be fetched: it broke off",
        "no http or https URL",
    ] {
        assert!(problem_text.contains(words), "{words}: {problem_text}");
    }
    assert_eq!(taken.problems.len(), 5);
    let left = fs::read_dir(dir.path().join(".attachments/1")).unwrap();
    assert_eq!(left.count(), 1, "no parts of files are left");
}

#[tokio::test]
async fn there_is_an_end_to_how_much_comes() {
    let server = Server::start(|_| {
        // The response declares no length.
        let mut endless = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec();
        endless.resize(101 << 20, b'x');
        endless
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let many = (0..65).map(|_| File::bytes(*b"x"));
    let message = with([server.file("/v1/files/x/endless")].into_iter().chain(many));
    let taken = attachments(&server.origin, false)
        .fetch(&message, dir.path())
        .await;
    assert_eq!(taken.files.len(), 63);
    assert_eq!(taken.problems.len(), 3);
    assert!(taken.problems[0].contains("larger than"), "{taken:?}");
    assert!(taken.problems[2].contains("may have 64"), "{taken:?}");
}

#[tokio::test]
async fn a_link_in_place_of_the_folder_leads_nowhere() {
    let elsewhere = tempfile::tempdir().unwrap();
    let dir = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), dir.path().join(".attachments")).unwrap();
    let taken = take([File::bytes(*b"x")], dir.path()).await;
    assert_eq!((taken.files.len(), taken.problems.len()), (0, 1));
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}
