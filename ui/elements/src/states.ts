// What stands where there are no items, and above them where something is amiss.

import { html, nothing, type TemplateResult } from 'lit-html';

import type { ListState, Problem } from '../../client/src/index.ts';
import { sign, SIGNS } from './icons.ts';
import type { Language } from './texts.ts';

export type View = 'inbox' | 'unread' | 'archive';

export interface StateView {
  state: ListState;
  view: View;
  /** What went wrong with a mark. */
  problem: Problem | undefined;
  language: Language;
  retry(): void;
}

const EMPTY = { inbox: 'empty', unread: 'emptyUnread', archive: 'emptyArchive' } as const;

export function stateView({ state, view, problem, language, retry }: StateView): TemplateResult {
  const { status, items } = state;
  const wrong = status === 'offline' || status === 'refused' ? status : state.problem || problem ? 'failed' : undefined;
  // Without a connection it tries again by itself, and without a token it is not for us to try.
  const again =
    wrong === 'failed' ? html`<button type="button" class="plain" @click=${retry}>${language.say('retry')}</button>` : nothing;
  if (items.length > 0) {
    // It is said where the user is looking, and by a screen reader.
    return html`<div role="status">${
      wrong
        ? html`<div class="banner ${wrong}" part="banner">${language.say(wrong)}${again}</div>`
        : nothing
    }</div>`;
  }
  if (status === 'loading' && !wrong) {
    const bones = [1, 2, 3, 4].map(() => html`<div class="bone"></div>`);
    return html`<div class="skeleton" role="status"><span class="vh">${language.say('loading')}</span>${bones}</div>`;
  }
  if (wrong) {
    return html`<div class="state" part="empty" role="status">${sign(wrong === 'offline' ? SIGNS.offline : ALERT)}
      <p>${language.say(wrong)}</p>${again}</div>`;
  }
  return html`<div class="state" part="empty" role="status"><slot name="empty">${sign(view === 'archive' ? SIGNS.archive : SIGNS.all)}
    <p>${language.say(EMPTY[view])}</p></slot></div>`;
}

const ALERT = 'M12 3a9 9 0 1 0 0 18 9 9 0 1 0 0-18m0 4.5v6m0 3v.01';
