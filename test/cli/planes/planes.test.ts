import {execFileSync} from 'node:child_process';
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {runScale} from '#src/cli/nodes/scale.js';
import {runDelete} from '#src/cli/planes/delete.js';
import {runLogs} from '#src/cli/planes/logs.js';
import {runPs} from '#src/cli/planes/ps.js';
import {runStatus} from '#src/cli/planes/status.js';
import {runStop} from '#src/cli/planes/stop.js';
import {runSnapshot} from '#src/cli/snapshot/snapshot.js';
import {upArguments} from '#src/cli/up/arguments.js';
import {nodesFlags} from '#src/options/programs/nodes.js';
import {deleteFlags, logsFlags, psFlags, statusFlags, stopFlags} from '#src/options/programs/planes.js';
import {snapshotFlags} from '#src/options/programs/snapshot.js';
import {upFlags} from '#src/options/programs/up.js';
import {commandHere} from '#test/cli/here.js';
import {aDirectory, Program, run, type Ended} from '#test/cli/programs.js';

/** Commands in this process; one of each runs as a program, too. */
const [ps, statusOf, logs, stop, remove] = [
  commandHere(psFlags, runPs),
  commandHere(statusFlags, runStatus),
  commandHere(logsFlags, runLogs),
  commandHere(stopFlags, runStop),
  commandHere(deleteFlags, runDelete),
];
const scale = commandHere(nodesFlags, runScale);
const snapshot = commandHere(snapshotFlags, runSnapshot);
/** The flags of `plat up`, which must not be taken. */
const up = commandHere(upFlags, () => Promise.reject(new Error('the flags are taken')), upArguments);

/** A home of planes for this process and those that it starts; tests run one after the other. */
const aHome = (t: ExecutionContext): string => {
  const before = process.env['PLAT_HOME'];
  const home = aDirectory();
  process.env['PLAT_HOME'] = home;
  t.teardown(() => {
    if (before === undefined) delete process.env['PLAT_HOME'];
    else process.env['PLAT_HOME'] = before;
  });
  return home;
};

const small = ['--secure-port=0', '--nodes=1', '--controller-manager-arg=--controllers=ttl'];

interface Ready {
  readonly address: string;
  readonly name: string;
  readonly pid: number;
  readonly dataDir: string;
  readonly kubeconfig: string;
  readonly logFile: string;
}

/** Kills a plane in the background, whatever the test did. */
const killed = ({pid}: Ready) => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
};

