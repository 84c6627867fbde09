//! Which addresses may be reached.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use reqwest::Url;

/// What is not the public net: this machine, its neighbours, the machines of whoever rents it
/// out, and what is nobody's.
const NOT_PUBLIC: [(Ipv4Addr, u8); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Machines in a cloud find their credentials here.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Many at once, and those that are kept for later.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

/// Reports whether an address is one of the public net.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !NOT_PUBLIC.into_iter().any(|(network, prefix)| {
            Network { address: network.into(), prefix }.has(address.into())
        }),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// An address of the old kind inside one of the new is what is reached in the end.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let v4 = |high: u16, low: u16| {
        let bits = u32::from(high) << 16 | u32::from(low);
        is_public(Ipv4Addr::from_bits(bits).into())
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, a, b] | [0x64, 0xff9b, 0, 0, 0, 0, a, b] => v4(a, b),
        // 6to4.
        [0x2002, a, b, ..] => v4(a, b),
        // Teredo: the server, and who is behind it with every bit turned round.
        [0x2001, 0, a, b, _, _, c, d] => v4(a, b) && v4(!c, !d),
        // For protocols, and for documents.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first >> 13 == 1,
    }
}

/// The addresses that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Makes the network of one address.
    fn only(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, prefix: if address.is_ipv4() { 32 } else { 128 } }
    }

    fn has(self, address: IpAddr) -> bool {
        let differ = |width: u8, bits: u128| bits.checked_shr((width - self.prefix).into());
        let differing = match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => differ(32, (a.to_bits() ^ b.to_bits()).into()),
            (IpAddr::V6(a), IpAddr::V6(b)) => differ(128, a.to_bits() ^ b.to_bits()),
            _ => return false,
        };
        differing.is_none_or(|bits| bits == 0)
    }

    /// Reads an address and the length of its prefix.
    fn parse(address: &str, prefix: &str) -> Option<Self> {
        let (address, prefix): (IpAddr, u8) = (address.parse().ok()?, prefix.parse().ok()?);
        let bits = match address {
            IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
            IpAddr::V6(v6) => v6.to_bits(),
        };
        let is_whole = bits.checked_shl(prefix.into()).unwrap_or(0) == 0;
        let longest = Self::only(address).prefix;
        (is_whole && prefix <= longest).then_some(Self { address, prefix })
    }
}

/// Something that may be reached although it is not public: an address, a network or a name,
/// the first and the last with or without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    what: What,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Network(Network),
    Name(String),
}

/// The text names nothing that could be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is neither an address, a network nor a name; expected one like `127.0.0.1:8080`, \
     `10.0.0.0/8`, `[fd00::1]:443` or `intranet.example`"
)]
pub struct BadPermit(String);

impl FromStr for Permit {
    type Err = BadPermit;

    fn from_str(text: &str) -> Result<Self, BadPermit> {
        let bad = || BadPermit(text.to_owned());
        if let Some((address, prefix)) = text.split_once('/') {
            let network = Network::parse(address, prefix).ok_or_else(bad)?;
            return Ok(Self { what: What::Network(network), port: None });
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self { what: What::Network(Network::only(address)), port: None });
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            let network = Network::only(address.ip());
            return Ok(Self { what: What::Network(network), port: Some(address.port()) });
        }
        let (name, port) = text.split_once(':').unzip();
        let port = port.map(str::parse).transpose().map_err(|_| bad())?;
        let name = name_alone(name.unwrap_or(text)).ok_or_else(bad)?;
        Ok(Self { what: What::Name(name), port })
    }
}

/// Returns a name the way an address of a page has it.
fn name_alone(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
    let url = Url::parse(&format!("http://{}/", name.trim_end_matches('.'))).ok()?;
    name.chars().all(is_plain).then_some(url.domain()?.to_owned())
}

impl Permit {
    fn covers(&self, name: Option<&str>, address: SocketAddr) -> bool {
        let is_there = match &self.what {
            What::Network(network) => network.has(address.ip().to_canonical()),
            What::Name(permitted) => name == Some(permitted),
        };
        is_there && self.port.is_none_or(|port| port == address.port())
    }
}

