// The tabs: all, and one for each message type with items.

import { html, nothing, type TemplateResult } from 'lit-html';

import type { Count, Overview } from '../../client/src/index.ts';
import type { Language } from './texts.ts';

export interface Tab {
  /** The code of a message type; empty for all. */
  code: string;
  title: string;
  unread: Count;
}

export function tabsOf({ types, unread }: Overview, mode: string | null, chosen: string, language: Language): Tab[] {
  if (mode === 'none') return [];
  const some = types.filter((entry) => entry.latest || entry.unread.count > 0 || entry.type.code === chosen);
  const tabs = some.map((entry): Tab => ({ code: entry.type.code, title: entry.type.title, unread: entry.unread }));
  // A single type would equal the tab for all.
  if (tabs.length < 2 && !chosen) return [];
  return mode === 'types' ? tabs : [{ code: '', title: language.say('all'), unread }, ...tabs];
}

export function tabsView(tabs: Tab[], chosen: string, language: Language, choose: (code: string) => void): TemplateResult {
  return html`<div class="tabs" part="tabs" role="tablist" aria-label=${language.say('types')} @keydown=${moved}>
    ${tabs.map(({ code, title, unread }) => {
      const isChosen = code === chosen;
      const shown = language.count(unread);
      return html`<button type="button" role="tab" part=${isChosen ? 'tab tab-selected' : 'tab'} data-type=${code}
        id="tab-${code}" aria-controls="list"
        aria-selected=${isChosen} tabindex=${isChosen ? 0 : -1}
        @click=${() => choose(code)} @focus=${() => isChosen || choose(code)}
        aria-label=${unread.count > 0 ? `${title}, ${language.say('count', unread.count, shown)}` : title}>
        <bdi>${title}</bdi>${unread.count > 0 ? html`<span class="count" data-count=${shown}></span>` : nothing}
      </button>`;
    })}
  </div>`;
}

/** Arrow keys move in reading direction, Home and End to the ends. */
function moved(event: KeyboardEvent) {
  const list = event.currentTarget as HTMLElement;
  const tabs = [...list.querySelectorAll<HTMLElement>('[role=tab]')];
  const at = tabs.indexOf(event.target as HTMLElement);
  const forth = getComputedStyle(list).direction === 'rtl' ? -1 : 1;
  const to = { ArrowRight: at + forth, ArrowLeft: at - forth, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  tabs.at(to % tabs.length)?.focus();
}
