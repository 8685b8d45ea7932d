// Target types, and whether users may subscribe and follow by themselves.

import { html, nothing } from 'lit';

import { ask } from '../../api.js';
import { DeleteTargetType, SaveFollowPolicy, SaveTargetType, TargetTypes as List } from '../../documents.js';
import { confirm } from '../../parts/dialog.js';
import { check, text } from '../../parts/form.js';
import { Page } from '../../parts/part.js';
import { problem, state } from '../../parts/show.js';
import { t } from '../../texts.js';

const policy = (isOpen) => (isOpen ? 'OPEN' : 'BACKEND_ONLY');

class TargetTypes extends Page {
  constructor() {
    super();
    Object.assign(this, { types: [], followPolicy: 'BACKEND_ONLY', code: '', open: false });
  }

  connectedCallback() {
    super.connectedCallback();
    this.fill();
  }

  async fill() {
    const data = await this.load(List);
    if (data) this.set({ types: data.targetTypes, followPolicy: data.followPolicy });
  }

  render() {
    const { types, followPolicy, isLoading, loadFailure, failure } = this;
    return html`
      ${state({ isLoading, loadFailure, isEmpty: types.length === 0, empty: t('targets.empty') })}
      ${types.length > 0 ? html`<table class="cards"><caption class="vh">${t('targets.table')}</caption>
        <thead><tr><th>${t('targetType')}</th><th>${t('targets.by')}</th><th><span class="vh">${t('acts')}</span></th></tr></thead>
        <tbody>${types.map(({ code, subscriptionPolicy }) => this.row(code, subscriptionPolicy === 'OPEN'))}</tbody></table>` : nothing}
      ${this.isAdmin ? html`<form class="card" novalidate @submit=${(event) => {
        event.preventDefault();
        this.save(this.code.trim(), this.open);
      }}><h2>${t('targets.new')}</h2>
        ${problem(failure, ['code'])}
        ${text({ name: 'target-code', label: t('code'), value: this.code, isCode: true, set: (code) => this.set({ code }), failure, path: 'code', placeholder: 'product' })}
        ${check({ name: 'target-open', label: t('targets.open'), value: this.open, set: (open) => this.set({ open }), hint: t('targets.openHint') })}
        <p class="actions"><button class="primary" ?disabled=${this.isBusy}>${t('save')}</button></p></form>` : nothing}
      <section class="card"><h2>${t('follows')}</h2>
        ${check({ name: 'follows-open', label: t('targets.follow'), value: followPolicy === 'OPEN', isDisabled: !this.isAdmin || this.isBusy,
          set: (open) => this.saveFollows(open), hint: t('targets.followHint') })}</section>`;
  }

  row(code, isOpen) {
    return html`<tr><th scope="row"><bdi>${code}</bdi></th><td data-label=${t('targets.by')} class="named">${isOpen ? t('targets.byUsers') : t('targets.byBackend')}</td>
      <td class="acts">${this.isAdmin ? html`
        <button type="button" class="quiet" aria-label=${t(isOpen ? 'closeLabel' : 'openLabel', { code })} @click=${() => this.save(code, !isOpen)}>${isOpen ? t('closeIt') : t('openIt')}</button>
        <button type="button" class="quiet danger" aria-label=${t('deleteLabel', { name: code })} @click=${() => this.delete(code)}>${t('delete')}</button>` : nothing}</td></tr>`;
  }

  save(code, open) {
    return this.act(async () => {
      await ask(SaveTargetType, { code, policy: policy(open) });
      this.set({ code: '', open: false });
      await this.fill();
      this.say(() => t('targets.saved'));
    });
  }

  saveFollows(open) {
    return this.act(async () => {
      await ask(SaveFollowPolicy, { policy: policy(open) });
      await this.fill();
      this.say(() => t(open ? 'targets.followOpen' : 'targets.followClosed'));
    });
  }

  async delete(code) {
    const text = t('targets.deleteText');
    if (!(await confirm({ title: t('deleteTitle', { name: code }), text, action: t('delete'), isDanger: true }))) return;
    await this.act(async () => {
      await ask(DeleteTargetType, { code });
      await this.fill();
      this.say(() => t('targets.deleted'));
    });
  }
}
customElements.define('desk-target-types', TargetTypes);
