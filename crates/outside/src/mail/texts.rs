//! Fixed texts of emails and of the pages linked from them. Senders write the rest.

/// The texts of one language, which is written from left to right.
#[derive(Debug)]
pub struct MailTexts {
    /// A BCP 47 tag.
    pub language: &'static str,
    /// Label of the link to unsubscribe.
    pub link: &'static str,
    /// Question on the page to unsubscribe.
    pub ask: &'static str,
    /// Hint that the notifications remain in the application.
    pub stays: &'static str,
    /// Label of the button to unsubscribe.
    pub button: &'static str,
    /// Confirmation.
    pub done: &'static str,
    /// Emails of this kind cannot be switched off.
    pub mandatory: &'static str,
    /// The link is invalid.
    pub unknown: &'static str,
    /// Subject of a digest: for one message, and for several with their number in place of `{}`.
    unread: [&'static str; 2],
    /// Number of messages that the digest leaves out: one, and several.
    more: [&'static str; 2],
}

/// The first entry is the default.
const ALL: [MailTexts; 9] = [
    MailTexts {
        language: "en",
        link: "No more emails of this kind",
        ask: "No more emails of this kind?",
        stays: "You still see these notifications in the application.",
        button: "Unsubscribe",
        done: "You will get no more emails of this kind.",
        mandatory: "Emails of this kind cannot be switched off.",
        unknown: "This link is not valid.",
        unread: ["1 unread message", "{} unread messages"],
        more: ["and 1 more", "and {} more"],
    },
    MailTexts {
        language: "de",
        link: "Keine E-Mails dieser Art mehr",
        ask: "Keine E-Mails dieser Art mehr?",
        stays: "Die Benachrichtigungen sehen Sie weiterhin in der Anwendung.",
        button: "Abbestellen",
        done: "Sie erhalten keine E-Mails dieser Art mehr.",
        mandatory: "E-Mails dieser Art können nicht abbestellt werden.",
        unknown: "Dieser Link ist ungültig.",
        unread: ["1 ungelesene Nachricht", "{} ungelesene Nachrichten"],
        more: ["und 1 weitere", "und {} weitere"],
    },
    MailTexts {
        language: "fr",
        link: "Ne plus recevoir d’e-mails de ce type",
        ask: "Ne plus recevoir d’e-mails de ce type ?",
        stays: "Vous verrez toujours ces notifications dans l’application.",
        button: "Se désabonner",
        done: "Vous ne recevrez plus d’e-mails de ce type.",
        mandatory: "Les e-mails de ce type ne peuvent pas être désactivés.",
        unknown: "Ce lien n’est pas valide.",
        unread: ["1 message non lu", "{} messages non lus"],
        more: ["et 1 autre", "et {} autres"],
    },
    MailTexts {
        language: "es",
        link: "No recibir más correos de este tipo",
        ask: "¿No recibir más correos de este tipo?",
        stays: "Seguirá viendo estas notificaciones en la aplicación.",
        button: "Cancelar suscripción",
        done: "Ya no recibirá correos de este tipo.",
        mandatory: "Los correos de este tipo no se pueden desactivar.",
        unknown: "Este enlace no es válido.",
        unread: ["1 mensaje sin leer", "{} mensajes sin leer"],
        more: ["y 1 más", "y {} más"],
    },
    MailTexts {
        language: "pt",
        link: "Não receber mais e-mails deste tipo",
        ask: "Não receber mais e-mails deste tipo?",
        stays: "Estas notificações continuam visíveis na aplicação.",
        button: "Cancelar inscrição",
        done: "Não receberá mais e-mails deste tipo.",
        mandatory: "Os e-mails deste tipo não podem ser desativados.",
        unknown: "Este link não é válido.",
        unread: ["1 mensagem não lida", "{} mensagens não lidas"],
        more: ["e mais 1", "e mais {}"],
    },
    MailTexts {
        language: "it",
        link: "Non ricevere più e-mail di questo tipo",
        ask: "Non ricevere più e-mail di questo tipo?",
        stays: "Queste notifiche restano visibili nell’applicazione.",
        button: "Annulla iscrizione",
        done: "Non riceverà più e-mail di questo tipo.",
        mandatory: "Le e-mail di questo tipo non possono essere disattivate.",
        unknown: "Questo link non è valido.",
        unread: ["1 messaggio non letto", "{} messaggi non letti"],
        more: ["e un altro", "e altri {}"],
    },
    MailTexts {
        language: "ja",
        link: "この種類のメールの配信を停止する",
        ask: "この種類のメールの配信を停止しますか？",
        stays: "通知は引き続きアプリで確認できます。",
        button: "配信を停止",
        done: "この種類のメールは今後届きません。",
        mandatory: "この種類のメールの配信は停止できません。",
        unknown: "このリンクは無効です。",
        unread: ["未読メッセージ 1 件", "未読メッセージ {} 件"],
        more: ["ほか 1 件", "ほか {} 件"],
    },
    MailTexts {
        language: "ko",
        link: "이런 종류의 이메일 수신 거부",
        ask: "이런 종류의 이메일을 그만 받으시겠습니까?",
        stays: "알림은 앱에서 계속 볼 수 있습니다.",
        button: "수신 거부",
        done: "이제 이런 종류의 이메일을 받지 않습니다.",
        mandatory: "이런 종류의 이메일은 수신 거부할 수 없습니다.",
        unknown: "유효하지 않은 링크입니다.",
        unread: ["읽지 않은 메시지 1개", "읽지 않은 메시지 {}개"],
        more: ["외 1개", "외 {}개"],
    },
    MailTexts {
        language: "zh",
        link: "不再接收此类邮件",
        ask: "不再接收此类邮件？",
        stays: "您仍可在应用中查看这些通知。",
        button: "退订",
        done: "您将不再收到此类邮件。",
        mandatory: "此类邮件无法退订。",
        unknown: "此链接无效。",
        unread: ["1 条未读消息", "{} 条未读消息"],
        more: ["另有 1 条", "另有 {} 条"],
    },
];

impl MailTexts {
    /// The subject of a digest of `many` messages.
    pub fn digest_subject(&self, many: usize) -> String {
        format_count(self.unread, many)
    }

    /// The line about `many` messages that the digest leaves out.
    pub fn omitted_line(&self, many: usize) -> String {
        format_count(self.more, many)
    }

    /// The texts for a language tag.
    pub fn for_language(tag: Option<&str>) -> &'static Self {
        tag.and_then(find_language).unwrap_or(&ALL[0])
    }

    /// The texts for a browser: the first known language in its `Accept-Language` (RFC 9110, section 12.5.4).
    pub fn for_browser(listed: &str) -> &'static Self {
        let mut tags = listed.split(',').map(|range| range.split(';').next().unwrap_or_default().trim());
        tags.find_map(find_language).unwrap_or(&ALL[0])
    }
}

