// Made by desk/build.mjs.
[
    ("licences-f74360c9.txt", "text/plain; charset=utf-8", include_bytes!("licences-f74360c9.txt.gz")),
    ("main-I6OYBKZX.css", "text/css; charset=utf-8", include_bytes!("main-I6OYBKZX.css.gz")),
    ("main-JJ4RKFLD.js", "text/javascript; charset=utf-8", include_bytes!("main-JJ4RKFLD.js.gz")),
]
