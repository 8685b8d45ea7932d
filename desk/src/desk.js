// The frame: the caller, the navigation, and messages about results.

import { LitElement, html, nothing } from 'lit';
import { live } from 'lit/directives/live.js';

import { callAs } from './api.js';
import { showCurrent } from './parts/part.js';
import { follow, go, here, to } from './route.js';
import { byToken, first, signIn, signOut, taken } from './session.js';
import { NAMES, begin, language, rich, setLanguage, t } from './texts.js';
import { span } from './time.js';
import { role } from './words.js';
import './door.js';
import './pages/audit.js';
import './pages/catalogue.js';
import './pages/compose.js';
import './pages/deliveries.js';
import './pages/notification.js';
import './pages/now.js';
import './pages/rules.js';
import './pages/sent.js';
import './pages/user.js';
import './pages/users.js';

const STAFF = ['SERVICE', 'ADMIN'];
const ADMIN = ['ADMIN'];

/**
 * All pages in the order of the navigation, with the roles that the server allows. `src/http/desk.rs` serves the paths.
 */
const PLACES = [
  { place: 'compose', roles: STAFF, show: (of) => html`<desk-compose .caller=${of.caller} .query=${of.query}></desk-compose>` },
  { place: 'sent', roles: STAFF, show: (of) => of.rest[0]
    ? html`<desk-notification .caller=${of.caller} .rest=${of.rest} .query=${of.query}></desk-notification>`
    : html`<desk-sent .caller=${of.caller} .query=${of.query}></desk-sent>` },
  { place: 'users', roles: STAFF, show: (of) => of.rest[0]
    ? html`<desk-user .caller=${of.caller} .rest=${of.rest} .query=${of.query}></desk-user>`
    : html`<desk-users .caller=${of.caller} .query=${of.query}></desk-users>` },
  { place: 'catalogue', roles: STAFF, show: (of) => html`<desk-catalogue .caller=${of.caller} .rest=${of.rest} .query=${of.query}></desk-catalogue>` },
  { place: 'deliveries', roles: STAFF, show: (of) => html`<desk-deliveries .caller=${of.caller} .query=${of.query}></desk-deliveries>` },
  { place: 'rules', roles: ADMIN, show: (of) => html`<desk-rules .caller=${of.caller}></desk-rules>` },
  { place: 'audit', roles: ADMIN, show: (of) => html`<desk-audit .caller=${of.caller} .query=${of.query}></desk-audit>` },
  { place: 'now', roles: ADMIN, show: (of) => html`<desk-now .caller=${of.caller}></desk-now>` },
];

const titleOf = (place) => t(`place.${place}`);

class Desk extends LitElement {
  createRenderRoot() {
    return this;
  }

  caller = null;
  offered = null;
  said = null;
  at = here();

  /** Nothing is rendered before its texts are there. */
  async scheduleUpdate() {
    await this.texts;
    super.scheduleUpdate();
  }

  async connectedCallback() {
    super.connectedCallback();
    this.texts = begin();
    // Never removed: the element lives as long as the page.
    addEventListener('popstate', () => this.moved());
    addEventListener('hashchange', () => this.linked(taken()));
    addEventListener('tidings-language', () => this.requestUpdate());
    addEventListener('tidings-said', ({ detail }) => this.tell(detail));
    this.addEventListener('click', follow);
    setInterval(() => this.requestUpdate(), 30_000);
    const { signIn, caller, offered } = await first();
    Object.assign(this, { canSignIn: signIn, offered, isReady: true });
    this.use(caller);
  }

  /** Sets the caller; null signs out. */
  use(caller, refused = null) {
    Object.assign(this, { caller, refused });
    callAs(caller, (why) => this.use(null, why));
    if (caller && this.at.place === '' && STAFF.includes(caller.role)) go(to('sent'), { replaces: true });
    this.requestUpdate();
  }

  /** A link with a token was followed while the page was open. */
  linked(token) {
    if (!token || token === this.caller?.token) return;
    this.offered = byToken(token);
    this.requestUpdate();
  }

  async moved() {
    const before = this.at;
    this.at = here();
    this.requestUpdate();
    await this.updateComplete;
    // A new page starts with the focus on its heading.
    const path = ({ place, rest }) => [place, ...rest].join('/');
    if (path(before) === path(this.at)) return;
    scrollTo(0, 0);
    await Promise.resolve();
    this.querySelector('h1')?.focus();
  }

  /** Scrolls the current entry into view in navigation that is wider than a phone. */
  updated() {
    if (!this.caller || this.shownAt === this.at) return;
    this.shownAt = this.at;
    requestAnimationFrame(() => this.querySelectorAll('nav').forEach(showCurrent));
  }

  tell(said) {
    clearTimeout(this.fading);
    this.said = said;
    this.requestUpdate();
    this.fading = setTimeout(() => {
      this.said = null;
      this.requestUpdate();
    }, 8_000);
  }

  get allowed() {
    return PLACES.filter(({ roles }) => roles.includes(this.caller?.role));
  }

