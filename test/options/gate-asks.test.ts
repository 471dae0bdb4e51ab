import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import type {FlagRow} from '#src/options/flag.js';
import {gateTable} from '#src/options/gate-table.js';
import type {GateRow} from '#src/options/gate-table.js';
import {schedulerFlags} from '#src/options/programs/scheduler.js';

const rows = Object.entries<GateRow>(gateTable);
const options = join('src', 'options');
const files = ['src', 'controllers', 'informers']
  .flatMap(folder => readdirSync(folder, {recursive: true, encoding: 'utf8'}).map(file => join(folder, file)))
  .filter(file => file.endsWith('.ts') && file !== join(options, 'gate-table.ts') && !/^src\/options\/(?:programs\/)?platlet\b/.test(file));

/** All code, without the gates of flags: a flag may do nothing. */
const code = files
  .map(file => (file.startsWith(options) ? readFileSync(file, 'utf8').replaceAll(/\bgate: '\w+'/g, '') : readFileSync(file, 'utf8')))
  .join('\n');

/** Every way in which code queries a gate: the calls, and the declarations whose gates one such call goes through. */
const gateUses = [
  /\bgate\('(\w+)'\)/g,
  /\bgateOf\(\w+\)\('(\w+)'\)/g,
  /\bgates\.enabled\('(\w+)'\)/g,
  /\bwhen\('(\w+)',/g, // Rules of the bootstrap policy.
  /\bofSpec\('(\w+)',/g, // Fields of pods.
  /\bgate: '(\w+)'/g, // Fields of pods.
  /\bgates: \[((?:'\w+'(?:, )?)+)\]/g, // Controllers, resources, fields.
  /\bsettings\.get\('(\w+)'\)/g, // AllAlpha and AllBeta.
];

/** The gates of flags that do something. */
const flags: readonly FlagRow[] = [apiserverFlags, controllerManagerFlags, schedulerFlags].flatMap(({rows: table}) =>
  Object.values<FlagRow>(table),
);
const flagGates = flags.flatMap(({gate, withoutEffect, implementation}) =>
  gate && !withoutEffect && implementation !== 'pending' ? [gate] : [],
);

const used = new Set([
  ...flagGates,
  ...gateUses.flatMap(pattern => [...code.matchAll(pattern)].flatMap(([, names]) => names!.match(/\w+/g)!)),
]);

test('queries only gates of the table', t => {
  t.deepEqual(
    [...used].filter(name => !Object.hasOwn(gateTable, name)),
    [],
  );
});

test('queries every gate that the table marks as having an effect', t => {
  t.deepEqual(
    rows.filter(([name, {reason}]) => reason === undefined && !used.has(name)).map(([name]) => name),
    [],
  );
});

test('queries no gate that the table marks as having no effect', t => {
  t.deepEqual(
    rows.filter(([name, {reason}]) => reason !== undefined && used.has(name)).map(([name]) => name),
    [],
  );
});

test('names a gate without effect nowhere, so that no other way of asking escapes this test', t => {
  t.deepEqual(
    rows.filter(([name, {reason}]) => reason !== undefined && code.includes(`'${name}'`)).map(([name]) => name),
    [],
  );
});
