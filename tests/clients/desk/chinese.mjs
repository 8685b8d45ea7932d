// The page in Chinese: no English on any page, and the switch between the languages.

import assert from 'node:assert/strict';

import { token } from '../server.mjs';
import { dialog, said, until } from './scene.mjs';

/** Names, codes and formats that are the same in Chinese. */
const SAME = ['Tidings', 'ID', 'id', 'UTC', 'GMT', 'JSON', 'CSV', 'Lines', 'API', 'Webhook', 'MiniJinja', 'English', 'params', 'data', 'sender', 'target', 'action', 'saveNotificationRule', 'tidings', 'audit'];

/** Data of the tenant: titles, names, ids and codes. */
const DATA = ['News', 'Orders', 'Comments', 'Schools', 'Staff', 'Ada', 'Obi', 'Ben', 'Weiss', 'Chen', 'Li', 'Dara', 'Novak', 'Hello', 'Planned', 'Order', 'is', 'number', 'state', 'late', 'news', 'order',
  'comment', 'ada', 'ben', 'staff', 'schools', 'chat', 'design', 'document', 'product', 'create', 'like', 'root', 'shop', 'nobody', 'hook', 'http', 'unnamed', 'body'];

/** Every text and attribute of the page that people read, unless it is marked as data or as code. */
const texts = (page) => page.evaluate(() => {
  const isOther = (element) => element.closest('bdi, code, .code, textarea, noscript, script, style, [lang]:not(html)');
  const found = [document.title];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) if (!isOther(node.parentElement)) found.push(node.data);
  for (const element of document.body.querySelectorAll('*'))
    for (const name of ['aria-label', 'title', 'placeholder', 'data-label', 'alt'])
      if (element.hasAttribute(name) && !(name === 'placeholder' && element.matches('.code'))) found.push(element.getAttribute(name));
  return found.map((text) => text.trim()).filter(Boolean);
});

const ZONES = new Set(Intl.supportedValuesOf('timeZone'));

/** Checks that the page is in Chinese and has no English besides data. */
async function isChinese(page, what) {
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh-Hans', what);
  const read = await texts(page);
  assert.ok(read.some((text) => /\p{Script=Han}/u.test(text)), what);
  const english = read.filter((text) => {
    if (ZONES.has(text)) return false;
    // Zones, addresses, ids and the language of templates are the same.
    const words = text.replaceAll(/\{[{%].*[}%]\}|[A-Z]\w+(\/[\w+-]+)+|https?:\S+|\b[\w.-]*\d[\w.-]*\b/g, '').match(/[A-Za-z]{2,}/g) ?? [];
    return words.some((word) => !SAME.includes(word) && !DATA.includes(word));
  });
  assert.deepEqual(english, [], what);
  const { whole, shown } = await page.evaluate(() => ({ whole: document.documentElement.scrollWidth, shown: innerWidth }));
  assert.ok(whole <= shown, `${what} is ${whole} wide in a window of ${shown}`);
}

const PAGES = ['compose', 'sent', 'users', 'users/ada', 'users/ada?tab=listens', 'users/ada?tab=preferences', 'users/ada?tab=views', 'users/ada?tab=data', 'users/nobody',
  'catalogue', 'catalogue/types/order', 'catalogue/types/+', 'catalogue/reasons', 'catalogue/targets', 'catalogue/groups', 'catalogue/defaults', 'catalogue/views', 'deliveries', 'rules', 'audit', 'now', 'nowhere'];

