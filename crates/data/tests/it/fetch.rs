//! Published files: found, refused or downloaded, with nothing left behind.

use std::cell::RefCell;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::thread::JoinHandle;

use data::fetch::{SearchPath, fetch};
use data::{DataError, PinnedFile, Progress};
use tempfile::TempDir;
use test_support::says;

const BODY: &[u8] = b"the published bytes";
const SUM: &str = "20139b7f2cbb8718eeaa22d38745d005a642545d21cc47fa49475c42d72e044e";

fn pinned() -> PinnedFile {
    PinnedFile {
        name: "numbers.gz".into(),
        folder: "tiny".into(),
        bytes: BODY.len() as u64,
        sha256: SUM.into(),
    }
}

/// An HTTP server on this machine that gives one answer to each request, in order, and then stops.
struct Mirror {
    address: String,
    thread: JoinHandle<Vec<String>>,
}

impl Mirror {
    fn answering(answers: &[Vec<u8>]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/files/", listener.local_addr().unwrap());
        let answers = answers.to_vec();
        let thread = std::thread::spawn(move || {
            let answer_one = |answer: Vec<u8>| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = Vec::new();
                let mut byte = [0];
                while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                    request.push(byte[0]);
                }
                // A client that has seen enough may hang up before all is written.
                let _ = stream.write_all(&answer);
                let _ = stream.shutdown(Shutdown::Write);
                String::from_utf8(request).unwrap()
            };
            answers.into_iter().map(answer_one).collect()
        });
        Self { address, thread }
    }

    /// The requests that were made.
    fn requests(self) -> Vec<String> {
        self.thread.join().unwrap()
    }
}

fn answer(status: &str, length: Option<usize>, body: &[u8]) -> Vec<u8> {
    let length = length.map_or(String::new(), |n| format!("Content-Length: {n}\r\n"));
    let head = format!("HTTP/1.1 {status}\r\n{length}Connection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn ok(body: &[u8]) -> Vec<u8> {
    answer("200 OK", Some(body.len()), body)
}

/// An address where nothing listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

fn at(folder: &TempDir) -> SearchPath {
    SearchPath::new(Some(folder.path().join("data")), None, None)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return vec![];
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn a_file_is_downloaded_once() {
    let folder = tempfile::tempdir().unwrap();
    let mirror = Mirror::answering(&[ok(BODY)]);
    let mirrors = [mirror.address.clone()];
    let seen = RefCell::new(Vec::new());
    let listen = |event: &Progress| seen.borrow_mut().push(event.clone());
    assert_eq!(
        fetch(&pinned(), &at(&folder), &mirrors, &listen).unwrap(),
        BODY
    );

    let path = folder.path().join("data/tiny/numbers.gz");
    assert_eq!(fs::read(&path).unwrap(), BODY);
    assert_eq!(files(folder.path()), *from_ref(&path));
    let requests = mirror.requests();
    assert!(
        requests[0].starts_with("GET /files/numbers.gz "),
        "{requests:?}"
    );
    let done = BODY.len() as u64;
    assert!(seen.borrow().contains(&Progress::Downloading {
        file: "numbers.gz".into(),
        url: format!("{}numbers.gz", mirrors[0]),
        done,
        total: done,
    }));
    assert_eq!(
        seen.borrow().last(),
        Some(&Progress::Saved { path: path.clone() })
    );

    // The server is gone: the second time the file is found.
    assert_eq!(
        fetch(&pinned(), &at(&folder), &mirrors, &listen).unwrap(),
        BODY
    );
    assert_eq!(seen.borrow().last(), Some(&Progress::Found { path }));
}

/// Of a server that does not tell the length, and with the permissions of any other file.
#[test]
fn a_downloaded_file_can_be_read_as_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let mirror = Mirror::answering(&[answer("200 OK", None, BODY)]);
    let bytes = fetch(&pinned(), &at(&folder), from_ref(&mirror.address), &|_| ()).unwrap();
    assert_eq!(bytes, BODY);
    mirror.requests();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        let fetched = folder.path().join("data/tiny/numbers.gz");
        assert_eq!(mode(&fetched), mode(&plain));
    }
}

