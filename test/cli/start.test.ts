import {execFileSync, spawnSync} from 'node:child_process';
import {EventEmitter} from 'node:events';
import {copyFileSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {commands, flagTables, programs} from '#src/cli/commands.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {noLog} from '#src/base/log.js';
import {handleUncaught} from '#src/program/uncaught.js';
import {UnhandledErrors} from '#src/observe/unhandled.js';
import {packageVersion, release} from '#src/api/version.js';
import {printedBy} from './here.js';
import {aDirectory, Program, run, type Ended} from './programs.js';

/** The number of modules a process has loaded, by the inspector's scripts. */
const loaded = (directory: string): number => {
  const urls = readdirSync(directory).flatMap(file =>
    (JSON.parse(readFileSync(join(directory, file), 'utf8')) as {result: {url: string}[]}).result.map(({url}) => url),
  );
  return new Set(urls.filter(url => url.startsWith('file:'))).size;
};

/** What commands print, and how many modules they load for that. */
const results = new Map<string, Promise<Ended & {readonly modules: number}>>();

const measured = async (name: string, args: readonly string[]) => {
  const coverage = aDirectory();
  const ended = await run(name, args, {NODE_V8_COVERAGE: coverage});
  return {...ended, modules: loaded(coverage)};
};

/** Runs a command, once for all tests. */
const result = (name: string, ...args: readonly string[]) => {
  const line = [name, ...args].join(' ');
  if (!results.has(line)) results.set(line, measured(name, args));
  return results.get(line)!;
};

for (const {program, sections} of await flagTables()) {
  const [name = '', ...command] = program.split(' ');

  test(`${program} --help prints every section with every flag, and nothing else happens`, async t => {
    const own = command[0] === undefined ? undefined : commands[command[0]];
    const {code, stdout, stderr} = await (own ? printedBy(() => own.run(['--help'])) : result(name, '--help'));

    t.deepEqual([code, stderr], [0, '']);
    const titles = [...stdout.matchAll(/^(\S.*) flags:$/gm)].map(([, title]) => title);
    t.deepEqual(
      titles,
      sections.map(({title}) => title),
    );
    const named = new Set([...stdout.matchAll(/^ {2}.*?--([a-z0-9-]+)/gm)].map(([, flag]) => flag));
    t.deepEqual(
      sections.flatMap(({rows}) => Object.keys(rows)).filter(flag => !named.has(flag)),
      [],
    );
  });
}

test('every program prints its version', async t => {
  const line = `v${release}-plat.${packageVersion}\n`;

  t.is((await result('plat', 'version')).stdout, `plat ${line}`);
  for (const name of Object.keys(programs)) t.is((await run(name, ['--version'])).stdout, `${name} ${line}`);
});

/** A plane and the programs beside it, once for all tests: what they log, and how many modules they load. */
const runAll = async () => {
  const directory = aDirectory();
  const json = ['--logging-format=json', '-v=1', '--secure-port=0'];
  const [planeModules, managerModules] = [aDirectory(), aDirectory()];
  const plane = new Program('plat', ['up', ...json, `--data-dir=${directory}/plane`], {NODE_V8_COVERAGE: planeModules});
  await plane.waitFor(/^ready: /m);
  const settings = `--platconfig=${directory}/plane/kubeconfig`;
  const others = [
    new Program('plat-apiserver', [...json, '--bind-address=127.0.0.1', `--cert-dir=${directory}/pki`, `--data-dir=${directory}/store`]),
    new Program('plat-controller-manager', [...json, settings, '--leader-elect=false'], {NODE_V8_COVERAGE: managerModules}),
    new Program('plat-scheduler', [...json, settings, '--leader-elect=false']),
  ];
  const logs: string[] = [];
  for (const program of [...others, plane]) {
    await program.waitFor(/^ready: /m);
    logs.push((await program.stop()).stderr);
  }
  return {logs, modules: {plane: loaded(planeModules), manager: loaded(managerModules)}};
};
let running: ReturnType<typeof runAll> | undefined;
const atWork = () => (running ??= runAll());

test('every program writes its log as JSON where configured', async t => {
  for (const log of (await atWork()).logs) {
    const lines = log
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as {ts: number; msg: string; logger: string});
    t.true(lines.every(({ts, msg, logger}) => ts > 0 && msg !== '' && logger !== ''));
  }
  for (const [args, message] of [
    [['--vmodule=a=1'], '--vmodule needs --logging-format=text'],
    [['--feature-gates=LoggingBetaOptions=false'], '--logging-format=json requires the feature gate LoggingBetaOptions, which is off'],
  ] as const) {
    t.is((await run('plat-apiserver', ['--logging-format=json', ...args])).stderr, `plat-apiserver: ${message}\n`);
  }
});

