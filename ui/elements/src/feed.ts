// The list of articles. Each item keeps its element, and keys move the focus between articles.

import { render } from 'lit-html';

import type { Item } from '../../client/src/index.ts';
import { itemView, type ItemView } from './item.ts';

type Shared = Omit<ItemView, 'item' | 'isCurrent' | 'own'>;

/** What each article was rendered from. Unchanged articles are skipped, which matters for long lists. */
const shown = new WeakMap<Element, unknown[]>();

/** Updates the articles to match the items. Remaining articles are not moved, which keeps focus and scroll position. */
export function showFeed(
  feed: HTMLElement,
  items: readonly Item[],
  current: string,
  shared: Shared,
  own?: (item: Item) => unknown,
) {
  const before = new Map([...feed.children].map((article) => [(article as HTMLElement).dataset.id!, article as HTMLElement]));
  const wanted = new Set(items.map(({ id }) => id));
  for (const [id, article] of before) if (!wanted.has(id)) article.remove();
  let next = feed.firstElementChild;
  items.forEach((item, index) => {
    let article = before.get(item.id);
    if (article && article === next) next = next.nextElementSibling;
    else feed.insertBefore((article ??= document.createElement('article')), next);
    const isCurrent = item.id === current;
    const ownView = own?.(item);
    const parts = [item, index, isCurrent, ownView, shared.language, shared.icons, (shared.now / 60_000) | 0];
    if (shown.get(article)?.every((part, at) => part === parts[at])) return;
    shown.set(article, parts);
    const state = item.isRead ? 'item' : 'item item-unread';
    article.className = state;
    const attributes = {
      part: state,
      'data-id': item.id,
      tabindex: isCurrent ? '0' : '-1',
      'aria-posinset': `${index + 1}`,
      'aria-setsize': '-1',
      'aria-labelledby': `t-${item.id}`,
      'aria-describedby': `m-${item.id}`,
    };
    for (const [name, value] of Object.entries(attributes))
      if (article.getAttribute(name) !== value) article.setAttribute(name, value);
    render(itemView({ ...shared, item, isCurrent, own: ownView }), article);
  });
}

/**
 * Moves the focus between articles with arrows and the keys of https://www.w3.org/WAI/ARIA/apg/patterns/feed/; returns
 * whether the key was one of them. Calls `more` at the last article.
 */
export function moveInFeed({ target, key, ctrlKey }: KeyboardEvent, root: ShadowRoot, more: () => void): boolean {
  const articles = [...root.querySelectorAll('article')];
  const inside = (target as Element).closest('article');
  const at = articles.indexOf(inside!);
  const isOnArticle = target === inside;
  if (inside && ctrlKey && (key === 'Home' || key === 'End')) {
    root.querySelector<HTMLElement>(key === 'Home' ? '[aria-selected=true], .views button' : '.end')?.focus();
    return true;
  }
  const by =
    key === 'PageDown' || (isOnArticle && key === 'ArrowDown')
      ? 1
      : key === 'PageUp' || (isOnArticle && key === 'ArrowUp')
        ? -1
        : 0;
  const last = articles.length - 1;
  const to = by ? at + by : isOnArticle ? ({ Home: 0, End: last } as Record<string, number>)[key] : undefined;
  if (to === undefined || last < 0) return false;
  if (to >= last) more();
  const next = articles[Math.max(0, Math.min(to, last))]!;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: 'nearest' });
  return true;
}