test.serial('a plane in the background is listed, examined, exported, stopped and deleted by its name', async t => {
  const [home, directory] = [aHome(t), aDirectory()];
  const plat = (...args: string[]) => run('plat', args, {KUBECONFIG: ''}, directory);
  const kubeconfig = join(directory, 'shared config');
  const started = await plat('up', '--name=dev', '--detach', '-o=json', '-v=2', ...small, `--kubeconfig=${kubeconfig}`);
  t.is(started.code, 0, started.stderr);
  const ready = JSON.parse(started.stdout) as Ready;
  t.teardown(() => killed(ready));
  t.deepEqual([ready.name, ready.dataDir, ready.kubeconfig], ['dev', join(home, 'planes', 'dev'), kubeconfig]);
  t.regex(readFileSync(kubeconfig, 'utf8'), /^current-context: plat-dev$/m);

  t.regex((await run('plat', ['ps'])).stdout, /^NAME .*\ndev +running +https:\/\/127\.0\.0\.1:\d+ +\d+s +1 +\d+ MB +kubernetes\n$/);
  const {planes} = JSON.parse((await ps('-o=json')).stdout) as {planes: readonly {name: string; pid: number}[]};
  t.deepEqual(
    planes.map(({name, pid}) => [name, pid]),
    [['dev', ready.pid]],
  );

  const status = await plat('status', 'dev');
  t.is(status.code, 0, status.stdout);
  t.regex(status.stdout, /^dev: running since .*\n[^]*checks +(\d+) of \1 pass\n +nodes +1 of 1 ready\n$/);

  const again = await plat('up', '--name=dev', ...small);
  t.is(again.stderr, `plat up: the plane dev runs already at ${ready.address}: "plat stop dev" stops it\n`);

  t.regex((await plat('logs', 'dev', '--tail=1')).stdout, /^[^\n]+\n$/);

  t.is((await plat('nodes', 'scale', '3', '--name=dev')).stdout, 'dev has 3 simulated nodes\n');
  t.regex((await ps()).stdout, /^dev +running +\S+ +\S+ +3 /m);
  t.regex((await scale('scale', '300', '--name=dev')).stderr, /^plat nodes: the plane has pod addresses for 256 nodes.*\n$/);
  t.is((await scale('scale', '1', '--name=dev')).stdout, 'dev has 1 simulated node\n');

  const archive = await plat('export', 'dev', '--output=report.tar.gz');
  t.is(archive.code, 0, archive.stderr);
  const names = execFileSync('tar', ['-tzf', join(directory, 'report.tar.gz')], {encoding: 'utf8'});
  for (const file of ['plane.json', 'plat.log', 'metrics.txt', 'readyz.txt', 'objects/v1_nodes.json'])
    t.true(names.includes(`plat-dev/${file}\n`), file);
  const all = execFileSync('tar', ['-xzOf', join(directory, 'report.tar.gz')], {encoding: 'utf8', maxBuffer: 256 << 20});
  t.notRegex(all, /PRIVATE KEY|eyJ/);
  t.regex(
    (await plat('export', 'dev', '--output=report.tar.gz')).stderr,
    /^plat export: --output: cannot write report\.tar\.gz: .*exists.*\n$/,
  );

  t.regex((await remove('dev', '--yes')).stderr, /^plat delete: the plane dev runs: stop it first, or give --force\n$/);
  t.is((await plat('stop', 'dev')).stdout, 'dev stopped\n');
  t.is((await stop('dev')).stdout, 'dev does not run\n');
  t.is((await stop('--all')).stdout, 'no plane runs\n');
  t.notRegex((await ps()).stdout, /dev/);
  t.regex((await ps('-a')).stdout, /^dev +stopped +- +- +1 +- +kubernetes$/m);
  const stopped = await statusOf('dev');
  t.deepEqual([stopped.code, /wrong +it is stopped/.test(stopped.stdout)], [1, true]);

  t.regex((await remove('dev')).stderr, /there is no terminal to ask on: give --yes/);
  t.is((await plat('delete', 'dev', '--yes')).stdout, 'deleted the plane dev\n');
  t.false(existsSync(ready.dataDir));
  t.notRegex(readFileSync(kubeconfig, 'utf8'), /plat-dev/);
  t.is((await statusOf('dev')).stderr, 'plat status: there is no plane "dev": there are none\n');
});

