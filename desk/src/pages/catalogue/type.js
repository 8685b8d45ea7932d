// One message type, with a live preview of its template on a sample.

import { html, nothing } from 'lit';

import { ask, told } from '../../api.js';
import { Catalogue, DeleteType, Preview, SaveType } from '../../documents.js';
import { paramsOf } from '../../draft.js';
import { confirm } from '../../parts/dialog.js';
import { area, check, select, text } from '../../parts/form.js';
import { Page } from '../../parts/part.js';
import { item, problem, state } from '../../parts/show.js';
import { go, to } from '../../route.js';
import { keep, kept } from '../../storage.js';
import { list, t } from '../../texts.js';
import { fieldName, word } from '../../words.js';

const REST_MS = 250;

/** What templates may contain; the same in all languages. */
const EXAMPLE = '{{ params.name }}, {{ sender.name or sender.id }}, {% if action == \'like\' %} … {% endif %}';

/** The line of a flaw, removed from its message because the page shows it in front. */
const LINE = / \(line \d+\)/;

const PATHS = ['code', 'title', 'group', 'icon', 'position', 'ttlSeconds', 'template.title', 'template.body', 'template.link'].map((path) => `input.${path}`);
const NEW = { code: '', title: '', group: '', icon: '', position: 0, readPolicy: 'MANUAL', mandatory: false, usersMaySend: false, ttlSeconds: '', template: null, delivery: [], ui: null };

class Type extends Page {
  constructor() {
    super();
    Object.assign(this, { of: null, flaws: [] });
  }

  get isNew() {
    return this.rest[1] === '+';
  }

  willUpdate(changed) {
    if (changed.has('rest') && this.rest[1] !== this.code) this.fill((this.code = this.rest[1]));
  }

  async fill(code) {
    const data = await this.load(Catalogue);
    if (!data) return;
    const of = this.isNew ? NEW : data.messageTypes.find((one) => one.code === code);
    this.set({ isGone: !of, of: of && { ...of, group: of.group ?? '', icon: of.icon ?? '', ttlSeconds: of.ttlSeconds ?? '' }, sample: this.sampleOf(code, of) });
    this.changed();
  }

  /** The stored sample, or one with a placeholder for each param. */
  sampleOf(code, of) {
    const params = Object.fromEntries(paramsOf(of?.template).map((name) => [name, `{${name}}`]));
    return kept(`sample.${code}`) ?? JSON.stringify({ params, sender: 'ada', target: { type: 'document', externalId: '7' } }, null, 2);
  }

  change(changes) {
    this.set({ of: { ...this.of, ...changes }, failure: null });
    this.changed();
  }

