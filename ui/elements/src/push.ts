// Shows push messages in a service worker and opens their links. A page's own worker loads it with
// `importScripts('https://tidings.example/ui/1/push.js')`.

/** The message of the server. */
interface Told {
  id: string;
  type: string;
  title: string;
  body: string;
  link?: string;
  lang?: string;
}

interface Page {
  url: string;
  focus(): Promise<unknown>;
}

/** The parts of the worker's global scope that are used. */
interface Worker {
  registration: { scope: string; showNotification(title: string, options: NotificationOptions): Promise<void> };
  clients: {
    matchAll(options: { type: 'window'; includeUncontrolled: true }): Promise<Page[]>;
    openWindow(url: string): Promise<unknown>;
  };
  addEventListener(type: 'push', listener: (event: Lasting & { data: { json(): Told } | null }) => void): void;
  addEventListener(type: 'notificationclick', listener: (event: Lasting & { notification: Notification }) => void): void;
}

interface Lasting {
  waitUntil(work: Promise<unknown>): void;
}

const { registration, clients, addEventListener } = self as unknown as Worker;

/** The target of a click: https, or the worker's own scheme (http in development); otherwise the home page. */
function target(link: string | undefined): string {
  const home = registration.scope;
  try {
    const { protocol, href } = new URL(link ?? home, home);
    if (protocol === 'https:' || (protocol === 'http:' && home.startsWith('http:'))) return href;
  } catch {
    // Not a valid link.
  }
  return home;
}

async function open(link: string | undefined): Promise<unknown> {
  const url = target(link);
  const pages = await clients.matchAll({ type: 'window', includeUncontrolled: true });
  return pages.find((page) => page.url === url)?.focus() ?? clients.openWindow(url);
}

addEventListener('push', (event) => {
  const told = event.data?.json();
  if (!told) return;
  const { id, type, title, body, link, lang = '' } = told;
  // A repeated message with the same id replaces the visible one.
  event.waitUntil(registration.showNotification(title, { body, lang, tag: id, data: { id, type, link } }));
});

addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.link));
});

export {};
