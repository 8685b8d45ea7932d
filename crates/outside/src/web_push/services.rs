//! Tracks which push services respond.

use std::collections::HashSet;

use parking_lot::Mutex;

/// Maximum services tracked. Browsers use a handful; users can name any number.
const SERVICES: usize = 10_000;

/// Domains of the browser vendors' services: Chrome and its relatives, Firefox, Safari, Edge.
const KNOWN: [&str; 5] = [
    "fcm.googleapis.com",
    "jmt17.google.com",
    "updates.push.services.mozilla.com",
    "web.push.apple.com",
    "notify.windows.com",
];

/// Whether a browser vendor runs the service with this origin.
pub(super) fn is_vendor_origin(origin: &str) -> bool {
    let Some(host) = origin.strip_prefix("https://") else { return false };
    KNOWN.iter().any(|known| host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// Origins of the services that responded to their last request.
#[derive(Debug, Default)]
pub(super) struct ServiceHealth(Mutex<HashSet<String>>);

impl ServiceHealth {
    /// Whether the service responded to its last request. `false` if it was never asked.
    pub fn is_responding(&self, origin: &str) -> bool {
        self.0.lock().contains(origin)
    }

    /// Records whether a service responded.
    pub fn record_response(&self, origin: &str, has_answered: bool) {
        let mut answering = self.0.lock();
        if !has_answered {
            answering.remove(origin);
        } else if !answering.contains(origin) {
            if answering.len() >= SERVICES {
                // Active services are added again soon.
                answering.clear();
            }
            answering.insert(origin.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SERVICES, ServiceHealth, is_vendor_origin};

    #[test]
    fn services_of_browsers_are_known_by_their_whole_name() {
        for (origin, expected) in [
            ("https://fcm.googleapis.com", true),
            ("https://wns2-par02p.notify.windows.com", true),
            ("https://fcm.googleapis.com.evil.example", false),
            ("https://evilnotify.windows.com", false),
            ("https://fcm.googleapis.com:8443", false),
            ("http://fcm.googleapis.com", false),
            ("https://push.example", false),
        ] {
            assert_eq!(is_vendor_origin(origin), expected, "{origin}");
        }
    }

    #[test]
    fn a_service_answers_until_it_does_not() {
        let services = ServiceHealth::default();
        let answers = || ["https://a.example", "https://b.example"].map(|origin| services.is_responding(origin));
        assert_eq!(answers(), [false, false]);
        services.record_response("https://a.example", true);
        services.record_response("https://b.example", false);
        assert_eq!(answers(), [true, false]);
        services.record_response("https://a.example", false);
        assert_eq!(answers(), [false, false]);
        for number in 0..SERVICES + 10 {
            services.record_response(&number.to_string(), true);
        }
        assert!(services.0.lock().len() <= SERVICES && services.is_responding(&(SERVICES + 9).to_string()));
    }
}
