// Made by desk/build.mjs.
[
    ("licences-f74360c9.txt", "text/plain; charset=utf-8", include_bytes!("licences-f74360c9.txt.gz")),
    ("main-D6RBH6DM.css", "text/css; charset=utf-8", include_bytes!("main-D6RBH6DM.css.gz")),
    ("main-KSOAPJPY.js", "text/javascript; charset=utf-8", include_bytes!("main-KSOAPJPY.js.gz")),
]
