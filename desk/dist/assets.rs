// Made by desk/build.mjs.
[
    ("licences-f74360c9.txt", "text/plain; charset=utf-8", include_bytes!("licences-f74360c9.txt.gz")),
    ("main-DSKXVP3R.js", "text/javascript; charset=utf-8", include_bytes!("main-DSKXVP3R.js.gz")),
    ("main-I2D27YRH.css", "text/css; charset=utf-8", include_bytes!("main-I2D27YRH.css.gz")),
    ("zh-Hans-P7X5GFHL.js", "text/javascript; charset=utf-8", include_bytes!("zh-Hans-P7X5GFHL.js.gz")),
]
