import '@tidings/elements';
import { Bell, TidingsProvider, useInbox, useOnItem, useOverview } from '@tidings/react';
import { useState } from 'react';

const getToken = () => fetch('/tidings-token').then((answer) => answer.text());

export function App() {
  const [isIn, setIn] = useState(true);
  const [opened, setOpened] = useState('');
  return (
    <>
      {isIn && (
        <TidingsProvider server="https://tidings.example" token={getToken} cap={99}>
          <Bell
            onOpen={(event) => {
              event.preventDefault();
              setOpened(event.detail.item.title);
            }}
          />
          <Unread />
        </TidingsProvider>
      )}
      <button onClick={() => setIn(!isIn)}>{isIn ? 'Leave' : 'Return'}</button>
      <output>{opened}</output>
    </>
  );
}

function Unread() {
  const { unread, status } = useOverview();
  const { items, markRead } = useInbox({ read: false });
  const [newest, setNewest] = useState('');
  useOnItem((item) => setNewest(item.title));
  return (
    <section aria-label="Unread" aria-busy={status === 'loading'}>
      <h2>
        {unread.count} unread{newest && `, the newest is ${newest}`}
      </h2>
      <ul>
        {items.map(({ id, title }) => (
          <li key={id}>
            {title} <button onClick={() => markRead({ ids: [id] })}>Read</button>
          </li>
        ))}
      </ul>
    </section>
  );
}
