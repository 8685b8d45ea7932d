// Rules: scheduled queries for rows that need attention, and their latest runs.

import { html, nothing } from 'lit';

import { ask } from '../api.js';
import { PauseRule, ResumeRule, Rules as List, RunRule } from '../documents.js';
import { Page } from '../parts/part.js';
import { badge, problem, state, when } from '../parts/show.js';
import { rich, t } from '../texts.js';

class Rules extends Page {
  connectedCallback() {
    super.connectedCallback();
    this.rules = [];
    this.fill();
  }

  async fill() {
    const data = await this.load(List);
    if (data) this.set({ rules: data.notificationRules });
  }

  render() {
    const { rules, isLoading, loadFailure, failure } = this;
    return html`
      <h1 tabindex="-1">${t('place.rules')}</h1>
      ${problem(failure)}
      ${state({ isLoading, loadFailure, isEmpty: rules.length === 0, empty: t('rules.empty') })}
      ${rules.map((rule) => this.rule(rule))}`;
  }

  rule({ code, state: is, type, rowCount, failureCount, nextRunAt, lastCompleteAt, scan, runs }) {
    return html`<section class="card" aria-label=${t('rules.label', { code })}>
      <div class="head"><h2><bdi>${code}</bdi> ${badge(is)}</h2><div class="actions">
        ${is === 'ACTIVE' ? html`
          ${scan ? html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.run(code)}>${t('rules.run')}</button>` : nothing}
          <button type="button" ?disabled=${this.isBusy} @click=${() => this.turn(PauseRule, code, 'paused')}>${t('pause')}</button>`
          : html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.turn(ResumeRule, code, 'rules.resumed')}>${t('resume')}</button>`}
      </div></div>
      <p>${type ? rich('rules.raises', { type: html`<bdi>${type.title}</bdi>` }) : t('rules.noType')} · ${t('rules.rows', { n: rowCount })}${failureCount > 0 ? html` · <b class="bad">${t('rules.failures', { n: failureCount })}</b>` : nothing}
        · ${scan ? rich('rules.scan', { source: html`<bdi>${scan.source}</bdi>`, schedule: html`<span class="code">${scan.schedule}</span>`, zone: scan.timeZone, time: when(nextRunAt) }) : t('rules.reported')} · ${rich('rules.lastRun', { time: when(lastCompleteAt) })}</p>
      ${runs.length > 0 ? html`<details><summary>${t('rules.runs', { n: runs.length })}</summary><table class="cards"><caption class="vh">${t('rules.runsOf', { code })}</caption>
        <thead><tr><th>${t('when')}</th><th>${t('rules.outcome')}</th><th class="number">${t('rules.read')}</th><th class="number">${t('rules.raised')}</th><th class="number">${t('rules.amended')}</th><th class="number">${t('rules.resolved')}</th></tr></thead>
        <tbody>${runs.map((run) => html`<tr><th scope="row">${when(run.startedAt)}</th><td data-label=${t('rules.outcome')}>${badge(run.outcome)}${run.error ? html`<small class="wrap"><bdi>${run.error}</bdi></small>` : nothing}</td>
          <td data-label=${t('rules.read')} class="number">${run.rows}</td><td data-label=${t('rules.raised')} class="number">${run.raised}</td><td data-label=${t('rules.amended')} class="number">${run.amended}</td><td data-label=${t('rules.resolved')} class="number">${run.resolved}</td></tr>`)}</tbody></table></details>` : nothing}
    </section>`;
  }

  turn(document, code, key) {
    return this.act(async () => {
      await ask(document, { code });
      await this.fill();
      this.say(() => t(key));
    });
  }

  run(code) {
    return this.act(async () => {
      const { runNotificationRule: run } = await ask(RunRule, { code });
      await this.fill();
      const { rows, raised, amended, resolved, error } = run;
      this.say(() => t('rules.ran', { rows, raised, amended, resolved }), error ? 'bad' : 'good');
    });
  }
}
customElements.define('desk-rules', Rules);
