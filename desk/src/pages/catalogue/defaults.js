// Preferences that apply to users without a setting of their own.

import { html, nothing } from 'lit';

import { ask } from '../../api.js';
import { CatalogueTitles, Defaults as List, SaveDefaults } from '../../documents.js';
import { check, text } from '../../parts/form.js';
import { Page } from '../../parts/part.js';
import { problem, state } from '../../parts/show.js';
import { t } from '../../texts.js';
import { word } from '../../words.js';

class Defaults extends Page {
  connectedCallback() {
    super.connectedCallback();
    Object.assign(this, { titles: new Map(), action: '' });
    this.fill();
  }

  async fill() {
    const [data, titles] = await Promise.all([this.load(List), ask(CatalogueTitles).catch(() => ({ messageTypes: [] }))]);
    if (data) this.set({ of: data.defaultPreferences, titles: new Map(titles.messageTypes.map(({ code, title }) => [code, title])) });
  }

  render() {
    const { of, isLoading, loadFailure, failure } = this;
    if (!of) return state({ isLoading, loadFailure, isEmpty: true, empty: '' });
    const title = (code) => this.titles.get(code) ?? code;
    const list = (name, entries, label, change) => html`<ul class="list">${entries.map((entry, place) => html`<li>
      ${check({ name: `default-${name}-${place}`, label: html`<bdi>${label(entry)}</bdi>`, value: entry.enabled, isDisabled: !this.isAdmin, set: (enabled) => this.change(change(Object.assign(entry, { enabled }), enabled)) })}
      ${name === 'action' && this.isAdmin ? html`<button type="button" class="quiet" aria-label=${t('defaults.forgetLabel', { code: entry.code })} @click=${() => this.change({ resetActions: [entry.code] })}>${t('defaults.forget')}</button>` : nothing}</li>`)}</ul>`;
    return html`
      ${problem(failure)}
      <section class="card"><h2>${t('types')}</h2>${list('type', of.types, ({ code }) => title(code), ({ code }, enabled) => ({ types: [{ code, enabled }] }))}</section>
      ${of.channels.length > 0 ? html`<section class="card"><h2>${t('channels')}</h2>
        ${list('channel', of.channels, ({ type, channel }) => t('byChannel', { type: title(type), channel: word(channel) }), ({ type, channel }, enabled) => ({ channels: [{ type, channel, enabled }] }))}</section>` : nothing}
      <section class="card"><h2>${t('actions')}</h2>
        ${of.actions.length === 0 ? html`<p class="muted">${t('defaults.noActions')}</p>` : list('action', of.actions, ({ code }) => code, ({ code }, enabled) => ({ actions: [{ code, enabled }] }))}
        ${this.isAdmin ? html`<form class="inline" @submit=${(event) => {
          event.preventDefault();
          if (this.action.trim()) this.change({ actions: [{ code: this.action.trim(), enabled: false }] });
        }}>${text({ name: 'off-action', label: t('defaults.action'), value: this.action, isCode: true, set: (action) => this.set({ action }) })}<button>${t('defaults.off')}</button></form>` : nothing}
      </section>
      <p class="muted">${t('defaults.hint')}</p>`;
  }

  change(changes) {
    return this.act(async () => {
      try {
        await ask(SaveDefaults, changes);
        this.set({ action: '' });
        this.say(() => t('defaults.changed'));
      } finally {
        await this.fill();
      }
    });
  }
}
customElements.define('desk-defaults', Defaults);
