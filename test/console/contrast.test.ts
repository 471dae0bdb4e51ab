import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {root} from '#test/sources.js';
import {contrast} from './colours.js';

const style = readFileSync(join(root, 'console/style/colours.css'), 'utf8');

/** The colours of a theme by name. */
const coloursOf = (selector: string): ReadonlyMap<string, string> => {
  const start = style.indexOf(`${selector} {`);
  const rules = style.slice(start, style.indexOf('}', start));
  return new Map([...rules.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name!, value!]));
};

/** What is written, and on which grounds. */
const texts: Readonly<Record<string, readonly string[]>> = {
  text: ['ground', 'surface', 'raised', 'selected', 'selection', 'added', 'removed', 'changed', 'waiting-ground'],
  muted: ['ground', 'surface', 'raised', 'selected', 'selection', 'added', 'removed', 'changed'],
  accent: ['ground', 'surface', 'selected', 'raised'],
  key: ['ground', 'raised', 'selection', 'added', 'removed', 'changed'],
  string: ['ground', 'raised', 'selection', 'added', 'removed', 'changed'],
  good: ['ground', 'surface', 'selected', 'good-ground'],
  waiting: ['ground', 'surface', 'selected', 'waiting-ground'],
  bad: ['ground', 'surface', 'selected', 'raised', 'bad-ground'],
  'on-accent': ['accent'],
};

for (const [theme, selector] of [
  ['light', ':root'],
  ['dark', ":root[data-theme='dark']"],
] as const) {
  test(`texts have a contrast of 4.5 : 1, and edges of fields one of 3 : 1, in the ${theme} theme`, t => {
    const colours = coloursOf(selector);
    const of = (name: string): string => colours.get(name) ?? '#777777';
    for (const [text, grounds] of Object.entries(texts))
      for (const ground of grounds) {
        const found = contrast(of(text), of(ground));
        t.true(found >= 4.5, `${text} on ${ground}: ${found.toFixed(2)}`);
      }
    t.true(contrast(of('edge'), of('ground')) >= 3);
  });
}
