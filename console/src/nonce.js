// Monaco writes its colours and rules into <style> elements that it makes. The page's policy admits those with the nonce
// of this answer, and no others.

const { nonce } = document.querySelector('link[nonce]');
const create = document.createElement;

document.createElement = function createElement(name, ...options) {
  const element = create.call(this, name, ...options);
  if (element instanceof HTMLStyleElement) element.nonce = nonce;
  return element;
};
