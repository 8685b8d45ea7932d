//! Tests of requests to WeChat and of how its responses are classified.

use super::errcode::classify_code;
use super::{EgressResponse, FailureVerdict, WeChatClient, check_accepted, fit_value, parse_response, parse_token};
use crate::egress::EgressClient;
use base::config::{EgressConfig, WeChatConfig};

#[test]
fn the_api_stands_where_requests_may_lead() {
    let wechat = |api: &str| {
        let egress = EgressClient::new(&EgressConfig::default()).unwrap();
        WeChatClient::new(egress, &WeChatConfig { api: api.into() }).map_err(|error| error.to_string())
    };
    assert!(wechat("https://api.weixin.qq.com").is_ok() && wechat("https://proxy.example/wechat/").is_ok());
    for (api, why) in [
        ("api.weixin.qq.com", "TIDINGS_WECHAT_API must be an absolute https URL"),
        ("http://api.weixin.qq.com", "TIDINGS_WECHAT_API must begin with https:"),
        ("https://10.0.0.1", "TIDINGS_WECHAT_API must not lead to a private"),
        ("https://proxy.example/?to=wechat", "TIDINGS_WECHAT_API must not have a query"),
    ] {
        let told = wechat(api).unwrap_err();
        assert!(told.starts_with(why), "{told}");
    }
}

#[test]
fn each_code_says_what_can_be_done() {
    let table = [
        (FailureVerdict::Later, vec![-1, 40164, 61004, 99999]),
        (FailureVerdict::Throttled, vec![45011, 43108]),
        (FailureVerdict::Token, vec![40001, 40014, 42001]),
        (FailureVerdict::Contact, vec![40003, 43004, 43019, 43101]),
        (FailureVerdict::Message, vec![40036, 40037, 43116, 47003, 40249]),
        (FailureVerdict::Quota, vec![45009]),
        (FailureVerdict::Account, vec![48001, 40013, 40125, 41004]),
    ];
    for (expected, codes) in table {
        for code in codes {
            assert_eq!(classify_code(code), Some(expected), "{code}");
        }
    }
    assert_eq!(classify_code(0), None);
}

#[test]
fn a_value_fits_its_field() {
    let digits = "1234567890".repeat(5);
    for (name, value, expected) in [
        ("thing1", "Your order is on its", "Your order is on its"),
        ("thing12", "Your order is on its way", "Your order is on it…"),
        ("thing2", "您的订单已经发货请注意查收谢谢您的支持与信任", "您的订单已经发货请注意查收谢谢您的支持…"),
        (
            "thing2",
            "Our 👨\u{200D}👩\u{200D}👧 and their 👨\u{200D}👩\u{200D}👧",
            "Our 👨\u{200D}👩\u{200D}👧 and their…",
        ),
        ("phrase3", "已经👨\u{200D}👩\u{200D}👧", "已经"),
        ("phrase3", "👨\u{200D}👩\u{200D}👧\u{200D}👦", "无"),
        ("thing4", "\u{200B}\u{202E}", "-"),
        ("thing4", "a\u{202E}b", "a\u{202E}b\u{202C}"),
        ("thing3", " two\r\n lines\t\u{7}", "two lines"),
        ("thing4", "", "-"),
        ("thing4", " \n ", "-"),
        ("const1", &digits, "1234567890123456789…"),
        ("phrase1", "已经发货了吗", "已经发货了"),
        ("phrase2", "", "无"),
        ("character_string7", &digits, "12345678901234567890123456789..."),
        ("character_string", &digits[..32], &digits[..32]),
        ("letter1", &"a".repeat(40), &"a".repeat(32)),
        ("symbol1", "++++++", "+++++"),
        ("name1", "欧阳修司马光王安石苏东坡", "欧阳修司马光王安石…"),
        ("name1", "Augusta Ada King", "Augusta Ada King"),
        ("name1", "Augusta Ada King, Countess", "Augusta Ada King, C…"),
        ("amount3", "¥1,234.50元", "¥1,234.50元"),
        ("number1", &digits, &digits),
        ("phone_number1", "+86-0766-66888866", "+86-0766-66888866"),
        ("car_number1", "粤A8Z888挂", "粤A8Z888挂"),
        ("time4", "2026年11月21日 16:00", "2026年11月21日 16:00"),
        ("date1", "", "-"),
        ("keyword1", &digits, &digits),
    ] {
        assert_eq!(fit_value(name, value), expected, "{name}: {value}");
    }
}

/// A successful HTTP response.
fn answer(text: &str) -> EgressResponse {
    EgressResponse { status: 200, body: text.as_bytes().to_vec(), retry_after: None, is_private: false }
}

#[test]
fn only_wechat_says_that_it_has_taken_a_message() {
    for (text, why) in [
        ("{\"errcode\":0,\"errmsg\":\"ok\",\"msgid\":123456789012345678901234567890}", None),
        ("{}", Some("WeChat answered without a code")),
        ("{\"message\":\"signed in\"}", Some("WeChat answered without a code")),
        ("", Some("WeChat's answer is not JSON")),
        ("[0]", Some("WeChat's answer is not JSON")),
    ] {
        let told = parse_response(&answer(text)).and_then(|said| check_accepted(&said)).err();
        assert_eq!(told.as_ref().map(|of| of.told.as_str()), why, "{text}");
        assert!(told.is_none_or(|of| of.verdict == FailureVerdict::Later), "{text}");
    }
}

#[test]
fn a_token_is_used_for_a_while_whatever_is_said_of_its_end() {
    for (seconds, lasts) in [(7200, 6_900_000), (600, 300_000), (60, 30_000), (0, 10_000), (u64::MAX, 86_100_000)] {
        let text = format!("{{\"access_token\":\"a-1\",\"expires_in\":{seconds}}}");
        assert_eq!(parse_response(&answer(&text)).and_then(parse_token).unwrap().lasts, lasts, "{seconds}");
    }
}
