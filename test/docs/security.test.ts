import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {root} from '#test/sources.js';

const page = readFileSync(join(root, 'docs/security.md'), 'utf8');

/** The tests that a row names. */
const named = (row: string): {file: string; title: string}[] =>
  [...row.matchAll(/`(test\/[^`]+\.test\.ts)`: ((?:"[^"]+"(?:, )?)+)/g)].flatMap(([, file = '', titles = '']) =>
    [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => ({file, title})),
  );

const isThere = (file: string, title: string): boolean => {
  const path = join(root, file);
  if (!existsSync(path)) return false;
  const text = readFileSync(path, 'utf8')
    .replaceAll(/\\(['`])/g, '$1')
    .replaceAll(/\(\s+/g, '(');
  return ["'", '`', '"'].some(quote => text.includes(`(${quote}${title}${quote}`));
};

const rows = page
  .slice(page.indexOf('## Tested attacks'))
  .split('\n')
  .filter(line => line.startsWith('| ') && !line.startsWith('| attack'));

test('every test that the page on security names is there', t => {
  const all = rows.flatMap(named);

  t.true(all.length > 60, String(all.length));
  t.deepEqual(
    all.filter(({file, title}) => !isThere(file, title)),
    [],
  );
});

test('every tested attack names an existing test', t => {
  t.true(rows.length > 25, String(rows.length));
  for (const row of rows) t.is(row.match(/"/g)?.length, 2 * named(row).length, row);
  t.deepEqual(
    rows.filter(row => named(row).length === 0),
    [],
  );
});