/// Reports whether the host of that name, if it has one, may be reached at an address.
pub(super) fn may_reach(name: Option<&str>, address: SocketAddr, permits: &[Permit]) -> bool {
    is_public(address.ip()) || permits.iter().any(|permit| permit.covers(name, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIVATE: &str = "
        0.0.0.0 0.1.2.3 10.9.8.7 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254
        169.254.169.254 168.63.129.16 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1
        192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.9 224.0.0.1 239.255.255.255
        240.0.0.1 255.255.255.255 :: ::1 ::7f00:1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1
        100::1 5f00::1 2001:db8::1 2001:2::1 2001:10::1 2001:1ff::1 3fff::1 3fff:fff::1 4000::1
        ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1
        2002:7f00:1:: 2002:c0a8:101::1 2001:0:7f00:1::f7f7:f7f7 2001:0:808:808::80ff:fffe";
    const PUBLIC: &str = "
        1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.0.0.1 128.0.0.1 169.253.0.1
        172.15.0.1 172.32.0.1 192.0.1.1 198.17.0.1 198.20.0.1 223.255.255.255 2606:4700::1111
        2001:200::1 2a00::1 3fff:1000::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1
        2001:0:808:808::f7f7:f7f7";

    #[test]
    fn only_the_public_net_is_public() {
        for text in PRIVATE.split_whitespace() {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in PUBLIC.split_whitespace() {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    fn may(permit: &str, name: Option<&str>, address: &str) -> bool {
        may_reach(name, address.parse().unwrap(), &[permit.parse().unwrap()])
    }

    #[test]
    fn a_permit_is_for_what_it_names() {
        assert!(may("127.0.0.1:8080", None, "127.0.0.1:8080"));
        assert!(may("127.0.0.1:8080", Some("localhost"), "127.0.0.1:8080"));
        assert!(may("127.0.0.1:8080", None, "[::ffff:127.0.0.1]:8080"));
        assert!(!may("127.0.0.1:8080", None, "127.0.0.1:80"));
        assert!(!may("127.0.0.1:8080", None, "127.0.0.2:8080"));
        assert!(may("127.0.0.1", None, "127.0.0.1:9"));
        assert!(may("10.0.0.0/8", None, "10.255.0.1:1"));
        assert!(!may("10.0.0.0/8", None, "192.168.0.1:1"));
        assert!(may("0.0.0.0/0", None, "192.168.0.1:1"));
        assert!(!may("0.0.0.0/0", None, "[::1]:1"));
        assert!(may("::/0", None, "[::1]:1"));
        assert!(may("[fd00::1]:443", None, "[fd00::1]:443"));
        assert!(may("fd00::/8", None, "[fdff::1]:1"));
        assert!(may("Intranet.Example.", Some("intranet.example"), "10.0.0.1:80"));
        assert!(may("intranet.example:80", Some("intranet.example"), "10.0.0.1:80"));
        assert!(!may("intranet.example:80", Some("intranet.example"), "10.0.0.1:81"));
        assert!(!may("intranet.example", Some("evil.intranet.example"), "10.0.0.1:80"));
        assert!(!may("intranet.example", None, "10.0.0.1:80"));
        assert!(may("büro.example", Some("xn--bro-hoa.example"), "10.0.0.1:80"));
        // What is public needs none.
        assert!(may("intranet.example", None, "1.1.1.1:80"));
    }

    #[test]
    fn what_names_nothing_is_no_permit() {
        for text in [
            "",
            "*",
            "*.example",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "10.0.0.0/8:80",
            "::/129",
            "http://a.example",
            "a.example/x",
            "user@a.example",
            "a.example:",
            "a.example:http",
            "a.example:99999",
            "127.1",
            "0x7f.1",
            "2130706433",
            "[::1",
            "a b",
        ] {
            assert!(text.parse::<Permit>().is_err(), "{text}");
        }
    }
}