  changed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.preview(), REST_MS);
  }

  async preview() {
    const { of, sample } = this;
    if (!of) return;
    try {
      const { params, data, sender, target, action } = JSON.parse(sample);
      const input = { content: { title: of.title || t('title'), params, data }, template: of.template ?? undefined, sender, target, action };
      const { previewNotification: shown } = await ask(Preview, { input });
      if (of === this.of && sample === this.sample) this.set({ shown, flaws: shown.flaws.map((flaw) => ({ ...flaw, message: flaw.message.replace(LINE, '') })), sampleFlaw: undefined });
    } catch (error) {
      if (of === this.of && sample === this.sample) this.set({ sampleFlaw: error });
    }
  }

  render() {
    const { of, isLoading, loadFailure, isGone, failure } = this;
    const crumb = html`<p class="crumb"><a href=${to('catalogue', ['types'])}>${t('catalogue.types')}</a></p>`;
    if (!of) return html`${crumb}${state({ isLoading: isLoading && !isGone, loadFailure, isEmpty: true, empty: t('type.gone') })}`;
    return html`${crumb}<h2 class="title"><bdi>${this.isNew ? t('type.new') : of.title}</bdi></h2>
      <div class="columns">
        <form class="card" novalidate @submit=${this.onSubmit}><fieldset class="bare" ?disabled=${!this.isAdmin}>
          <legend class="vh">${t('type.fields')}</legend>
          ${problem(failure, PATHS)}
          ${this.fields(of)}
          ${this.template(of)}
          ${this.isAdmin ? html`<p class="actions">
            ${this.isNew ? nothing : html`<button type="button" class="danger quiet" @click=${() => this.delete()}>${t('asks', { action: t('delete') })}</button>`}
            <button class="primary" ?disabled=${this.isBusy}>${t('save')}</button></p>` : nothing}
        </fieldset></form>
        <aside class="card" aria-label=${t('preview')}>
          <h2>${t('asSeen')}</h2>
          <div class="shown" aria-live="polite">${this.shown ? item({ ...this.shown, type: of.title || t('type') }) : nothing}
            ${this.flaws.map((flaw) => html`<p class="problem">${t(flaw.line ? 'type.flawAt' : 'type.flawIn', { field: fieldName(flaw.field), line: flaw.line, detail: flaw.message })}</p>`)}</div>
          ${area({ name: 'sample', label: t('type.sample'), rows: 9, isCode: true, value: this.sample, wrong: this.sampleFlaw && (this.sampleFlaw instanceof SyntaxError ? t('noJson', { detail: this.sampleFlaw.message }) : told(this.sampleFlaw)),
            set: (sample) => {
              keep(`sample.${this.code}`, sample);
              this.set({ sample });
              this.changed();
            }, hint: t('type.sampleHint') })}
        </aside>
      </div>`;
  }

  fields(of) {
    const { failure } = this;
    const set = (name) => (value) => this.change({ [name]: value });
    const field = (name, label, more) => text({ name: `type-${name}`, label, value: of[name], set: set(name), failure, path: `input.${name}`, ...more });
    return html`
      <div class="pair">${field('code', t('code'), { isCode: true, isFixed: !this.isNew, hint: this.isNew ? t('type.codeHint') : undefined })}${field('title', t('title'))}</div>
      <div class="pair">${field('group', t('types.group'), { hint: t('type.groupHint') })}${field('icon', t('type.icon'))}</div>
      <div class="pair">${field('position', t('type.position'), { type: 'number' })}${field('ttlSeconds', t('type.ttl'), { type: 'number', min: 1, hint: t('type.ttlHint') })}</div>
      ${select({ name: 'type-readPolicy', label: t('type.readPolicy'), value: of.readPolicy, set: set('readPolicy'), options: [['MANUAL', t('type.manual')], ['AUTO', t('type.auto')]] })}
      ${check({ name: 'type-mandatory', label: t('type.mandatory'), value: of.mandatory, set: set('mandatory') })}
      ${check({ name: 'type-usersMaySend', label: t('type.usersMaySend'), value: of.usersMaySend, set: set('usersMaySend'), hint: t('type.usersMaySendHint') })}
      ${of.delivery.length > 0 ? html`<p class="muted">${t('type.delivery', { channels: list(of.delivery.map(({ channel }) => word(channel))) })}</p>` : nothing}`;
  }

  template(of) {
    const { failure, flaws } = this;
    const has = of.template !== null;
    const source = (name, label, rows, more) => {
      const flaw = flaws.find(({ field }) => field === name);
      return area({ name: `template-${name}`, label, rows, isCode: true, value: of.template[name] ?? '', failure, path: `input.template.${name}`,
        wrong: flaw && (flaw.line ? t('type.line', { line: flaw.line, detail: flaw.message }) : flaw.message), set: (value) => this.change({ template: { ...of.template, [name]: value } }), ...more });
    };
    return html`
      ${check({ name: 'has-template', label: t('type.hasTemplate'), value: has, set: (isOn) => this.change({ template: isOn ? { title: '', body: '', link: '' } : null }) })}
      ${has ? html`${source('title', t('type.itemTitle'), 2)}${source('body', t('type.itemBody'), 5, { hint: t('type.itemBodyHint') })}
        ${source('link', t('type.itemLink'), 2, { hint: t('type.templateHint', { example: EXAMPLE }) })}` : nothing}`;
  }

  get input() {
    const { code, title, group, icon, position, readPolicy, mandatory, usersMaySend, ttlSeconds, template, delivery, ui } = this.of;
    const given = (value) => String(value ?? '').trim() || undefined;
    return {
      code: code.trim(), title: title.trim(), group: given(group), icon: given(icon), position: Number(position) || 0, readPolicy, mandatory, usersMaySend,
      ttlSeconds: given(ttlSeconds) && Number(ttlSeconds), ui: ui ?? undefined,
      template: template ? { title: template.title, body: given(template.body) && template.body, link: given(template.link) && template.link.trim() } : undefined,
      delivery: delivery.map((rule) => (rule.digest ? { ...rule, delaySeconds: undefined } : rule)),
    };
  }

  onSubmit = (event) => {
    event.preventDefault();
    this.act(async () => {
      const { saveMessageType: saved } = await ask(SaveType, { input: this.input });
      this.say(() => t('type.saved', { title: saved.title }));
      if (this.isNew) go(to('catalogue', ['types', saved.code]), { replaces: true });
    });
  };

  async delete() {
    const { code, title } = this.of;
    if (!(await confirm({ title: t('deleteTitle', { name: title }), text: t('type.deleteText'), action: t('delete'), isDanger: true }))) return;
    await this.act(async () => {
      await ask(DeleteType, { code });
      this.say(() => t('type.deleted'));
      go(to('catalogue', ['types']));
    });
  }
}
customElements.define('desk-type', Type);
