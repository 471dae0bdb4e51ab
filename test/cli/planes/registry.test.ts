import {chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {noLog} from '#src/base/log.js';
import {shellQuoted} from '#src/base/text/shell-quoted.js';
import {removeData} from '#src/cli/planes/delete.js';
import {healthOf} from '#src/cli/planes/health.js';
import {lastLines} from '#src/cli/planes/log-text.js';
import {platHome} from '#src/cli/planes/home.js';
import {processStart, residentBytes} from '#src/cli/planes/process.js';
import {chosenName, isPlaneName, parseRecord, type ListedPlane, type PlaneRecord} from '#src/cli/planes/record.js';
import {redactArgument, redactObject, redactText} from '#src/cli/planes/redact.js';
import {PlaneRegistry} from '#src/cli/planes/registry.js';
import {registerPlane, type StartingPlane} from '#src/cli/up/name.js';
import {logFileWriter} from '#src/program/log-file.js';
import {aDirectory} from '#test/cli/programs.js';

const aPlane = (own: Partial<PlaneRecord> = {}): PlaneRecord => ({
  name: 'dev',
  dataDir: '/data/dev',
  naming: 'kubernetes',
  state: 'ready',
  pid: process.pid,
  processStart: processStart(process.pid)!,
  since: 0,
  address: 'https://127.0.0.1:6443',
  nodes: 1,
  kubeconfig: '/data/dev/kubeconfig',
  logFile: '',
  version: 'v1.35.4',
  ...own,
});

const starting = (dataDir: string): StartingPlane => {
  const {name: _name, state: _state, pid: _pid, processStart: _start, address: _address, ...rest} = aPlane({dataDir});
  return rest;
};

const aRegistry = (): PlaneRegistry => new PlaneRegistry(join(aDirectory(), 'planes'));

test('a record is read as it was written, readable by its user only', async t => {
  const registry = aRegistry();
  await registry.write(aPlane());

  t.deepEqual(registry.find('dev')!.record, aPlane());
  t.true(registry.find('dev')!.isRunning);
  t.is(statSync(join(registry.folder, 'dev.json')).mode & 0o777, 0o600);
  t.is(statSync(registry.folder).mode & 0o777, 0o700);
});

test('what is no record of a plane is none: damaged, huge, of another name, with a path as its name, a link', async t => {
  const registry = aRegistry();
  await registry.write(aPlane());
  const record = (own: object) => JSON.stringify({...aPlane(), ...own});
  const files = {
    'garbage.json': '{',
    'null.json': 'null',
    'huge.json': record({name: 'huge', version: 'x'.repeat(100_000)}),
    'other.json': record({name: 'dev'}),
    'group.json': record({name: 'group', pid: 0}),
    'init.json': record({name: 'init', pid: 1}),
    'negative.json': record({name: 'negative', pid: -5}),
    'relative.json': record({name: 'relative', dataDir: 'here'}),
    '...json': record({name: '..'}),
    'Upper.json': record({name: 'Upper'}),
    'terminal.json': record({name: 'terminal', address: 'https://\u001b[2J'}),
  };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(registry.folder, file), text);
  symlinkSync(join(registry.folder, 'dev.json'), join(registry.folder, 'link.json'));
  mkdirSync(join(registry.folder, 'folder.json'));

  t.deepEqual(
    registry.list().map(each => each.record.name),
    ['dev'],
  );
});

test('names of planes are DNS labels', t => {
  for (const name of ['dev', 'a', 'a-1', '0', 'x'.repeat(63)]) t.true(isPlaneName(name), name);
  for (const name of ['', '..', '.', 'a/b', '-a', 'a-', 'A', 'a.b', 'a\0', 'x'.repeat(64), 'ä', 'a\n']) t.false(isPlaneName(name), name);
});

test('another process with the number of a plane is not taken for it', async t => {
  const registry = aRegistry();
  await registry.write(aPlane({processStart: 'an earlier boot:1'}));

  t.false(registry.find('dev')!.isRunning);
});

test('a plane that is not there is refused with the names that are', async t => {
  const registry = aRegistry();
  t.throws(() => registry.get('dev'), {message: 'there is no plane "dev": there are none'});
  await registry.write(aPlane());
  t.throws(() => registry.get('dve'), {message: 'there is no plane "dve": did you mean dev?'});
  t.throws(() => registry.get('production'), {message: 'there is no plane "production": there are dev'});
  t.throws(() => registry.get('../dev'), {message: /^the name of a plane must be lower-case letters/});
});

