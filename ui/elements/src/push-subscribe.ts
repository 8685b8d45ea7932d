// Subscribes a browser to Web Push, for whoever is signed in: `import { subscribe } from 'https://tidings.example/ui/1/push-subscribe.js'`.

import type { Options } from '../../client/src/index.ts';

export interface Wish {
  /** Where Tidings is; where this script came from if it is left out. */
  server?: string;
  /** Gives a token of whoever is signed in. */
  token: Options['token'];
  /** The page's own service worker, which imports `push.js`; `/tidings-push.js` if it is left out. */
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

/** The browser's subscription by a key; one by another key, which nobody can use any more, gives way. */
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
 * Reaches whoever is signed in in this browser from now on. Asks for their permission where nobody has yet, and so is to be called by a
 * click; once it is given, at each visit and after each sign-in. False where they do not want it, the browser has no Web Push or the
 * server sends none.
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

/** Reaches nobody in this browser any more: before they sign out, as long as there is a token. */
export async function unsubscribe(wish: Wish): Promise<void> {
  const registration = await navigator.serviceWorker?.getRegistration();
  const subscription = await registration?.pushManager.getSubscription();
  if (!subscription) return;
  await ask(wish, DELETE, subscription.endpoint);
  await subscription.unsubscribe();
}