const bundled = Boolean(process.env['PLAT_TEST_BUNDLES']);
if (!bundled) console.log('skipped: modules are counted in bundles that are as new as the tests (make test)');
const counting = bundled ? test : test.skip;

/** The environment without the variables of a `make` that runs these tests: a nested one prints its directory first. */
const {MAKELEVEL: _level, MAKEFLAGS: _flags, MFLAGS: _oldFlags, ...environment} = process.env;

/** Runs a command on a Node.js that reports an old version. */
const onOldNode = (file: string, ...args: string[]) => {
  const folder = aDirectory();
  writeFileSync(join(folder, 'old.cjs'), "Object.defineProperty(process, 'versions', {value: {...process.versions, node: '20.10.0'}});");
  writeFileSync(join(folder, 'node'), `#!/bin/sh\nexec '${process.execPath}' -r '${folder}/old.cjs' "$@"\n`, {mode: 0o755});
  return spawnSync(file, args, {encoding: 'utf8', env: {...environment, PATH: `${folder}:${process.env['PATH']}`}});
};
const isTooOld = `needs Node.js 20.19 or newer, and this is 20.10.0 (${process.execPath})`;

for (const name of ['plat', ...Object.keys(programs)]) {
  counting(`${name} reports in one line that Node.js is too old`, t => {
    const {status, stdout, stderr} = onOldNode(`bin/${name}`, '--version');

    t.deepEqual([status, stdout, stderr], [1, '', `${name}: ${isTooOld}\n`]);
  });
}

test('make reports in one line that Node.js is too old, or missing, before it builds anything', t => {
  const {status, stdout, stderr} = onOldNode('make', '-n', 'up');
  t.deepEqual([status, stdout], [2, '']);
  t.is(stderr.replace(/^Makefile:\d+/, 'Makefile'), `Makefile: *** plat: ${isTooOld}.  Stop.\n`);

  const folder = aDirectory();
  for (const tool of ['bash', 'make', 'find', 'sed', 'awk'])
    symlinkSync(execFileSync('which', [tool], {encoding: 'utf8'}).trim(), join(folder, tool));
  const without = (target: string) => spawnSync('make', [target], {encoding: 'utf8', env: {...environment, PATH: folder}});
  t.is(
    without('demo').stderr.replace(/^Makefile:\d+/, 'Makefile'),
    'Makefile: *** plat: needs Node.js 20.19 or newer, and there is no node on the PATH.  Stop.\n',
  );
  t.is(without('help').status, 0);
});

const built = bundled && existsSync('dist/built') && statSync('dist/built').mtimeMs >= statSync('bin/plat').mtimeMs;
(built ? test : test.skip)('make rebuilds only changed files', t => {
  const isBuilding = (...args: string[]) =>
    execFileSync('make', ['-n', 'build', ...args], {encoding: 'utf8', env: environment}).includes('tools/build.mjs');

  t.false(isBuilding());
  t.true(isBuilding('--what-if=src/cli/plat.ts'));
});

/** The limits of modules loaded at start. A module costs 0.3 ms, so these are limits of time. */
const budgets: readonly (readonly [string, number])[] = [
  ['plat version', 6],
  ['plat-apiserver --help', 6],
  ['plat-controller-manager --help', 6],
  ['plat-scheduler --help', 6],
  ['plat-dns --help', 6],
];
for (const [line, most] of budgets) {
  counting(`${line} loads no more than ${most} modules`, async t => {
    const [name = '', ...args] = line.split(' ');
    const {modules} = await result(name, ...args);

    t.true(modules > 0 && modules <= most, `${modules} modules`);
  });
}

counting('a plane is ready with no more than 30 modules, and a controller manager at work with no more than 20', async t => {
  const {plane, manager} = (await atWork()).modules;
  t.true(plane > 2 && plane <= 30, `${plane} modules`);
  t.true(manager > 2 && manager <= 20, `${manager} modules`);
});

