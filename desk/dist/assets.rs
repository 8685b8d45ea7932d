// Made by desk/build.mjs.
[
    ("licences-f74360c9.txt", "text/plain; charset=utf-8", include_bytes!("licences-f74360c9.txt.gz")),
    ("main-IV4YH3UH.css", "text/css; charset=utf-8", include_bytes!("main-IV4YH3UH.css.gz")),
    ("main-U437Z2KK.js", "text/javascript; charset=utf-8", include_bytes!("main-U437Z2KK.js.gz")),
    ("zh-Hans-P7X5GFHL.js", "text/javascript; charset=utf-8", include_bytes!("zh-Hans-P7X5GFHL.js.gz")),
]
