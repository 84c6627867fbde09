//! Talking to others.

use std::{
    io::{self, ErrorKind},
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
};

use adjutant_tools::sandbox::Network;

use crate::world::World;

fn is_nothing<T>(heard: io::Result<T>) -> bool {
    heard.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn a_command_without_a_network_reaches_nobody() {
    let world = World::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    world.is_refused(&format!("$PROBE tcp {}", tcp.local_addr().unwrap().port()));
    world.run(&format!("$PROBE udp {}", udp.local_addr().unwrap().port()));
    world.is_refused("$PROBE raw");
    world.is_refused("getent hosts example.com");
    assert!(is_nothing(tcp.accept()));
    assert!(is_nothing(udp.recv(&mut [0; 3])));
}

#[test]
fn a_command_with_a_network_reaches_others() {
    let world = World { network: Network::On, ..World::new() };
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    world.works(&format!("$PROBE tcp {}", tcp.local_addr().unwrap().port()));
    tcp.accept().unwrap();
    if std::fs::exists("/etc/resolv.conf").unwrap() {
        world.works("cat /etc/resolv.conf");
    }
}

#[test]
fn families_of_sockets_that_know_no_namespaces_are_refused() {
    for network in [Network::Off, Network::On] {
        let world = World { network, ..World::new() };
        // Packets, the kernel's ciphers, the machine this one runs on, express data path.
        for family in [17, 38, 40, 44] {
            let said = world.attempt(&format!("family {family}"));
            assert_eq!(said, "Operation not permitted", "{family}");
        }
    }
}

#[test]
fn a_command_can_talk_to_itself() {
    let world = World::new();
    assert_eq!(world.attempt("serve"), "done");
    assert_eq!(world.attempt("pair"), "done");
}

#[test]
fn sockets_of_other_programs_are_out_of_reach() {
    for network in [Network::Off, Network::On] {
        let world = World { network, ..World::with_sockets() };
        let name = world.place().display().to_string();
        let elsewhere = tempfile::tempdir().unwrap();
        let paths = [world.outside.join("socket"), elsewhere.path().join("socket")];
        let sockets = paths.clone().map(|path| UnixListener::bind(path).unwrap());
        let hidden = SocketAddr::from_abstract_name(&name).unwrap();
        let hidden = UnixListener::bind_addr(&hidden).unwrap();
        for path in &paths {
            world.is_refused(&format!("$PROBE unix {}", path.display()));
        }
        world.is_refused(&format!("$PROBE abstract {name}"));
        for socket in sockets.iter().chain([&hidden]) {
            socket.set_nonblocking(true).unwrap();
            assert!(is_nothing(socket.accept()), "{socket:?}");
        }
    }
}

#[test]
fn a_socket_in_the_scope_can_be_used() {
    let world = World::with_sockets();
    let _socket = UnixListener::bind(world.scope.join("socket")).unwrap();
    assert_eq!(world.attempt("unix socket"), "done");
}
