use super::*;

fn access(host: &str, address: &str) -> Access {
    Access::new(host, address.parse().unwrap(), "secret".to_owned())
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        let name: header::HeaderName = name.parse().unwrap();
        map.append(name, value.parse().unwrap());
    }
    map
}

fn page(access: &Access, host: &str) -> bool {
    let uri: Uri = "/?token=secret".parse().unwrap();
    access.check_page(&uri, &headers(&[("host", host)])).is_ok()
}

#[test]
fn tokens_differ_and_are_long() {
    let (first, second) = (random_token().unwrap(), random_token().unwrap());
    assert_ne!(first, second);
    assert_eq!(first.len(), 2 * TOKEN_BYTES);
}

#[test]
fn names_of_the_loopback_interface_are_ours() {
    let access = access("127.0.0.1", "127.0.0.1:8000");
    for host in [
        "127.0.0.1:8000",
        "localhost:8000",
        "LocalHost:8000",
        "[::1]:8000",
    ] {
        assert!(page(&access, host), "{host}");
    }
    for host in [
        "127.0.0.1:8001",
        "127.0.0.1",
        "evil.example:8000",
        "localhost.evil.example:8000",
        "192.168.0.7:8000",
        "",
    ] {
        assert!(!page(&access, host), "{host}");
    }
}

#[test]
fn a_public_server_answers_to_numbers_and_its_own_name() {
    let access = access("robot.local", "192.168.0.7:8000");
    for host in ["192.168.0.7:8000", "robot.local:8000", "localhost:8000"] {
        assert!(page(&access, host), "{host}");
    }
    assert!(!page(&access, "evil.example:8000"));
    let port_80 = super::Access::new(
        "robot",
        "192.168.0.7:80".parse().unwrap(),
        "secret".to_owned(),
    );
    assert!(page(&port_80, "robot"));
}

#[test]
fn tokens_must_be_equal() {
    let access = access("127.0.0.1", "127.0.0.1:8000");
    let host = headers(&[("host", "127.0.0.1:8000")]);
    let ask = |path: &str| access.check_page(&path.parse().unwrap(), &host).is_ok();
    assert!(ask("/?token=secret"));
    assert!(ask("/?x=1&token=secret&y=2"));
    for path in [
        "/",
        "/?token=",
        "/?token=secre",
        "/?token=secrets",
        "/?token=Secret",
        "/?atoken=secret",
        "/?token=wrong&token=secret",
    ] {
        assert!(!ask(path), "{path}");
    }
}

#[test]
fn the_origin_of_a_socket_is_our_page() {
    let access = access("127.0.0.1", "127.0.0.1:8000");
    let uri: Uri = "/ws?token=secret".parse().unwrap();
    let ask = |pairs: &[(&str, &str)]| access.check_socket(&uri, &headers(pairs)).is_ok();
    let host = ("host", "127.0.0.1:8000");
    assert!(ask(&[host, ("origin", "http://127.0.0.1:8000")]));
    assert!(!ask(&[host]));
    for origin in [
        "null",
        "http://evil.example",
        "http://127.0.0.1:8001",
        "https://127.0.0.1:8000",
        // Ours by another name is another origin for the browser.
        "http://localhost:8000",
        "http://127.0.0.1:8000.evil.example",
    ] {
        assert!(!ask(&[host, ("origin", origin)]), "{origin}");
    }
    let twice = [
        host,
        ("origin", "http://127.0.0.1:8000"),
        ("origin", "http://evil.example"),
    ];
    assert!(!ask(&twice));
}

#[test]
fn addresses_can_be_opened() {
    let open = |host: &str, address: &str| authority(host, address.parse().unwrap());
    assert_eq!(open("127.0.0.1", "127.0.0.1:80"), "127.0.0.1:80");
    assert_eq!(open("0.0.0.0", "0.0.0.0:80"), "127.0.0.1:80");
    assert_eq!(open("::", "[::]:80"), "[::1]:80");
    assert_eq!(open("::1", "[::1]:80"), "[::1]:80");
    assert_eq!(open("localhost", "127.0.0.1:80"), "localhost:80");
}
