// The message types in catalogue order.

import { html, nothing } from 'lit';

import { Catalogue } from '../../documents.js';
import { Page } from '../../parts/part.js';
import { state } from '../../parts/show.js';
import { to } from '../../route.js';
import { t } from '../../texts.js';
import { word } from '../../words.js';

class Types extends Page {
  connectedCallback() {
    super.connectedCallback();
    this.types = [];
    this.fill();
  }

  async fill() {
    const data = await this.load(Catalogue);
    if (data) this.set({ types: data.messageTypes });
  }

  render() {
    const { types, isLoading, loadFailure } = this;
    return html`
      ${this.isAdmin ? html`<p class="actions"><a class="button primary" href=${to('catalogue', ['types', '+'])}>${t('types.newType')}</a></p>` : nothing}
      ${state({ isLoading, loadFailure, isEmpty: types.length === 0, empty: t('types.empty') })}
      ${types.length > 0 ? html`<table class="cards"><caption class="vh">${t('types.table')}</caption>
        <thead><tr><th>${t('type')}</th><th>${t('code')}</th><th>${t('types.group')}</th><th>${t('types.read')}</th><th>${t('types.leaves')}</th><th>${t('template')}</th></tr></thead>
        <tbody>${types.map((of) => html`<tr>
          <th scope="row"><a href=${to('catalogue', ['types', of.code])}><bdi>${of.title}</bdi></a>${of.mandatory ? html` <span class="badge">${t('types.mandatory')}</span>` : nothing}</th>
          <td data-label=${t('code')} class="code"><bdi>${of.code}</bdi></td><td data-label=${t('types.group')} class="named"><bdi>${of.group ?? '–'}</bdi></td><td data-label=${t('types.read')} class="named">${of.readPolicy === 'AUTO' ? t('types.byLooking') : t('types.oneByOne')}</td>
          <td data-label=${t('types.leaves')} class="named">${of.delivery.map(({ channel }) => word(channel)).join(', ') || '–'}</td>
          <td data-label=${t('template')} class="named">${of.templateError ? html`<span class="badge bad" title=${of.templateError}>${t('types.flaw')}</span>` : of.template ? t('types.hasTemplate') : '–'}</td></tr>`)}</tbody></table>` : nothing}`;
  }
}
customElements.define('desk-types', Types);
