import {spawnSync} from 'node:child_process';
import {copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {systemClock} from '#src/base/clock.js';
import {parseFlags} from '#src/options/parse.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import {planeMaterial} from '#src/plane/inputs/material.js';
import {aDirectory, aServer, Program} from '#test/cli/programs.js';

const folder = 'deploy/systemd';
const units = readdirSync(folder);
const text = (unit: string): string => readFileSync(join(folder, unit), 'utf8');

/** The values of a setting, in the order of the file. */
const values = (content: string, setting: string): string[] =>
  content
    .split('\n')
    .filter(line => line.startsWith(`${setting}=`))
    .map(line => line.slice(setting.length + 1));

/** The second block is a drop-in; the first is an environment file. */
const [environmentFile = '', dropIn = ''] = [...readFileSync('docs/deploy.md', 'utf8').matchAll(/^```ini\n([^]*?)^```$/gm)].map(
  ([, block = '']) => block,
);

const systemd = Number(/^systemd (\d+)/.exec(spawnSync('systemd-analyze', ['--version'], {encoding: 'utf8'}).stdout ?? '')?.[1] ?? 0);
if (systemd < 250) console.log('skipped: systemd-analyze 250 or newer is not installed');
const analyzed = systemd < 250 ? test.skip : test;

/** The units in a directory of their own, with programs that exist. Returns the directory. */
const installed = (): string => {
  const directory = aDirectory();
  for (const unit of units) {
    const [program = ''] = values(text(unit), 'ExecStart')[0]!.split(' ');
    writeFileSync(join(directory, program), '#!/bin/sh\n', {mode: 0o755});
    writeFileSync(join(directory, unit), text(unit).replace('\nExecStart=', `\nExecStart=${directory}/`));
  }
  mkdirSync(join(directory, 'plat-apiserver.service.d'));
  writeFileSync(join(directory, 'plat-apiserver.service.d/override.conf'), dropIn);
  return directory;
};

analyzed('systemd accepts every setting of the units, and of the drop-in in docs/deploy.md', t => {
  const directory = installed();
  const env = {...process.env, SYSTEMD_UNIT_PATH: `${directory}:`};
  for (const unit of units) {
    const {stderr} = spawnSync('systemd-analyze', ['verify', join(directory, unit)], {encoding: 'utf8', env});
    t.deepEqual(
      stderr.split('\n').filter(line => line.includes('plat')),
      [],
      unit,
    );
  }
});

analyzed('the units leave the services little of the system', t => {
  const directory = installed();
  // The agent of a node runs containers, for which it needs all of it.
  for (const unit of units.filter(name => name !== 'platlet.service')) {
    // The threshold is in tenths of the levels, which go to 10.
    const {status, stdout} = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=15', join(directory, unit)], {
      encoding: 'utf8',
    });
    t.is(status, 0, stdout);
  }
});

test('there is a unit for every program, and each starts again after a failure', t => {
  t.deepEqual(units, [
    'plat-apiserver.service',
    'plat-controller-manager.service',
    'plat-scheduler.service',
    'plat.service',
    'platlet.service',
  ]);
  for (const unit of units) t.deepEqual(values(text(unit), 'Restart'), [unit === 'platlet.service' ? 'always' : 'on-failure'], unit);
});

interface Place {
  readonly directory: string;
  /** The files that stand for those of `LoadCredential`, by their name in /etc/plat. */
  readonly files?: Readonly<Record<string, string>>;
  readonly dropIn?: string;
  /** The content of the environment file. */
  readonly environment: string;
}

/**
 * Starts a unit's program as systemd would: with its specifiers, credentials and variables, and a home that cannot be
 * written.
 */
