//! A TCP proxy between nodes and databases: one address with a target that can change.

use std::net::TcpListener as Listener;
use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A proxy that runs until it is dropped.
pub struct Switch {
    pub address: String,
    target: Arc<watch::Sender<String>>,
    serving: JoinHandle<()>,
}

impl Switch {
    /// Starts a proxy to this address.
    pub fn to(target: &str) -> Self {
        let listener = Listener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address").to_string();
        listener.set_nonblocking(true).expect("it is a socket");
        let listener = TcpListener::from_std(listener).expect("it is a socket");
        let target = Arc::new(watch::Sender::new(target.to_owned()));
        let serving = tokio::spawn(serve(listener, target.clone()));
        Self { address, target, serving }
    }

    /// Changes the target and closes the connections to the previous one.
    pub fn turn(&self, target: &str) {
        self.target.send_replace(target.to_owned());
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, target: Arc<watch::Sender<String>>) {
    loop {
        let Ok((mut client, _)) = listener.accept().await else { continue };
        let mut turned = target.subscribe();
        let leads_to = turned.borrow_and_update().clone();
        tokio::spawn(async move {
            let carried = async {
                let mut server = TcpStream::connect(leads_to).await?;
                copy_bidirectional(&mut client, &mut server).await
            };
            tokio::select! {
                carried = carried => drop(carried),
                turned = turned.changed() => drop(turned),
            }
        });
    }
}
