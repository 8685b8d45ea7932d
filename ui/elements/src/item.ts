// One item of the list.

import { html, nothing, type TemplateResult } from 'lit-html';

import type { Item } from '../../client/src/index.ts';
import { named, sign, SIGNS } from './icons.ts';
import { safeLink, safePicture } from './link.ts';
import type { Key, Language } from './texts.ts';

/** The actions on an item. */
export type Act = 'markRead' | 'markUnread' | 'archive' | 'unarchive' | 'remove';

export interface ItemView {
  language: Language;
  item: Item;
  /** Whether the item has the focus or gets it next: only then are its buttons in the tab order. */
  isCurrent: boolean;
  now: number;
  icons: Record<string, string> | undefined;
  /** The page's own content for this item. */
  own: unknown;
  open(item: Item, event: Event): void;
  act(item: Item, act: Act): void;
}

export function itemView(view: ItemView): TemplateResult {
  const { item, language, isCurrent } = view;
  const order = isCurrent ? 0 : -1;
  return html`${lead(view)}
    <div class="content">
      <h3 class="title" part="title" id="t-${item.id}">
        ${item.isRead ? nothing : html`<span class="vh">${language.say('isUnread')}: </span>`}${title(view, order)}
      </h3>
      ${view.own ?? (item.body ? html`<p class="body" part="body" dir="auto">${item.body}</p>` : nothing)}
      <div class="foot">
        <div class="meta" part="meta" id="m-${item.id}">
          <bdi class="type">${item.type.title}</bdi><span aria-hidden="true">·</span>
          <time datetime=${item.createdAt} title=${language.full(item.createdAt)}>${language.ago(item.createdAt, view.now)}</time>
        </div>
        <div class="actions" part="actions">
          ${item.isRead ? action(view, order, 'markUnread', 'unread') : action(view, order, 'markRead', 'check')}
          ${item.isArchived ? action(view, order, 'unarchive', 'unarchive') : action(view, order, 'archive', 'archive', 'archiveItem')}
          ${action(view, order, 'remove', 'remove')}
        </div>
      </div>
    </div>
    ${item.isRead ? nothing : html`<span class="dot" part="dot"></span>`}`;
}

/** The title is the link of the item; its clickable area covers the whole item. */
function title({ item, open }: ItemView, order: number): TemplateResult {
  const link = safeLink(item.link);
  const clicked = (event: Event) => open(item, event);
  return link
    ? html`<a class="open" href=${link} rel="noopener" tabindex=${order} @click=${clicked} @auxclick=${clicked} dir="auto">${item.title}</a>`
    : html`<button class="open" type="button" tabindex=${order} @click=${clicked} dir="auto">${item.title}</button>`;
}

function action({ item, language, act }: ItemView, order: number, what: Act, icon: keyof typeof SIGNS, key: Key = what as Key): TemplateResult {
  const name = language.say(key);
  return html`<button type="button" class="icon" part="action" data-act=${what} tabindex=${order} aria-label=${name} title=${name}
    @click=${() => act(item, what)}>${sign(SIGNS[icon])}</button>`;
}

/** The sender's picture or initials; without a sender, the picture or icon of the type. */
function lead({ item: { sender, type }, icons }: ItemView): TemplateResult {
  const face = safePicture(sender?.avatarUrl);
  const picture = face ?? (sender ? undefined : safePicture(type.icon));
  const icon = sender ? undefined : (named(type.icon || 'bell', icons) ?? named('bell', undefined));
  const letter = icon ? nothing : initials(sender?.name || sender?.id || type.title);
  return html`<span class="lead ${icon ? 'kind' : ''}" part=${icon ? 'icon' : 'avatar'} aria-hidden="true">
    ${icon ?? letter}
    ${picture ? html`<img src=${picture} alt="" loading="lazy" decoding="async" referrerpolicy="no-referrer" @error=${gone}>` : nothing}
  </span>`;
}

/** Hides a picture that fails to load, which shows the fallback behind it. */
function gone(event: Event) {
  (event.target as HTMLElement).hidden = true;
}

/** The first letters of the first and last word, by grapheme, which may be several code points. */
function initials(name: string): string {
  const words = name.trim().split(/\s+/);
  const ends = words.length > 1 ? [words[0]!, words.at(-1)!] : words;
  const letters = new Intl.Segmenter();
  return ends
    .map((word) => [...letters.segment(word)][0]?.segment ?? '')
    .join('')
    .toUpperCase();
}
