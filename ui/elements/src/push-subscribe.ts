// Web Push for a page's user: `import { subscribe } from 'https://tidings.example/ui/1/push-subscribe.js'`.

import type { Options } from '../../client/src/index.ts';

export interface Wish {
  /** The server's address; default: where this script came from. */
  server?: string;
  /** Returns a token of the user. */
  token: Options['token'];
  /** The page's own service worker, which imports `push.js`; default: `/tidings-push.js`. */
  worker?: string;
}

const SAVE = 'mutation($of:JSON!){savePushSubscription(subscription:$of){pushSubscriptionCount}}';
const DELETE = 'mutation($of:String!){deletePushSubscription(endpoint:$of){pushSubscriptionCount}}';

async function ask(wish: Wish, query: string, of?: unknown): Promise<{ webPushKey?: string | null }> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${await wish.token()}` };
  const body = JSON.stringify({ query, variables: { of } });
  const address = new URL('/graphql', new URL(wish.server || '/', import.meta.url).origin);
  const { data, errors } = await (await fetch(address, { method: 'POST', headers, body })).json();
  if (errors) throw new Error(errors[0].message);
  return data;
}

/** The browser's subscription for a key. Replaces one for another key, which the server could not use. */
async function subscription(manager: PushManager, key: string): Promise<PushSubscription> {
  const options = { userVisibleOnly: true, applicationServerKey: key };
  try {
    return await manager.subscribe(options);
  } catch (failure) {
    const before = await manager.getSubscription();
    if (!before) throw failure;
    await before.unsubscribe();
    return manager.subscribe(options);
  }
}

/**
 * Sends push messages to this browser for its user. The first call asks for permission, so call it on a click; later,
 * call it at each visit and after each sign-in. Returns false if the user refuses, the browser lacks Web Push, or the
 * server has it disabled.
 */
export async function subscribe(wish: Wish): Promise<boolean> {
  if (!('PushManager' in globalThis) || (await Notification.requestPermission()) !== 'granted') return false;
  const { webPushKey } = await ask(wish, '{webPushKey}');
  if (!webPushKey) return false;
  await navigator.serviceWorker.register(wish.worker ?? '/tidings-push.js');
  const { pushManager } = await navigator.serviceWorker.ready;
  await ask(wish, SAVE, await subscription(pushManager, webPushKey));
  return true;
}

/** Stops push messages to this browser. Call it before the sign-out, while there is still a token. */
export async function unsubscribe(wish: Wish): Promise<void> {
  const registration = await navigator.serviceWorker?.getRegistration();
  const subscription = await registration?.pushManager.getSubscription();
  if (!subscription) return;
  await ask(wish, DELETE, subscription.endpoint);
  await subscription.unsubscribe();
}
