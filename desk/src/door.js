// Sign-in, the page for callers without permission, and the offer to switch to another token.

import { html, nothing } from 'lit';

import { Part } from './parts/part.js';
import { beginning } from './session.js';
import { rich, t } from './texts.js';

class SignIn extends Part {
  static properties = { refused: {}, canSignIn: {} };

  render() {
    return html`
      <section class="door">
        <h1 tabindex="-1">${t('signIn.title')}</h1>
        ${this.refused ? html`<p class="problem" role="alert">${t('signIn.refused', { detail: this.refused })}</p>` : nothing}
        ${this.canSignIn ? html`
          <p><a class="button primary" href=${beginning()}>${t('signIn.provider')}</a></p>
          <p class="or">${t('signIn.or')}</p>` : nothing}
        <form @submit=${this.onSubmit}>
          <div class="field">
            <label for="token">${t('signIn.token')}</label>
            <input id="token" class="code" type=${this.isShown ? 'text' : 'password'} required autocomplete="off" spellcheck="false" aria-describedby="token-hint">
            <p class="hint" id="token-hint">${rich('signIn.hint', { command: html`<code>tidings token --tenant … --user … --role admin</code>` })}</p>
          </div>
          <p class="actions">
            <button type="button" class="quiet" aria-pressed=${String(Boolean(this.isShown))} @click=${() => this.set({ isShown: !this.isShown })}>${t('signIn.show')}</button>
            <button class="primary">${t('signIn.act')}</button>
          </p>
        </form>
      </section>`;
  }

  onSubmit = (event) => {
    event.preventDefault();
    this.dispatchEvent(new CustomEvent('desk-token', { detail: this.querySelector('#token').value }));
  };
}
customElements.define('desk-sign-in', SignIn);

class NoEntry extends Part {
  static properties = { caller: {} };

  connectedCallback() {
    super.connectedCallback();
    fetch('/demo', { method: 'HEAD' }).then(({ ok }) => this.set({ hasDemo: ok }), () => {});
  }

  render() {
    return html`
      <section class="door">
        <h1 tabindex="-1">${t('noEntry.title')}</h1>
        <p>${rich('noEntry.text', { user: html`<b><bdi>${this.caller.sub}</bdi></b>` })}</p>
        ${this.hasDemo ? html`<p><a class="button primary" href="/demo">${t('noEntry.demo')}</a></p>` : nothing}
      </section>`;
  }
}
customElements.define('desk-no-entry', NoEntry);

/** Asks whether to use the token of a link; Escape means no. */
class Offer extends Part {
  static properties = { heading: { attribute: false }, text: { attribute: false }, answers: { attribute: false } };

  firstUpdated() {
    this.querySelector('dialog').showModal();
  }

  render() {
    const answer = (isReplaced) => this.dispatchEvent(new CustomEvent('desk-answer', { detail: isReplaced }));
    const [no, yes] = this.answers;
    return html`<dialog aria-labelledby="offer" @cancel=${() => answer(false)}>
      <h2 id="offer">${this.heading}</h2>
      ${this.text}
      <p class="actions">
        <button type="button" autofocus @click=${() => answer(false)}>${no}</button>
        <button type="button" @click=${() => answer(true)}>${yes}</button>
      </p>
    </dialog>`;
  }
}
customElements.define('desk-offer', Offer);
