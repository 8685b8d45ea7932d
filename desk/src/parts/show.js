// Small pieces that many pages show. All values are rendered as text: no user input becomes markup.

import { html, nothing, svg } from 'lit';

import { safeLink } from '../../../ui/elements/src/link.ts';
import { told } from '../api.js';
import { growth, half, line } from '../growth.js';
import { to } from '../route.js';
import { number, rich, t } from '../texts.js';
import { long, short } from '../time.js';
import { role, word } from '../words.js';

export const count = (value) => (value === null || value === undefined ? '–' : number(value));

/** `3 people`. */
export const people = (n) => t('people', { n });

/** A point in time, short; the full date is in the tooltip. */
export const when = (at, none = '–') => (at ? html`<time datetime=${at} title=${long(at)}>${short(at)}</time>` : none);

const TONES = {
  PUBLISHED: 'good', DELIVERED: 'good', ACTIVE: 'good', COMPLETE: 'good',
  SCHEDULED: 'info', PENDING: 'info', PARTIAL: 'info',
  PAUSED: 'warn', TRUNCATED: 'warn', FLOODED: 'bad', DEAD: 'bad', DISABLED: 'bad', FAILED: 'bad', TIMED_OUT: 'bad', RETRACTED: 'bad',
};

export const badge = (code) => html`<span class="badge ${TONES[code] ?? ''}">${word(code)}</span>`;

/** The link of a notification; clickable only if it is safe. */
export function leads(link) {
  if (!link) return nothing;
  const safe = safeLink(link);
  return safe ? html`<a class="leads" href=${safe} target="_blank" rel="noopener noreferrer"><bdi>${link}</bdi></a>` : html`<bdi class="muted">${link}</bdi>`;
}

/** A user, with a link to their page. */
export const person = (user) => (user ? html`<a href=${to('users', [user.id])}><bdi>${user.name || user.id}</bdi></a>` : '–');

/** The service or operator that did something. */
export const actor = ({ name, role: code, origin }) => html`<bdi title=${t(`actor.from.${origin}`)}>${name}</bdi><span class="muted">${t('actor.role', { role: role(code) })}</span>`;

/** The placeholder of a list: an error, a loading message, or a text for an empty list. */
export function state({ isLoading, loadFailure, isEmpty, empty }) {
  if (loadFailure) return html`<p class="problem" role="alert">${told(loadFailure)}</p>`;
  if (isLoading && isEmpty) return html`<p class="muted loading">${t('loading')}</p>`;
  return isEmpty ? html`<p class="empty">${empty}</p>` : nothing;
}

/** A notification as in its user's inbox. */
export const item = ({ title, body, link, type }) => html`
  <article class="item">
    <span class="item-icon" aria-hidden="true">${(type || '?').charAt(0).toUpperCase()}</span>
    <div>
      <p class="item-type">${type}</p>
      <p class="item-title"><bdi>${title}</bdi></p>
      ${body ? html`<p class="item-body"><bdi>${body}</bdi></p>` : nothing}
      ${link ? html`<p class="item-link">${leads(link)}</p>` : nothing}
    </div>
  </article>`;

/** Bars for the audience, deliveries and reads. */
export function reach({ audienceSize, deliveredCount, readCount }) {
  const most = Math.max(audienceSize ?? 0, deliveredCount, readCount, 1);
  const rows = [['all', audienceSize], ['delivered', deliveredCount], ['read', readCount]].filter(([, size]) => size !== null);
  const share = (size) => (audienceSize ? t('reach.share', { percent: Math.round((100 * size) / audienceSize) }) : '');
  return html`<dl class="reach">
    ${rows.map(([kind, size]) => html`
      <div>
        <dt>${t(`reach.${kind}`)}</dt>
        <dd>
          <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">${svg`
            <rect class="bar" width="100" height="8" rx="1"></rect>
            <rect class="bar-${kind}" width=${(100 * size) / most} height="8" rx="1"></rect>`}
          </svg>
          <span>${count(size)}${kind === 'all' ? '' : share(size)}</span>
        </dd>
      </div>`)}
  </dl>`;
}

/** The history of deliveries and reads: a line for each of the two numbers, and a table. */
export function overTime(of) {
  const points = growth(of);
  if (!points) return nothing;
  const middle = half(points);
  const at = (millis) => when(new Date(millis).toISOString());
  const drawn = (name, kind) => svg`<polyline class="line-${kind}" points=${line(points, name, 100, 40)}></polyline>`;
  return html`<figure class="growth">
    <svg viewBox="0 -1 100 42" preserveAspectRatio="none" aria-hidden="true">${drawn('delivered', 'delivered')}${drawn('read', 'read')}</svg>
    <figcaption class="muted">${rich(middle ? 'growth.half' : 'growth.span', { from: at(points[0].at), to: at(points.at(-1).at), middle: middle && at(middle) })}</figcaption>
    <details><summary>${t('growth.hours')}</summary><table><caption class="vh">${t('growth.table')}</caption>
      <thead><tr><th>${t('growth.until')}</th><th class="number">${t('reach.delivered')}</th><th class="number">${t('reach.read')}</th></tr></thead>
      <tbody>${points.map((of) => html`<tr><th scope="row">${at(of.at)}</th><td class="number">${count(of.delivered)}</td><td class="number">${count(of.read)}</td></tr>`)}</tbody></table></details>
  </figure>`;
}

/** The failure of a form, unless one of its fields already shows it. */
export function problem(failure, paths = []) {
  if (!failure || paths.some((path) => isAt(failure, path))) return nothing;
  return html`<p class="problem" role="alert">${told(failure)}</p>`;
}

/** Whether the server's error is about this path of the input. */
export function isAt({ field }, path) {
  return Boolean(field && path) && (field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`));
}

/** The button that loads the next page of a list. */
export const more = (pageInfo, onMore, isLoading) =>
  pageInfo?.hasNextPage ? html`<p class="more"><button type="button" ?disabled=${isLoading} @click=${onMore}>${t('more')}</button></p>` : nothing;
