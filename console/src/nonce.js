// Monaco creates <style> elements. The page's content security policy allows only those with the nonce of this
// response.

const { nonce } = document.querySelector('link[nonce]');
const create = document.createElement;

document.createElement = function createElement(name, ...options) {
  const element = create.call(this, name, ...options);
  if (element instanceof HTMLStyleElement) element.nonce = nonce;
  return element;
};
