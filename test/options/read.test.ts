import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {optionName, type FlagRow} from '#src/options/flag.js';
import {schedulerFlags} from '#src/options/programs/scheduler.js';
import {upFlags} from '#src/options/programs/up.js';

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

for (const {program, rows} of [apiserverFlags, controllerManagerFlags, schedulerFlags, upFlags]) {
  test(`every flag of ${program} that is marked as working is read somewhere`, t => {
    const unread = Object.entries(rows as Record<string, FlagRow>)
      .filter(([flag, {implementation, withoutEffect}]) => implementation !== 'pending' && !withoutEffect && !readByTheParser.has(flag))
      .filter(([flag]) => !new RegExp(`\\b${optionName(flag)}\\b`).test(sources))
      .map(([flag]) => flag);
    t.deepEqual(unread, []);
  });
}
