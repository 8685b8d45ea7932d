//! A proxy that delays every response, to simulate a distant database.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::Result;

/// Listens for connections to `database` and delays its responses by `delay`; the gaps between responses stay the same.
pub async fn delay(database: SocketAddr, delay: Duration) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pass(client, database, delay));
        }
    });
    Ok(address)
}

async fn pass(client: TcpStream, database: SocketAddr, delay: Duration) -> Result<()> {
    let database = TcpStream::connect(database).await?;
    client.set_nodelay(true)?;
    database.set_nodelay(true)?;
    let ((mut asked, mut told), (mut answered, mut asking)) = (client.into_split(), database.into_split());
    let (late, mut due) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move { tokio::io::copy(&mut asked, &mut asking).await });
    tokio::spawn(async move {
        while let Some((at, bytes)) = due.recv().await {
            sleep_until(at).await;
            if told.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = answered.read(&mut buffer).await?;
        if read == 0 || late.send((Instant::now() + delay, buffer[..read].to_vec())).is_err() {
            return Ok(());
        }
    }
}