test('a plane without a name has that of its data directory, or the first default that is free', t => {
  const listed = (name: string, dataDir: string, own: Partial<ListedPlane> = {}): ListedPlane => ({
    record: aPlane({name, dataDir}),
    isRunning: false,
    hasData: true,
    ...own,
  });

  t.is(chosenName([], '/a'), 'default');
  t.is(chosenName([listed('dev', '/a')], '/a'), 'dev');
  t.is(chosenName([listed('default', '/a')], '/b'), 'default-2');
  t.is(chosenName([listed('default', '/a'), listed('default-2', '/b', {isRunning: true, hasData: false})], '/c'), 'default-3');
  t.is(chosenName([listed('default', '/a', {hasData: false})], '/b'), 'default');
});

test('of two starts with one name one is refused, with the address of the other', async t => {
  const registry = aRegistry();
  const start = (name: string, dataDir: string) => registerPlane(name, starting(dataDir), noLog, registry);
  const both = await Promise.allSettled([start('dev', '/data/a'), start('dev', '/data/a')]);

  t.deepEqual(both.map(({status}) => status).sort(), ['fulfilled', 'rejected']);
  t.is(registry.find('dev')!.record.state, 'starting');
  const first = both.find(each => each.status === 'fulfilled')!;
  await first.value.ready('https://127.0.0.1:7000');
  await t.throwsAsync(start('dev', '/data/b'), {
    message: 'the plane dev runs already at https://127.0.0.1:7000: "plat stop dev" stops it',
  });
  await t.throwsAsync(start('', '/data/a'), {message: /^the plane dev runs already at/});
  await t.throwsAsync(start('test', '/data/a'), {message: /^the plane dev runs already on the data directory \/data\/a at/});
  t.is((await start('', '/data/b')).name, 'default');
});

test('a start that fails leaves the record as it was', async t => {
  const registry = aRegistry();
  const first = await registerPlane('dev', starting('/data/dev'), noLog, registry);
  await first.withdraw();
  t.is(registry.find('dev'), undefined);

  const stopped = aPlane({processStart: 'ended'});
  await registry.write(stopped);
  await (await registerPlane('dev', starting('/data/dev'), noLog, registry)).withdraw();
  t.deepEqual(registry.find('dev')!.record, stopped);
});

test('a name keeps its data directory', async t => {
  const registry = aRegistry();
  const [one, other] = [aDirectory(), aDirectory()];
  await registry.write(aPlane({dataDir: one, processStart: 'ended'}));

  await t.throwsAsync(registerPlane('dev', starting(other), noLog, registry), {
    message: /^the plane dev has its data in .*plat delete dev/,
  });
  t.is((await registerPlane('dev', starting(one), noLog, registry)).name, 'dev');
});

test('a lock whose owner was killed is replaced', async t => {
  const registry = aRegistry();
  mkdirSync(registry.folder, {recursive: true, mode: 0o700});
  writeFileSync(join(registry.folder, '.lock'), '999999999');

  t.is(await registry.exclusively(async () => 'run'), 'run');
});

test('a plane runs unlisted, with a warning, where the registry cannot be written', async t => {
  const directory = aDirectory();
  writeFileSync(join(directory, 'planes'), '');
  const warnings: string[] = [];
  const log = {...noLog, warn: (_: unknown, text?: string) => void warnings.push(text ?? '')};
  const registration = await registerPlane('', starting('/data/a'), log as typeof noLog, new PlaneRegistry(join(directory, 'planes')));
  await registration.ready('https://127.0.0.1:1');

  t.is(registration.name, 'default');
  t.regex(warnings.join(), /PLAT_HOME cannot be written/);
});

test('PLAT_HOME, then XDG_DATA_HOME, then the home of the user is where planes are listed', t => {
  t.is(platHome({PLAT_HOME: '/p', XDG_DATA_HOME: '/x'}), '/p');
  t.is(platHome({XDG_DATA_HOME: '/x'}), '/x/plat');
  t.regex(platHome({}), /\/\.local\/share\/plat$/);
});

test('the memory and the start of a process are known, and of none there is neither', t => {
  t.true(residentBytes(process.pid)! > 1 << 20);
  t.is(processStart(process.pid), processStart(process.pid));
  t.is(processStart(999_999_999), undefined);
  t.is(residentBytes(999_999_999), undefined);
});

test('deletion removes what a plane wrote, and neither the files of others nor what a link leads to', t => {
  const [plane, outside, other] = [aDirectory(), aDirectory(), aDirectory()];
  writeFileSync(join(outside, 'kept'), '');
  mkdirSync(join(plane, 'pki'));
  symlinkSync(outside, join(plane, 'store'));
  writeFileSync(join(plane, 'notes.txt'), '');
  writeFileSync(join(other, 'store.txt'), '');

  t.deepEqual(removeData(plane), ['notes.txt']);
  t.is(readFileSync(join(outside, 'kept'), 'utf8'), '');
  t.deepEqual(removeData(other), ['store.txt']);
  symlinkSync(outside, join(other, 'link'));
  t.deepEqual(removeData(join(other, 'link')), []);
  t.is(readFileSync(join(outside, 'kept'), 'utf8'), '');
});