  render() {
    const { caller, at } = this;
    const found = PLACES.find(({ place }) => place === at.place);
    document.title = caller && found ? t('page.title', { page: titleOf(found.place) }) : t('page.name');
    return html`
      <a class="skip" href="#main" @click=${this.skip}>${t('skip')}</a>
      <header class="top">
        <a class="brand" href=${to('')}><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2a6 6 0 0 0-6 6v5l-2 4h16l-2-4V8a6 6 0 0 0-6-6Zm-3 17a3 3 0 0 0 6 0Z"></path></svg><span>Tidings</span></a>
        ${this.languages()}
        ${caller ? this.who() : nothing}
      </header>
      <div class="frame ${caller ? '' : 'alone'}">
        ${caller && this.allowed.length > 0 ? this.navigation() : nothing}
        <main id="main" tabindex="-1">${this.isReady ? this.content(found) : html`<p class="muted">${t('loading')}</p>`}</main>
      </div>
      <div class="said-place" role="status" aria-live="polite">${this.said ? html`<p class="said ${this.said.kind}">${this.said.text()}
        <button type="button" class="quiet" aria-label=${t('close')} @click=${() => this.unsay()}>×</button></p>` : nothing}</div>
      ${this.offered ? this.offer() : nothing}`;
  }

  skip = (event) => {
    event.preventDefault();
    this.querySelector('#main').focus();
  };

  unsay() {
    this.said = null;
    this.requestUpdate();
  }

  /** The name of each language is in that language, so that everyone finds their own. */
  languages() {
    return html`<select class="languages" aria-label=${t('language')} @change=${(event) => this.speak(event.target)}>
      ${NAMES.map(([code, name]) => html`<option value=${code} lang=${code} .selected=${live(code === language())}>${name}</option>`)}
    </select>`;
  }

  async speak(select) {
    try {
      await setLanguage(select.value);
    } catch {
      select.value = language();
      this.tell({ text: () => t('language.failed'), kind: 'bad' });
    }
  }

  who() {
    const { name, role: code, tenant, expiresAt } = this.caller;
    const left = expiresAt ? (expiresAt - Date.now()) / 1000 : null;
    const expiry = left === null ? '' : left > 0 ? t('caller.expires', { span: span(left) }) : t('caller.expired');
    return html`<div class="who">
      <span class="who-name" title=${expiry}><b><bdi>${name ?? t('caller.unknown')}</bdi></b> <span class="role">${role(code)}</span> <span class="muted"><bdi>${tenant}</bdi></span></span>
      <button type="button" class="quiet" @click=${() => this.leave()}>${t('signOut')}</button>
    </div>`;
  }

  navigation() {
    return html`<nav class="places" aria-label=${t('navigation')}>
      <ul>
        ${this.allowed.map(({ place }) => html`<li><a href=${to(place)} aria-current=${place === this.at.place ? 'page' : nothing}>${titleOf(place)}</a></li>`)}
        <li class="advanced"><a href="/console">${t('advanced')}</a></li>
      </ul>
    </nav>`;
  }

  content(found) {
    const { caller, at } = this;
    if (!caller) return html`<desk-sign-in .refused=${this.refused} .canSignIn=${this.canSignIn} @desk-token=${({ detail }) => this.use(signIn(detail))}></desk-sign-in>`;
    if (!STAFF.includes(caller.role)) return html`<desk-no-entry .caller=${caller}></desk-no-entry>`;
    if (!found) return html`<h1 tabindex="-1">${t('noPage.title')}</h1><p>${t('noPage.text')}</p>`;
    if (found.roles.includes(caller.role)) return found.show({ caller, ...at });
    return html`<h1 tabindex="-1">${titleOf(found.place)}</h1>
      <p class="empty">${t('noRole', { needed: role(found.roles[0]), role: role(caller.role) })}</p>`;
  }

  async leave() {
    try {
      await signOut(this.caller);
      this.use(null);
    } catch (error) {
      this.tell({ text: () => t('signOut.failed', { detail: error.message }), kind: 'bad' });
    }
  }

  offer() {
    const { caller, offered } = this;
    const bearer = (of) => (of.isReadable ? rich('offer.caller', { user: html`<bdi>${of.sub}</bdi>`, role: role(of.role), tenant: html`<bdi>${of.tenant}</bdi>` }) : t('caller.unknown'));
    const is = (heading, text, answers) => html`<desk-offer .heading=${heading} .text=${text} .answers=${answers}
      @desk-answer=${({ detail }) => this.answered(detail)}></desk-offer>`;
    if (!caller) return is(rich('offer.signIn', { caller: bearer(offered) }), html`<p>${t('offer.trust')}</p>`, [t('cancel'), t('signIn.act')]);
    return is(t('offer.replace'), html`<p>${rich('offer.callers', { offered: html`<b>${bearer(offered)}</b>`, caller: html`<b>${bearer(caller)}</b>` })}</p>
      <p>${t('offer.replaceTrust')}</p>`, [t('offer.keep'), t('offer.act')]);
  }

  answered(isReplaced) {
    const { offered, caller } = this;
    this.offered = null;
    if (isReplaced) {
      // Leaves the server's session as it is; the token takes precedence over it.
      this.use(signIn(offered.token));
    } else this.use(caller);
  }
}
customElements.define('tidings-desk', Desk);