fn format_count([one, several]: [&str; 2], many: usize) -> String {
    if many == 1 { one.to_owned() } else { several.replace("{}", &many.to_string()) }
}

fn find_language(tag: &str) -> Option<&'static MailTexts> {
    let language = tag.split('-').next().unwrap_or_default();
    ALL.iter().find(|words| words.language.eq_ignore_ascii_case(language))
}

#[cfg(test)]
mod tests {
    use super::{ALL, MailTexts};

    #[test]
    fn messages_are_counted_in_each_language() {
        for words in &ALL {
            for (many, number) in [(2, "2"), (21, "21")] {
                assert!(
                    words.digest_subject(many).contains(number) && words.omitted_line(many).contains(number),
                    "{}",
                    words.language
                );
            }
            assert!(
                words.digest_subject(1).contains('1') && !words.omitted_line(1).contains('{'),
                "{}",
                words.language
            );
        }
        let english = MailTexts::for_language(None);
        assert_eq!([english.digest_subject(1), english.digest_subject(5)], ["1 unread message", "5 unread messages"]);
    }

    #[test]
    fn the_first_language_that_is_known_is_spoken() {
        for (tag, language) in
            [(None, "en"), (Some("de"), "de"), (Some("PT-br"), "pt"), (Some("zh-Hant-TW"), "zh"), (Some("tlh"), "en")]
        {
            assert_eq!(MailTexts::for_language(tag).language, language);
        }
        for (listed, language) in
            [("", "en"), ("fi, fr-CH;q=0.9, en;q=0.8", "fr"), ("*", "en"), ("ja", "ja"), (";;,,--", "en")]
        {
            assert_eq!(MailTexts::for_browser(listed).language, language, "{listed}");
        }
    }
}
