// Finds a user.

import { html, nothing } from 'lit';

import { Page } from '../parts/part.js';
import '../parts/picker.js';
import { keep, kept } from '../storage.js';
import { go, to } from '../route.js';
import { t } from '../texts.js';

/** How many recently viewed users this tab remembers. */
const RECENT = 8;

export function recent(caller) {
  try {
    return JSON.parse(kept(`recent.${caller.tenant}`) ?? '[]');
  } catch {
    return [];
  }
}

export function remember(caller, { id, name }) {
  const others = recent(caller).filter((one) => one.id !== id);
  keep(`recent.${caller.tenant}`, JSON.stringify([{ id, name }, ...others].slice(0, RECENT)));
}

class Users extends Page {
  render() {
    const known = recent(this.caller);
    return html`
      <h1 tabindex="-1">${t('place.users')}</h1>
      <section class="card">
        <tidings-picker name="find" label=${t('users.find')} takes hint=${t('users.hint')}
          @tidings-picked=${({ detail }) => go(to('users', [detail.id]))}></tidings-picker>
      </section>
      ${known.length > 0 ? html`<section><h2>${t('users.recent')}</h2><ul class="list">
        ${known.map(({ id, name }) => html`<li><a href=${to('users', [id])}><bdi>${name || id}</bdi></a> <small class="code"><bdi>${id}</bdi></small></li>`)}
      </ul></section>` : nothing}`;
  }
}
customElements.define('desk-users', Users);
