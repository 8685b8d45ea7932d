//! URL of the WeChat API.

use clap::Args;

/// Settings of WeChat messages.
#[derive(Args, Clone, Debug)]
pub struct WeChatConfig {
    /// URL of the WeChat API, or of a proxy to it; the server appends `/cgi-bin/…`.
    #[arg(
        id = "wechat_api",
        long = "wechat-api",
        env = "TIDINGS_WECHAT_API",
        default_value = "https://api.weixin.qq.com"
    )]
    pub api: String,
}
