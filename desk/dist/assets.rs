// Made by desk/build.mjs.
[
    ("licences-f74360c9.txt", "text/plain; charset=utf-8", include_bytes!("licences-f74360c9.txt.gz")),
    ("main-C4PQVOZU.css", "text/css; charset=utf-8", include_bytes!("main-C4PQVOZU.css.gz")),
    ("main-JBF746S5.js", "text/javascript; charset=utf-8", include_bytes!("main-JBF746S5.js.gz")),
]
