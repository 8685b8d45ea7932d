// Made by desk/build.mjs.
[
    ("licences-f74360c9.txt", "text/plain; charset=utf-8", include_bytes!("licences-f74360c9.txt.gz")),
    ("main-BF4TXWYN.css", "text/css; charset=utf-8", include_bytes!("main-BF4TXWYN.css.gz")),
    ("main-PBUJFOU4.js", "text/javascript; charset=utf-8", include_bytes!("main-PBUJFOU4.js.gz")),
]
