// The demo's page: documents to comment on, and the bell of the chosen user. A real page gets tokens from its own
// backend, and only the backend sends.

const { people, documents } = await (await fetch('/demo/data')).json();
const bell = document.querySelector('tidings-bell');
const preferences = document.querySelector('tidings-preferences');
const user = document.querySelector('#user');

const name = (id) => people.find((person) => person.id === id)?.name ?? id;
const token = async (who) => (await fetch(`/demo/token?${new URLSearchParams(who)}`)).text();
const fill = (select, ids) => select.replaceChildren(...ids.map((id) => new Option(name(id), id)));

function signIn(id) {
  sessionStorage.setItem('user', id);
  for (const element of [bell, preferences]) element.token = () => token({ user: id });
}

const COMMENT = `mutation Comment($input: SendReminderInput!) {
  sendReminder(input: $input) { replayed }
}`;

/** What a backend does when a user comments. */
async function comment(id, title, sender, text) {
  const input = { type: 'comment', target: { type: 'document', externalId: id }, action: 'comment', sender,
    content: { params: { document: title, text } }, idempotencyKey: crypto.randomUUID?.() };
  const answer = await fetch('/graphql', {
    method: 'POST',
    headers: { authorization: `Bearer ${await token({ service: 'shop' })}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: COMMENT, variables: { input } }),
  });
  const { errors } = await answer.json();
  return errors ? errors[0].message : `Sent: all subscribers receive it, except ${name(sender)}.`;
}

for (const { id, title, writers } of documents) {
  const item = document.querySelector('#document').content.cloneNode(true);
  item.querySelector('h2').textContent = title;
  item.querySelector('p').textContent = `Subscribed: ${writers.map(name).join(', ')}`;
  const form = item.querySelector('form');
  fill(form.elements.sender, people.map((person) => person.id));
  form.elements.sender.value = 'gus';
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const { sender, text } = form.elements;
    form.querySelector('output').value = await comment(id, title, sender.value, text.value).catch((problem) => problem.message);
  });
  document.querySelector('#documents').append(item);
}

fill(user, people.map((person) => person.id));
user.value = sessionStorage.getItem('user') ?? people[0].id;
user.addEventListener('change', () => {
  bell.signOut?.();
  signIn(user.value);
});
// The demo's links have no pages.
addEventListener('tidings-open', (event) => event.preventDefault());
signIn(user.value);
