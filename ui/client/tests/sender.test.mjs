// A backend sends everything exactly once.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Failure, Sender } from '../dist/sender.js';
import { Overview, request } from '../dist/typed.js';

const message = (n, of = {}) => ({ message: { type: 'a', receiver: 'ada', content: { title: `title ${n}` }, ...of } });

/** A server that records batches; `instead` can replace its response. */
function server(instead = () => undefined) {
  const batches = [];
  const calls = [];
  const take = async (url, { body, headers }) => {
    const { inputs } = JSON.parse(body).variables;
    calls.push({ url, token: headers.authorization, inputs });
    const answer = instead(calls.length);
    if (answer instanceof Error) throw answer;
    if (answer) return answer;
    batches.push(inputs);
    return Response.json({ data: { sendNotifications: inputs.map(({ message: { content } }) => ({ notification: { id: content.title }, replayed: false })) } });
  };
  return { batches, calls, fetch: take };
}

const refused = (code, extensions = {}, status = 200, headers = {}) =>
  Response.json({ errors: [{ message: 'no', extensions: { code, ...extensions } }] }, { status, headers });

test('batches hold 1,000 and 2 MiB at the most, and answers are in order', async () => {
  const { batches, fetch } = server();
  const sent = await new Sender({ server: 'http://x/', token: 't', fetch }).send(Array.from({ length: 2300 }, (_, n) => message(n)));
  assert.deepEqual(batches.map(({ length }) => length), [1000, 1000, 300]);
  assert.deepEqual(sent.map(({ id }) => id), Array.from({ length: 2300 }, (_, n) => `title ${n}`));
  const keys = batches.flat().map((input) => input.message.idempotencyKey);
  assert.equal(new Set(keys).size, 2300);

  const large = server();
  const body = 'ü'.repeat(8_000);
  await new Sender({ server: 'http://x', token: 't', fetch: large.fetch }).send(Array.from({ length: 300 }, (_, n) => message(n, { content: { title: 'x', body } })));
  assert.ok(large.batches.length >= 3);
  for (const inputs of large.calls.map((call) => call.inputs)) assert.ok(Buffer.byteLength(JSON.stringify(inputs)) < 2 ** 21 - 10_000);
  assert.deepEqual(await new Sender({ server: 'http://x', token: 't', fetch: large.fetch }).send([]), []);
});

test('a batch is tried again with the same keys, not before the server wants it', async () => {
  const { calls, fetch } = server((n) => [new TypeError('reset'), new Response('', { status: 503, headers: { 'retry-after': '2' } }), refused('RATE_LIMITED', { retryAfter: 2 }, 429)][n - 1]);
  const began = Date.now();
  await new Sender({ server: 'http://x', token: 't', fetch }).send([message(1, { idempotencyKey: 'own' }), message(2)]);
  assert.equal(calls.length, 4);
  for (const { inputs } of calls) assert.deepEqual(inputs, calls[0].inputs);
  assert.equal(calls[0].inputs[0].message.idempotencyKey, 'own');
  assert.ok(Date.now() - began >= 4_400, `${Date.now() - began} ms`);
});

test('what is refused is not tried again, and says what was sent before', async () => {
  const { calls, fetch } = server((n) => (n === 2 ? refused('BAD_USER_INPUT', { field: 'inputs[0]' }) : undefined));
  const sending = new Sender({ server: 'http://x', token: 't', fetch }).send(Array.from({ length: 1001 }, (_, n) => message(n)));
  await assert.rejects(sending, (error) => error instanceof Failure && error.code === 'BAD_USER_INPUT' && error.field === 'inputs[0]' && error.sent.length === 1000);
  assert.equal(calls.length, 2);
});

test('it gives up after so many attempts', async () => {
  const { calls, fetch } = server(() => new TypeError('away'));
  await assert.rejects(new Sender({ server: 'http://x', token: 't', fetch, attempts: 2 }).send([message(1)]), { code: 'OFFLINE' });
  assert.equal(calls.length, 2);
});

test('a token that is refused is asked for once more', async () => {
  let n = 0;
  const { calls, fetch } = server((call) => (call === 1 ? new Response('', { status: 401 }) : undefined));
  await new Sender({ server: 'http://x', token: () => `t${++n}`, fetch }).send([message(1)]);
  assert.deepEqual(calls.map(({ token }) => token), ['Bearer t1', 'Bearer t2']);
  const never = server(() => new Response('', { status: 401 }));
  await assert.rejects(request({ server: 'http://x', token: 't', fetch: never.fetch }, Overview, {}), { code: 'UNAUTHENTICATED' });
  assert.equal(never.calls.length, 1);
});
