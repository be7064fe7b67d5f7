//! `ringfence metrics`: what is enforced on this machine now, for Prometheus.

mod exposition;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use ringfence_linux::interruption::Interruption;
use ringfence_linux::live;
use tiny_http::{Header, Method, Request, Response, Server};

use super::top::state_folder;
use crate::arguments::Metrics;
use crate::outcome::{Failure, Outcome};

/// How soon a signal ends it.
const LOOK: Duration = Duration::from_millis(500);

/// Serves until it is interrupted. Each request takes a look of its own.
pub fn run(arguments: &Metrics) -> Result<Outcome, Failure> {
    let folder = state_folder()?;
    let error = |error: io::Error| Failure::Error(error.to_string());
    let interruption = Interruption::watch().map_err(error)?;
    let server = listen(arguments.listen)?;
    eprintln!("serving http://{}/metrics", server.server_addr());
    serve(&server, &folder, || interruption.signal().is_some()).map_err(error)?;
    Ok(Outcome::Pass)
}

fn serve(server: &Server, folder: &Path, ends: impl Fn() -> bool) -> io::Result<()> {
    while !ends() {
        if let Some(request) = server.recv_timeout(LOOK)? {
            answer(request, folder);
        }
    }
    Ok(())
}

fn listen(address: SocketAddr) -> Result<Server, Failure> {
    Server::http(address).map_err(|error| {
        Failure::Error(format!(
            "--listen: found {address}, expected an address of this machine and a free port: {error}"
        ))
    })
}

/// One that does not read its answer, or does not finish its request, is in nobody's way: the
/// server has a thread for each connection.
fn answer(request: Request, folder: &Path) {
    let path = request.url().split('?').next().unwrap_or_default();
    let is_get = matches!(request.method(), Method::Get | Method::Head);
    let (status, content_type, text) = match (is_get, path) {
        (true, "/metrics") => metrics(folder),
        (true, _) => (404, "text/plain", "only /metrics is here\n".to_owned()),
        (false, _) => (405, "text/plain", "only GET is done here\n".to_owned()),
    };
    let content_type =
        Header::from_bytes("Content-Type", content_type).expect("the header is ASCII");
    let response = Response::from_string(text)
        .with_status_code(status)
        .with_header(content_type);
    // Who asked may have gone.
    let _ = request.respond(response);
}

/// What cannot be seen is an error of this exporter, and what nobody enforces is none.
fn metrics(folder: &Path) -> (u16, &'static str, String) {
    let seen = match live::find(folder) {
        Ok(snapshot) => Some(snapshot),
        Err(live::LiveError::Nothing) => None,
        Err(error) => return (500, "text/plain", format!("{error}\n")),
    };
    match exposition::text(seen.as_ref()) {
        Ok(text) => (200, exposition::CONTENT_TYPE, text),
        Err(error) => (500, "text/plain", format!("{error}\n")),
    }
}