#[test]
fn answers_that_are_not_the_file_are_refused() {
    let found = "ca24fa4b76190e57aa6434aee979ed612171b49b109fa4e30029d6895bd0adb1";
    let half = &BODY[..9];
    let missing = answer("404 Not Found", Some(0), b"");
    let where_to = [
        "404",
        "tiny/numbers.gz",
        "19 bytes",
        SUM,
        "data/tiny/numbers.gz",
        "SLIVER_DATA",
    ];
    for (answer, words) in [
        (
            ok(b"other published one"),
            &["numbers.gz", "wrong SHA-256", SUM, found][..],
        ),
        (
            answer("200 OK", Some(BODY.len()), half),
            &["numbers.gz", "after 9 bytes, expected 19"],
        ),
        (
            answer("200 OK", None, half),
            &["wrong SHA-256", "9 of 19 bytes"],
        ),
        (ok(b""), &["wrong SHA-256", "0 of 19 bytes"]),
        (ok(&vec![b'x'; 1 << 20]), &["expected 19 bytes, found more"]),
        (missing, &where_to),
        (b"220 ready\r\n\r\n".to_vec(), &["numbers.gz", SUM]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mirror = Mirror::answering(&[answer]);
        let error = fetch(&pinned(), &at(&folder), from_ref(&mirror.address), &|_| ()).unwrap_err();
        assert_eq!(mirror.requests().len(), 1);
        assert!(matches!(error, DataError::Fetch(_)), "{error}");
        says(&error, words);
        assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
    }
}

#[test]
fn the_second_mirror_helps_when_the_first_does_not() {
    for bad in [
        None,
        Some(answer("404 Not Found", Some(0), b"")),
        Some(answer("200 OK", Some(BODY.len()), &BODY[..3])),
        Some(ok(b"other published one")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let first = bad.map(|answer| Mirror::answering(&[answer]));
        let second = Mirror::answering(&[ok(BODY)]);
        let mirrors = [
            first.as_ref().map_or_else(nobody, |m| m.address.clone()),
            second.address.clone(),
        ];
        let failed = RefCell::new(Vec::new());
        let bytes = fetch(&pinned(), &at(&folder), &mirrors, &|event| {
            if let Progress::MirrorFailed { url, .. } = event {
                failed.borrow_mut().push(url.clone());
            }
        });
        assert_eq!(bytes.unwrap(), BODY);
        assert_eq!(*failed.borrow(), [format!("{}numbers.gz", mirrors[0])]);
        assert_eq!(
            files(folder.path()),
            [folder.path().join("data/tiny/numbers.gz")]
        );
        first.map(Mirror::requests);
        second.requests();
    }
}

#[test]
fn without_a_network_nothing_is_made_and_every_mirror_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mirrors = [nobody(), nobody()];
    let error = fetch(&pinned(), &at(&folder), &mirrors, &|_| ()).unwrap_err();
    says(&error, &[&mirrors[0], &mirrors[1], SUM, "put it at"]);
    assert!(!folder.path().join("data").exists());
    let error = fetch(&pinned(), &at(&folder), &[], &|_| ()).unwrap_err();
    says(&error, &["no mirror to ask", "put it at"]);
}

#[test]
fn a_user_without_folders_is_told() {
    let search = SearchPath::new(None, None, None);
    let error = fetch(&pinned(), &search, &[], &|_| ()).unwrap_err();
    says(&error, &["no folder to keep", "no home folder"]);
}

#[test]
fn folders_are_searched_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let places = ["one", "two", "three"].map(|name| folder.path().join(name));
    let [one, two, three] = places.clone();
    let search = SearchPath::new(Some(one), Some(two), Some(three));
    let found = RefCell::new(PathBuf::new());
    // From the last place to the first: each new one is preferred to those before it.
    for place in places.iter().rev() {
        for path in [place.join("numbers.gz"), place.join("tiny/numbers.gz")] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, BODY).unwrap();
            let listen = |event: &Progress| {
                if let Progress::Found { path } = event {
                    *found.borrow_mut() = path.clone();
                }
            };
            assert_eq!(fetch(&pinned(), &search, &[], &listen).unwrap(), BODY);
            assert_eq!(*found.borrow(), path);
        }
    }
}

#[test]
fn a_corrupt_file_is_refused_and_not_replaced() {
    for name in ["tiny/numbers.gz", "numbers.gz"] {
        for (content, word) in [
            (&b"other published one"[..], "wrong SHA-256"),
            (&BODY[1..], "expected 19 bytes, found 18"),
            (&[b'x'; 500], "expected 19 bytes, found 500"),
            (b"", "expected 19 bytes, found 0"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("data").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            // A mirror that would have it: it must not be asked.
            let mirrors = [nobody()];
            let error = fetch(&pinned(), &at(&folder), &mirrors, &|_| ()).unwrap_err();
            says(&error, &[name, word, SUM]);
            assert_eq!(fs::read(&path).unwrap(), content);
            assert_eq!(files(folder.path()), [path]);
        }
    }
}

#[test]
fn a_folder_in_place_of_the_file_and_a_file_in_place_of_the_folder_are_refused() {
    for (at_file, words) in [(false, "data"), (true, "numbers.gz")] {
        let folder = tempfile::tempdir().unwrap();
        if at_file {
            fs::create_dir_all(folder.path().join("data/tiny/numbers.gz")).unwrap();
        } else {
            fs::write(folder.path().join("data"), "").unwrap();
        }
        let error = fetch(&pinned(), &at(&folder), &[nobody()], &|_| ()).unwrap_err();
        assert!(matches!(error, DataError::Io { .. }), "{error}");
        says(&error, &[words]);
    }
}
