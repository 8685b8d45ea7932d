// Pages with the elements. The address configures them:
//
// - `el`: `bell` (default), `inbox` or `preferences`; `attributes`: more attributes of the element
// - `csp`: `strict` allows only the scripts and the server; `types` only requires Trusted Types
// - `lang`, `dir`, `scheme` (a `color-scheme`), `locks=none` (a browser without Web Locks), `popover=none`
// - `store`: the state of a mock store, instead of the server's

const escape = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

export function listPage(url, { files, server }) {
  if (url.pathname !== '/')
    return {
      status: url.pathname === '/favicon.ico' ? 204 : 200,
      headers: { 'content-type': 'text/html' },
      body: '<h1>Elsewhere</h1>',
    };
  const asked = (name, otherwise = '') => url.searchParams.get(name) ?? otherwise;
  const policy = {
    strict: `default-src 'none'; script-src ${files}; connect-src ${server} ${server.replace('http', 'ws')}; base-uri 'none'; require-trusted-types-for 'script'; trusted-types lit-html`,
    types: "require-trusted-types-for 'script'; trusted-types lit-html",
  }[asked('csp')];
  const element = `tidings-${asked('el', 'bell')}`;
  // Under the strict policy the page has no inline style.
  const look =
    asked('csp') === 'strict' ? '' : `<style>${STYLE} :root { color-scheme: ${asked('scheme', 'light dark')} }</style>`;
  const store = asked('store') ? ` data-store="${escape(asked('store'))}"` : '';
  const data = ['locks', 'popover'].map((name) => asked(name) && ` data-${name}="${escape(asked(name))}"`).join('');
  const body = `<!doctype html>
<html lang="${escape(asked('lang', 'en'))}" dir="${escape(asked('dir', 'ltr'))}"${data}>
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A shop</title>${look}
<script src="${files}/ui/1/page.js"></script>
<script type="module" src="${files}/ui/1/tidings.js"></script>
${store && `<script type="module" src="${files}/ui/1/store.js"></script>`}</head>
<body><header><h1>Orchard</h1><nav><a href="/orders">Orders</a> <a href="/fruit">Fruit</a></nav>
${element === 'tidings-bell' ? tag() : ''}</header><main>${element === 'tidings-bell' ? PROSE : tag()}</main></body></html>`;
  return { headers: { 'content-type': 'text/html; charset=utf-8', ...(policy && { 'content-security-policy': policy }) }, body };

  function tag() {
    return `<${element} data-tidings server="${server}" ${asked('attributes')}${store}></${element}>`;
  }
}

const PROSE = `<h2>Today</h2><p>What ripens this week: apples, pears and quinces. Crates leave on Thursday.</p>
<ul><li>12 crates of apples</li><li>7 crates of pears</li><li>3 crates of quinces</li></ul>`;

const STYLE = `body { margin: 0; font: 16px/1.6 system-ui, sans-serif; background: Canvas; color: CanvasText }
header { display: flex; align-items: center; gap: 20px; padding: 8px 24px; border-bottom: 1px solid light-dark(#e2e6ed, #343a46) }
h1 { font-size: 20px; margin: 0 } nav { flex: 1; display: flex; gap: 16px } nav a { color: inherit } main { padding: 16px 24px }
main > :is(tidings-inbox, tidings-preferences) { max-width: 460px; height: 600px; border: 1px solid light-dark(#e2e6ed, #343a46) }`;

/** Runs before the elements load: tokens, and functions that the tests call. */
export const PAGE_SCRIPT = `
const { locks, popover } = document.documentElement.dataset;
if (locks === 'none') Object.defineProperty(navigator, 'locks', { value: undefined });
if (popover === 'none') { delete HTMLElement.prototype.popover; delete HTMLElement.prototype.showPopover; delete HTMLElement.prototype.hidePopover; }
window.policy = [];
addEventListener('securitypolicyviolation', (event) => window.policy.push(event.violatedDirective + ' ' + event.blockedURI));
window.events = [];
for (const name of ['open', 'item', 'overview', 'error']) addEventListener('tidings-' + name, (event) => {
  window.events.push({ name, title: event.detail.item?.title, code: event.detail.problem?.code });
  if (name === 'open' && window.prevents) event.preventDefault();
});
addEventListener('DOMContentLoaded', () => {
  for (const element of document.querySelectorAll('[data-tidings]:not([data-store])')) element.token = () => window.askToken();
});
const bell = () => document.querySelector('tidings-bell');
const inboxRoot = () => (document.querySelector('tidings-inbox') ?? bell()?.shadowRoot.querySelector('tidings-inbox'))?.shadowRoot;
window.shown = () => {
  const badge = bell()?.shadowRoot.querySelector('.badge');
  const root = inboxRoot();
  const count = (tab) => Number(tab.querySelector('.count')?.dataset.count.replace(/\\D/g, '') ?? 0);
  return {
    badge: badge && !badge.hidden ? Number(badge.textContent.replace(/\\D/g, '')) : 0,
    tabs: Object.fromEntries([...(root?.querySelectorAll('[role=tab]') ?? [])].map((tab) => [tab.dataset.type, count(tab)])),
    items: [...(root?.querySelectorAll('article') ?? [])].map((item) => item.dataset.id + (item.classList.contains('item-unread') ? ' unread' : ' read')),
  };
};
window.titles = () => [...(inboxRoot()?.querySelectorAll('.open') ?? [])].map((title) => title.textContent);
`;

