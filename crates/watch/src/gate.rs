//! Every request passes here: it must come for this machine, or bring the token. Answers leave with headers that forbid
//! the page anything from elsewhere.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// Everything from this server, nothing from any other.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Who may pass.
#[derive(Debug, Clone)]
pub struct Gate {
    token: Option<Arc<str>>,
    cookie: Arc<str>,
}

impl Gate {
    /// Whoever brings `token`; without one, whoever asks for this machine by a name that cannot lead elsewhere.
    /// Browsers keep cookies by machine, not by port, so the port is in the cookie's name.
    pub fn new(token: Option<&str>, port: u16) -> Self {
        Self { token: token.map(Arc::from), cookie: format!("sane_watch_{port}").into() }
    }
}

/// The check, as a layer of the router.
pub async fn pass(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let mut response = match gate.judge(&request) {
        Verdict::Pass => next.run(request).await,
        Verdict::Welcome(cookie) => welcome(cookie),
        Verdict::Refuse(status, reason) => (status, format!("{reason}\n")).into_response(),
    };
    let always: [(HeaderName, &str); 4] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in always {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

enum Verdict {
    Pass,
    /// The address with the token was opened: it is kept in a cookie and leaves the address.
    Welcome(HeaderValue),
    Refuse(StatusCode, &'static str),
}

impl Gate {
    fn judge(&self, request: &Request) -> Verdict {
        let headers = request.headers();
        let Some(token) = &self.token else {
            if asks_for_this_machine(headers) {
                return Verdict::Pass;
            }
            // A page from elsewhere whose name was made to lead here must not read what is here.
            return Verdict::Refuse(
                StatusCode::FORBIDDEN,
                "this page answers to localhost; `sane watch --host` serves others",
            );
        };
        let in_address = request.uri().query().and_then(|query| value(query.split('&'), "token"));
        if in_address.is_some_and(|given| equal(given, token)) {
            let cookie = format!("{}={token}; HttpOnly; SameSite=Strict; Path=/", self.cookie);
            return match HeaderValue::from_str(&cookie) {
                Ok(cookie) if request.uri().path() == "/" => Verdict::Welcome(cookie),
                _ => Verdict::Pass,
            };
        }
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let in_cookie = text(COOKIE).and_then(|cookies| value(cookies.split(';').map(str::trim), &self.cookie));
        let in_header = text(AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        if in_cookie.into_iter().chain(in_header).any(|given| equal(given, token)) {
            return Verdict::Pass;
        }
        Verdict::Refuse(StatusCode::UNAUTHORIZED, "a token is needed: open the address that `sane watch` printed")
    }
}

/// Digests of BLAKE3 compare in constant time, and so the time of the answer tells nothing about the token.
fn equal(given: &str, token: &str) -> bool {
    blake3::hash(given.as_bytes()) == blake3::hash(token.as_bytes())
}

fn value<'a>(mut pairs: impl Iterator<Item = &'a str>, name: &str) -> Option<&'a str> {
    pairs.find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value))
}

fn asks_for_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn welcome(cookie: HeaderValue) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(LOCATION, HeaderValue::from_static("/"));
    response.headers_mut().insert(SET_COOKIE, cookie);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str, header: (HeaderName, &str)) -> Request {
        axum::http::Request::builder().uri(path).header(header.0, header.1).body(Body::empty()).unwrap()
    }

    fn passes(gate: &Gate, path: &str, header: (HeaderName, &str)) -> bool {
        matches!(gate.judge(&request(path, header)), Verdict::Pass | Verdict::Welcome(_))
    }

    #[test]
    fn without_a_token_only_names_of_this_machine_are_answered() {
        let gate = Gate::new(None, 1);
        for host in ["localhost", "localhost:7263", "127.0.0.1:1", "[::1]:80", "127.0.0.2"] {
            assert!(passes(&gate, "/", (HOST, host)), "{host}");
        }
        for host in ["example.org", "localhost.example.org", "192.168.1.5:7263", "", "[::2]:1"] {
            assert!(!passes(&gate, "/", (HOST, host)), "{host}");
        }
    }

    #[test]
    fn the_token_is_taken_from_address_cookie_or_header_and_no_other_will_do() {
        let gate = Gate::new(Some("secret"), 80);
        assert!(matches!(gate.judge(&request("/?token=secret", (HOST, "x"))), Verdict::Welcome(_)));
        assert!(passes(&gate, "/api/runs?x=1&token=secret", (HOST, "x")));
        assert!(passes(&gate, "/", (COOKIE, "a=b; sane_watch_80=secret")));
        assert!(passes(&gate, "/", (AUTHORIZATION, "Bearer secret")));
        for (path, header) in [
            ("/", (HOST, "localhost")),
            ("/?token=", (HOST, "x")),
            ("/?token=secre", (HOST, "x")),
            ("/?token=secrets", (HOST, "x")),
            ("/", (COOKIE, "sane_watch_81=secret")),
            ("/", (AUTHORIZATION, "secret")),
        ] {
            assert!(!passes(&gate, path, header), "{path}");
        }
    }
}
