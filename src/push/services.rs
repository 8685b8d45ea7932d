//! Which push services answer.

use std::collections::HashSet;

use parking_lot::Mutex;

/// Services that are remembered. Browsers know a handful of them; users may name any number.
const SERVICES: usize = 10_000;

/// The origins of those that answered when they were asked the last time.
#[derive(Debug, Default)]
pub(super) struct Services(Mutex<HashSet<String>>);

impl Services {
    /// Whether one answered the last time. Of one that was never asked nobody knows.
    pub fn answers(&self, origin: &str) -> bool {
        self.0.lock().contains(origin)
    }

    /// Notes whether one has answered.
    pub fn note(&self, origin: &str, has_answered: bool) {
        let mut answering = self.0.lock();
        if !has_answered {
            answering.remove(origin);
        } else if !answering.contains(origin) {
            if answering.len() >= SERVICES {
                // Those that matter answer again in a moment.
                answering.clear();
            }
            answering.insert(origin.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SERVICES, Services};

    #[test]
    fn a_service_answers_until_it_does_not() {
        let services = Services::default();
        let answers = || ["https://a.example", "https://b.example"].map(|origin| services.answers(origin));
        assert_eq!(answers(), [false, false]);
        services.note("https://a.example", true);
        services.note("https://b.example", false);
        assert_eq!(answers(), [true, false]);
        services.note("https://a.example", false);
        assert_eq!(answers(), [false, false]);
        for number in 0..SERVICES + 10 {
            services.note(&number.to_string(), true);
        }
        assert!(services.0.lock().len() <= SERVICES && services.answers(&(SERVICES + 9).to_string()));
    }
}
