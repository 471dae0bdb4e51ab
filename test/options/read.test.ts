import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {flagTables} from '#src/cli/commands.js';
import {optionName} from '#src/options/flag.js';

/** Flags whose whole work is done while the command line is read. */
const readByTheParser = new Set([
  'feature-gates',
  'emulated-version',
  'min-compatibility-version',
  'leader-elect-resource-lock', // There is one kind of lock.
]);

const sources = ['src', 'controllers', 'informers']
  .flatMap(folder => readdirSync(folder, {recursive: true, encoding: 'utf8'}).map(file => join(folder, file)))
  .filter(file => file.endsWith('.ts') && !file.startsWith(join('src', 'options')))
  .map(file => readFileSync(file, 'utf8'))
  .join('\n');

for (const {program, rows} of await flagTables()) {
  test(`every flag of ${program} that is marked as working is read somewhere`, t => {
    const unread = Object.entries(rows)
      .filter(([flag, {implementation, withoutEffect}]) => implementation !== 'pending' && !withoutEffect && !readByTheParser.has(flag))
      .filter(([flag]) => !new RegExp(`\\b${optionName(flag)}\\b|\\bflag: '${flag}'`).test(sources))
      .map(([flag]) => flag);
    t.deepEqual(unread, []);
  });
}
