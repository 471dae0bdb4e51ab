import {readFileSync, writeFileSync} from 'node:fs';
import https from 'node:https';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {wireMicroTime} from '#src/api/time.js';
import {systemClock} from '#src/base/clock.js';
import {issueClientCertificate, keyPairPem} from '#src/pki/issuing.js';
import {freePort} from '#test/fixtures/free-port.js';
import {eventually} from './eventually.js';
import {aServerHere, type ServerHere} from './here.js';
import {aDirectory, aServer, Program, run} from './programs.js';

const leaseMs = 5_000;
// Long enough for a machine that has more to do.
const shortLease = [`--leader-elect-lease-duration=${leaseMs}ms`, '--leader-elect-renew-deadline=4s', '--leader-elect-retry-period=400ms'];

const aManager = (server: Pick<ServerHere, 'settings'>, ...args: string[]) =>
  new Program('plat-controller-manager', [`--platconfig=${server.settings}`, ...args]);

const holderOf = async ({client}: ServerHere) => {
  const {spec} = await client.resource(kinds.leases).get('plat-controller-manager', {namespace: client.naming.systemNamespace});
  return {holder: spec?.holderIdentity, transitions: spec?.leaseTransitions};
};

test('two managers elect one leader, and killing it moves the lead once the lease has run out', async t => {
  await using server = await aServerHere('kubernetes');
  const managers = [1, 2].map(() => aManager(server, '--secure-port=0', '--controllers=serviceaccount', ...shortLease));
  const leader = await Promise.any(managers.map(manager => manager.waitFor(/ready: /).then(() => manager)));
  const standby = managers.find(manager => manager !== leader)!;
  await standby.waitFor(/attempting to acquire leader lease/);
  const before = await holderOf(server);

  const killed = performance.now();
  await leader.stop('SIGKILL');
  await standby.waitFor(/ready: \d+ controllers at work against https:\S+ \(kubernetes naming\)/);
  const waited = performance.now() - killed;
  const after = await holderOf(server);

  t.is(before.transitions, 0);
  t.is(after.transitions, 1);
  t.not(after.holder, before.holder);
  // Not before the lease has run out since it was last renewed; how soon after depends on the machine.
  t.true(waited > leaseMs - 1000, `${waited} ms`);
  t.is((await standby.stop()).code, 0);
});

test('each controller uses its own service account credentials when configured', async t => {
  await using server = await aServerHere('plat');
  const {client} = server;
  const manager = aManager(
    server,
    '--secure-port=0',
    '--controllers=serviceaccount',
    '--use-service-account-credentials',
    '--leader-elect=false',
  );
  await manager.waitFor(/ready: 1 controllers/);
  const accounts = client.resource(kinds.serviceAccounts);
  await client.resource(kinds.namespaces).create({metadata: {name: 'fresh'}});

  const made = await eventually(() => accounts.get('default', {namespace: 'fresh'}));
  t.is(made.metadata?.namespace, 'fresh');
  t.is(
    (await accounts.get('service-account-controller', {namespace: client.naming.systemNamespace})).metadata?.name,
    'service-account-controller',
  );
  t.is((await manager.stop()).code, 0);
});

test('a leader that cannot renew any more ends with exit code 1', async t => {
  await using server = await aServer('plat');
  const manager = aManager(server, '--secure-port=0', '--controllers=serviceaccount', ...shortLease);
  await manager.waitFor(/ready: 1 controllers/);

  await server.program.stop('SIGKILL');
  const {code, stderr} = await manager.ended();

  t.is(code, 1);
  t.regex(stderr, /"the lead was lost"/);
});

interface ConversionRequest {
  readonly status: number;
  readonly body: string;
}

const ask = (
  port: string,
  path: string,
  pair?: {readonly certificate: string; readonly key: string},
  token?: string,
): Promise<ConversionRequest> =>
  new Promise((resolve, reject) => {
    const identity = pair ? {cert: pair.certificate, key: pair.key} : {};
    const headers = token ? {authorization: `Bearer ${token}`} : {};
    const request = https.get({host: '127.0.0.1', port, path, headers, rejectUnauthorized: false, agent: false, ...identity}, response => {
      let body = '';
      response
        .setEncoding('utf8')
        .on('data', (text: string) => (body += text))
        .on('end', () => resolve({status: response.statusCode ?? 0, body}));
    });
    request.on('error', reject);
  });

