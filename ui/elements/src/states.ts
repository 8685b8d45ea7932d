// Placeholders of an empty list, and banners about problems.

import { html, nothing, type TemplateResult } from 'lit-html';

import type { ListState, Problem } from '../../client/src/index.ts';
import { sign, SIGNS } from './icons.ts';
import type { Language } from './texts.ts';

export type View = 'inbox' | 'unread' | 'archive';

export interface StateView {
  state: ListState;
  view: View;
  /** The problem of the last mark. */
  problem: Problem | undefined;
  language: Language;
  retry(): void;
}

const EMPTY = { inbox: 'empty', unread: 'emptyUnread', archive: 'emptyArchive' } as const;

export function stateView({ state, view, problem, language, retry }: StateView): TemplateResult {
  const { status, items } = state;
  const wrong = status === 'offline' || status === 'refused' ? status : state.problem || problem ? 'failed' : undefined;
  // Offers a retry only for errors: offline, the store retries by itself; without a valid token, a retry is useless.
  const again =
    wrong === 'failed' ? html`<button type="button" class="plain" @click=${retry}>${language.say('retry')}</button>` : nothing;
  if (items.length > 0) {
    // A status region: visible near the list, and announced by screen readers.
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
