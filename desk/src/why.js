// Explains in sentences why a user has a notification or not.

import { html, nothing } from 'lit';

import { ask, told } from './api.js';
import { Explain } from './documents.js';
import { Part } from './parts/part.js';
import { word } from './parts/show.js';
import { long } from './time.js';

const DECISIONS = {
  IN_INBOX: 'They have it: it is in their inbox.',
  IN_ARCHIVE: 'They have it: they have put it into their archive.',
  RETRACTED: 'They do not have it: it was taken back.',
  EXPIRED: 'They do not have it: it has expired.',
  NOT_PUBLISHED: 'They do not have it yet: it waits for the time it is scheduled for.',
  NOT_ADDRESSED: 'They do not have it: it is for others, who are named.',
  NOT_MEMBER: 'They do not have it: it is for groups, and they are in none of them.',
  NOT_SUBSCRIBED: 'They do not have it: they do not subscribe to what it is about, nor follow who did it.',
  SUBSCRIBED_LATER: 'They do not have it: they subscribed, or began to follow, only after it was published.',
  JOINED_LATER: 'They do not have it: they came into the group only after it was published.',
  BEFORE_RETENTION: 'They do not have it: it was too old already when they came.',
  OWN_ACTION: 'They do not have it: they did themselves what it is about.',
  TYPE_OFF: 'They do not have it: its type is switched off for them.',
  ACTION_OFF: 'They do not have it: its action is switched off for them.',
  GONE: 'They do not have it any more: nothing keeps it from them today, so they have deleted it, or had it switched off when it came.',
  NOT_NAMED_OR_GONE: 'They do not have it: either it never named them, or they have deleted it. The users that an announcement names are not kept after it is published.',
};

const SWITCHES = { own: 'by their own switch', default: 'by the default', mandatory: 'for all users, because it is mandatory' };
const at = (step) => (step.at ? long(step.at) : 'an unknown time');

/** The sentence for each step of the explanation: if passed, if not passed, and if no longer known. */
const STEPS = {
  PUBLISHED: [(of) => `It was published on ${at(of)}.`, (of) => `It is to be published on ${at(of)}.`],
  NOT_RETRACTED: [() => 'It was not taken back.', (of) => `It was taken back on ${at(of)}.`],
  NOT_EXPIRED: [(of) => (of.at ? `It has not expired: it does on ${at(of)}.` : 'It does not expire by itself.'), (of) => `It expired on ${at(of)}.`],
  IN_INBOX: [(of) => (of.at ? `It is theirs; they archived it on ${at(of)}.` : 'It is theirs.'), () => 'It is neither in their inbox nor in their archive.'],
  ADDRESSED: [(of) => `It is for them${addressed(of.detail)}.`, () => 'It is not for them.', () => 'Whether it named them is not known any more.'],
  IN_TIME: [(of) => (of.at ? `They listened before it was published, since ${at(of)}.` : 'They listened before it was published.'), (of) => `They listen only since ${at(of)}, after it was published.`],
  WITHIN_RETENTION: [() => 'It was recent enough when they came.', (of) => `Their inbox begins on ${at(of)}, after it.`],
  BY_ANOTHER: [() => 'Another user did what it is about.', () => 'They did it themselves.'],
  TYPE_WANTED: [(of) => `Its type is on for them, ${SWITCHES[of.detail] ?? 'by the default'}.`, (of) => `Its type is off for them, ${SWITCHES[of.detail] ?? 'by a switch'}.`],
  ACTION_WANTED: [(of) => `Its action is on for them, ${SWITCHES[of.detail] ?? 'by the default'}.`, (of) => `Its action is off for them, ${SWITCHES[of.detail] ?? 'by a switch'}.`],
};

function addressed(detail) {
  if (!detail) return '';
  if (detail === 'everyone') return ': it is for everyone';
  if (detail === 'subscription') return ': they subscribe to it';
  if (detail === 'follow') return ': they follow who did it';
  return `: they are in its group ${detail.replace(/^group:?\s*/, '')}`;
}

/** One step of an explanation. */
export function sentence(step) {
  const [yes, no, unknown] = STEPS[step.rule] ?? [];
  const says = step.passed === null ? (unknown ?? no) : step.passed ? yes : no;
  return says ? says(step) : `${word(step.rule)}: ${step.passed}`;
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
      if (isStill()) this.set({ failure: told(error) });
    }
  }

  render() {
    const { found, failure, notification, user } = this;
    if (!notification || !user) return nothing;
    const mark = (passed) => (passed === null ? ['?', 'unknown'] : passed ? ['✓', 'yes'] : ['✗', 'no']);
    return html`<div class="why" role="status">
      ${failure ? html`<p class="problem">${failure}</p>` : nothing}
      ${found ? html`
        <p class="decision ${found.present ? 'good' : 'warn'}">${DECISIONS[found.decision] ?? word(found.decision)}</p>
        <ol class="steps">${found.steps.map((step) => {
          const [sign, says] = mark(step.passed);
          return html`<li class=${says}><span aria-hidden="true">${sign}</span> <span class="vh">${says}: </span><bdi>${sentence(step)}</bdi></li>`;
        })}</ol>` : failure ? nothing : html`<p class="muted">Looking …</p>`}
    </div>`;
  }
}
customElements.define('desk-why', Why);
