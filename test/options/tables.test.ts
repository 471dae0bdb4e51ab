import test from 'ava';
import convict from 'convict';
import {apiserverFlags} from '#src/options/apiserver.js';
import {certificateFlags, versionFlags} from '#src/options/client.js';
import {controllerManagerFlags} from '#src/options/controller-manager.js';
import type {FlagRow, FlagTable} from '#src/options/flag.js';
import {flagSection, flagTable, optionName} from '#src/options/flag.js';
import {helpText, spokenDefault} from '#src/options/help.js';
import {parseFlags} from '#src/options/parse.js';
import {platletFlags} from '#src/options/platlet.js';
import {convictSchema, defaultOf, defaultsOf, objectionTo} from '#src/options/schema.js';
import {schedulerFlags} from '#src/options/scheduler.js';
import {upFlags} from '#src/options/up.js';
import {documentedFlags} from './documented.js';

const programs = {apiserver: apiserverFlags, 'controller-manager': controllerManagerFlags, platlet: platletFlags} as unknown as Readonly<
  Record<'apiserver' | 'controller-manager' | 'platlet', FlagTable>
>;
const all = [...Object.values(programs), ...([schedulerFlags, upFlags, certificateFlags, versionFlags] as unknown as FlagTable[])];

/** Where plat's own store is the default instead of the documents'. */
const ownDefault = new Set(['storage-backend']);

for (const name of ['apiserver', 'controller-manager', 'platlet'] as const) {
  const {rows} = programs[name];
  const find = (flag: string): FlagRow | undefined => rows[flag] ?? Object.values(rows).find(row => row.aliases?.includes(flag));

  test(`${name} has every documented flag`, t => {
    const missing = [...documentedFlags(name).keys()].filter(flag => !find(flag));

    t.deepEqual(missing, []);
  });

  test(`${name} prints the documents' default of every flag`, t => {
    for (const [flag, text] of documentedFlags(name)) {
      if (text && !ownDefault.has(flag)) t.is(spokenDefault(find(flag)!), text, flag);
    }
  });
}

for (const table of all) {
  test(`${table.program} has only defaults that its own rows accept`, t => {
    for (const [flag, row] of Object.entries(table.rows)) t.is(objectionTo(row, defaultOf(row)), undefined, flag);
    convict(convictSchema(table.rows)).validate({allowed: 'strict'});
  });

  test(`${table.program} names only flags of its own as partners and rivals`, t => {
    const named = Object.values(table.rows).flatMap(row => [...(row.excludes ?? []), ...(row.requires ?? [])]);

    t.deepEqual(named.filter(flag => !table.rows[flag]), []);
  });

  test(`${table.program} has option names and aliases that are not taken twice`, t => {
    const flags = Object.entries(table.rows).flatMap(([flag, row]) => [flag, ...(row.aliases ?? [])]);

    t.is(new Set(flags.map(optionName)).size, flags.length);
  });

  test(`the help of ${table.program} shows every flag with its default under its heading`, t => {
    const text = helpText(table);

    for (const {title, rows} of table.sections) {
      t.true(text.includes(`\n${title} flags:\n`), title);
      for (const [flag, row] of Object.entries(rows)) {
        t.regex(text, new RegExp(`--${flag}( |\n)`), flag);
        const shown = spokenDefault(row);
        if (shown !== undefined) t.true(text.replace(/\s+/g, ' ').includes(`(default ${shown})`), flag);
      }
    }
    t.true(text.split('\n').every(line => line.length <= 240));
  });
}

test('refuses a table in which a flag is declared twice', t => {
  const section = (title: string) => flagSection(title, {same: {type: 'bool', help: 'x'}});

  t.throws(() => flagTable({program: 'p', summary: 's', sections: [section('a'), section('b')]}), {message: 'flag --same is declared twice'});
});

test('warns once of a deprecated flag and of one whose subject is not built', t => {
  const {warnings} = parseFlags(apiserverFlags, ['--enable-logs-handler', '--enable-logs-handler', '--event-ttl=1h']);

  t.deepEqual(warnings, [
    'Flag --enable-logs-handler has been deprecated, the handler will be removed',
    'Flag --enable-logs-handler has no effect: what it governs is not part of this build yet',
  ]);
});

test('warns of a deprecated value', t => {
  t.is(parseFlags(apiserverFlags, ['--endpoint-reconciler-type=master-count']).warnings[0], 'Flag --endpoint-reconciler-type=master-count has been deprecated, use lease instead');
  t.is(parseFlags(apiserverFlags, ['--endpoint-reconciler-type=lease']).warnings.length, 0);
});

test('takes repeated arguments as they stand', t => {
  const {options} = parseFlags(upFlags, ['--apiserver-arg=--a=b,c', '--apiserver-arg=-v=4', '--secure-port=0']);

  t.deepEqual(options.apiserverArg, ['--a=b,c', '-v=4']);
  t.is(options.securePort, 0);
  t.is(options.dataDir, '');
});

test('gives the typed defaults of a section alone', t => {
  const section = flagSection('S', {'some-time': {type: 'duration', help: 'x', default: '1m'}, 'some-mode': {type: 'string', help: 'x', oneOf: ['', 'a']}});
  const {someTime, someMode} = defaultsOf(section, {someMode: 'a'});

  t.deepEqual([someTime, someMode], [60_000, 'a']);
});

test('lets a program take arguments when its table names them', t => {
  const {args, options} = parseFlags(certificateFlags, ['approve', '--kubeconfig', 'file', 'csr-1', '--', '--odd']);

  t.deepEqual(args, ['approve', 'csr-1', '--odd']);
  t.is(options.platconfig, 'file');
});