test('the secure port serves health to everyone and all else to users whom the API server authorizes', async t => {
  const tokens = join(aDirectory(), 'tokens.csv');
  writeFileSync(tokens, 'let-me-see,scraper,1,"system:monitoring"\n', {mode: 0o600});
  await using server = await aServer('plat', [`--token-auth-file=${tokens}`]);
  const {authority, files} = server.material;
  const pairOf = async (commonName: string, organizations: string[]) =>
    keyPairPem(await issueClientCertificate(authority, {now: systemClock.now(), commonName, organizations, lifetimeMs: 3_600_000}));
  const [monitor, stranger] = await Promise.all([pairOf('prometheus', ['system:monitoring']), pairOf('stranger', [])]);
  const admin = {certificate: readFileSync(files.admin, 'utf8'), key: readFileSync(files.adminKey, 'utf8')};
  const manager = aManager(
    server,
    '--bind-address=127.0.0.1',
    `--secure-port=${await freePort()}`,
    '--controllers=namespace',
    `--authentication-kubeconfig=${server.settings}`,
    `--authorization-kubeconfig=${server.settings}`,
  );
  const [, port = ''] = await manager.waitFor(/"serving" address="127.0.0.1" port=(\d+)/);
  await manager.waitFor(/ready: /);

  const health = await ask(port, '/healthz?verbose');
  t.is(health.status, 200);
  t.regex(health.body, /\[\+\]leaderElection ok\n[^]*\[\+\]namespace-controller ok\n/);
  t.is((await ask(port, '/metrics')).status, 403);
  t.is((await ask(port, '/metrics', stranger)).status, 403);
  const metrics = await ask(port, '/metrics', monitor);
  t.is(metrics.status, 200);
  t.regex(metrics.body, /leader_election_master_status\{name="plat-controller-manager"\} 1/);
  t.regex(metrics.body, /rest_client_requests_total\{/);
  t.is((await ask(port, '/metrics', undefined, 'let-me-see')).status, 200);
  t.is((await ask(port, '/metrics', undefined, 'let-me-in')).status, 401);
  t.is((await ask(port, '/configz', monitor)).status, 403);
  const configz = JSON.parse((await ask(port, '/configz', admin)).body) as Record<string, Record<string, Record<string, unknown>>>;
  t.deepEqual(Object.keys(configz), ['platcontrollermanager.config.plat.io']);
  t.is(configz['platcontrollermanager.config.plat.io']?.['Generic']?.['MinResyncPeriod'], '12h0m0s');
  t.is((await ask(port, '/nowhere', admin)).status, 404);
  t.is((await manager.stop()).code, 0);
});

test('plat up opens the port of the manager, elects a leader and limits requests only when configured', async t => {
  const directory = aDirectory();
  const port = await freePort();
  const args = [`--secure-port=${port}`, '--bind-address=127.0.0.1', '--leader-elect=true', '--plat-api-qps=50'].map(
    arg => `--controller-manager-arg=${arg}`,
  );
  const plane = new Program('plat', ['up', `--data-dir=${directory}/plane`, '--secure-port=0', ...args]);
  await plane.waitFor(/^ready: /m);

  const admin = {
    certificate: readFileSync(`${directory}/plane/pki/admin.crt`, 'utf8'),
    key: readFileSync(`${directory}/plane/pki/admin.key`, 'utf8'),
  };
  t.regex((await ask(String(port), '/healthz?verbose')).body, /\[\+\]leaderElection ok\n[^]*\[\+\]namespace-controller ok\n/);
  t.regex((await ask(String(port), '/metrics', admin)).body, /leader_election_master_status\{name="plat-controller-manager"\} 1/);
  t.is((await plane.stop()).code, 0);
});

test("warns of each controller that the cluster's own manager runs already", async t => {
  await using server = await aServerHere('kubernetes');
  const {client} = server;
  const renewTime = wireMicroTime(systemClock.now());
  const metadata = {namespace: client.naming.systemNamespace, name: client.naming.component('controller-manager')};
  await client
    .resource(kinds.leases)
    .create({metadata, spec: {holderIdentity: 'other_1', leaseDurationSeconds: 15, renewTime, acquireTime: renewTime}});

  const manager = aManager(server, '--secure-port=0', '--controllers=csrcleaner,serviceaccount', '--naming=auto');
  await manager.waitFor(/ready: 2 controllers/);
  const {stderr} = await manager.stop();

  const warned = [...stderr.matchAll(/^W.*a manager of its own.* controller="([^"]+)" manager="other_1"$/gm)].map(([, name]) => name);
  t.deepEqual(warned, ['certificatesigningrequest-cleaner-controller', 'serviceaccount-controller']);
});

const refusals: readonly (readonly [string[], RegExp])[] = [
  [['--controllers=nope'], /^plat-controller-manager: .*--controllers.*"nope" is not in the list of known controllers\n$/],
  [[], /^plat-controller-manager: neither --platconfig nor --master was given.*\n$/],
  [['--platconfig=/nowhere'], /^plat-controller-manager: --platconfig \/nowhere: .*no such file.*\n$/],
  [
    ['--leader-elect-lease-duration=1s'],
    /^plat-controller-manager: --leader-elect-lease-duration must be greater than --leader-elect-renew-deadline\n$/,
  ],
];
for (const [args, line] of refusals) {
  test(`refuses ${args.join(' ') || 'to run without connection settings'} in one line`, async t => {
    await refuses(t, args, line);
  });
}

const refuses = async (t: ExecutionContext, args: readonly string[], line: RegExp): Promise<void> => {
  const {code, stdout, stderr} = await run('plat-controller-manager', args);

  t.is(code, 1);
  t.is(stdout, '');
  t.regex(stderr.replace(/^[WI]\d{4} .*\n/gm, ''), line);
};

test('controllers that migrate run under a second lock, and those of other components not at all', async t => {
  await using server = await aServerHere('plat');
  const {client} = server;
  const file = join(aDirectory(), 'migration.yaml');
  const leaders = ['{name: ttl, component: plat-controller-manager}', '{name: namespace-controller, component: other}'];
  const groupVersion = `controllermanager.${client.naming.group('config')}/v1alpha1`;
  writeFileSync(
    file,
    [
      `apiVersion: ${groupVersion}`,
      'kind: LeaderMigrationConfiguration',
      'leaderName: moving',
      'resourceLock: leases',
      `controllerLeaders: [${leaders.join(', ')}]`,
    ].join('\n'),
  );
  const manager = aManager(
    server,
    '--secure-port=0',
    '--controllers=serviceaccount,ttl,namespace',
    '--enable-leader-migration',
    `--leader-migration-config=${file}`,
    '-v=1',
    ...shortLease,
  );
  await manager.waitFor(/ready: 1 controllers/);
  await client.resource(kinds.nodes).create({metadata: {name: 'n'}});

  const ttl = await eventually(
    async () => (await client.resource(kinds.nodes).get('n')).metadata?.annotations?.[client.naming.subKey('node.alpha', 'ttl')],
  );
  t.is(ttl, '0');
  const {spec} = await client.resource(kinds.leases).get('moving', {namespace: client.naming.systemNamespace});
  t.truthy(spec?.holderIdentity);
  t.regex(manager.stderr, /controller starts" controller="ttl-controller"/);
  t.notRegex(manager.stderr, /controller starts" controller="namespace-controller"/);
  t.is((await manager.stop()).code, 0);
});

test('a configuration of migrations that makes no sense stops the start with one line', async t => {
  const file = join(aDirectory(), 'migration.yaml');
  writeFileSync(file, 'kind: Nonsense\napiVersion: v1\n');
  await using server = await aServerHere('plat');
  const {code, stderr} = await aManager(
    server,
    '--secure-port=0',
    '--enable-leader-migration',
    `--leader-migration-config=${file}`,
  ).ended();

  t.is(code, 1);
  t.regex(
    stderr,
    /^plat-controller-manager: --leader-migration-config: \S+migration\.yaml: no kind "Nonsense" is registered for version "v1": expected LeaderMigrationConfiguration of controllermanager\.config\.plat\.io\/v1\S*$/m,
  );
});
