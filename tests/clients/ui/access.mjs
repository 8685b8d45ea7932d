// Accessibility: axe, names, the live region, and the keyboard.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

import { openBell, until } from './scene.mjs';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

const STATES = ['ready', 'empty', 'loading', 'offline', 'refused', 'failed-items'];

const nobody = (scene) => ({ name: 'nobody', server: scene.server });

/** Runs axe; returns the number of rules that passed. */
async function audit(page, what) {
  await page.addScriptTag({ path: AXE });
  const { passes, violations } = await page.evaluate(async () => {
    const { violations, passes } = await axe.run(document);
    return {
      passes: passes.length,
      violations: violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join(' | ')}`,
      ),
    };
  });
  assert.deepEqual(violations, [], what);
  return passes;
}

/** A page with its panel open in a state, or with the preferences open. */
async function opened(device, state) {
  const page = await device.open({ store: state === 'preferences' ? 'ready' : state });
  await page.locator('tidings-bell .bell').click();
  await page.locator('tidings-bell .inbox').waitFor();
  if (state === 'preferences') await page.getByRole('button', { name: 'Preferences' }).click();
  await sleep(100);
  return page;
}

/** axe finds nothing in any state and theme, with the panel or the preferences open. */
export async function axe(scene) {
  let passes = 0;
  for (const colorScheme of ['light', 'dark']) {
    const device = await scene.device(nobody(scene), 'ada', { colorScheme, reducedMotion: 'reduce' });
    for (const state of [...STATES, 'preferences']) {
      const page = await opened(device, state);
      passes += await audit(page, `${state}, ${colorScheme}`);
      await page.close();
    }
    await device.close();
  }
  return `0 findings in ${STATES.length} states and the preferences × 2 themes (${passes} rules passed)`;
}

/** With forced colours, lines, weights and shapes mark selected, unread and focused elements. */
export async function forced(scene) {
  let focused = 0;
  for (const colorScheme of ['light', 'dark']) {
    const device = await scene.device(nobody(scene), 'ada', { colorScheme, forcedColors: 'active', reducedMotion: 'reduce' });
    const page = await opened(device, 'ready');
    await audit(page, `forced colours, ${colorScheme}`);
    const looks = await page.evaluate(() => {
      const bell = document.querySelector('tidings-bell').shadowRoot;
      const root = bell.querySelector('tidings-inbox').shadowRoot;
      const style = (selector, of = root) => getComputedStyle(of.querySelector(selector));
      const isSeen = ({ display, width, backgroundColor }, on) => display !== 'none' && parseFloat(width) > 0 && backgroundColor !== on;
      const canvas = style('.panel', bell).backgroundColor;
      const badge = style('.badge', bell);
      return {
        canvas,
        count: bell.querySelector('.badge').textContent,
        isCountSeen: isSeen(badge, canvas) && badge.color !== badge.backgroundColor,
        isDotSeen: isSeen(style('.item-unread .dot'), canvas),
        weights: ['.item-unread .title', '.item:not(.item-unread) .title'].map((selector) => Number(style(selector).fontWeight)),
        hasDot: [...root.querySelectorAll('article')].map((one) => one.querySelector('.dot') !== null),
        isUnread: [...root.querySelectorAll('article')].map((one) => one.classList.contains('item-unread')),
        lines: ['[role=tab]', '.views button'].map((selector) =>
          [...root.querySelectorAll(selector)].map((one) => getComputedStyle(one).borderBottomColor !== canvas),
        ),
      };
    });
    assert.equal(looks.count, '3');
    assert.ok(looks.isCountSeen && looks.isDotSeen, JSON.stringify(looks));
    assert.ok(looks.weights[0] > looks.weights[1], `${looks.weights}`);
    assert.deepEqual(looks.hasDot, looks.isUnread);
    assert.deepEqual(looks.lines, [
      [true, false, false, false, false],
      [true, false, false],
    ]);
    focused += await outlines(page, ['PageDown', 'Tab', 'Tab', 'Tab', 'Tab']);
    await page.close();

    const preferences = await opened(device, 'preferences');
    await audit(preferences, `forced colours, preferences, ${colorScheme}`);
    focused += await outlines(preferences);
    await device.close();
  }
  return `0 findings in 2 themes; ${focused} outlines`;
}

/** Presses some tabs and these keys; each time, the focused element must have a visible outline. */
async function outlines(page, keys = []) {
  const all = ['Shift+Tab', 'Tab', 'Tab', 'Tab', 'Tab', ...keys];
  for (const key of all) {
    await page.keyboard.press(key);
    const { name, outlines, behind } = await page.evaluate(() => {
      let at = document.activeElement;
      while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
      const styles = [getComputedStyle(at), getComputedStyle(at, '::after')];
      const panel = document.querySelector('tidings-bell').shadowRoot.querySelector('.panel');
      return {
        name: `${at.localName}.${at.className}`,
        outlines: styles
          .filter(({ outlineStyle, outlineWidth }) => outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2)
          .map(({ outlineColor }) => outlineColor),
        behind: getComputedStyle(panel).backgroundColor,
      };
    });
    assert.ok(outlines.some((color) => color !== behind), `${name} after ${key}: ${outlines} on ${behind}`);
  }
  return all.length;
}

/** With reduced motion nothing moves: not the panel, the bell, or loading indicators. */
export async function motion(scene) {
  const moving = {};
  for (const reducedMotion of ['no-preference', 'reduce']) {
    const device = await scene.device(nobody(scene), 'ada', { reducedMotion });
    const page = await device.open({ store: 'ready' });
    await page.locator('tidings-bell .badge').waitFor();
    await page.evaluate(() => {
      window.moved = new Set();
      const bell = document.querySelector('tidings-bell').shadowRoot;
      for (const name of ['animationstart', 'transitionrun']) {
        bell.addEventListener(name, (event) => window.moved.add(event.animationName ?? `transition of ${event.propertyName}`), true);
      }
      window.store.hear(window.store.overview.get().types[0].latest);
    });
    await page.locator('.bell.rings').waitFor();
    await page.locator('tidings-bell .bell').click();
    await page.locator('tidings-bell article').first().waitFor();
    await sleep(100);
    const waiting = await device.open({ store: 'loading', el: 'inbox' });
    await waiting.locator('.bone').first().waitFor();
    const bones = await waiting.evaluate(() => document.querySelector('tidings-inbox').shadowRoot.getAnimations().length);
    moving[reducedMotion] = [...(await page.evaluate(() => [...window.moved])), ...(bones ? ['wait'] : [])];
    await device.close();
  }
  assert.deepEqual(moving.reduce, []);
  for (const name of ['ring', 'appear', 'wait']) assert.ok(moving['no-preference'].includes(name), `${name}: ${moving['no-preference']}`);
}

/** What a screen reader announces, as text. */
export async function names(scene) {
  const device = await scene.device(nobody(scene), 'ada');
  const page = await device.open({ store: 'ready' });
  assert.equal(
    await page.getByRole('button', { name: 'Notifications, 3 unread', exact: true }).getAttribute('aria-expanded'),
    'false',
  );
  await openBell(page);
  const dialog = page.getByRole('dialog', { name: 'Notifications' });
  const tree = await dialog.ariaSnapshot();
  const expected = [
    '- heading "Notifications" [level=2]',
    '- button "Mark all as read"',
    '- button "Preferences"',
    '- button "Close"',
    '- tab "All, 3 unread" [selected]',
    '- tab "Comments, 1 unread"',
    '- tab "Releases, 1 unread"',
    '- tab "Billing, 1 unread"',
    '- tab "Events"',
    '- group "Show"',
    '- button "Inbox" [pressed]',
    '- button "Unread"',
    '- button "Archived"',
    '- feed "Notifications"',
    '- article "Unread: Ada commented on “Harvest plan”"',
    '- heading "Unread: Ada commented on “Harvest plan”" [level=3]',
    '- link "Ada commented on “Harvest plan”"',
    '- article "Lin mentioned you in “Cold store”"',
    '- button "Mark as read"',
    '- button "Archive"',
    '- button "Delete"',
  ];
  const lines = tree.split('\n').map((line) =>
    line
      .trim()
      .replace(/:$/, '')
      .replace(/^- '(.*)'$/, '- $1'),
  );
  for (const line of expected)
    assert.ok(
      lines.some((found) => found.startsWith(line)),
      `${line} is missing in:\n${tree}`,
    );
  const feed = await page.locator('tidings-bell [role=feed]').evaluate((feed) => ({
    busy: feed.getAttribute('aria-busy'),
    places: [...feed.children].map((one) => [one.localName, one.ariaPosInSet, one.ariaSetSize].join()),
  }));
  assert.deepEqual(feed, { busy: 'false', places: Array.from({ length: 7 }, (_, n) => `article,${n + 1},-1`) });

  // Click targets are at least 24 × 24 pixels.
  const small = await page.locator('tidings-bell').evaluate((bell) => {
    const root = bell.shadowRoot.querySelector('tidings-inbox').shadowRoot;
    const controls = [bell.shadowRoot.querySelector('button'), ...root.querySelectorAll('button:not(.open), [role=tab], input')];
    return controls
      .map((one) => [one.className || one.id, one.getBoundingClientRect()])
      .filter(([, { width, height }]) => width < 24 || height < 24)
      .map(([name]) => name);
  });
  assert.deepEqual(small, []);
  await device.close();
}

/** Words and plurals of all languages; no English is left. */
export async function languages(scene) {
  const device = await scene.device(nobody(scene), 'ada');
  const bells = {
    en: 'Notifications, 3 unread',
    de: 'Mitteilungen, 3 ungelesen',
    fr: 'Notifications, 3 non lues',
    es: 'Notificaciones, 3 sin leer',
    pt: 'Notificações, 3 não lidas',
    ja: '通知、未読3件',
    'zh-CN': '通知，3 条未读',
    'zh-HK': '通知，3 則未讀',
    ko: '알림, 읽지 않음 3개',
    it: 'Notifiche, 3 non lette',
    ar: 'الإشعارات، 3 إشعارات غير مقروءة',
    ru: 'Уведомления, 3 непрочитанных',
    'pt-BR': 'Notificações, 3 não lidas',
    english: 'Notifications, 3 unread',
    xx: 'Notifications, 3 unread',
  };
  for (const [lang, name] of Object.entries(bells)) {
    const page = await device.open({ store: 'ready', lang });
    await until(
      lang,
      () => page.locator('tidings-bell .bell').getAttribute('aria-label'),
      (label) => label.replace('٣', '3') === name,
    );
    await page.close();
  }
  assert.deepEqual(device.complaints, []);
  await device.close();
  return `${Object.keys(bells).length} values of lang`;
}

/** The open panel follows `lang` and `dir` of the page, at once, and keeps focus, scroll position and view. */
export async function following(scene) {
  const device = await scene.device(nobody(scene), 'ada', { viewport: { width: 900, height: 460 } });
  const page = await device.open({ store: 'ready' });
  await openBell(page);
  await page.evaluate(() => {
    const { shadowRoot } = document.querySelector('tidings-bell').shadowRoot.querySelector('.panel > *');
    const [, , , , article] = shadowRoot.querySelectorAll('article');
    article.focus({ preventScroll: true });
    shadowRoot.querySelector('.scroller').scrollTop = 200;
    window.look = () => ({
      title: shadowRoot.querySelector('h2').textContent,
      time: shadowRoot.querySelectorAll('time')[3].textContent,
      direction: getComputedStyle(shadowRoot.querySelector('.inbox')).direction,
      isLeft: document.querySelector('tidings-bell').shadowRoot.querySelector('.panel').getBoundingClientRect().left < 100,
      isKept: shadowRoot.activeElement === article && shadowRoot.querySelector('.scroller').scrollTop === 200,
    });
    // Every state on the way: a mixture of two languages would be one of them.
    window.seen = [];
    const observer = new MutationObserver(() => window.seen.push(`${window.look().title}, ${window.look().time}`));
    observer.observe(shadowRoot, { subtree: true, childList: true, characterData: true });
  });
  const pages = [
    ['zh-TW', 'ltr', '通知', '3 小時前'],
    ['ar', 'rtl', 'الإشعارات', 'قبل 3 ساعات'],
    ['de-AT', 'ltr', 'Mitteilungen', 'vor 3 Stunden'],
    ['nl', 'rtl', 'Notifications', '3 hours ago'],
    ['ko', 'ltr', '알림', '3시간 전'],
  ];
  for (const [lang, dir, title, time] of pages) {
    await page.evaluate((wanted) => Object.assign(document.documentElement, wanted), { lang, dir });
    const seen = await until(lang, () => page.evaluate(() => window.look()), (seen) => seen.title === title);
    assert.deepEqual(seen, { title, time, direction: dir, isLeft: dir === 'rtl', isKept: true });
  }
  const states = await page.evaluate(() => [...new Set(window.seen)]);
  assert.deepEqual(states, pages.map(([, , title, time]) => `${title}, ${time}`));

  const label = (wanted) => until(wanted, () => page.locator('tidings-bell .bell').getAttribute('aria-label'), (label) => label === wanted);
  const set = (selector, lang) => page.evaluate(([of, lang]) => (document.querySelector(of).lang = lang), [selector, lang]);
  await set('header', 'it');
  await label('Notifiche, 3 non lette');
  await set('tidings-bell', 'ja');
  await label('通知、未読3件');
  await set('html', 'fr');
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)));
  await label('通知、未読3件');
  assert.deepEqual(device.complaints, []);
  await device.close();
}

/** The live region is silent on load, announces new items at once, and then stays silent for 5 s. */
export async function announcements(scene) {
  const tenant = await scene.tenant();
  await tenant.send('ada', ['Before']);
  const device = await scene.device(tenant, 'ada');
  const page = await device.open();
  await page.evaluate(() => {
    const region = document.querySelector('tidings-bell').shadowRoot.querySelector('[role=status][aria-live=polite]');
    window.said = [];
    new MutationObserver(() => region.textContent && window.said.push([region.textContent, performance.now()])).observe(region, {
      childList: true,
      characterData: true,
      subtree: true,
    });
  });
  await page.getByRole('button', { name: 'Notifications, 1 unread', exact: true }).waitFor();
  const said = () => page.evaluate(() => window.said);
  await sleep(300);
  assert.deepEqual(await said(), []);
  await tenant.send('ada', ['First']);
  await until('the first', said, ({ length }) => length === 1);
  for (let n = 0; n < 5; n++) await tenant.send('ada', [`More ${n}`]);
  const [first, second] = await until('the others', said, ({ length }) => length === 2);
  assert.deepEqual([first[0], second[0]], ['New notification: First', '5 new notifications']);
  assert.ok(second[1] - first[1] >= 4990, `${second[1] - first[1]} ms apart`);
  await page.getByRole('button', { name: 'Notifications, 7 unread', exact: true }).waitFor();
  await device.close();
}

/** Everything works by keyboard. */
export async function keyboard(scene) {
  const tenant = await scene.tenant();
  await tenant.send(
    'ada',
    Array.from({ length: 35 }, (_, n) => ({ title: `Item ${n + 1}`, link: '/x', type: n % 2 ? 'comment' : 'release' })),
  );
  const device = await scene.device(tenant, 'ada');
  const page = await device.open();
  await page.getByRole('button', { name: 'Notifications, 35 unread' }).waitFor();
  // The focused element, through all shadow roots.
  const focus = () =>
    page.evaluate(() => {
      let at = document.activeElement;
      while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
      const title = at.closest('article')?.querySelector('.open')?.textContent;
      return [
        at.getAttribute('role') ?? at.localName,
        at.getAttribute('aria-label') ?? (at.localName === 'article' ? title : at.textContent.trim()),
      ].join(' ');
    });
  const isAt = (where) => until(where, focus, (found) => found === where);
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };

  await page.locator('nav a').last().focus();
  await press('Tab');
  await isAt('button Notifications, 35 unread');
  await press('Enter');
  await page.locator('tidings-bell article').first().waitFor();
  assert.match(await focus(), /^dialog Notifications/);
  await press('Escape');
  await isAt('button Notifications, 35 unread');
  assert.equal(await page.locator('tidings-bell [role=dialog]').isVisible(), false);

  await press('Space');
  await page.locator('tidings-bell article').first().waitFor();
  await press('Tab');
  await isAt('button Mark all as read');
  await press('Tab', 'Tab', 'Tab');
  await isAt('tab All, 35 unread');
  await press('ArrowRight', 'ArrowRight');
  await isAt('tab Releases, 18 unread');
  await press('ArrowRight');
  await isAt('tab All, 35 unread');
  await press('End', 'Home');
  await isAt('tab All, 35 unread');

  // The feed.
  await press('PageDown');
  await isAt('article Item 35');
  await press('PageDown', 'ArrowDown');
  await isAt('article Item 33');
  await press('PageUp');
  await isAt('article Item 34');
  await press('Tab');
  await isAt('a Item 34');
  await press('Tab');
  await isAt('button Mark as read');
  await press('Enter');
  await page.getByRole('button', { name: 'Notifications, 34 unread' }).waitFor();
  await isAt('button Mark as unread');
  await press('Tab');
  await isAt('button Archive');
  await press('Enter');
  await isAt('article Item 33');
  await press('Delete');
  await isAt('article Item 32');
  await page.getByRole('button', { name: 'Notifications, 33 unread' }).waitFor();
  await press('End');
  await until(
    'older ones',
    () => page.locator('tidings-bell article').count(),
    (count) => count === 33,
  );
  await press('End');
  await isAt('article Item 1');
  await press('Control+Home');
  await isAt('tab All, 33 unread');

  // The preferences, and back.
  await press('Shift+Tab', 'Shift+Tab');
  await isAt('button Preferences');
  await press('Enter');
  await isAt('button Back');
  await page.getByRole('switch').first().waitFor();
  await press('Tab', 'Tab');
  await until('a switch', focus, (found) => found.startsWith('switch'));
  await press('Space');
  await press('Shift+Tab', 'Shift+Tab', 'Enter');
  await isAt('button Preferences');

  // Enter on an article opens the item.
  await page.evaluate(() => (window.prevents = true));
  await press('PageDown', 'Enter');
  await until(
    'opened',
    () => page.evaluate(() => window.events.filter(({ name }) => name === 'open').length),
    (count) => count === 1,
  );

  // The panel closes when the focus leaves it.
  await page.locator('nav a').first().focus();
  await page.locator('tidings-bell [role=dialog]').waitFor({ state: 'hidden' });
  assert.equal(await focus(), 'a Orders');
  assert.deepEqual(device.complaints, []);
  await device.close();
}
