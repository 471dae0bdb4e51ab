import {mkdirSync, writeFileSync} from 'node:fs';
import {get, type RequestOptions} from 'node:https';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {noLog} from '#src/base/log.js';
import {systemClock} from '#src/base/clock.js';
import {systemRandom} from '#src/base/random.js';
import {HealthChecks} from '#src/observe/health.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {openEndpoints} from '#src/operator/program/endpoints.js';
import {managerFlags} from '#src/operator/program/flags.js';
import {parseFlags} from '#src/options/parse.js';
import {createAuthority, authorityPem} from '#src/pki/authority.js';
import {issueServingCertificate, keyPairPem} from '#src/pki/issuing.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {startPlane} from '#src/plane/plane.js';
import {aDirectory} from '#test/cli/programs.js';

/** A plane with two service accounts, of which one may read metrics. */
const accounts = [
  {apiVersion: 'v1', kind: 'ServiceAccount', metadata: {name: 'scraper', namespace: 'default'}},
  {apiVersion: 'v1', kind: 'ServiceAccount', metadata: {name: 'stranger', namespace: 'default'}},
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: {name: 'metrics-reader'},
    rules: [{nonResourceURLs: ['/metrics'], verbs: ['get']}],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: {name: 'metrics-reader'},
    roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'metrics-reader'},
    subjects: [{kind: 'ServiceAccount', name: 'scraper', namespace: 'default'}],
  },
];
const plane = await startPlane({listen: false, controllerManagerArgs: ['--controllers='], manifests: accounts});
test.after.always(() => plane.stop());

const tokenOf = async (account: string): Promise<string> => {
  const {status} = (await plane.client().request('POST', `/api/v1/namespaces/default/serviceaccounts/${account}/token`, {
    body: {apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {}},
  })) as {status: {token: string}};
  return status.token;
};

const opened = async (t: ExecutionContext, args: readonly string[]) => {
  const metrics = new MetricsRegistry();
  metrics.counter({name: 'made_total', help: 'Made.'}).add();
  const endpoints = await openEndpoints({
    options: parseFlags(managerFlags('maps', ''), ['--health-probe-bind-address=0', ...args]).options,
    health: new HealthChecks(noLog),
    readiness: new HealthChecks(noLog),
    metrics,
    reviewer: plane.client(),
    clock: systemClock,
    random: systemRandom,
    log: noLog,
  });
  t.teardown(() => endpoints[Symbol.asyncDispose]());
  return endpoints.ports;
};

const answer = (port: number, options: RequestOptions = {}): Promise<{readonly status: number | undefined; readonly text: string}> =>
  new Promise((resolve, reject) => {
    get({host: 'localhost', port, path: '/metrics', rejectUnauthorized: false, agent: false, ...options}, response => {
      let text = '';
      response.setEncoding('utf8').on('data', chunk => (text += chunk));
      response.on('end', () => resolve({status: response.statusCode, text}));
    }).on('error', reject);
  });
const bearer = (token: string): RequestOptions => ({headers: {authorization: `Bearer ${token}`}});

test('secured metrics are for users that the API server knows and lets get /metrics', async t => {
  const {'--metrics-bind-address': port = 0} = await opened(t, ['--metrics-bind-address=localhost:0']);

  t.is((await answer(port)).status, 401);
  t.is((await answer(port, bearer('invented'))).status, 401);
  const refused = await answer(port, bearer(await tokenOf('stranger')));
  t.is(refused.status, 403);
  t.regex(refused.text, /system:serviceaccount:default:stranger.*cannot get path/);
  const scraped = await answer(port, bearer(await tokenOf('scraper')));
  t.is(scraped.status, 200);
  t.regex(scraped.text, /^made_total 1$/m);
  t.is((await answer(port, {...bearer(await tokenOf('scraper')), path: '/debug/pprof/'})).status, 403);
});

test('the certificate of metrics can be given, and plain metrics asked for', async t => {
  const authority = createAuthority(await generatePrivateKey(), {commonName: 'ca', now: Date.now(), lifetimeMs: 86_400_000});
  const pair = await issueServingCertificate(authority, {commonName: 'maps', hosts: ['localhost'], now: Date.now(), lifetimeMs: 3_600_000});
  const folder = join(aDirectory(), 'certs');
  mkdirSync(folder);
  const {certificate, key} = keyPairPem(pair);
  writeFileSync(join(folder, 'metrics.crt'), certificate);
  writeFileSync(join(folder, 'tls.key'), key);

  const given = [`--metrics-cert-path=${folder}`, '--metrics-cert-name=metrics.crt', '--metrics-bind-address=localhost:0'];
  const {'--metrics-bind-address': port = 0} = await opened(t, given);
  const trusted = await answer(port, {
    ...bearer(await tokenOf('scraper')),
    rejectUnauthorized: true,
    ca: authorityPem(authority).certificate,
  });
  t.is(trusted.status, 200);

  await t.throwsAsync(opened(t, [`--metrics-cert-path=${folder}`, '--metrics-bind-address=localhost:0']), {
    message: /^--metrics-cert-path .*: cannot serve with the certificate .*tls\.crt and the key .*no such file/,
  });
  const plain = await opened(t, ['--metrics-secure=false', '--metrics-bind-address=localhost:0']);
  t.is((await fetch(`http://localhost:${plain['--metrics-bind-address']}/metrics`)).status, 200);
});

test('profiles are off unless an address is given, which is on loopback unless it names a host', async t => {
  t.deepEqual(await opened(t, []), {});

  const {'--pprof-bind-address': port} = await opened(t, ['--pprof-bind-address=:0']);
  const index = await fetch(`http://127.0.0.1:${port}/debug/pprof/`);
  t.is(index.status, 200);
  t.regex(await index.text(), /^profile: CPU profile/m);
  await t.throwsAsync(fetch(`http://[::1]:${port}/debug/pprof/`));
});

test('flags of metrics that contradict each other are refused', t => {
  const table = managerFlags('maps', '');
  t.throws(() => parseFlags(table, ['--metrics-secure=false', '--metrics-cert-path=/certs']), {
    message: '--metrics-cert-path needs --metrics-secure',
  });
  t.throws(() => parseFlags(table, ['--metrics-bind-address=:8081']), {message: /must differ from --health-probe-bind-address/});
});
