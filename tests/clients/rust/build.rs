fn main() {
    let schema = "../../../schema.graphql";
    println!("cargo:rerun-if-changed={schema}");
    let registered = cynic_codegen::register_schema("tidings").from_sdl_file(schema);
    registered.expect("the schema is readable").as_default().expect("one schema is the default");
}
