// Made by desk/build.mjs.
[
    ("licences-f74360c9.txt", "text/plain; charset=utf-8", include_bytes!("licences-f74360c9.txt.gz")),
    ("main-LH2IIXB5.css", "text/css; charset=utf-8", include_bytes!("main-LH2IIXB5.css.gz")),
    ("main-ZMROTZJ5.js", "text/javascript; charset=utf-8", include_bytes!("main-ZMROTZJ5.js.gz")),
    ("zh-Hans-2WBZ6Z6X.js", "text/javascript; charset=utf-8", include_bytes!("zh-Hans-2WBZ6Z6X.js.gz")),
]
