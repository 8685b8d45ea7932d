//! The exported schema.

#[test]
fn the_exported_schema_is_current() {
    let exported = include_str!("../../schema.graphql");
    let is_current = exported == tidings::graphql::Schema::export_sdl();
    assert!(is_current, "schema.graphql is not current: run `cargo run -- schema > schema.graphql`");
}
