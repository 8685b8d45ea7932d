// Made by desk/build.mjs.
[
    ("licences-f74360c9.txt", "text/plain; charset=utf-8", include_bytes!("licences-f74360c9.txt.gz")),
    ("main-5LKGZLPX.js", "text/javascript; charset=utf-8", include_bytes!("main-5LKGZLPX.js.gz")),
    ("main-BF4TXWYN.css", "text/css; charset=utf-8", include_bytes!("main-BF4TXWYN.css.gz")),
]
