// The dashboard and the alerts use existing metrics, and the dashboard shows all exported ones.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';

import { Server, token } from '../server.mjs';
import { freePort, path, run, text } from './files.mjs';

const DASHBOARD = 'ops/helm/tidings/files/tidings.json';
const ALERTS = 'ops/helm/tidings/files/alerts.yaml';

/** The time limit of every wait, in milliseconds. */
const PATIENCE = 30_000;

/** Labels that a scraper adds to every sample. */
const TARGET = ['job', 'instance', 'namespace'];

/** Exported metrics that are deliberately not in the dashboard, with the reason. */
const NOT_SHOWN = {};

async function until(what, isSo) {
  for (const end = Date.now() + PATIENCE; ; await sleep(50)) {
    const so = await isSo();
    if (so) return so;
    assert.ok(Date.now() < end, `in vain: ${what}`);
  }
}

/** The labels of each metric, all label values, and the metric families. */
function read(exposed) {
  const samples = new Map();
  const values = new Set();
  const families = new Set();
  for (const line of exposed.split('\n')) {
    const [, family] = line.match(/^# TYPE (\S+) \S+$/) ?? [];
    if (family) families.add(family);
    const [, name, labels] = line.match(/^([a-z_]+)(?:\{(.*)\})? \S+$/) ?? [];
    if (!name) continue;
    if (!samples.has(name)) samples.set(name, new Set());
    for (const [, label, value] of (labels ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      samples.get(name).add(label);
      values.add(value);
    }
  }
  return { samples, families, values };
}

/** A server with activity of each kind: requests, refusals, sessions, a rule's run, rejected connections. */
class Busy {
  static async start() {
    const busy = new Busy();
    try {
      await busy.begin();
    } catch (error) {
      await busy.end();
      throw error;
    }
    return busy;
  }

  async begin() {
    this.admin = `127.0.0.1:${await freePort()}`;
    this.server = await Server.start({
      TIDINGS_ADMIN_LISTEN: this.admin,
      TIDINGS_CONNECTIONS_PER_ADDRESS: '20',
      TIDINGS_PROXIES: 'none',
      TIDINGS_RATE: '30',
      // Drops idle connections within a second instead of a minute.
      TIDINGS_CONNECTION_SECOND_MILLIS: '20',
    });
    const [admin, ada] = [token('metrics', 'operator', 'admin'), token('metrics', 'ada')];
    const { server } = this;
    await server.ask(admin, 'mutation { saveMessageType(input: { code: "news", title: "News" }) { code } }');
    const { viewer } = await server.ask(ada, '{ viewer { overview { cursor } } }');
    await this.listen(ada, viewer.overview.cursor);
    for (const title of ['first', 'second']) {
      const input = { type: 'news', audience: { everyone: true }, content: { title } };
      await server.ask(admin, 'mutation Send($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { replayed } }', { input });
    }
    await until('an item over the stream', () => this.heard.includes('second'));
    const type = { code: 'late', title: 'Late', template: { title: '{{ params.order }}' } };
    await server.ask(admin, 'mutation Save($type: MessageTypeInput!) { saveMessageType(input: $type) { code } }', { type });
    const rule = { code: 'late', type: 'late', key: ['order'], audience: { everyone: true } };
    await server.ask(admin, 'mutation Save($rule: NotificationRuleInput!) { saveNotificationRule(input: $rule) { code } }', { rule });
    await server.ask(admin, 'mutation { reportRuleRows(input: { rule: "late", rows: [] }) { outcome } }');
    for (let asked = 0; asked < 40; asked += 1) await server.answer(token('metrics', 'eager'), '{ viewer { overview { cursor } } }');
    await server.answer('no token', '{ viewer { overview { cursor } } }');
    await this.crowd();
  }

  /** An open event stream. */
  async listen(who, after) {
    this.heard = '';
    this.stream = new AbortController();
    const answer = await fetch(`http://127.0.0.1:${this.server.port}/graphql`, {
      method: 'POST',
      headers: { accept: 'text/event-stream', authorization: `Bearer ${who}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        query: 'subscription Items($after: String) { itemReceived(after: $after) { node { title } } }',
        variables: { after },
      }),
      signal: this.stream.signal,
    });
    const decoder = new TextDecoder();
    (async () => {
      for await (const chunk of answer.body) this.heard += decoder.decode(chunk);
    })().catch(() => {});
  }

  /** Opens more idle connections than one address may have. */
  async crowd() {
    const sockets = Array.from({ length: 40 }, () => connect(this.server.port, '127.0.0.1').on('error', () => {}));
    await Promise.all(sockets.map((socket) => once(socket.resume(), 'close')));
  }

  async exposed() {
    const answer = await fetch(`http://${this.admin}/metrics`);
    assert.equal(answer.status, 200);
    return answer.text();
  }

  async end() {
    this.stream?.abort();
    await this.server?.remove();
  }
}

/** The parts of a PromQL expression: metrics with their labels, grouping labels, and values of matchers. */
function named(expression) {
  const code = expression.replaceAll('$__rate_interval', '1m');
  const tree = parser.parse(code);
  const found = { metrics: new Map(), groups: new Set(), words: new Set(), said: code };
  tree.iterate({
    enter({ type, from, to, node }) {
      assert.ok(!type.isError, `not PromQL at ${from}: ${code}`);
      const own = code.slice(from, to);
      if (type.name === 'VectorSelector') {
        const metric = node.getChild('Identifier');
        const name = code.slice(metric.from, metric.to);
        const labels = found.metrics.get(name) ?? new Set();
        const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
        for (const matcher of matchers) {
          const label = matcher.getChild('LabelName');
          labels.add(code.slice(label.from, label.to));
          const value = matcher.getChild('StringLiteral');
          const alternatives = code.slice(value.from + 1, value.to - 1).split('|');
          for (const word of alternatives) if (/^\w+$/.test(word)) found.words.add(word);
        }
        found.metrics.set(name, labels);
      }
      if (type.name === 'LabelName' && node.parent.type.name === 'GroupingLabels') found.groups.add(own);
    },
  });
  assert.ok(found.metrics.size, `names nothing: ${code}`);
  return found;
}

/** The dashboard's expressions with their purpose and the labels in their legends. */
function shown(dashboard) {
  const of = (panel) => (panel.targets ?? []).map(({ expr, legendFormat }) => ({ what: panel.title, expr, tells: legendFormat }));
  const notes = dashboard.annotations.list.map(({ name, expr, titleFormat }) => ({ what: name, expr, tells: titleFormat }));
  return [...dashboard.panels.flatMap(of), ...notes];
}

/** The same for the rules, whose annotations show labels. */
function alerting(rules) {
  return rules.map(({ alert, record, expr, annotations }) => ({
    what: alert ?? record,
    expr,
    tells: Object.values(annotations ?? {}).join(' ').replaceAll('$labels.', '').replace(/\{\{ \$value[^}]*\}\}/g, ''),
  }));
}

/** Checks that all metrics, labels and values exist. */
function holds(expressions, samples, recorded, known) {
  for (const { what, expr, tells } of expressions) {
    const { metrics, groups, words } = named(expr);
    const labels = new Set(TARGET);
    for (const [name, asked] of metrics) {
      // `up` comes from Prometheus itself.
      const own = name === 'up' ? new Set() : (samples.get(name) ?? recorded.get(name));
      assert.ok(own, `${what}: there is no ${name}`);
      for (const label of asked) assert.ok(own.has(label) || TARGET.includes(label), `${what}: ${name} has no ${label}`);
      own.forEach((label) => labels.add(label));
    }
    for (const label of groups) assert.ok(labels.has(label), `${what}: nothing has ${label}`);
    for (const word of words) assert.ok(known.has(word), `${what}: nothing is ${word}`);
    for (const [, label] of tells.matchAll(/\{\{ ?(\w+) ?\}\}/g)) {
      assert.ok((groups.size ? groups : labels).has(label), `${what}: ${label} is not left to be shown`);
    }
  }
}

/** Prometheus with the rules, scraping the busy server. */
class Prometheus {
  static async start(busy) {
    const prometheus = new Prometheus();
    prometheus.folder = await mkdtemp(join(tmpdir(), 'tidings-prometheus-'));
    prometheus.url = `http://127.0.0.1:${await freePort()}`;
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [path(ALERTS)],
      scrape_configs: [{ job_name: 'tidings', static_configs: [{ targets: [busy.admin] }] }],
    };
    await writeFile(join(prometheus.folder, 'prometheus.yml'), JSON.stringify(config));
    const args = [`--config.file=${prometheus.folder}/prometheus.yml`, `--storage.tsdb.path=${prometheus.folder}/data`];
    const listen = `--web.listen-address=${new URL(prometheus.url).host}`;
    prometheus.child = spawn('prometheus', [...args, listen, '--log.level=error'], { stdio: ['ignore', 'inherit', 'inherit'] });
    prometheus.ended = once(prometheus.child, 'exit');
    return prometheus;
  }

  async get(place, parameters = {}) {
    const answer = await fetch(`${this.url}/api/v1/${place}?${new URLSearchParams(parameters)}`).catch(() => undefined);
    return answer?.json().catch(() => undefined);
  }

  /** The number of series of an expression; fails if the expression is invalid. */
  async series(expression) {
    const answer = await this.get('query', { query: expression });
    assert.equal(answer?.status, 'success', `${expression}: ${JSON.stringify(answer)}`);
    return answer.data.result.length;
  }

  async end() {
    this.child.kill();
    await this.ended;
    await rm(this.folder, { recursive: true, force: true });
  }
}

function layout(dashboard) {
  const { panels } = dashboard;
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length, 'a panel’s id is there twice');
  const taken = new Set();
  for (const { title, type, gridPos: { x, y, w, h }, datasource, fieldConfig, options } of panels) {
    assert.ok(x + w <= 24, `${title} is too wide`);
    for (let column = x; column < x + w; column += 1) {
      for (let line = y; line < y + h; line += 1) {
        assert.ok(!taken.has(`${column} ${line}`), `${title} lies over another`);
        taken.add(`${column} ${line}`);
      }
    }
    if (type === 'row') continue;
    assert.equal(datasource.uid, '${datasource}', title);
    assert.ok(fieldConfig?.defaults.unit ?? options.yAxis.unit, `${title} has no unit`);
  }
}

export async function metrics(check) {
  const dashboard = JSON.parse(text(DASHBOARD));
  const { groups } = parse(text(ALERTS));
  const rules = groups.flatMap((group) => group.rules);
  const expressions = [...shown(dashboard), ...alerting(rules)];
  const operations = text('docs/operate/monitor.md');
  const documented = new Set([...operations.matchAll(/`(?:\w+=")?(\w+)"?`/g)].map((match) => match[1]));
  const recorded = new Map(
    rules.filter(({ record }) => record).map(({ record, expr }) => [record, new Set([...named(expr).groups].filter((label) => label !== 'le'))]),
  );
  const busy = await Busy.start();
  try {
    const { samples, families, values } = read(await busy.exposed());
    const words = new Set([...values, ...documented]);

    await check('the dashboard names metrics and labels that there are', () => holds(shown(dashboard), samples, recorded, words));
    await check('so do the alerts', () => holds(alerting(rules), samples, recorded, words));
    await check('all that is exported is in the dashboard', () => {
      const seen = new Set(shown(dashboard).flatMap(({ expr }) => [...named(expr).metrics.keys()]));
      const missing = [...families].filter(
        (family) => ![family, `${family}_total`, `${family}_bucket`, `${family}_info`].some((name) => seen.has(name)),
      );
      assert.deepEqual(missing, Object.keys(NOT_SHOWN));
    });
    await check('and in the table of docs/operate/monitor.md, with its labels', () => {
      const chapter = operations.split(/^## /m).find((part) => part.startsWith('Metrics\n'));
      const quoted = (cell) => [...cell.matchAll(/`(\w+)`/g)].map((match) => match[1]);
      const rows = chapter.split('\n').filter((line) => line.startsWith('| `')).map((line) => line.split('|'));
      const table = new Map(rows.flatMap(([, names, labels]) => quoted(names).map((name) => [name, quoted(labels)])));
      const exported = new Map([...samples].map(([name, labels]) => [name.replace(/_(bucket|sum|count)$/, ''), labels]));
      const rowsOf = (of) => [...of].map(([name, labels]) => [name, ...[...labels].filter((label) => label !== 'le').sort()].join(' '));
      const [told, is] = [rowsOf(table), rowsOf(exported)];
      const differ = { 'only told': told.filter((row) => !is.includes(row)), 'only exported': is.filter((row) => !told.includes(row)) };
      assert.deepEqual(differ, { 'only told': [], 'only exported': [] });
    });
    await check('/metrics is not where clients ask', async () => {
      assert.equal((await fetch(`http://127.0.0.1:${busy.server.port}/metrics`)).status, 404);
    });
    await check('no panel of the dashboard lies over another, and each has a unit', () => layout(dashboard));
    await check('every alert says how bad it is, what is wrong and what to do', () => {
      for (const { alert, labels, annotations } of rules.filter((rule) => rule.alert)) {
        assert.match(labels.severity, /^(critical|warning|info)$/, alert);
        assert.deepEqual(Object.keys(annotations), ['summary', 'description'], alert);
      }
    });
    for (const args of [['check', 'rules', ALERTS], ['test', 'rules', 'tests/clients/ops/alerts.test.yaml']]) {
      await check(`promtool ${args.slice(0, 2).join(' ')}`, () => {
        const told = run('promtool', args);
        if (!told) return 'promtool is not installed';
        assert.equal(told.status, 0, told.said);
      });
    }
    await check('Prometheus has an answer for every panel, no alert while nothing is wrong', async () => {
      if (!run('prometheus', ['--version'])) return 'prometheus is not installed';
      const prometheus = await Prometheus.start(busy);
      try {
        await until('three scrapes', async () =>
          (await prometheus.get('query', { query: 'count_over_time(tidings_build_info[1m]) > 2' }))?.data?.result.length);
        for (const { what, expr } of expressions) {
          const query = expr.replaceAll('$__rate_interval', '1m').replaceAll('$job', '.+').replaceAll('$instance', '.*');
          const some = await prometheus.series(query);
          if (!/ > | == |absent/.test(query)) assert.ok(some > 0, `${what} shows nothing: ${query}`);
        }
        const { data } = await until('the rules', async () => {
          const answer = await prometheus.get('rules');
          return answer.data.groups[0]?.rules.every((rule) => rule.health !== 'unknown') && answer;
        });
        for (const rule of data.groups[0].rules) {
          assert.equal(rule.health, 'ok', `${rule.name}: ${rule.lastError}`);
          assert.ok(rule.type === 'recording' || rule.state === 'inactive', `${rule.name} is ${rule.state}`);
        }
      } finally {
        await prometheus.end();
      }
    });
  } finally {
    await busy.end();
  }
}
