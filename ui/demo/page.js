// The demo's page: documents to comment on, and the bell of the chosen user. A real page gets tokens from its own
// backend, and only the backend sends.

// Made by build.mjs from ui/locales/demo.
const TEXTS = {
  "en": {
    "signedInAs": "Signed in as",
    "language": "Language",
    "documents": "Documents",
    "about": "Comment as another user, and the bells of the document’s subscribers ring: here, in other tabs and in other browsers.",
    "preferences": "Preferences",
    "subscribed": "Subscribed: {names}",
    "as": "As",
    "comment": "Comment",
    "example": "Looks good to me.",
    "send": "Send",
    "sent": "Sent: all subscribers receive it, except {name}."
  },
  "zh-Hans": {
    "signedInAs": "当前用户",
    "language": "语言",
    "documents": "文档",
    "about": "以另一位用户的身份发表评论，该文档订阅者的铃铛就会响起：在本页、其他标签页和其他浏览器中。",
    "preferences": "偏好设置",
    "subscribed": "订阅者：{names}",
    "as": "身份",
    "comment": "评论",
    "example": "我觉得没问题。",
    "send": "发送",
    "sent": "已发送：除 {name} 外，所有订阅者都会收到。"
  }
};

/** Functions that write a text in the page's language, by their elements. */
const written = new Map();

/** Writes a text now, and again whenever the language changes. Lists of names are joined as the language does. */
function write(element, key, values = {}, put = (text) => (element.textContent = text)) {
  const rewrite = () => {
    const { lang } = document.documentElement;
    const shown = (value) => (Array.isArray(value) ? new Intl.ListFormat(lang).format(value) : value);
    put(TEXTS[lang][key].replace(/\{(\w+)\}/g, (_, name) => shown(values[name])));
  };
  written.set(element, rewrite);
  rewrite();
}

/** Sets the language of the page, which the bell follows. */
function setLanguage(tag) {
  document.documentElement.lang = tag;
  written.forEach((rewrite) => rewrite());
}

/** The language that the visitor chose before, or that of the browser. */
function firstLanguage() {
  const chosen = localStorage.getItem('demo-language');
  if (chosen && Object.hasOwn(TEXTS, chosen)) return chosen;
  return new Intl.Locale(navigator.language).maximize().script === 'Hans' ? 'zh-Hans' : 'en';
}

const language = document.querySelector('#language');
language.value = firstLanguage();
setLanguage(language.value);
language.addEventListener('change', () => {
  localStorage.setItem('demo-language', language.value);
  setLanguage(language.value);
});
write(language, 'language', {}, (text) => language.setAttribute('aria-label', text));
for (const element of document.querySelectorAll('[data-text]')) write(element, element.dataset.text);

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
  if (errors) throw new Error(errors[0].message);
}

for (const { id, title, writers } of documents) {
  const item = document.querySelector('#document').content.cloneNode(true);
  item.querySelector('h2').textContent = title;
  write(item.querySelector('p'), 'subscribed', { names: writers.map(name) });
  const form = item.querySelector('form');
  const output = form.querySelector('output');
  const { sender, text } = form.elements;
  fill(sender, people.map((person) => person.id));
  sender.value = 'gus';
  // A default value does not replace what the user has typed.
  write(text, 'example', {}, (example) => (text.defaultValue = example));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const from = sender.value;
    try {
      await comment(id, title, from, text.value);
      write(output, 'sent', { name: name(from) });
    } catch (problem) {
      written.delete(output);
      output.textContent = problem.message;
    }
  });
  for (const element of item.querySelectorAll('[data-text]')) write(element, element.dataset.text);
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
