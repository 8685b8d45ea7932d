//! `tidings health`: a health check for containers that have neither a shell nor curl.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::output::print_line;
use base::config::ListenConfig;
use base::error::{Error, Result};

/// Time limit for connecting and reading the response.
const PATIENCE: Duration = Duration::from_secs(2);

/// Maximum bytes read of a response.
const ANSWER: u64 = 4096;

/// Options of `tidings health`.
#[derive(Args)]
pub struct HealthCommand {
    #[command(flatten)]
    listen: ListenConfig,
    /// Ask whether the server is ready to serve (`/readyz`), not only whether it is alive (`/healthz`).
    #[arg(long)]
    ready: bool,
}

impl HealthCommand {
    /// Sends the request and prints the response. Fails unless the status is 200.
    pub async fn run(self) -> Result<()> {
        let address = reachable_address(self.listen.admin.unwrap_or(self.listen.address));
        let path = if self.ready { "/readyz" } else { "/healthz" };
        let failed = |why: String| Error::Unavailable(format!("http://{address}{path}: {why}"));
        let answer = timeout(PATIENCE, send_request(address, path)).await;
        let answer = answer.map_err(|_| failed(format!("no answer in {} s", PATIENCE.as_secs())))?;
        let answer = answer.map_err(|error| failed(error.to_string()))?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        if head.split(' ').nth(1) != Some("200") {
            let status = head.lines().next().unwrap_or_default();
            return Err(failed(match (status, body.trim()) {
                ("", _) => "the connection was closed without an answer".into(),
                (status, "") => format!("the answer is {status:?}"),
                (_, body) => body.to_owned(),
            }));
        }
        print_line(body)
    }
}

/// Replaces an unspecified address (`0.0.0.0`, `::`) by the loopback address.
fn reachable_address(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

async fn send_request(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
