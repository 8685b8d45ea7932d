// Rules: scheduled queries for rows that need attention, and their latest runs.

import { html, nothing } from 'lit';

import { ask } from '../api.js';
import { PauseRule, ResumeRule, Rules as List, RunRule } from '../documents.js';
import { Page } from '../parts/part.js';
import { badge, count, problem, state, when } from '../parts/show.js';

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
      <h1 tabindex="-1">Rules</h1>
      ${problem(failure)}
      ${state({ isLoading, loadFailure, isEmpty: rules.length === 0, empty: 'There are no rules. They are written in the console, by saveNotificationRule.' })}
      ${rules.map((rule) => this.rule(rule))}`;
  }

  rule({ code, state: is, type, rowCount, failureCount, nextRunAt, lastCompleteAt, scan, runs }) {
    return html`<section class="card" aria-label="Rule ${code}">
      <div class="head"><h2><bdi>${code}</bdi> ${badge(is)}</h2><div class="actions">
        ${is === 'ACTIVE' ? html`
          ${scan ? html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.run(code)}>Run now</button>` : nothing}
          <button type="button" ?disabled=${this.isBusy} @click=${() => this.turn(PauseRule, code, 'It is paused.')}>Pause</button>`
          : html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.turn(ResumeRule, code, 'It runs again.')}>Resume</button>`}
      </div></div>
      <p>${type ? html`Raises “<bdi>${type.title}</bdi>”` : 'Its type is gone'} · ${count(rowCount)} rows known${failureCount > 0 ? html` · <b class="bad">${count(failureCount)} failures in a row</b>` : nothing}
        · ${scan ? html`reads <bdi>${scan.source}</bdi> at <span class="code">${scan.schedule}</span> (${scan.timeZone}), next ${when(nextRunAt)}` : 'is reported to'} · last whole run ${when(lastCompleteAt)}</p>
      ${runs.length > 0 ? html`<details><summary>The last ${runs.length} runs</summary><table class="cards"><caption class="vh">Runs of ${code}</caption>
        <thead><tr><th>When</th><th>Outcome</th><th class="number">Rows</th><th class="number">Raised</th><th class="number">Amended</th><th class="number">Resolved</th></tr></thead>
        <tbody>${runs.map((run) => html`<tr><th scope="row">${when(run.startedAt)}</th><td data-label="Outcome">${badge(run.outcome)}${run.error ? html`<small class="wrap"><bdi>${run.error}</bdi></small>` : nothing}</td>
          <td data-label="Rows" class="number">${run.rows}</td><td data-label="Raised" class="number">${run.raised}</td><td data-label="Amended" class="number">${run.amended}</td><td data-label="Resolved" class="number">${run.resolved}</td></tr>`)}</tbody></table></details>` : nothing}
    </section>`;
  }

  turn(document, code, says) {
    return this.act(async () => {
      await ask(document, { code });
      await this.fill();
      this.say(says);
    });
  }

  run(code) {
    return this.act(async () => {
      const { runNotificationRule: run } = await ask(RunRule, { code });
      await this.fill();
      this.say(`${run.rows} rows: ${run.raised} raised, ${run.amended} amended, ${run.resolved} resolved.`, run.error ? 'bad' : 'good');
    });
  }
}
customElements.define('desk-rules', Rules);
