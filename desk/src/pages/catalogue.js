// The catalogue: message types with templates, reasons, target types, groups, defaults, and codes of views.

import { html, nothing } from 'lit';

import { Page } from '../parts/part.js';
import { to } from '../route.js';
import { t } from '../texts.js';
import './catalogue/defaults.js';
import './catalogue/groups.js';
import './catalogue/reasons.js';
import './catalogue/targets.js';
import './catalogue/type.js';
import './catalogue/types.js';
import './catalogue/views.js';

const PARTS = ['types', 'reasons', 'targets', 'groups', 'defaults', 'views'];

class Catalogue extends Page {
  get part() {
    return PARTS.includes(this.rest[0]) ? this.rest[0] : 'types';
  }

  render() {
    const { part } = this;
    return html`
      <h1 tabindex="-1">${t('place.catalogue')}</h1>
      <nav class="tabs" aria-label=${t('catalogue.parts')}><ul>${PARTS.map((name) => html`<li><a
        href=${to('catalogue', [name])} aria-current=${name === part ? 'page' : nothing}>${t(`catalogue.${name}`)}</a></li>`)}</ul></nav>
      ${this.isAdmin || part === 'groups' ? nothing : html`<p class="note">${t('catalogue.readOnly')}</p>`}
      ${this.shown(part)}`;
  }

  shown(part) {
    const { caller, rest } = this;
    switch (part) {
      case 'reasons':
        return html`<desk-reasons .caller=${caller}></desk-reasons>`;
      case 'targets':
        return html`<desk-target-types .caller=${caller}></desk-target-types>`;
      case 'groups':
        return html`<desk-groups .caller=${caller}></desk-groups>`;
      case 'defaults':
        return html`<desk-defaults .caller=${caller}></desk-defaults>`;
      case 'views':
        return html`<desk-view-codes .caller=${caller}></desk-view-codes>`;
      default:
        return rest[1] ? html`<desk-type .caller=${caller} .rest=${rest}></desk-type>` : html`<desk-types .caller=${caller}></desk-types>`;
    }
  }
}
customElements.define('desk-catalogue', Catalogue);
