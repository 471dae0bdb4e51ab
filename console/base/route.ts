// Where the page is: `#/view/part/part?name=value`.

import {Cell} from './cell.js';

export interface Route {
  readonly view: string;
  readonly parts: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

/** The text of a part of an address, which may be none that was written here. */
const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

const parse = (hash: string): Route => {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [view = '', ...parts] = path.split('/').map(decoded);
  return {view: view || 'overview', parts, query: Object.fromEntries(new URLSearchParams(query))};
};

export const route = new Cell<Route>(parse(location.hash));

addEventListener('hashchange', () => route.set(parse(location.hash)));

/** Returns the address of a place on the page. */
export const hrefOf = (view: string, parts: readonly string[] = [], query: Readonly<Record<string, string | undefined>> = {}): string => {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const text = new URLSearchParams(given).toString();
  return `#/${[view, ...parts].map(encodeURIComponent).join('/')}${text ? `?${text}` : ''}`;
};

export const go = (href: string): void => {
  location.hash = href;
};

/** Changes parameters of the place where the page is, without a step in the browser's history. */
export const amend = (change: Readonly<Record<string, string | undefined>>): void => {
  const {view, parts, query} = route.value;
  history.replaceState(undefined, '', hrefOf(view, parts, {...query, ...change}));
  route.set(parse(location.hash));
};