/** Opens every page, question and kind of failure in a Chinese browser. `SHOTS` names a folder for pictures of them. */
export async function chinese(scene, size) {
  const tenant = await scene.tenant();
  await tenant.ask(`mutation { saveNotificationRule(input: { code: "late", type: "order", key: ["number"], audience: { userColumn: "who" }, firstRun: RAISE }) { code }
    saveSubscriptionReason(code: "create", actions: ["comment"]) { code } saveViewCode(code: "chat", open: true) { code } saveTargetType(code: "product", subscriptionPolicy: OPEN) { code }
    saveDefaultPreferences(actions: [{ code: "like", enabled: false }]) { types { code } }
    createWebhookEndpoint(input: { url: "http://127.0.0.1:9/hook", events: [NOTIFICATION_PUBLISHED] }) { endpoint { id } } }`);
  const sent = await tenant.message('ada', 'Hello', { content: { body: 'body', link: '/x' }, sender: 'ben' });
  const planned = await tenant.announce('Planned', { groups: ['schools'] }, { publishAt: '2031-01-01T00:00:00Z' });
  await tenant.ask('mutation { reportRuleRows(input: { rule: "late", rows: [{ number: 7, state: "late", who: "ada" }] }) { raised } }');
  await tenant.asService(`mutation { subscribeTopic(input: { target: { type: "document", externalId: "7" }, what: { actions: ["comment"] }, who: { user: "ada" } }) { createdCount }
    followUser(follower: "ada", user: "ben") { user { id } } joinView(key: { code: "chat", externalId: "design" }, users: ["ada"]) { view { id } } }`);
  const pages = [...PAGES, `sent/${sent}?user=ada`, `sent/${sent}?user=chen`, `sent/${planned}?user=ada`, `users/ada?tab=why&notification=${sent}`, 'sent/none'];
  const page = await scene.open(tenant, { size, path: '/desk/users', options: { locale: 'zh-CN' } });
  let count = 0;
  const looksAt = async (what) => {
    await isChinese(page, what);
    count++;
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${size}-${String(count).padStart(2, '0')}-${what.replaceAll(/[^\w]+/g, '-').slice(0, 40)}.png`, fullPage: !(await dialog(page).count()) });
  };
  for (const place of pages) {
    await page.visit(place);
    await looksAt(place);
  }

  await page.visit('compose');
  await page.getByRole('radio', { name: '指定用户' }).check();
  await page.getByRole('radio', { name: '定时发送' }).check();
  await page.getByText('粘贴名单或 CSV').click();
  await page.getByText('更多选项').click();
  await page.getByRole('combobox', { name: '搜索' }).fill('a');
  await page.getByRole('listbox').getByRole('option').first().waitFor();
  await page.getByRole('button', { name: '定时发送…' }).click();
  await page.getByText('请填写标题。').waitFor();
  await looksAt('what is missing');
  await page.getByLabel('日期和时间').fill('2031-03-05T09:30');
  await page.getByRole('combobox', { name: '搜索' }).fill('ada');
  await page.getByRole('option', { name: /Ada Obi/ }).click();
  await page.getByLabel('标题', { exact: true }).fill('Hello');
  await page.getByRole('button', { name: '定时发送…' }).click();
  await dialog(page).waitFor();
  await looksAt('a question');
  await dialog(page).getByRole('button', { name: '定时发送' }).click();
  await said(page, '已设置定时发送。');
  await looksAt('what was sent');

  // The server's words stay English, after the Chinese sentence for their code.
  await page.visit(`sent/${planned}`);
  await page.getByRole('button', { name: '修改', exact: true }).click();
  await page.getByLabel('标题', { exact: true }).fill('x'.repeat(300));
  await looksAt('amending');
  await page.getByRole('button', { name: '保存' }).click();
  await page.locator('.wrong').getByText('“标题”填写有误，请修改后重试：').waitFor();
  await page.getByRole('button', { name: '取消发送…' }).click();
  await dialog(page).getByRole('button', { name: '取消发送' }).click();
  await said(page, '已取消发送。');
  await page.visit(`sent/${sent}`);
  await page.getByRole('button', { name: '撤回…' }).click();
  await dialog(page).getByText('已有 1 人收到').waitFor();
  await looksAt('a question before retracting');
  await page.keyboard.press('Escape');
  await page.visit('catalogue/groups');
  await page.getByRole('button', { name: 'Schools 的成员' }).click();
  await page.getByText('成员名单').or(page.getByRole('list', { name: '成员名单' })).first().waitFor();
  await looksAt('members');
  await page.visit('users/ada?tab=data');
  await page.getByRole('button', { name: '彻底删除该用户…' }).click();
  await looksAt('a question before erasing');
  await page.keyboard.press('Escape');

  await page.route('**/graphql', (route) => route.abort());
  await page.getByRole('navigation', { name: '工作台导航' }).getByRole('link', { name: '规则' }).click();
  await page.getByRole('alert').getByText('无法连接服务器').waitFor();
  page.complaints.splice(0, page.complaints.length, ...page.complaints.filter((text) => !text.includes('ERR_FAILED')));
  await page.unroute('**/graphql');
  const { errorCodes } = await tenant.ask('{ errorCodes }');
  for (const code of errorCodes.filter((one) => one !== 'UNAUTHENTICATED')) {
    await page.route('**/graphql', (route) => route.fulfill({ json: { errors: [{ message: `words of ${code}`, extensions: { code } }] } }));
    await page.visit(`audit?actor=${code}`);
    const alert = await page.getByRole('alert').filter({ hasText: code }).innerText();
    assert.match(alert, /^\p{Script=Han}[^A-Za-z]*[：（]words of \w+[^A-Za-z]*$/u, code);
    await page.unroute('**/graphql');
  }
  await page.getByRole('button', { name: '退出登录' }).click();
  await page.getByRole('heading', { name: '登录' }).waitFor();
  await looksAt('signed out');
  await page.done();

  // Other roles.
  for (const [role, path, text] of [['service', '/desk/audit', '此页面仅对管理员开放，你当前的身份是后端服务。'], ['service', '/desk/catalogue', '仅管理员可以修改，你可以查看。'], ['user', '/desk', '工作台不面向普通用户']]) {
    const other = await scene.open(tenant, { role, size, path, options: { locale: 'zh-CN' } });
    await other.getByText(text).waitFor();
    await isChinese(other, `${role} at ${path}`);
    count++;
    await other.done();
  }
  return `${count} states, ${size}`;
}

/**
 * The language of the browser, the switch in the frame and at the door, which keeps what was typed, and the choice
 * that later visits remember.
 */
export async function switching(scene) {
  const tenant = await scene.tenant();
  for (const [locale, lang] of [['zh-TW', 'zh-Hans'], ['de-DE', 'en'], ['en-US', 'en']]) {
    const page = await scene.open(tenant, { role: null, options: { locale } });
    assert.equal(await page.evaluate(() => document.documentElement.lang), lang, locale);
    await page.done();
  }
  const page = await scene.open(tenant, { path: '/desk/compose' });
  const lang = () => page.evaluate(() => document.documentElement.lang);
  await page.getByLabel('Title', { exact: true }).fill('Typed');
  await page.getByRole('radio', { name: 'Named people' }).check();
  await page.getByText('Paste a list or a CSV').click();
  await page.getByLabel(/^Ids, by commas/).fill('ben');
  // Last, because the list of users covers what is below it.
  await page.getByRole('combobox', { name: 'Search' }).fill('da');
  await page.getByLabel('Language').focus();
  await page.getByLabel('Language').selectOption('zh-Hans');
  await page.getByRole('heading', { name: '发通知', level: 1 }).waitFor();
  assert.equal(await lang(), 'zh-Hans');
  assert.equal(await page.title(), '发通知 · Tidings 工作台');
  assert.equal(await page.getByLabel('标题', { exact: true }).inputValue(), 'Typed');
  assert.equal(await page.getByRole('combobox', { name: '搜索' }).inputValue(), 'da');
  assert.equal(await page.getByLabel(/^用户 ID，以逗号/).inputValue(), 'ben', 'the details stay open');
  assert.ok(await page.getByRole('radio', { name: '指定用户' }).isChecked());
  assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), '语言', 'the focus stays');

  // What is shown already changes, too: an empty page, and the result of an action.
  await page.visit('sent/none');
  await page.getByText('通知不存在或已被删除。').waitFor();
  await page.visit('catalogue/defaults');
  await page.getByRole('checkbox', { name: 'Orders' }).uncheck();
  await said(page, '默认偏好已更新。');
  await page.getByLabel('语言').selectOption('en');
  await said(page, 'The default is changed.');
  await page.getByLabel('Language').selectOption('zh-Hans');
  await said(page, '默认偏好已更新。');

  await page.reload();
  await page.getByRole('heading', { name: '消息配置' }).waitFor();
  const later = await page.context().newPage();
  await later.goto(`${scene.origin}/desk`);
  await later.getByRole('heading', { name: '登录' }).waitFor();
  await later.getByLabel('后端服务或管理员的令牌').fill(token(tenant.name, 'root', 'admin'));
  await later.getByLabel('语言').selectOption('en');
  await later.getByRole('heading', { name: 'Sign in' }).waitFor();
  await later.getByRole('button', { name: 'Sign in' }).click();
  await later.getByRole('heading', { name: 'Sent' }).waitFor();
  await until('dates in the language of the page', () => later.evaluate(() => document.documentElement.lang), (found) => found === 'en');

  // If the table does not load, the language stays, and the page says so.
  await page.context().route(/zh-Hans-/, (route) => route.abort());
  await later.reload();
  await later.getByLabel('Language').selectOption('zh-Hans');
  await later.locator('.said').getByText('The texts of this language could not be loaded.').waitFor();
  assert.equal(await later.getByLabel('Language').inputValue(), 'en');
  page.complaints.splice(0, page.complaints.length, ...page.complaints.filter((text) => !text.includes('ERR_FAILED')));
  await page.done();
}
