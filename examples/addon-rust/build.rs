//! Compiles kit.c, the few functions of node-dlpack's C header that src/kit.rs calls.

use std::process::Command;

/// What node prints for an expression; packages are found from this folder.
fn node(expression: &str) -> String {
    let output = Command::new("node").args(["-p", expression]).output().expect("node runs");
    assert!(output.status.success(), "node -p \"{expression}\" failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a path").trim_end().to_owned()
}

fn main() {
    napi_build::setup();
    cc::Build::new()
        .file("kit.c")
        .include(node("require('node-dlpack/include-dir').includeDir"))
        .include(node("require('node-api-headers').include_dir"))
        .define("NAPI_VERSION", "8")
        .std("c11")
        .compile("kit");
    println!("cargo:rerun-if-changed=kit.c");
}
