// Made by desk/build.mjs.
[
    ("licences-f74360c9.txt", "text/plain; charset=utf-8", include_bytes!("licences-f74360c9.txt.gz")),
    ("main-LH2IIXB5.css", "text/css; charset=utf-8", include_bytes!("main-LH2IIXB5.css.gz")),
    ("main-ZLKVJTKJ.js", "text/javascript; charset=utf-8", include_bytes!("main-ZLKVJTKJ.js.gz")),
    ("zh-Hans-JJUFAK4L.js", "text/javascript; charset=utf-8", include_bytes!("zh-Hans-JJUFAK4L.js.gz")),
]
