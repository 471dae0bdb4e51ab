import test from 'ava';
import convict from 'convict';
import {flagTables} from '#src/cli/commands.js';
import {parseDuration} from '#src/api/duration.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {certificateFlags} from '#src/options/programs/client.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import type {FlagRow, FlagTable} from '#src/options/flag.js';
import {flagSection, flagTable, optionName} from '#src/options/flag.js';
import {helpText, defaultText} from '#src/options/help.js';
import {OptionError} from '#src/options/option-error.js';
import {parseFlags} from '#src/options/parse.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import {convictSchema, defaultOf, defaultsOf, validateValue} from '#src/options/schema.js';
import {schedulerFlags} from '#src/options/programs/scheduler.js';
import {upFlags} from '#src/options/programs/up.js';
import {documentedFlags} from './documented.js';
import {documentedLimits, type Limits} from './limits.js';

const programs = {apiserver: apiserverFlags, 'controller-manager': controllerManagerFlags, platlet: platletFlags} as unknown as Readonly<
  Record<'apiserver' | 'controller-manager' | 'platlet', FlagTable>
>;
const all = await flagTables();

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
      if (text && !ownDefault.has(flag)) t.is(defaultText(find(flag)!), text, flag);
    }
  });
}

for (const table of all) {
  test(`${table.program} has only defaults that its own rows accept`, t => {
    for (const [flag, row] of Object.entries(table.rows)) t.is(validateValue(row, defaultOf(row)), undefined, flag);
    const config = convict(convictSchema(table.rows), {env: {}, args: []});
    for (const [flag, row] of Object.entries(table.rows)) if (row.default !== undefined) config.set(optionName(flag), row.default);
    config.validate({allowed: 'strict'});
  });

  test(`${table.program} names only flags of its own as partners and rivals`, t => {
    const named = Object.values(table.rows).flatMap(row => [...(row.excludes ?? []), ...(row.requires ?? [])]);

    t.deepEqual(
      named.filter(flag => !table.rows[flag]),
      [],
    );
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
        const shown = defaultText(row);
        if (shown !== undefined) t.true(text.replace(/\s+/g, ' ').includes(`(default ${shown})`), flag);
      }
    }
    t.true(text.split('\n').every(line => line.length <= 240));
  });
}

/** The largest value of each numeric type, the smallest, and values beyond them. */
const numericTypes: Readonly<
  Record<string, {readonly most: string; readonly beyond: string; readonly least: string; readonly below: string; readonly step: string}>
> = {
  int: {most: '9007199254740991', beyond: '9007199254740992', least: '-9007199254740991', below: '-9007199254740992', step: '1'},
  int32: {most: '2147483647', beyond: '2147483648', least: '-2147483648', below: '-2147483649', step: '1'},
  port: {most: '65535', beyond: '65536', least: '0', below: '-1', step: '1'},
  float: {most: '1.7976931348623157e308', beyond: '1e309', least: '-1.7976931348623157e308', below: '-1e309', step: '0.001'},
  duration: {most: '2562047h47m16s', beyond: '2562047h47m17s', least: '-2562047h47m16s', below: '-2562047h47m17s', step: '1us'},
  quantity: {most: '9007199254740991', beyond: '8Ei', least: '-9007199254740991', below: '-8Ei', step: '1'},
};

/** The error of a program for a value: nothing when it is accepted. */
const objectionOf = (table: FlagTable, flag: string, value: string): string | undefined => {
  try {
    parseFlags(table, [
      `--${flag}=${value}`,
      ...(flag.startsWith('cpu-cfs') ? ['--feature-gates=CustomCPUCFSQuotaPeriod=true'] : []),
      ...(table.rows[flag]?.gate ? [`--feature-gates=AllAlpha=true`] : []),
    ]);
    return undefined;
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    return error.message;
  }
};

/** The values just outside of limits, and those at them. */
const edgesOf = (type: string, {least, most}: Limits): {readonly taken: string[]; readonly refused: string[]} => {
  const {step, ...ends} = numericTypes[type]!;
  const further = (end: string, by: 1 | -1): string =>
    type === 'duration'
      ? `${(parseDuration(end)! * 1000 + by) / 1000}ms`
      : String(Number((Number(end) + by * Number(step)).toPrecision(15)));
  return {
    taken: [least === 'any' ? ends.least : least === '>0' ? step : least, most === 'most' ? ends.most : most],
    refused: [
      least === 'any' ? ends.below : least === '>0' ? '0' : further(least, -1),
      most === 'most' ? ends.beyond : further(most, 1),
      ...(least === 'any' ? [] : [ends.below]),
    ],
  };
};