test('an error that nothing handles is printed without the source of the bundle', t => {
  const directory = aDirectory();
  for (const file of ['launch.cjs', 'code-cache.cjs']) copyFileSync(join('tools', file), join(directory, file));
  const long = `const fail = () => { throw new TypeError('no such thing') }; const s = '${'x'.repeat(30_000)}'`;
  for (const act of ['fail()', 'setTimeout(fail)', 'return Promise.resolve().then(fail)', 'null.x', 'throw "no such thing"']) {
    const bundle = `(function (require, module) { ${long}; module.exports.programs = {program() { ${act} }} })`;
    writeFileSync(join(directory, 'core.cjs'), '(function (require, module) {})');
    writeFileSync(join(directory, 'program.cjs'), bundle);
    const starting = ['-e', "require('./launch.cjs').launch('program')"];
    const {status, stderr} = spawnSync(process.execPath, starting, {cwd: directory, encoding: 'utf8'});
    t.is(status, 1);
    t.regex(stderr, /^(?:TypeError|Error): .{1,200}\n(?: +at .{1,200}\n)*$/, act);
  }
});

test('a program continues after errors of timers and promises, and shuts down after an uncaught exception', t => {
  const program = `
    import {runProgram, untilStopped} from '#src/program/program.js';
    import {versionFlags} from '#src/options/programs/client.js';
    await runProgram(versionFlags, [], async ({clock, stopping, print}) => {
      clock.schedule(0, () => { throw new Error('of a timer'); });
      clock.schedule(0, async () => { throw new Error('of an async timer'); });
      Promise.reject(new Error('of a promise'));
      await new Promise(resolve => clock.schedule(20, resolve));
      print('goes on');
      setImmediate(() => { throw new Error('of a socket'); });
      await untilStopped(stopping);
      print('closed');
    });`;
  const {status, stdout, stderr} = spawnSync(process.execPath, ['--input-type=module', '-e', program], {encoding: 'utf8'});

  t.deepEqual([status, stdout], [1, 'goes on\nclosed\n']);
  t.deepEqual([...stderr.matchAll(/^E.*\] "Unhandled Error" err="([^"]*)" stack="Error: /gm)].map(([, message]) => message).sort(), [
    'of a promise',
    'of a socket',
    'of a timer',
    'of an async timer',
  ]);
  t.regex(stderr, /\nplat version: of a socket\n$/);
});

test('a program that does not shut down after an uncaught exception is ended after thirty seconds', async t => {
  const clock = new VirtualClock();
  const process = Object.assign(new EventEmitter(), {stdout: new EventEmitter(), stderr: new EventEmitter()}) as unknown as NodeJS.Process;
  const reported: unknown[] = [];
  const fatal = handleUncaught({
    process,
    clock,
    unhandled: new UnhandledErrors(noLog),
    stop: () => reported.push('stop'),
    end: error => reported.push(error),
  });
  process.emit('unhandledRejection', new Error('of a promise'), Promise.resolve());
  t.is(fatal(), undefined);
  const [first, second] = [new Error('first'), new Error('second')];
  process.emit('uncaughtException', first);
  process.emit('uncaughtException', second);
  await clock.advance(29_999);

  t.deepEqual([reported, fatal()], [['stop'], {error: first}]);
  await clock.advance(1);
  t.deepEqual(reported, ['stop', first]);
});

/** Flags of an API server whose store is nowhere. */
const withoutStore = (): string[] => {
  const directory = aDirectory();
  return [
    '--secure-port=0',
    '--bind-address=127.0.0.1',
    `--cert-dir=${directory}`,
    '--service-account-issuer=https://issuer.example.com',
    '--authorization-mode=RBAC',
    '--kvstore-servers=http://127.0.0.1:1',
  ];
};
const refusedConnection = 'http://127.0.0.1:1: transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused';

test('an API server that waits for its store logs why, and names the last reason when it gives up', async t => {
  const {code, stderr} = await run('plat-apiserver', [...withoutStore(), '--storage-initialization-timeout=3s']);

  t.is(code, 1);
  t.regex(stderr, /^W.*no client can authenticate: give --client-ca-file for client certificates, /m);
  const waits = stderr.split('\n').filter(line => line.includes('"waiting for the servers of the store"'));
  t.is(waits.length, 2, stderr);
  for (const line of waits) t.true(line.includes(`reason="${refusedConnection}"`), line);
  t.regex(
    stderr,
    new RegExp(`^plat-apiserver: --storage-initialization-timeout: the store was not ready within 3 s: ${refusedConnection}$`, 'm'),
  );
});

test('an API server that waits for its store stops on a signal', async t => {
  const program = new Program('plat-apiserver', withoutStore());
  await program.waitFor(/waiting for the servers/);
  const {code, stderr} = await program.stop();

  t.is(code, 0);
  t.false(stderr.includes('plat-apiserver: '));
});
