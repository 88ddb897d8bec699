//! Authorisation of requests: they must address this machine by a loopback name, or carry the token. Responses get headers
//! that forbid the page to load anything from another server.

use crate::connections::Connection;
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

/// Everything from this server, nothing from others.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Which requests are answered.
#[derive(Debug, Clone)]
pub struct Auth {
    token: Option<Arc<str>>,
    cookie: Arc<str>,
}

impl Auth {
    /// Requests with `token`; without one, requests to a loopback name. Browsers keep cookies by host, not by port, so the
    /// port is in the cookie's name.
    pub fn new(token: Option<&str>, port: u16) -> Self {
        Self { token: token.map(Arc::from), cookie: format!("sane_watch_{port}").into() }
    }
}

/// The check, as a layer of the router.
pub async fn check(State(auth): State<Auth>, request: Request, next: Next) -> Response {
    let decision = auth.decide(&request);
    if let (Decision::Allow | Decision::SetCookie(_), Some(connection)) =
        (&decision, request.extensions().get::<Connection>())
    {
        connection.authorise();
    }
    let mut response = match decision {
        Decision::Allow => next.run(request).await,
        Decision::SetCookie(cookie) => redirect_with_cookie(cookie),
        Decision::Deny(status, reason) => (status, format!("{reason}\n")).into_response(),
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

enum Decision {
    Allow,
    /// The URL with the token was opened: the token is kept in a cookie, and the browser redirected to the URL without it.
    SetCookie(HeaderValue),
    Deny(StatusCode, &'static str),
}

impl Auth {
    fn decide(&self, request: &Request) -> Decision {
        let headers = request.headers();
        let Some(token) = &self.token else {
            if has_loopback_host(headers) {
                return Decision::Allow;
            }
            // DNS rebinding: a page of another site whose name resolves to this machine must not read the runs.
            return Decision::Deny(
                StatusCode::FORBIDDEN,
                "this page answers to localhost; `sane watch --host` serves others",
            );
        };
        let in_url = request.uri().query().and_then(|query| value(query.split('&'), "token"));
        if in_url.is_some_and(|given| equal(given, token)) {
            let cookie = format!("{}={token}; HttpOnly; SameSite=Strict; Path=/", self.cookie);
            return match HeaderValue::from_str(&cookie) {
                Ok(cookie) if request.uri().path() == "/" => Decision::SetCookie(cookie),
                _ => Decision::Allow,
            };
        }
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let in_cookie = text(COOKIE).and_then(|cookies| value(cookies.split(';').map(str::trim), &self.cookie));
        let in_header = text(AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        if in_cookie.into_iter().chain(in_header).any(|given| equal(given, token)) {
            return Decision::Allow;
        }
        Decision::Deny(StatusCode::UNAUTHORIZED, "a token is needed: open the address that `sane watch` printed")
    }
}

/// BLAKE3 digests compare in constant time, so that response times reveal nothing about the token.
fn equal(given: &str, token: &str) -> bool {
    blake3::hash(given.as_bytes()) == blake3::hash(token.as_bytes())
}

fn value<'a>(mut pairs: impl Iterator<Item = &'a str>, name: &str) -> Option<&'a str> {
    pairs.find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value))
}

fn has_loopback_host(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn redirect_with_cookie(cookie: HeaderValue) -> Response {
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

    fn passes(auth: &Auth, path: &str, header: (HeaderName, &str)) -> bool {
        matches!(auth.decide(&request(path, header)), Decision::Allow | Decision::SetCookie(_))
    }

    #[test]
    fn without_a_token_only_loopback_names_are_answered() {
        let auth = Auth::new(None, 1);
        for host in ["localhost", "localhost:7263", "127.0.0.1:1", "[::1]:80", "127.0.0.2"] {
            assert!(passes(&auth, "/", (HOST, host)), "{host}");
        }
        for host in ["example.org", "localhost.example.org", "192.168.1.5:7263", "", "[::2]:1"] {
            assert!(!passes(&auth, "/", (HOST, host)), "{host}");
        }
    }

    #[test]
    fn the_token_is_accepted_from_url_cookie_or_header_and_no_other_token_is() {
        let auth = Auth::new(Some("secret"), 80);
        assert!(matches!(auth.decide(&request("/?token=secret", (HOST, "x"))), Decision::SetCookie(_)));
        assert!(passes(&auth, "/api/runs?x=1&token=secret", (HOST, "x")));
        assert!(passes(&auth, "/", (COOKIE, "a=b; sane_watch_80=secret")));
        assert!(passes(&auth, "/", (AUTHORIZATION, "Bearer secret")));
        for (path, header) in [
            ("/", (HOST, "localhost")),
            ("/?token=", (HOST, "x")),
            ("/?token=secre", (HOST, "x")),
            ("/?token=secrets", (HOST, "x")),
            ("/", (COOKIE, "sane_watch_81=secret")),
            ("/", (AUTHORIZATION, "secret")),
        ] {
            assert!(!passes(&auth, path, header), "{path}");
        }
    }
}
