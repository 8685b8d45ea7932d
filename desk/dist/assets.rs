// Made by desk/build.mjs.
[
    ("licences-f74360c9.txt", "text/plain; charset=utf-8", include_bytes!("licences-f74360c9.txt.gz")),
    ("main-IWWBQJJC.js", "text/javascript; charset=utf-8", include_bytes!("main-IWWBQJJC.js.gz")),
    ("main-XWV5B73C.css", "text/css; charset=utf-8", include_bytes!("main-XWV5B73C.css.gz")),
]