const started = (unit: string, {directory, files = {}, dropIn: override = '', environment}: Place): Program => {
  const specified = (content: string) =>
    content
      .replaceAll('%N', basename(unit, '.service'))
      .replaceAll(/%[Std]/g, specifier => join(directory, {'%S': 'lib', '%t': 'run', '%d': 'credentials'}[specifier]!));
  const content = specified(`${text(unit)}\n${override}`);
  mkdirSync(join(directory, 'credentials'), {recursive: true});
  for (const credential of values(content, 'LoadCredential')) {
    const [id = '', path = ''] = credential.split(':');
    copyFileSync(files[path.replace('/etc/plat/', '')]!, join(directory, 'credentials', id));
  }
  for (const name of values(content, 'StateDirectory')) mkdirSync(join(directory, 'lib', name), {recursive: true, mode: 0o700});
  for (const name of values(content, 'RuntimeDirectory')) mkdirSync(join(directory, 'run', name), {recursive: true, mode: 0o700});
  const variables = new Map<string, string>();
  for (const line of [...values(content, 'Environment').map(value => value.replace(/^"(.*)"$/, '$1')), ...environment.split('\n')]) {
    const [name = '', ...value] = line.split('=');
    variables.set(name, value.join('='));
  }
  const [program = '', ...args] = values(content, 'ExecStart')[0]!.split(' ');
  const words = args.flatMap(arg => (arg.startsWith('$') ? (variables.get(arg.slice(1)) ?? '').split(' ').filter(Boolean) : [arg]));
  return new Program(program, words, {HOME: '/dev/null', XDG_CACHE_HOME: ''}, directory);
};

test('plat.service runs a plane with the flags of its environment file', async t => {
  const directory = aDirectory();
  const plane = started('plat.service', {
    directory,
    environment: environmentFile.trim().replace('0.0.0.0', '127.0.0.1').replace('6443', '0'),
  });
  await plane.waitFor(/^ready/m);

  t.true(readdirSync(join(directory, 'lib/plat')).includes('kubeconfig'));
  t.is((await plane.stop()).code, 0);
});

test('plat-apiserver.service serves with the keys of the drop-in', async t => {
  const directory = aDirectory();
  const {files} = await planeMaterial(join(directory, 'pki'), systemClock);
  const server = started('plat-apiserver.service', {
    directory,
    dropIn: dropIn.replace('=--naming', '=--secure-port=0 --bind-address=127.0.0.1 --naming'),
    files: {'pki/ca.crt': files.ca, 'pki/sa.key': files.serviceAccountKey, 'pki/sa.pub': files.serviceAccountPublic},
    environment: '',
  });
  await server.waitFor(/ready: serving on/);

  t.deepEqual(readdirSync(join(directory, 'lib')), ['plat-apiserver']);
  t.notRegex((await server.stop()).stderr, /no client can authenticate/);
});

test('plat-controller-manager.service and plat-scheduler.service work with the kubeconfigs they are handed', async t => {
  await using server = await aServer('kubernetes');
  const directory = aDirectory();
  const files = {'plat-controller-manager.kubeconfig': server.settings, 'plat-scheduler.kubeconfig': server.settings};
  const manager = started('plat-controller-manager.service', {
    directory,
    files,
    environment: 'PLAT_CONTROLLER_MANAGER_ARGS=--secure-port=0 --bind-address=127.0.0.1',
  });
  const scheduler = started('plat-scheduler.service', {directory, files, environment: ''});
  await Promise.all([manager.waitFor(/ready: \d+ controllers/), scheduler.waitFor(/ready/)]);

  t.truthy(await server.client.resource(kinds.leases).get('plat-controller-manager', {namespace: 'kube-system'}));
  t.is((await manager.stop()).code, 0);
  t.is((await scheduler.stop()).code, 0);
});

test('platlet.service starts an agent with the files that docs/nodes.md names, and stops no pods', t => {
  const [program = '', ...words] = values(text('platlet.service'), 'ExecStart')[0]!.split(' ');
  t.is(program, 'platlet');
  t.is(words.pop(), '$PLATLET_ARGS');
  const page = readFileSync('docs/nodes.md', 'utf8');
  const [, environment = ''] = /^PLATLET_ARGS=(.*)$/m.exec(page) ?? [];
  const {options} = parseFlags(platletFlags, [...words, ...environment.split(' ')]);

  const files = [options.config, options.bootstrapKubeconfig, options.platconfig];
  t.deepEqual(files, ['/etc/plat/platlet.yaml', '/etc/plat/bootstrap.kubeconfig', '/etc/plat/node.kubeconfig']);
  for (const file of files) t.true(page.includes(file), file);
  t.deepEqual(values(text('platlet.service'), 'KillMode'), ['process']);
  for (const setting of ['ProtectSystem', 'ProtectHome', 'PrivateTmp', 'PrivateDevices'])
    t.deepEqual(values(text('platlet.service'), setting), [], 'the runtime would not see the mounts of the agent');
});
