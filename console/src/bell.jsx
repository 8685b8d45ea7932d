// The bell of a user: the element that this server has for partners' pages. It comes from `/ui/1/`, so that what is seen here is what they
// get; a server that serves no elements (`TIDINGS_NO_UI`) has no bell here either.

import { useEffect, useRef } from 'react';

export function Bell({ token }) {
  const bell = useRef(null);
  useEffect(() => {
    import('/ui/1/tidings.js').catch(() => {});
  }, []);
  // React makes no property of what an element does not have yet.
  useEffect(() => {
    bell.current.token = () => token;
  }, [token]);
  return <tidings-bell ref={bell} cap="99" ontidings-open={stay} />;
}

/** An item is marked as read. Its link leads into the product that it tells of, which is not here. */
const stay = (event) => event.preventDefault();
