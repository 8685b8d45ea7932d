// Made by ui/elements/build.mjs.
[
    ("ar-OYGCV5ME.js", "text/javascript; charset=utf-8", include_bytes!("ar-OYGCV5ME.js.gz")),
    ("chunk-KAXA333B.js", "text/javascript; charset=utf-8", include_bytes!("chunk-KAXA333B.js.gz")),
    ("de-SX6TK3KI.js", "text/javascript; charset=utf-8", include_bytes!("de-SX6TK3KI.js.gz")),
    ("es-EHQFXDAC.js", "text/javascript; charset=utf-8", include_bytes!("es-EHQFXDAC.js.gz")),
    ("fr-67JXO5IG.js", "text/javascript; charset=utf-8", include_bytes!("fr-67JXO5IG.js.gz")),
    ("ja-G5DKJGJP.js", "text/javascript; charset=utf-8", include_bytes!("ja-G5DKJGJP.js.gz")),
    ("licences-dffbca49.txt", "text/plain; charset=utf-8", include_bytes!("licences-dffbca49.txt.gz")),
    ("panel-H3F2XXJX.js", "text/javascript; charset=utf-8", include_bytes!("panel-H3F2XXJX.js.gz")),
    ("pt-A3ZXLDA6.js", "text/javascript; charset=utf-8", include_bytes!("pt-A3ZXLDA6.js.gz")),
    ("push-subscribe.js", "text/javascript; charset=utf-8", include_bytes!("push-subscribe.js.gz")),
    ("push.js", "text/javascript; charset=utf-8", include_bytes!("push.js.gz")),
    ("ru-QOYW2IB4.js", "text/javascript; charset=utf-8", include_bytes!("ru-QOYW2IB4.js.gz")),
    ("tidings.js", "text/javascript; charset=utf-8", include_bytes!("tidings.js.gz")),
    ("zh-Hans-KX55MM33.js", "text/javascript; charset=utf-8", include_bytes!("zh-Hans-KX55MM33.js.gz")),
]
