//! Pages that an agent may fetch, and those that it may not.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread,
};

use crate::support::{Done, World};

/// Serves every path with its own name, and returns the port.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut request = [0; 4096];
            let length = connection.read(&mut request).unwrap();
            let request = String::from_utf8_lossy(&request[..length]);
            let path = request.split(' ').nth(1).unwrap_or_default();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n";
            connection.write_all(format!("{head}here is {path}").as_bytes()).unwrap();
        }
    });
    port
}

/// Fetches a page and returns what the model is told.
fn fetch(world: World, url: &str) -> String {
    let script = r#"
[[reply]]
calls = [{ tool = "web_fetch", args = { url = "URL" } }]
[[reply]]
text = "done"
"#;
    let world = world.script(&script.replace("URL", url));
    // A proxy that is not there is in nobody's way, since none is used.
    let world = world.variable("HTTP_PROXY", "http://127.0.0.1:9");
    let world = world.variable("http_proxy", "http://127.0.0.1:9");
    let Done { code, stdout, stderr } = world.run(&["run", "--events", "--mode", "auto", "go"]);
    assert_eq!(code, Some(0), "{stderr}");
    stdout.lines().find(|line| line.contains(r#""role":"tools""#)).unwrap().to_owned()
}

fn world(port: u16) -> World {
    World::new().user(&format!(
        "web.allow_private = ['127.0.0.1:{port}']\n\
         permissions.allow = ['web_fetch(http://127.0.0.1:{port}/docs/*)']"
    ))
}

#[test]
fn a_page_that_a_rule_allows_is_fetched_without_a_proxy() {
    let port = serve();
    let told = fetch(world(port), &format!("http://127.1:{port}/x/../docs/a"));
    assert!(told.contains("here is /docs/a"), "{told}");
}

#[test]
fn a_page_that_no_rule_allows_is_not_fetched() {
    let port = serve();
    for path in ["/", "/docs/../secret", "/docs/%2e%2e/secret"] {
        let told = fetch(world(port), &format!("http://127.0.0.1:{port}{path}"));
        assert!(!told.contains("here is") && told.contains("nobody"), "{told}");
    }
}

#[test]
fn a_private_address_is_not_reached_by_a_rule_alone() {
    let port = serve();
    let rule = format!("permissions.allow = ['web_fetch(http://127.0.0.1:{port}/*)']");
    let told = fetch(World::new().user(&rule), &format!("http://127.0.0.1:{port}/"));
    assert!(told.contains("is at a private address"), "{told}");
}