test('the last lines of a log are found without reading all of it', t => {
  const file = join(aDirectory(), 'log');
  writeFileSync(file, Array.from({length: 100_000}, (_, line) => `line ${line}\n`).join(''));

  t.is(lastLines(file, 2), 'line 99998\nline 99999\n');
  t.is(lastLines(file, 20_000).split('\n')[0], 'line 80000');
  t.is(lastLines(file, 0), '');
  writeFileSync(file, 'one\ntwo');
  t.is(lastLines(file, 1), 'two');
  t.is(lastLines(file, 5), 'one\ntwo');
  t.is(lastLines(file, 5, 4), 'two');
  t.is(lastLines('/nowhere', 5), '');
});

test('a full log is renamed, and there are never more than two files of it', t => {
  const file = join(aDirectory(), 'new', 'log');
  const write = logFileWriter(file, 10);
  for (const line of ['12345\n', '6789\n', 'abc\n']) write(line);

  t.is(readFileSync(`${file}.1`, 'utf8'), '6789\n'.replace('6789', '12345'));
  t.is(readFileSync(file, 'utf8'), '6789\nabc\n');
  t.is(statSync(file).mode & 0o777, 0o600);
});

test('a log file that cannot be written is refused with the name of the flag', t => {
  const directory = aDirectory();
  chmodSync(directory, 0o500);
  t.throws(() => logFileWriter(directory), {message: /^--log-file: cannot write .*EISDIR/});
});

test('the health of a plane names what is wrong', t => {
  const node = (name: string, status: string) => ({metadata: {name}, status: {conditions: [{type: 'Ready', status}]}});
  const good = healthOf({status: 200, text: '[+]ping ok\n[+]etcd ok\nreadyz check passed\n'}, [node('a', 'True')]);
  const bad = healthOf({status: 500, text: '[+]ping ok\n[-]etcd failed: reason withheld\n'}, [node('a', 'True'), node('b', 'Unknown')]);

  t.deepEqual([good.problems, good.nodes], [[], {ready: 1, all: 1}]);
  t.deepEqual(bad.problems, ['the check etcd fails', '1 of 2 nodes are not ready: b']);
  t.deepEqual(healthOf({status: 403, text: 'no'}, []).problems, ['/readyz answers 403: no']);
});

test('secrets, tokens and keys are not in a report', t => {
  t.is(redactArgument('--token=abc'), '--token=REDACTED');
  t.is(redactArgument('--apiserver-arg=--oidc-client-secret=abc'), '--apiserver-arg=--oidc-client-secret=REDACTED');
  t.is(redactArgument('--apiserver-arg=--token-auth-file=/a'), '--apiserver-arg=--token-auth-file=/a');
  t.is(redactArgument('--kvstore-servers=https://me:pw@host:1'), '--kvstore-servers=https://REDACTED@host:1');
  t.is(redactText('Authorization: Bearer abcdefgh.12'), 'Authorization: Bearer REDACTED');
  t.is(redactText('a -----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY----- b'), 'a REDACTED b');
  t.is(redactText('join abcdef.0123456789abcdef'), 'join REDACTED');
  t.deepEqual(
    redactObject({data: {a: 'x'}, stringData: {b: 'y'}, metadata: {annotations: {'kubectl/last-applied-configuration': 'z'}}}, true),
    {
      data: {a: 'REDACTED'},
      stringData: {b: 'REDACTED'},
      metadata: {annotations: {}},
    },
  );
  t.deepEqual(
    redactObject({
      env: [
        {name: 'DB_PASSWORD', value: 'x'},
        {name: 'MODE', value: 'y'},
      ],
      status: {token: 'z'},
    }),
    {
      env: [
        {name: 'DB_PASSWORD', value: 'REDACTED'},
        {name: 'MODE', value: 'y'},
      ],
      status: {token: 'REDACTED'},
    },
  );
});

test('a record that a later version wrote keeps the fields that are known', t => {
  t.deepEqual(parseRecord(JSON.stringify({...aPlane(), later: 1}), 'dev'), aPlane());
});

test('words are quoted for a shell where needed', t => {
  t.deepEqual(["a b'c", './.plat/kubeconfig', '$HOME'].map(shellQuoted), [String.raw`'a b'\''c'`, './.plat/kubeconfig', "'$HOME'"]);
});
