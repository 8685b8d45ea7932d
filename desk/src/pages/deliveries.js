// Outbound deliveries: the state of each destination, and all attempts in the retention window.

import { html, nothing } from 'lit';

import { ask } from '../api.js';
import { Deliveries as List, Lanes, PauseEndpoint, Replay, ResumeEndpoint, SwitchMail, SwitchPush, SwitchWeChat, TestEndpoint } from '../documents.js';
import { confirm } from '../parts/dialog.js';
import { select, text } from '../parts/form.js';
import { Page } from '../parts/part.js';
import { badge, more, person, problem, state, when } from '../parts/show.js';
import { to } from '../route.js';
import { rich, t } from '../texts.js';
import { word } from '../words.js';

const CHANNELS = ['WEBHOOK', 'EMAIL', 'WEB_PUSH', 'WECHAT'];
const STATES = ['PENDING', 'DELIVERED', 'DEAD'];
const SWITCHES = { EMAIL: SwitchMail, WECHAT: SwitchWeChat, WEB_PUSH: SwitchPush };

class Deliveries extends Page {
  constructor() {
    super();
    Object.assign(this, { nodes: [], lanes: [] });
  }

  connectedCallback() {
    super.connectedCallback();
    this.look();
  }

  willUpdate(changed) {
    if (changed.has('query')) this.fill();
  }

  /** The state of the destinations, which only operators may see. */
  async look() {
    if (!this.isAdmin) return;
    try {
      const { webhookEndpoints, mailRelay, weChatAccount, webPush } = await ask(Lanes);
      const lanes = [
        ...webhookEndpoints.map((of) => ({ ...of, channel: 'WEBHOOK', name: of.url })),
        mailRelay && { ...mailRelay, channel: 'EMAIL', name: `${mailRelay.from} → ${mailRelay.url}` },
        weChatAccount && { ...weChatAccount, channel: 'WECHAT', name: weChatAccount.appId },
        webPush && { ...webPush, channel: 'WEB_PUSH', name: webPush.contact },
      ];
      this.set({ lanes: lanes.filter(Boolean), hasLooked: true });
    } catch (error) {
      this.set({ failure: error });
    }
  }

  get filter() {
    const one = (name) => this.query.get(name) || undefined;
    return { channel: one('channel'), states: one('state') && [one('state')], user: one('user'), notification: one('notification'), endpoint: one('endpoint') };
  }

  async fill(after) {
    const data = await this.load(List, { filter: this.filter, after });
    if (!data) return;
    const { nodes, pageInfo } = data.outboundDeliveries;
    this.set({ nodes: after ? [...this.nodes, ...nodes] : nodes, pageInfo });
  }

  render() {
    const { nodes, pageInfo, isLoading, loadFailure, failure } = this;
    return html`
      <h1 tabindex="-1">${t('place.deliveries')}</h1>
      ${problem(failure)}
      ${this.isAdmin ? html`<section><h2>${t('deliveries.destinations')}</h2>
        ${this.hasLooked && this.lanes.length === 0 ? html`<p class="empty">${t('deliveries.noDestinations')}</p>` : nothing}
        <ul class="lanes">${this.lanes.map((of) => this.lane(of))}</ul></section>` : nothing}
      <section><h2>${t('deliveries.list')}</h2>
        ${this.filters()}
        ${state({ isLoading, loadFailure, isEmpty: nodes.length === 0, empty: t('deliveries.empty') })}
        ${nodes.length > 0 ? html`<table class="cards" aria-busy=${String(Boolean(isLoading))}><caption class="vh">${t('deliveries.table')}</caption>
          <thead><tr><th>${t('deliveries.event')}</th><th>${t('deliveries.channel')}</th><th>${t('deliveries.to')}</th><th>${t('deliveries.state')}</th><th class="number">${t('deliveries.attempts')}</th><th>${t('deliveries.answer')}</th><th>${t('when')}</th><th><span class="vh">${t('acts')}</span></th></tr></thead>
          <tbody>${nodes.map((of) => this.row(of))}</tbody></table>` : nothing}
        ${more(pageInfo, () => this.fill(pageInfo.endCursor), isLoading)}</section>`;
  }

