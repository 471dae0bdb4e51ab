import {execFileSync} from 'node:child_process';
import {mkdirSync, readdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {runCertificate} from '#src/cli/certificate/certificate.js';
import {commands} from '#src/cli/commands.js';
import {certificateFlags} from '#src/options/programs/client.js';
import {packageVersion, release} from '#src/api/version.js';
import type {NamingName} from '#src/api/naming.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import type {Client} from '#src/client/client.js';
import {aServerHere, commandHere, printedBy} from './here.js';
import {aDirectory, clientBy, Program, run} from './programs.js';

const certificateHere = commandHere(certificateFlags, runCertificate);

interface Reachable {
  readonly client: Client;
}

const aRequest = async ({client}: Reachable, name: string) => {
  const request = createSigningRequest(await generatePrivateKey(), {subject: {commonName: name}});
  const spec = {
    request: Buffer.from(request).toString('base64'),
    signerName: client.naming.signers.apiserverClient,
    usages: ['client auth'],
  };
  await client.resource(kinds.certificateSigningRequests).create({metadata: {name}, spec});
};

const conditionsOf = async ({client}: Reachable, name: string) => {
  const {status} = await client.resource(kinds.certificateSigningRequests).get(name);
  return (status?.conditions ?? []).map(({type, status: is, reason, message}) => [type, is, reason, message]);
};

for (const naming of ['plat', 'kubernetes'] satisfies NamingName[]) {
  test(`plat certificate approves and denies requests in the ${naming} naming`, async t => {
    await using server = await aServerHere(naming);
    for (const name of ['one', 'two', 'three']) await aRequest(server, name);
    const certificate = (...args: string[]) => certificateHere(...args, `--platconfig=${server.settings}`);
    const resource = `certificatesigningrequest.${server.client.naming.group('certificates')}`;

    t.deepEqual(await certificate('approve', 'one', 'two'), {
      code: 0,
      stdout: `${resource}/one approved\n${resource}/two approved\n`,
      stderr: '',
    });
    t.deepEqual(await conditionsOf(server, 'one'), [
      ['Approved', 'True', 'PlatApprove', 'This CSR was approved by plat certificate approve.'],
    ]);
    t.deepEqual(await certificate('approve', 'one'), {code: 0, stdout: `${resource}/one approved\n`, stderr: ''});
    t.deepEqual(await certificate('approve', 'one', '--force'), {code: 0, stdout: `${resource}/one approved\n`, stderr: ''});

    t.deepEqual(await certificate('deny', 'one', 'three'), {
      code: 1,
      stdout: `${resource}/three denied\n`,
      stderr: 'plat certificate: certificate signing request "one" is already Approved\n',
    });
    t.deepEqual(await conditionsOf(server, 'three'), [['Denied', 'True', 'PlatDeny', 'This CSR was denied by plat certificate deny.']]);
    const missing = await certificate('deny', 'four');
    t.is(missing.stderr, `plat certificate: certificatesigningrequests.${server.client.naming.group('certificates')} "four" not found\n`);
  });
}

test('plat prints its version, its commands and the flags of a command in the usual ways', async t => {
  const line = `plat v${release}-plat.${packageVersion}\n`;
  for (const args of [['--version'], ['version']]) t.deepEqual(await run('plat', args), {code: 0, stdout: line, stderr: ''});
  t.is((JSON.parse((await run('plat', ['--version=raw'])).stdout) as {gitVersion: string}).gitVersion, line.slice(5, -1));
  t.is((await run('plat', ['help', 'up'])).stdout, (await printedBy(() => commands['up']!.run(['--help']))).stdout);
  const {code, stdout} = await run('plat', []);
  t.is(code, 0);
  for (const command of ['up', 'nodes', 'demo', 'certificate', 'version']) t.regex(stdout, new RegExp(`^ {2}${command} +\\S`, 'm'));
  t.is((await run('plat', ['help'])).stdout, stdout);
  t.is((await run('plat', ['help', 'fly'])).stderr, 'plat: unknown command "fly": "plat --help" lists the commands\n');
});

test('plat demo that is stopped leaves nothing behind', async t => {
  const folder = aDirectory();
  const program = new Program('plat', ['demo'], {TMPDIR: folder});
  await program.waitFor(/^ 1\. A control plane runs/m);
  const {code, stderr} = await program.stop('SIGINT');

  t.deepEqual([code, stderr], [1, 'plat demo: stopped before its end; nothing stays behind\n']);
  t.deepEqual(readdirSync(folder), []);
});

test('plat certificate finds the plane of its directory, and requires a choice where there are two', async t => {
  const directory = aDirectory();
  const settings = 'apiVersion: v1\nkind: Config\ncurrent-context: gone\n';
  const errorOf = async (...args: string[]) =>
    (await run('plat', ['certificate', 'approve', 'a', ...args], {KUBECONFIG: ''}, directory)).stderr;
  mkdirSync(join(directory, '.plat-plat'));
  writeFileSync(join(directory, '.plat-plat', 'kubeconfig'), settings);

  t.regex(await errorOf(), /\.plat-plat\/kubeconfig: .*gone/);
  t.regex(await errorOf('--naming=kubernetes'), /neither --platconfig nor --master was given/);
  mkdirSync(join(directory, '.plat'));
  writeFileSync(join(directory, '.plat', 'kubeconfig'), settings);
  t.is(
    await errorOf(),
    'plat certificate: there are planes of both namings here, .plat/kubeconfig and .plat-plat/kubeconfig: say which one with --naming or --platconfig\n',
  );
  t.regex(await errorOf('--naming=kubernetes'), /\.plat\/kubeconfig: .*gone/);
});

const mistakes: readonly (readonly [string[], RegExp])[] = [
  [['certificate', 'approve', 'a'], /^plat certificate: neither --platconfig nor --master was given.*\n$/],
  [
    ['up', '--secure-port=0', '--nodes=0', '--data-dir=plane', '--manifests=nowhere.yaml'],
    /^plat up: nowhere\.yaml: there is no such file or folder\n$/,
  ],
  [
    ['up', '--secure-port=0', '--apiserver-arg=--naming=plat'],
    /^plat up: --naming: all parts of a plane speak the naming of the plane: give it to plat up, or to startPlane as naming\n$/,
  ],
  [['up', '--secure-port=none'], /^plat up: .*--secure-port.*\n$/],
  [['fly'], /^plat: unknown command "fly": "plat --help" lists the commands\n$/],
];
for (const [args, line] of mistakes) {
  test(`plat ${args.join(' ')} is refused in one line`, async t => {
    const {code, stdout, stderr} = await run('plat', args, {KUBECONFIG: ''}, aDirectory());

    t.deepEqual([code, stdout], [1, '']);
    t.regex(stderr, line);
  });
}

for (const [args, line] of [
  [[], /^plat certificate: the first argument must be approve, deny, explain or request\n$/],
  [['grant', 'a'], /^plat certificate: the first argument must be approve, deny, explain or request, not "grant"\n$/],
  [['approve'], /^plat certificate: one or more certificate signing requests must be named\n$/],
] as const) {
  test(`plat certificate ${args.join(' ')} is refused in one line`, async t => {
    const {code, stdout, stderr} = await certificateHere(...args);

    t.deepEqual([code, stdout], [1, '']);
    t.regex(stderr, line);
  });
}

for (const naming of ['plat', 'kubernetes']) {
  test(`plat demo completes with the ${naming} naming and prints a dozen lines`, async t => {
    const {code, stdout, stderr} = await run('plat', ['demo', `--naming=${naming}`]);

    t.deepEqual([code, stderr], [0, '']);
    const lines = stdout.trimEnd().split('\n');
    t.is(lines.length, 12);
    t.regex(lines.at(-1)!, /^12\. Everything was as expected/);
  });
}

test('plat up keeps everything from one start to the next', async t => {
  const directory = aDirectory();
  writeFileSync(`${directory}/map.yaml`, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-a-manifest}\n');
  const start = async (...args: string[]) => {
    const program = new Program('plat', [
      'up',
      ...args,
      `--data-dir=${directory}/plane`,
      '--secure-port=0',
      `--manifests=${directory}/map.yaml`,
      '--webhook-port=9443',
    ]);
    await program.waitFor(/^ready: https:\S+ \(kubernetes naming\)/m);
    return program;
  };
  const first = await start();
  t.true(first.stderr.split('\n').length <= 4, `at most three lines before it is ready, not\n${first.stderr}`);
  await aRequest(await connected(directory), 'kept');
  const node = (await (await connected(directory)).client.resource(kinds.nodes).get('plat-node-0')).metadata?.uid;
  const version = async () =>
    (await (await connected(directory)).client.resource(kinds.configMaps).get('of-a-manifest', {namespace: 'default'})).metadata
      ?.resourceVersion;
  const before = await version();
  await t.throwsAsync(recorderOf(await connected(directory)), {message: /not find the requested resource/});
  t.is((await first.stop('SIGINT')).code, 0);

  const second = await start('--quiet', '--record=2Mi');
  const {client} = await connected(directory);
  t.like(await recorderOf({client}), {maxBytes: 2 * 2 ** 20});
  t.is((await client.resource(kinds.certificateSigningRequests).get('kept')).metadata?.name, 'kept');
  t.deepEqual(
    (await client.resource(kinds.nodes).list()).items.map(({metadata}) => metadata?.uid),
    [node],
  );
  t.is(await version(), before);
  const {code, stdout, stderr} = await second.stop();

  t.deepEqual([code, stderr], [0, '']);
  t.regex(stdout, /^ready: .*\n$/);
  const refused = await run('plat', ['up', `--data-dir=${directory}/plane`, '--secure-port=0', '--naming=plat']);
  t.is(
    refused.stderr,
    `plat up: the store in ${directory}/plane/store was written with --naming=kubernetes, not plat: give --naming=kubernetes with this --data-dir, or another --data-dir\n`,
  );
  t.deepEqual(modesOf(`${directory}/plane`), ['700 pki', '600 kubeconfig', '600 pki/ca.key', '600 pki/sa.key', '600 pki/webhook/tls.key']);
});

const connected = async (directory: string): Promise<Reachable> => ({
  client: await clientBy(`${directory}/plane/kubeconfig`, 'kubernetes'),
});

const recorderOf = async ({client}: Pick<Reachable, 'client'>): Promise<object> => (await client.request('GET', '/recorder/v1')) as object;

const modesOf = (directory: string): string[] =>
  execFileSync('stat', ['-c', '%a %n', 'pki', 'kubeconfig', 'pki/ca.key', 'pki/sa.key', 'pki/webhook/tls.key'], {
    cwd: directory,
    encoding: 'utf8',
  })
    .trim()
    .split('\n');
