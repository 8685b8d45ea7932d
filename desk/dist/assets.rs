// Made by desk/build.mjs.
[
    ("licences-f74360c9.txt", "text/plain; charset=utf-8", include_bytes!("licences-f74360c9.txt.gz")),
    ("main-DJDYGYUX.css", "text/css; charset=utf-8", include_bytes!("main-DJDYGYUX.css.gz")),
    ("main-WPWXAHUK.js", "text/javascript; charset=utf-8", include_bytes!("main-WPWXAHUK.js.gz")),
]
