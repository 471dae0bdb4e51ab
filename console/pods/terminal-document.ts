// The content security policy of the page allows no style elements and no style attributes. A terminal makes both: it
// is given a document whose style elements are style sheets as objects, and whose attributes are set as properties.

const made = (tag: string): HTMLElement => Document.prototype.createElement.call(document, tag);

/** An element in place of a style element, whose text is a style sheet of the document. */
const styleSheet = (): HTMLElement => {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  const element = made('span');
  element.hidden = true;
  Object.defineProperty(element, 'textContent', {
    set: (text: string) => {
      sheet.replaceSync(text);
    },
  });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter(each => each !== sheet);
    element.parentNode?.removeChild(element);
  };
  return element;
};

const created = (tag: string): HTMLElement => {
  if (tag === 'style') return styleSheet();
  const element = made(tag);
  element.setAttribute = (name, value) => {
    if (name === 'style') element.style.cssText = value;
    else Element.prototype.setAttribute.call(element, name, value);
  };
  return element;
};

/**
 * Calls what makes elements by the document of the page, although it has another: xterm.js 6 does so for the style of
 * its scroll bar.
 */
export const asTerminalDocument = (act: () => void): void => {
  document.createElement = created as typeof document.createElement;
  try {
    act();
  } finally {
    // The method of the prototype is left.
    Reflect.deleteProperty(document, 'createElement');
  }
};

/** The document of a terminal. */
export const terminalDocument = new Proxy(document, {
  get(target, name) {
    if (name === 'createElement') return created;
    const value: unknown = Reflect.get(target, name, target);
    return typeof value === 'function' ? (value as (...given: unknown[]) => unknown).bind(target) : value;
  },
});
