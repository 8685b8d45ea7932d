# Common commands; `just --list` shows them. https://just.systems

# The demo, with links to click
demo:
    cargo run --release -- serve --demo

# All tests; includes PostgreSQL and MariaDB if they run
test *filter:
    cargo test --workspace -- {{filter}}

# The checks that CI runs before the tests
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Everything that CI runs
ci:
    .ci/run

# Generates schema.graphql from the code
schema:
    cargo run --quiet -- schema > schema.graphql

# A benchmark: overview, list, mark, send, live, … or report
bench *what:
    cargo run --release -p bench -- {{what}}

# Failures under load, with databases of its own; `just chaos --long`, `just chaos hung postgres`
chaos *options:
    cargo test --release --test chaos -- {{options}}

# Third-party clients against the binary
clients:
    npm ci --prefix tests/clients --ignore-scripts
    npm test --prefix tests/clients

# Builds a release without tagging it
release version:
    .ci/release {{version}} --dry-run
