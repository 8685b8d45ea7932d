// Made by desk/build.mjs.
[
    ("licences-f74360c9.txt", "text/plain; charset=utf-8", include_bytes!("licences-f74360c9.txt.gz")),
    ("main-I2D27YRH.css", "text/css; charset=utf-8", include_bytes!("main-I2D27YRH.css.gz")),
    ("main-WEA6ZIPW.js", "text/javascript; charset=utf-8", include_bytes!("main-WEA6ZIPW.js.gz")),
    ("zh-Hans-VOR3UBHX.js", "text/javascript; charset=utf-8", include_bytes!("zh-Hans-VOR3UBHX.js.gz")),
]
