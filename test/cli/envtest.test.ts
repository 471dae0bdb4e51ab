import test, {type ExecutionContext} from 'ava';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {kinds} from '#src/api/kinds/index.js';
import {systemClock} from '#src/base/clock.js';
import {kubeconfig} from '#src/plane/kubeconfig/settings.js';
import {planeMaterial} from '#src/plane/inputs/material.js';
import {freePort} from '#test/fixtures/free-port.js';
import {aDirectory, clientBy, run, shellProgram, type Program} from './programs.js';

const cache = aDirectory();
const plat = (...args: string[]) => run('plat', ['envtest', ...args], {XDG_CACHE_HOME: cache});
let programs: Promise<string> | undefined;
const folder = (): Promise<string> => (programs ??= plat('path').then(({stdout}) => stdout.trim()));

/**
 * Starts the two programs with the flags that envtest of controller-runtime passes, and what its users connect with.
 */
const environment = async (t: ExecutionContext) => {
  const programs = await folder();
  const directory = aDirectory();
  const [storePort, port] = [await freePort(), await freePort()];
  const {files} = await planeMaterial(join(directory, 'pki'), systemClock);
  const stores = shellProgram(join(programs, 'etcd'), [
    `--advertise-client-urls=http://127.0.0.1:${storePort}`,
    `--data-dir=${directory}/etcd`,
    `--listen-client-urls=http://127.0.0.1:${storePort}`,
    '--listen-peer-urls=http://127.0.0.1:0',
    '--unsafe-no-fsync=true',
  ]);
  await stores.waitFor(/ready/);
  const running: Program[] = [stores];
  t.teardown(async () => {
    for (const program of running) await program.stop('SIGKILL');
  });
  const url = `https://127.0.0.1:${port}`;
  const start = async (env: Readonly<Record<string, string>> = {}) => {
    const server = shellProgram(
      join(programs, 'kube-apiserver'),
      [
        '--allow-privileged=true',
        '--authorization-mode=RBAC',
        '--bind-address=127.0.0.1',
        `--cert-dir=${directory}`,
        `--client-ca-file=${files.ca}`,
        '--disable-admission-plugins=ServiceAccount',
        `--etcd-servers=http://127.0.0.1:${storePort}`,
        '--insecure-port=0',
        `--secure-port=${port}`,
        '--service-account-issuer=https://127.0.0.1/',
        `--service-account-key-file=${files.serviceAccountPublic}`,
        `--service-account-signing-key-file=${files.serviceAccountKey}`,
        '--service-cluster-ip-range=10.0.0.0/24',
      ],
      env,
    );
    running.push(server);
    await server.waitFor(/ready: /);
    const pem = (file: string) => readFileSync(file, 'utf8');
    const settings = join(directory, 'settings');
    const ca = pem(join(directory, 'apiserver.crt'));
    writeFileSync(settings, kubeconfig({server: url, ca, certificate: pem(files.admin), key: pem(files.adminKey)}), {mode: 0o600});
    return {server, client: await clientBy(settings, 'kubernetes')};
  };
  return {storePort, start};
};

test('the API server takes the flags of a test environment, and finds its objects again after a restart', async t => {
  const {storePort, start} = await environment(t);
  const health = (await (await fetch(`http://127.0.0.1:${storePort}/health`)).json()) as unknown;
  const first = await start();
  await first.client.resource(kinds.configMaps).create({metadata: {name: 'kept', namespace: 'default'}});
  await first.client[Symbol.asyncDispose]();
  const {code} = await first.server.stop();
  const {client} = await start();
  const kept = await client.resource(kinds.configMaps).get('kept', {namespace: 'default'});
  await client[Symbol.asyncDispose]();

  t.deepEqual([health, code, kept.metadata?.name], [{health: 'true', reason: ''}, 0, 'kept']);
});

test('with PLAT_ENVTEST_CONTROLLERS=1 a Deployment of the test environment gets pods that run', async t => {
  const {start} = await environment(t);
  const {client} = await start({PLAT_ENVTEST_CONTROLLERS: '1'});
  const template = {metadata: {labels: {app: 'a'}}, spec: {containers: [{name: 'a', image: 'a'}]}};
  const available = new Promise<number>(resolve => {
    const subscription = client
      .resource(kinds.deployments)
      .watch({namespace: 'default'})
      .subscribe(({object: {status}}) => {
        if (!status?.availableReplicas) return;
        subscription.unsubscribe();
        resolve(status.availableReplicas);
      });
  });
  await client
    .resource(kinds.deployments)
    .create({metadata: {name: 'a', namespace: 'default'}, spec: {replicas: 2, selector: {matchLabels: {app: 'a'}}, template}});

  t.true((await available) > 0);
  await client[Symbol.asyncDispose]();
});

test('help lists the original names of flags, and no insecure port, for which test environments look', async t => {
  const {stdout} = await shellProgram(join(await folder(), 'kube-apiserver'), ['--help']).ended();

  t.regex(stdout, /^\s*--etcd-servers\b/m);
  t.regex(stdout, /^\s*--kubelet-client-certificate\b/m);
  t.notRegex(stdout, /^\s*--insecure-port\b/m);
  t.regex((await shellProgram(join(await folder(), 'etcd'), ['--help']).ended()).stdout, /^\s*--unsafe-no-fsync\b/m);
});

test('a flag that cannot be used ends the start with one line', async t => {
  const programs = await folder();
  const refused = async (program: string, flag: string) => (await shellProgram(join(programs, program), [flag]).ended()).stderr;

  t.deepEqual(
    [await refused('kube-apiserver', '--insecure-port=8080'), await refused('etcd', '--no-such-flag=1')],
    ['kube-apiserver: --insecure-port: only 0 is allowed\n', 'etcd: flag provided but not defined: --no-such-flag=1\n'],
  );
  t.regex(await refused('kube-apiserver', '--no-such-flag'), /^plat-apiserver: .*--no-such-flag/);
});

test('exec runs a command with the folder of programs, and ends with its exit code', async t => {
  const {code, stdout} = await plat(
    'exec',
    '--controllers',
    '--',
    '/bin/sh',
    '-c',
    'echo $KUBEBUILDER_ASSETS $PLAT_ENVTEST_CONTROLLERS; exit 7',
  );

  t.deepEqual([code, stdout], [7, `${await folder()} 1\n`]);
  t.deepEqual(await plat('exec', '--', '/no/such/command'), {
    code: 1,
    stdout: '',
    stderr: 'plat envtest: /no/such/command could not be run: spawn /no/such/command ENOENT\n',
  });
});
