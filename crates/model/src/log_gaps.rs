//! Log positions that are unused because the numbers were raised after a failover or restore.

use std::collections::HashMap;

use entity::ids::{Seq, TenantId};

/// The gaps of all tenants.
#[derive(Debug, Default)]
pub struct LogGaps(HashMap<TenantId, Vec<(Seq, Seq)>>);

impl LogGaps {
    /// Adds a gap: no entry lies between the two positions.
    pub fn add(&mut self, tenant: TenantId, after: Seq, upto: Seq) {
        self.0.entry(tenant).or_default().push((after, upto));
    }

    /// Whether a position is in a gap. A client that knows it has seen entries that were lost.
    pub fn contains(&self, tenant: TenantId, place: Seq) -> bool {
        self.tenant_gaps(tenant).iter().any(|(after, upto)| *after < place && place < *upto)
    }

    /// The position at most `most` entries further; a gap is crossed in one step.
    pub fn advance(&self, tenant: TenantId, from: Seq, most: i64) -> Seq {
        let gap = self.tenant_gaps(tenant).iter().find(|(after, upto)| from < *upto && after.0 < from.0 + most);
        match gap {
            Some((after, upto)) if from >= *after => *upto,
            Some((after, _)) => *after,
            None => Seq(from.0 + most),
        }
    }

    fn tenant_gaps(&self, tenant: TenantId) -> &[(Seq, Seq)] {
        self.0.get(&tenant).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_holds_no_place_that_was_given_out_and_is_passed_in_one_step() {
        let (mut gaps, tenant) = (LogGaps::default(), TenantId(7));
        gaps.add(tenant, Seq(10), Seq(1_000));
        gaps.add(tenant, Seq(1_000), Seq(2_000));
        let have = |place| gaps.contains(tenant, Seq(place));
        assert!(!have(10) && have(11) && have(999) && !have(1_000) && have(1_001) && !have(2_000));
        assert!(!gaps.contains(TenantId(8), Seq(11)));
        let mut walk = vec![Seq(0)];
        while walk.last().is_some_and(|place| place.0 < 2_005) {
            walk.push(gaps.advance(tenant, *walk.last().unwrap(), 6));
        }
        assert_eq!(walk, [0, 6, 10, 1_000, 2_000, 2_006].map(Seq));
        assert_eq!(gaps.advance(tenant, Seq(500), 6), Seq(1_000));
    }
}
