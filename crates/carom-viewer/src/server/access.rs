//! Who may ask: those who know the token, from the page that the server itself has given out.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, StatusCode, Uri, header};

/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// A refusal: status and sentence.
pub(super) type Refusal = (StatusCode, &'static str);

/// A token that nobody can guess, as hexadecimal digits.
pub(super) fn random_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes)?;
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    Ok(digits.map(digit).collect())
}

/// Host and port as they stand in an address. A server on all interfaces is opened through the loopback one.
pub(super) fn authority(host: &str, address: SocketAddr) -> String {
    let port = address.port();
    if address.ip().is_unspecified() {
        return match address.ip() {
            IpAddr::V4(_) => format!("127.0.0.1:{port}"),
            IpAddr::V6(_) => format!("[::1]:{port}"),
        };
    }
    let is_number = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    if is_number {
        address.to_string()
    } else {
        format!("{host}:{port}")
    }
}

/// What a request must bring.
#[derive(Debug)]
pub(super) struct Access {
    token: String,
    /// The name that the server was told to listen on.
    host: String,
    address: SocketAddr,
}

impl Access {
    pub(super) fn new(host: &str, address: SocketAddr, token: String) -> Self {
        Self {
            token,
            host: host.to_ascii_lowercase(),
            address,
        }
    }

    /// The page: host and token.
    pub(super) fn check_page(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        self.check_host(headers)?;
        self.check_token(uri)
    }

    /// The websocket: host, token, and that it is our page which asks.
    pub(super) fn check_socket(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = self.check_host(headers)?;
        self.check_token(uri)?;
        let origin = single(headers, &header::ORIGIN).unwrap_or_default();
        let own = origin.strip_prefix("http://");
        if own.is_some_and(|origin| origin.eq_ignore_ascii_case(host)) {
            Ok(())
        } else {
            Err((
                StatusCode::FORBIDDEN,
                "the websocket is for the viewer's own page\n",
            ))
        }
    }

    /// A name that another site has pointed at this machine is not ours, whatever address it stands for.
    fn check_host<'a>(&self, headers: &'a HeaderMap) -> Result<&'a str, Refusal> {
        let host = single(headers, &header::HOST).unwrap_or_default();
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        let name = name.to_ascii_lowercase();
        let is_own = port == Some(self.address.port()) && self.is_own_name(&name);
        let refusal = (StatusCode::FORBIDDEN, "this is not the viewer's address\n");
        if is_own { Ok(host) } else { Err(refusal) }
    }

    fn is_own_name(&self, name: &str) -> bool {
        let number: Option<IpAddr> = name.trim_matches(['[', ']']).parse().ok();
        let is_loopback = name == "localhost" || number.is_some_and(|number| number.is_loopback());
        // Nobody can point a number at us by way of a name server.
        let is_public_number = !self.address.ip().is_loopback() && number.is_some();
        is_loopback || name == self.host || is_public_number
    }

    fn check_token(&self, uri: &Uri) -> Result<(), Refusal> {
        let pairs = uri.query().unwrap_or_default().split('&');
        let mut tokens = pairs.filter_map(|pair| pair.strip_prefix("token="));
        let given = tokens.next().unwrap_or_default();
        if equal_in_constant_time(given.as_bytes(), self.token.as_bytes()) {
            Ok(())
        } else {
            Err((
                StatusCode::FORBIDDEN,
                "the address lacks the right token; open the one that the program printed\n",
            ))
        }
    }
}

/// A header that is there once and is text.
fn single<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(first)
}

/// The time this takes says nothing about where two texts of the same length differ.
fn equal_in_constant_time(first: &[u8], second: &[u8]) -> bool {
    if first.len() != second.len() {
        return false;
    }
    let pairs = first.iter().zip(second);
    let difference = pairs.fold(0, |difference, (a, b)| {
        std::hint::black_box(difference | (a ^ b))
    });
    difference == 0
}

#[cfg(test)]
mod tests;
