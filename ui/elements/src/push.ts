// What a service worker needs to show what Web Push brings, and to open what it is about. A page's own worker has it by
// `importScripts('https://tidings.example/ui/1/push.js')`.

/** What the server sends. */
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

/** As much of a worker's surroundings as is used. */
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

/** Where a click leads: https, or this worker's own scheme, which is http in development; home where the link is none of these. */
function target(link: string | undefined): string {
  const home = registration.scope;
  try {
    const { protocol, href } = new URL(link ?? home, home);
    if (protocol === 'https:' || (protocol === 'http:' && home.startsWith('http:'))) return href;
  } catch {
    // It is no link.
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
  // What comes again under the same id stands instead of what was there.
  event.waitUntil(registration.showNotification(title, { body, lang, tag: id, data: { id, type, link } }));
});

addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.link));
});

export {};
