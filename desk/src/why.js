// Explains in sentences why a user has a notification or not.

import { html, nothing } from 'lit';

import { ask, told } from './api.js';
import { Explain } from './documents.js';
import { Part } from './parts/part.js';
import { hasText, t } from './texts.js';
import { long } from './time.js';
import { word } from './words.js';

/** How the switch for a type or an action came about. */
const SWITCHES = ['own', 'default', 'mandatory'];

/** The key for each step with more than one sentence; the others have one for each of passed, not passed and unknown. */
const DETAILS = {
  NOT_EXPIRED: ({ passed, at }) => passed && !at && 'why.NOT_EXPIRED.never',
  IN_INBOX: ({ passed, at }) => passed && at && 'why.IN_INBOX.archived',
  ADDRESSED: ({ passed, detail }) => passed && detail && (['everyone', 'subscription', 'follow'].includes(detail) ? `why.ADDRESSED.${detail}` : 'why.ADDRESSED.group'),
  IN_TIME: ({ passed, at }) => passed && at && 'why.IN_TIME.since',
  TYPE_WANTED: ({ passed, detail }) => SWITCHES.includes(detail) && `why.TYPE_WANTED.${passed ? 'on' : 'off'}.${detail}`,
  ACTION_WANTED: ({ passed, detail }) => SWITCHES.includes(detail) && `why.ACTION_WANTED.${passed ? 'on' : 'off'}.${detail}`,
};

/** One step of an explanation. */
export function sentence(step) {
  const { rule, passed, at, detail } = step;
  const answer = passed === null ? 'unknown' : passed ? 'yes' : 'no';
  const key = [DETAILS[rule]?.(step), `why.${rule}.${answer}`, `why.${rule}.no`].find((one) => one && hasText(one));
  const values = { time: at ? long(at) : t('why.unknownTime'), group: detail?.replace(/^group:?\s*/, '') };
  return key ? t(key, values) : `${word(rule)}: ${t(`why.${answer}`)}`;
}

/** Explains `notification` for `user`, both ids. */
class Why extends Part {
  static properties = { notification: {}, user: {} };

  willUpdate(changed) {
    if (changed.has('notification') || changed.has('user')) this.explain();
  }

  async explain() {
    const { notification, user } = this;
    Object.assign(this, { found: null, failure: null });
    if (!notification || !user) return;
    const isStill = () => notification === this.notification && user === this.user;
    try {
      const { explainDelivery: found } = await ask(Explain, { notification, user });
      if (isStill()) this.set({ found });
    } catch (error) {
      if (isStill()) this.set({ failure: error });
    }
  }

  render() {
    const { found, failure, notification, user } = this;
    if (!notification || !user) return nothing;
    const mark = (passed) => (passed === null ? ['?', 'unknown'] : passed ? ['✓', 'yes'] : ['✗', 'no']);
    return html`<div class="why" role="status">
      ${failure ? html`<p class="problem">${told(failure)}</p>` : nothing}
      ${found ? html`
        <p class="decision ${found.present ? 'good' : 'warn'}">${hasText(`decision.${found.decision}`) ? t(`decision.${found.decision}`) : word(found.decision)}</p>
        <ol class="steps">${found.steps.map((step) => {
          const [sign, says] = mark(step.passed);
          return html`<li class=${says}><span aria-hidden="true">${sign}</span> <span class="vh">${t(`why.${says}`)}</span><bdi>${sentence(step)}</bdi></li>`;
        })}</ol>` : failure ? nothing : html`<p class="muted">${t('loading')}</p>`}
    </div>`;
  }
}
customElements.define('desk-why', Why);