/** A mock store with fixed states, for those that rarely occur with a server. */
export const STORE_SCRIPT = `
const type = (code, title, icon) => ({ code, title, icon });
const isArabic = document.documentElement.lang === 'ar';
const [comment, release, billing, event] = isArabic ? [type('comment', 'التعليقات', 'comment'), type('release', 'الإصدارات', 'star'), type('billing', 'الفواتير', 'alert'), type('event', 'الفعاليات', 'calendar')] : [type('comment', 'Comments', 'comment'), type('release', 'Releases', 'star'), type('billing', 'Billing', 'alert'), type('event', 'Events', 'calendar')];
const ago = (minutes) => new Date(Date.now() - minutes * 60000).toISOString();
const ada = { id: 'ada', name: 'Ada Obi', avatarUrl: null }, lin = { id: 'lin', name: 'Lin Yu', avatarUrl: null };
const item = (id, minutes, of, title, body, rest) => ({ id, notificationId: id, cursor: 'c' + id, kind: 'MESSAGE', type: of, title, body, link: '/orders', data: null,
  createdAt: ago(minutes), isRead: false, isArchived: false, sender: null, ...rest });
const noor = { id: 'noor', name: 'نور حداد', avatarUrl: null };
const ARABIC = isArabic && [
  item('1', 0.4, comment, 'علّقت نور على «خطة الحصاد»', 'هل نبدأ بالكمثرى؟ الصقيع مبكر هذا العام والصناديق جاهزة.', { sender: noor }),
  item('2', 12, release, 'صدر الإصدار 2.4', 'طباعة الملصقات أسرع بمرتين، وتُقرأ الموازين عبر USB.'),
  item('3', 50, billing, 'فاتورة أكتوبر مستحقة', 'ادفع قبل 30 نوفمبر للحفاظ على الخصم.'),
  item('4', 190, comment, 'Lin mentioned you in “Cold store”', '@you, can you check the sensor in row 4?', { sender: lin, isRead: true }),
  item('5', 1500, event, 'تذوّق يوم الخميس الساعة 17:00', 'في الحظيرة القديمة. أحضر صديقًا.', { isRead: true }),
];
const ITEMS = window.ITEMS ?? (ARABIC || [
  item('1', 0.4, comment, 'Ada commented on “Harvest plan”', 'Shall we start with the pears? The frost comes early this year, and the crates are ready.', { sender: ada }),
  item('2', 12, release, 'Version 2.4 is out', 'Labels print twice as fast, and scales are read over USB.'),
  item('3', 50, billing, 'Your invoice for October is due', 'Pay by 30 November to keep your discount.'),
  item('4', 190, comment, 'Lin mentioned you in “Cold store”', '@you, can you check the sensor in row 4?', { sender: lin, isRead: true }),
  item('5', 1500, event, 'Tasting on Thursday at 17:00', 'In the old barn. Bring a friend.', { isRead: true }),
  item('6', 2900, release, 'Version 2.3 is out', null, { isRead: true }),
  item('7', 14000, comment, 'Ada approved “Orchard map”', null, { sender: ada, isRead: true }),
]);
const cells = (value) => { const ears = new Set(); return { get: () => value, set(next) { value = next; ears.forEach((ear) => ear()); },
  subscribe(ear) { ears.add(ear); return () => ears.delete(ear); } }; };
for (const element of document.querySelectorAll('[data-store]')) {
  const state = element.dataset.store;
  const status = ['offline', 'refused', 'loading'].find((name) => state.startsWith(name)) ?? 'ready';
  const items = ['ready', 'offline-items', 'failed-items'].includes(state) ? ITEMS : [];
  const problem = state.startsWith('failed') ? { code: 'INTERNAL', message: 'failed' } : undefined;
  const unread = (code) => ({ count: items.filter((one) => !one.isRead && (!code || one.type.code === code)).length, exact: true });
  const overview = cells({ status, unread: unread(), problem,
    types: [comment, release, billing, event].map((type) => ({ type, unread: unread(type.code), latest: items.find((one) => one.type === type) ?? null })) });
  const lists = new Map();
  const ears = new Set();
  element.store = window.store = {
    overview, hear: (one) => ears.forEach((ear) => ear(one)),
    inbox: (filter = {}) => {
      const key = JSON.stringify(filter);
      if (!lists.has(key)) lists.set(key, { ...cells({ status, problem, hasMore: false, isFetching: status === 'loading', items: items.filter((one) =>
        (!filter.types || filter.types.includes(one.type.code)) && (filter.read === undefined || one.isRead === filter.read) && (filter.state !== 'ARCHIVED')) }),
        fetchMore: async () => {}, refresh: async () => {} });
      return lists.get(key);
    },
    preferences: { ...cells({ status, problem, types: status === 'loading' ? [] : [comment, release, billing, event].map((type) => ({ type, isMandatory: type === billing, isWanted: type !== release })) }), set: async () => {} },
    markRead: async () => {}, markUnread: async () => {}, archive: async () => {}, unarchive: async () => {}, remove: async () => {},
    onItem: (ear) => { ears.add(ear); return () => ears.delete(ear); }, onProblem: () => () => {}, signOut() {}, close() {},
  };
}
`;
