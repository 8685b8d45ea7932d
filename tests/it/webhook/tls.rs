//! Receivers with valid and invalid certificates.
//!
//! `testdata/receiver.pem` is a certificate of 127.0.0.1, valid until the year 2126, from the authority in
//! `testdata/authority.pem`. No system trusts that authority, and its private key was not kept.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use delivery::workers::DeliveryWorkers;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use super::receiver::Receiver;
use super::{Endpoint, create, deliveries, look_at, settle};
use crate::support::{KEY, Kind, PATIENCE, Process, everyone, with};

const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/webhook/testdata/authority.pem");

struct Encrypted {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for Encrypted {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((connection, address)) = self.listener.accept().await else { continue };
            // A client that does not trust the certificate disconnects.
            if let Ok(connection) = self.acceptor.accept(connection).await {
                return (connection, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// Starts a receiver with the certificate; returns it and its port.
async fn encrypted() -> (Receiver, u16) {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("testdata/receiver.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("testdata/receiver.key")).unwrap();
    let config =
        ServerConfig::builder_with_provider(Arc::new(default_provider())).with_safe_default_protocol_versions();
    let config = config.unwrap().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    (Receiver::over(Encrypted { listener, acceptor }, format!("https://127.0.0.1:{port}/hook")), port)
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused_and_the_error_says_so() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("news").await;
        let (receiver, _) = encrypted().await;
        let endpoint = create(app, &receiver.url, json!({})).await;
        app.service().announce("news", everyone(), "x").await;
        settle(app, &DeliveryWorkers::default()).await;
        let failed = look_at(app, &endpoint, "lastError lastStatus").await;
        let error = "could not connect: invalid peer certificate: UnknownIssuer";
        assert_eq!(failed, json!({ "lastError": error, "lastStatus": null }));
        assert_eq!(receiver.many(), 0);
    })
    .await;
}

#[tokio::test]
async fn whom_an_authority_of_the_system_knows_is_sent_to_and_nobody_else_by_their_certificate() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("news").await;
        let (receiver, port) = encrypted().await;
        let known = create(app, &receiver.url, json!({})).await;
        let other = create(app, &format!("https://localhost:{port}/hook"), json!({})).await;
        let allowed = "127.0.0.1,localhost";
        let further = [("TIDINGS_KEY", KEY), ("TIDINGS_EGRESS_ALLOW", allowed), ("SSL_CERT_FILE", AUTHORITY)];
        let node = Process::start_with(app.app.config.database.url(), &further, None).await;
        let input = json!({ "type": "news", "receiver": "ada", "content": { "title": "x" } });
        let send = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { replayed } }";
        node.ask(&app.service().token, send, json!({ "input": input })).await.unwrap();
        let error = async |of: &Endpoint| look_at(app, of, "lastError").await["lastError"].take();
        for _ in 0..PATIENCE.as_millis() / 10 {
            let delivered = deliveries(app, json!({ "endpoint": known.id, "states": ["DELIVERED"] }), "id").await;
            if !delivered.is_empty() && !error(&other).await.is_null() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        let got = receiver.take();
        assert!(got.len() == 1 && got[0].is_signed_by(&known.secret));
        let failed = error(&other).await;
        assert!(failed.as_str().unwrap().contains("not valid for name \"localhost\""), "{failed}");
    })
    .await;
}