  lane(of) {
    const isOn = of.state === 'ACTIVE';
    return html`<li class="card lane">
      <p class="lane-head"><b>${word(of.channel)}</b> ${badge(of.state)}</p>
      <p class="code wrap"><bdi>${of.name}</bdi></p>
      <p>${t('deliveries.waiting', { n: of.pendingCount })} · ${of.deadCount > 0 ? html`<b class="bad">${t('deliveries.dead', { n: of.deadCount })}</b>` : t('deliveries.dead', { n: 0 })}</p>
      ${of.failingSince ? html`<p class="bad">${rich(of.restingUntil ? 'deliveries.resting' : 'deliveries.failing', { since: when(of.failingSince), until: when(of.restingUntil) })}</p>` : nothing}
      ${of.lastError ? html`<p class="muted wrap"><bdi>${of.lastError}</bdi></p>` : nothing}
      <p class="actions start">
        <button type="button" ?disabled=${this.isBusy} @click=${() => this.turn(of, !isOn)}>${isOn ? t('pause') : t('resume')}</button>
        ${of.channel === 'WEBHOOK' ? html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.test(of)}>${t('deliveries.test')}</button>` : nothing}
        ${of.deadCount > 0 ? html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.replayDead(of)}>${t('asks', { action: t('deliveries.again') })}</button>` : nothing}
      </p></li>`;
  }

  row(of) {
    return html`<tr>
      <th scope="row">${of.notificationId ? html`<a href=${to('sent', [of.notificationId])}>${word(of.event)}</a>` : word(of.event)}</th>
      <td data-label=${t('deliveries.channel')}>${word(of.channel)}</td>
      <td data-label=${t('deliveries.to')}>${of.user ? person(of.user) : '–'}</td>
      <td data-label=${t('deliveries.state')}>${badge(of.state)}</td>
      <td data-label=${t('deliveries.attempts')} class="number">${of.attemptCount}</td>
      <td data-label=${t('deliveries.answer')} class="wrap"><bdi>${[of.lastStatus, of.lastError].filter(Boolean).join(' ') || '–'}</bdi></td>
      <td data-label=${t('when')}>${when(of.deliveredAt ?? of.happenedAt)}${of.state === 'PENDING' && of.dueAt ? html`<small>${rich('deliveries.due', { time: when(of.dueAt) })}</small>` : nothing}</td>
      <td class="acts">${of.state === 'PENDING' ? nothing : html`<button type="button" class="quiet" ?disabled=${this.isBusy} aria-label=${t('deliveries.againLabel', { event: word(of.event), channel: word(of.channel) })}
        @click=${() => this.replay({ ids: [of.id] })}>${t('deliveries.again')}</button>`}</td></tr>`;
  }

  filters() {
    const of = (name, label, options) => select({ name: `filter-${name}`, label, value: this.query.get(name) ?? '', set: (value) => this.narrow('deliveries', { [name]: value }), options: [['', t('all')], ...options] });
    const typed = (name, label) => text({ name: `filter-${name}`, label, value: this.typed?.[name] ?? this.query.get(name) ?? '', isCode: true,
      set: (value) => this.narrowSoon('deliveries', { [name]: value.trim() }) });
    const endpoints = this.lanes.filter(({ channel }) => channel === 'WEBHOOK');
    return html`<form class="filters" role="search" aria-label=${t('filters')} @submit=${(event) => event.preventDefault()}>
      ${of('channel', t('deliveries.channel'), CHANNELS.map((one) => [one, word(one)]))}
      ${of('state', t('deliveries.state'), STATES.map((one) => [one, word(one)]))}
      ${endpoints.length > 0 ? of('endpoint', t('deliveries.endpoint'), endpoints.map(({ id, url }) => [id, url])) : nothing}
      ${typed('user', t('user'))}
      ${typed('notification', t('notification'))}
    </form>`;
  }

  turn(of, isOn) {
    return this.act(async () => {
      if (of.channel === 'WEBHOOK') await ask(isOn ? ResumeEndpoint : PauseEndpoint, { id: of.id });
      else await ask(SWITCHES[of.channel], { to: isOn ? 'ON' : 'OFF' });
      await this.look();
      this.say(() => t(isOn ? 'deliveries.resumed' : 'paused'));
    });
  }

  test(of) {
    return this.act(async () => {
      await ask(TestEndpoint, { id: of.id });
      await Promise.all([this.look(), this.fill()]);
      this.say(() => t('deliveries.tested'));
    });
  }

  async replayDead(of) {
    const text = t('deliveries.replayText', { n: of.deadCount });
    if (!(await confirm({ title: t('deliveries.replayTitle'), text, action: t('deliveries.again') }))) return;
    await this.replay(of.channel === 'WEBHOOK' ? { dead: { endpoint: of.id } } : { deadTo: { channel: of.channel } });
  }

  replay(choice) {
    return this.act(async () => {
      const { replayOutboundDeliveries } = await ask(Replay, { select: choice });
      await Promise.all([this.look(), this.fill()]);
      this.say(() => t('deliveries.replayed', { n: replayOutboundDeliveries.replayedCount }));
    });
  }
}
customElements.define('desk-deliveries', Deliveries);
