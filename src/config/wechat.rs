//! Where WeChat is.

use clap::Args;

/// Settings of messages by WeChat.
#[derive(Args, Clone, Debug)]
pub struct WeChatConfig {
    /// URL of the API of WeChat, or of a proxy that leads there: what is asked of it follows as `/cgi-bin/…`.
    #[arg(
        id = "wechat_api",
        long = "wechat-api",
        env = "TIDINGS_WECHAT_API",
        default_value = "https://api.weixin.qq.com"
    )]
    pub api: String,
}