test.serial('a plane that was killed is stopped, and can be started again', async t => {
  aHome(t);
  const directory = aDirectory();
  const first = new Program('plat', ['up', ...small], {}, directory);
  await first.waitFor(/^ready: /m);
  await first.stop('SIGKILL');
  t.regex((await ps('-a')).stdout, /^default +stopped/m);

  const second = new Program('plat', ['up', ...small, '--feature-gates=AllAlpha=false', '--runtime-config=api/beta=true'], {}, directory);
  await second.waitFor(/^ready: /m);
  const elsewhere = new Program('plat', ['up', ...small, '-o=json'], {}, aDirectory());
  const [line] = await elsewhere.waitFor(/^\{"ready":true.*$/m);
  t.is((JSON.parse(line) as Ready).name, 'default-2');
  t.regex((await logs()).stderr, /the plane default logs to the terminal it was started in/);
  t.is((await run('plat', ['stop', '--all'])).code, 0);
  t.deepEqual([(await second.ended()).code, (await elsewhere.ended()).code], [0, 0]);
});

test.serial('a plane that does not start in the background says why, and is not listed', async t => {
  aHome(t);
  const {code, stdout, stderr} = await run(
    'plat',
    ['up', '--name=dev', '--detach', ...small, '--manifests=nowhere.yaml'],
    {},
    aDirectory(),
  );

  t.deepEqual([code, stdout], [1, '']);
  t.regex(stderr, /the plane did not start; its log .*plat\.log ends with:\n[^]*nowhere\.yaml: there is no such file or folder\n$/);
  t.notRegex((await ps('-a')).stdout, /dev/);
});

const plat = (...args: readonly string[]) => run('plat', args, {PLAT_HOME: aDirectory()}, aDirectory());
const refusals: readonly (readonly [string, (...args: readonly string[]) => Promise<Ended>, readonly string[], RegExp])[] = [
  ['', plat, ['up', '--name=..'], /^plat up: .*--name.* must be lower-case letters, digits and dashes.*\n$/],
  ['up', up, ['--feature-gates=NoSuchGate=true'], /^plat up: .*NoSuchGate.*\n$/],
  ['up', up, ['--etcd-prefix=x'], /^plat up: unknown flag: --etcd-prefix.*\n$/],
  [
    'up',
    up,
    ['--service-cluster-ip-range=10.0.0.0/16'],
    /^plat up: --service-cluster-ip-range is a flag of a component: give it as --apiserver-arg=--service-cluster-ip-range=… or --controller-manager-arg=.*\n$/,
  ],
  ['', plat, ['up', '--nmae=dev'], /^plat up: unknown flag: --nmae \(did you mean --name\?\)\n$/],
  ['', plat, ['stauts'], /^plat: unknown command "stauts": did you mean "plat status"\?\n$/],
  ['snapshot', snapshot, ['svae', 'x'], /^plat snapshot: .*not "svae" \(did you mean save\?\)\n$/],
  ['stop', stop, [], /^plat stop: give the names of planes, or --all\n$/],
  ['logs', logs, ['../x'], /^plat logs: the name of a plane must be .*\n$/],
];
for (const [name, command, args, line] of refusals) {
  test.serial(`${['plat', name, ...args].filter(Boolean).join(' ')} is refused with what to do`, async t => {
    const {code, stdout, stderr} = await command(...args);

    t.deepEqual([code, stdout], [1, '']);
    t.regex(stderr, line);
  });
}

test.serial('plat version prints all that is known of the build as JSON and YAML', async t => {
  const {clientVersion} = JSON.parse((await run('plat', ['version', '-o', 'json'])).stdout) as {clientVersion: {gitVersion: string}};

  t.regex(clientVersion.gitVersion, /^v1\.35\./);
  t.regex((await run('plat', ['version', '-o=yaml'])).stdout, new RegExp(`^clientVersion:\n[^]*gitVersion: ${clientVersion.gitVersion}\n`));
});

test.serial('a log of a gigabyte is printed from its end at once', async t => {
  const [home, log] = [aHome(t), join(aDirectory(), 'log')];
  writeFileSync(log, '');
  execFileSync('truncate', ['-s', '1G', log]);
  writeFileSync(log, 'the end\n', {flag: 'a'});
  const plane = new Program('plat', ['up', ...small, `--log-file=${join(home, 'log')}`], {}, aDirectory());
  await plane.waitFor(/^ready: /m);
  await plane.stop();
  const file = join(home, 'planes', 'default.json');
  writeFileSync(file, JSON.stringify({...(JSON.parse(readFileSync(file, 'utf8')) as object), logFile: log}), {mode: 0o600});

  const {stdout} = await run('plat', ['logs', 'default', '--tail=1']);
  t.true(stdout.endsWith('the end\n'));
  t.true(stdout.length <= (16 << 20) + 100);
});
