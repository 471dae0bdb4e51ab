import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {root} from '#test/sources.js';

const style = readFileSync(join(root, 'console/style/colours.css'), 'utf8');

/** The colours of a theme by name. */
const coloursOf = (selector: string): ReadonlyMap<string, string> => {
  const start = style.indexOf(`${selector} {`);
  const rules = style.slice(start, style.indexOf('}', start));
  return new Map([...rules.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name!, value!]));
};

/** The relative luminance of a colour (WCAG 2.2). */
const luminance = (colour: string): number => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(at => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};

const contrast = (one: string, other: string): number => {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};

/** What is written, and on which grounds. */
const texts: Readonly<Record<string, readonly string[]>> = {
  text: ['ground', 'surface', 'raised', 'selected', 'added', 'removed', 'changed', 'waiting-ground'],
  muted: ['ground', 'surface', 'raised', 'selected'],
  accent: ['ground', 'surface', 'selected'],
  key: ['ground'],
  string: ['ground'],
  good: ['ground', 'surface', 'selected', 'good-ground'],
  waiting: ['ground', 'surface', 'selected', 'waiting-ground'],
  bad: ['ground', 'surface', 'selected', 'bad-ground'],
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
