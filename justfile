# What people run here; `just --list` shows it. https://just.systems

# The demo, with links to click
demo:
    cargo run --release -- serve --demo

# All tests; PostgreSQL and MariaDB where they answer
test *filter:
    cargo test --workspace -- {{filter}}

# What CI does before the tests
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Everything that CI does
ci:
    .ci/run

# schema.graphql as the code has it
schema:
    cargo run --quiet -- schema > schema.graphql

# Plans of the statements of the data path, on an empty database
plans database:
    cargo run --release --example plans -- {{database}}

# A benchmark: overview, list, mark, send, live, … or report
bench *what:
    cargo run --release -p bench -- {{what}}

# Bad days under load, over databases of its own; `just chaos --long`, `just chaos hung postgres`
chaos *options:
    cargo test --release --test chaos -- {{options}}

# Programs of others against the binary
clients:
    npm ci --prefix tests/clients --ignore-scripts
    npm test --prefix tests/clients

# What a release would be, without its tag
release version:
    .ci/release {{version}} --dry-run
