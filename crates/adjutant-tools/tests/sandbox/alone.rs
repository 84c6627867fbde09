//! Landlock without bubblewrap: what it holds, and that it says what it does not.

use std::{net::TcpListener, os::unix::net::UnixListener};

use adjutant_tools::sandbox::{Network, Sandbox};

use crate::{
    devices_and_calls::refuses_dangerous_calls, processes::leaves_others_alone, world::World,
};

#[test]
fn nothing_outside_the_scope_can_be_written() {
    let world = World::of_landlock();
    std::os::unix::fs::symlink(&world.outside, world.scope.join("way")).unwrap();
    for script in [
        "echo out > $OUT/new",
        "echo out > $OUT/file",
        "echo out > way/file",
        "rm -f $OUT/file",
        "mv $OUT/file here",
        "truncate -s 0 $OUT/file",
        "mkdir $OUT/directory",
        "ln -s x $OUT/link",
        "ln $OUT/file here",
        "mkfifo $OUT/pipe",
        "read old < /proc/sys/kernel/core_pattern && echo \"$old\" > /proc/sys/kernel/core_pattern",
    ] {
        world.is_refused(script);
    }
    world.works("echo in > file && mkdir a && mv file a/ && ln a/file b && f=$(mktemp) && rm $f");
    world.works("echo x > /dev/null && git init -q new");
}

#[test]
fn other_programs_are_out_of_reach() {
    let world = World::of_landlock();
    leaves_others_alone(&world);
    let _socket = UnixListener::bind(world.outside.join("socket")).unwrap();
    world.is_refused("$PROBE unix $OUT/socket");
    assert_eq!(world.attempt("pair"), "done");
}

#[test]
fn dangerous_calls_are_refused() {
    refuses_dangerous_calls(&World::of_landlock());
}

#[test]
fn the_network_is_off_unless_it_is_on() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let mut world = World::of_landlock();
    world.is_refused(&format!("$PROBE tcp {port}"));
    world.is_refused(&format!("$PROBE udp {port}"));
    world.network = Network::On;
    world.works(&format!("$PROBE tcp {port}"));
    assert_eq!(world.attempt("family 1"), "Operation not permitted");
}

#[test]
fn rights_are_given_up() {
    let status = World::of_landlock().works("cat /proc/self/status");
    for line in ["NoNewPrivs:\t1", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"] {
        assert!(status.contains(line), "{status}");
    }
}

#[test]
fn what_does_not_hold_is_told() {
    let lack = World::of_landlock().lack().unwrap();
    assert!(lack.contains("only Landlock holds the command"), "{lack}");
    assert!(lack.contains("permissions"), "{lack}");
}

#[test]
fn where_nothing_works_it_is_told_why() {
    let sandbox = Sandbox::detect(vec!["/no/such/program".into()]);
    let told = sandbox.describe();
    assert!(told.starts_with("none, because bubblewrap does not work here ("), "{told}");
    assert!(told.contains("Landlock does not work here (No such file"), "{told}");
    let lack = sandbox.lack(&World::new().policy()).unwrap();
    assert!(lack.starts_with("there is no sandbox, because bubblewrap"), "{lack}");
}