const withNumbers = ([apiserverFlags, controllerManagerFlags, schedulerFlags, upFlags, platletFlags] as unknown as FlagTable[]).map(
  table => ({
    table,
    numeric: Object.entries(table.rows).filter(([, {type}]) => type in numericTypes),
  }),
);
for (const {table, numeric} of withNumbers) {
  const limits = documentedLimits[table.program]!;

  test(`every number that ${table.program} takes has its limits written down`, t => {
    t.deepEqual([...limits.keys()].sort(), numeric.map(([flag]) => flag).sort());
  });

  test(`${table.program} takes numbers up to their limits, and refuses those beyond in one line that names the flag`, t => {
    for (const [flag, {type}] of numeric) {
      const {taken, refused} = edgesOf(type, limits.get(flag)!);
      for (const value of taken) t.is(objectionOf(table, flag, value), undefined, `--${flag}=${value}`);
      for (const value of refused)
        t.regex(objectionOf(table, flag, value) ?? 'taken', new RegExp(`^[^\\n]*--${flag}\\b[^\\n]*$`), `--${flag}=${value}`);
    }
  });
}

for (const [value, message] of [
  ['0-10', 'invalid value for --service-node-port-range: must not begin at port 0'],
  ['1-65536', 'invalid argument "1-65536" for --service-node-port-range: must be between 0 and 65535, inclusive'],
] as const) {
  test(`refuses node ports ${value}`, t => {
    t.is(objectionOf(apiserverFlags as unknown as FlagTable, 'service-node-port-range', value), message);
  });
}

test('refuses module sizes beyond 32 bits', t => {
  t.is(objectionOf(apiserverFlags as unknown as FlagTable, 'vmodule', 'watch*=2147483647'), undefined);
  t.is(
    objectionOf(apiserverFlags as unknown as FlagTable, 'vmodule', 'watch*=2147483648'),
    'invalid value for --vmodule: "watch*=2147483648" must be formatted as pattern=N, with N at most 2147483647',
  );
});

test('refuses a table in which a flag is declared twice', t => {
  const section = (title: string) => flagSection(title, {same: {type: 'bool', help: 'x'}});

  t.throws(() => flagTable({program: 'p', summary: 's', sections: [section('a'), section('b')]}), {
    message: 'flag --same is declared twice',
  });
});

test('warns once of a deprecated flag and of one whose subject is not built', t => {
  const rows = {
    old: {type: 'int', help: 'x', deprecated: 'set new instead'},
    later: {type: 'bool', help: 'x', implementation: 'pending'},
  } as const;
  const table = flagTable({program: 'p', summary: 's', sections: [flagSection('a', rows)]});

  t.deepEqual(parseFlags(table, ['--old=10', '--old=10', '--later']).warnings, [
    'Flag --old has been deprecated, set new instead',
    'Flag --later has no effect: what it governs is not part of this build yet',
  ]);
});

test('warns of a deprecated value', t => {
  t.is(
    parseFlags(apiserverFlags, ['--endpoint-reconciler-type=master-count']).warnings[0],
    'Flag --endpoint-reconciler-type=master-count has been deprecated, use lease instead',
  );
  t.is(parseFlags(apiserverFlags, ['--endpoint-reconciler-type=lease']).warnings.length, 0);
});

test('takes repeated arguments as they stand', t => {
  const {options} = parseFlags(upFlags, ['--apiserver-arg=--a=b,c', '--apiserver-arg=-v=4', '--secure-port=0']);

  t.deepEqual(options.apiserverArg, ['--a=b,c', '-v=4']);
  t.is(options.securePort, 0);
  t.is(options.dataDir, '');
});

test('gives the typed defaults of a section alone', t => {
  const section = flagSection('S', {
    'some-time': {type: 'duration', help: 'x', default: '1m'},
    'some-mode': {type: 'string', help: 'x', oneOf: ['', 'a']},
  });
  const {someTime, someMode} = defaultsOf(section, {someMode: 'a'});

  t.deepEqual([someTime, someMode], [60_000, 'a']);
});

test('lets a program take arguments when its table names them', t => {
  const {args, options} = parseFlags(certificateFlags, ['approve', '--kubeconfig', 'file', 'csr-1', '--', '--odd']);

  t.deepEqual(args, ['approve', 'csr-1', '--odd']);
  t.is(options.platconfig, 'file');
});
