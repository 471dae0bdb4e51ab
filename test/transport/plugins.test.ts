import test from 'ava';
import {mkdtemp, readFile, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {ApiRequest} from '#src/api/request.js';
import {parseCertificate} from '#src/pki/certificate.js';
import {connect} from '#src/transport/client/http-connection.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import {pluginCredentials} from '#src/transport/plugins/credentials.js';
import {execPlugin} from '#src/transport/plugins/exec-settings.js';
import {aPair} from '#test/serving/credentials.js';
import {type TestServer, answering, json, serve} from '#test/serving/server.js';

const get = {method: 'GET', path: '/', headers: {}};
const apiVersion = 'client.authentication.k8s.io/v1';

/** A settings file whose user is proved by a plugin, in a folder that holds its script as `plugin`. */
const aFile = async (server: TestServer, user: object, script = ''): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'plat-plugin-'));
  await writeFile(join(folder, 'plugin'), `#!/bin/sh\n${script}\n`, {mode: 0o755});
  const extensions = [{name: 'client.authentication.k8s.io/exec', extension: {audience: 'x'}}];
  const cluster = {server: server.url, 'certificate-authority-data': Buffer.from(server.ca).toString('base64'), extensions};
  const settings = {
    'current-context': 'x',
    contexts: [{name: 'x', context: {cluster: 'c', user: 'u'}}],
    clusters: [{name: 'c', cluster}],
    users: [{name: 'u', user}],
  };
  const file = join(folder, 'settings');
  await writeFile(file, JSON.stringify(settings));
  return file;
};

const exec = (more: object = {}) => ({exec: {apiVersion, command: './plugin', interactiveMode: 'Never', ...more}});
const printing = (status: object): string => `cat <<'END'\n${JSON.stringify({apiVersion, kind: 'ExecCredential', status})}\nEND`;
const authorizations = (seen: readonly ApiRequest[]) => seen.map(({headers}) => headers['authorization']);

test('a credential plugin authenticates the user by its output, until that expires or is refused', async t => {
  const seen: ApiRequest[] = [];
  await using server = await serve(
    answering(request => (seen.push(request), json({}, request.headers['authorization'] === 'Bearer 3' ? 401 : 200))),
  );
  const clock = new VirtualClock();
  const expirationTimestamp = new Date(clock.now() + 60_000).toISOString();
  // The n-th run prints n, and that it ends in a minute; later runs print no end.
  const script = `echo run >> runs; n=$(wc -l < runs | tr -d ' ')\nif [ $n = 1 ]; then ${printing({token: '1', expirationTimestamp})}\nelse echo '{"apiVersion": "${apiVersion}", "kind": "ExecCredential", "status": {"token": "'$n'"}}'; fi`;
  const file = await aFile(server, exec(), `cd "$(dirname "$0")"\n${script}`);
  await using connection = await connect(await loadSettings({file, env: {}}), {clock});

  await Promise.all([connection.send(get), connection.send(get)]);
  await clock.advance(61_000);
  await Promise.all([connection.send(get), connection.send(get)]);
  await clock.advance(86_400_000);
  await connection.send(get);

  t.deepEqual(authorizations(seen), ['Bearer 1', 'Bearer 1', 'Bearer 2', 'Bearer 2', 'Bearer 2']);
});

test('a credential plugin runs again when the server refuses its output', async t => {
  const seen: ApiRequest[] = [];
  await using server = await serve(
    answering(request => (seen.push(request), json({}, request.headers['authorization'] === 'Bearer old' ? 401 : 200))),
  );
  const file = await aFile(
    server,
    exec(),
    `cd "$(dirname "$0")"; if [ -f ran ]; then ${printing({token: 'new'})}\nelse touch ran; ${printing({token: 'old'})}\nfi`,
  );
  await using connection = await connect(await loadSettings({file, env: {}}), {clock: new VirtualClock()});

  t.is((await connection.send(get)).status, 200);
  t.deepEqual(authorizations(seen), ['Bearer old', 'Bearer new']);
});

test('a program may print a client certificate', async t => {
  const seen: string[] = [];
  await using server = await serve(
    answering(({caller}) => {
      const leaf = 'credentials' in caller ? caller.credentials.certificates[0] : undefined;
      seen.push(leaf ? parseCertificate(leaf).subject.commonName : '');
      return json({});
    }),
  );
  const {cert, key} = await aPair(server.authority, {commonName: 'plugged'}, 'client auth');
  const file = await aFile(server, exec(), printing({clientCertificateData: cert, clientKeyData: key}));
  await using connection = await connect(await loadSettings({file, env: {}}), {clock: new VirtualClock()});

  await connection.send(get);
  t.deepEqual(seen, ['plugged']);
});

test('a credential plugin gets the cluster where configured, and arguments and environment', async t => {
  await using server = await serve(answering(() => json({})));
  const script = `printf %s "$KUBERNETES_EXEC_INFO" > "$1"; printf %s "$GREETING" > "$1.env"; ${printing({token: 'a'})}`;
  const reported = join(await mkdtemp(join(tmpdir(), 'plat-plugin-')), 'info');
  const file = await aFile(server, exec({provideClusterInfo: true, args: [reported], env: [{name: 'GREETING', value: 'hello'}]}), script);
  await using connection = await connect(await loadSettings({file, env: {}}), {clock: new VirtualClock()});
  await connection.send(get);

  const cluster = {server: server.url, 'certificate-authority-data': Buffer.from(server.ca).toString('base64'), config: {audience: 'x'}};
  t.deepEqual(JSON.parse(await readFile(reported, 'utf8')), {kind: 'ExecCredential', apiVersion, spec: {cluster, interactive: false}});
  t.is(await readFile(`${reported}.env`, 'utf8'), 'hello');
});

const refusals: readonly (readonly [string, object, string, string])[] = [
  [
    'is not there',
    {command: 'no-such-plugin', installHint: 'get it at example.com'},
    '',
    'getting credentials: exec: executable no-such-plugin not found: get it at example.com',
  ],
  ['fails', {}, 'exit 3', 'getting credentials: exec: executable DIR/plugin failed with exit code 3'],
  ['prints nonsense', {}, 'echo hello', 'getting credentials: decoding stdout: Unexpected token'],
  ['prints another kind', {}, 'echo "{}"', 'getting credentials: decoding stdout: no kind "" is registered'],
  [
    'prints another version',
    {},
    printing({token: 'a'}).replace('/v1"', '/v1beta1"'),
    'getting credentials: exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin returned version client.authentication.k8s.io/v1beta1',
  ],
  ['prints nothing of use', {}, printing({}), "getting credentials: exec plugin didn't return a token or cert/key pair"],
  ['prints half a pair', {}, printing({clientKeyData: 'x'}), 'getting credentials: exec plugin returned only certificate or key, not both'],
  [
    'prints a bad pair',
    {},
    printing({clientCertificateData: 'x', clientKeyData: 'x'}),
    'getting credentials: failed parsing client key/certificate: ',
  ],
  ['prints without end', {}, 'yes 2> /dev/null', 'getting credentials: exec: executable DIR/plugin printed more than 1048576 bytes'],
  [
    'wants a person',
    {interactiveMode: 'Always'},
    '',
    'getting credentials: exec plugin cannot support interactive mode: standard input is not a terminal',
  ],
  ['has no command', {command: ''}, '', 'command must be specified for u to use exec authentication plugin'],
  ['has no version', {apiVersion: ''}, '', 'apiVersion must be specified for u to use exec authentication plugin'],
  [
    'has an old version',
    {apiVersion: 'client.authentication.k8s.io/v1alpha1'},
    '',
    'exec plugin: invalid apiVersion "client.authentication.k8s.io/v1alpha1"',
  ],
  [
    'does not set interactiveMode',
    {interactiveMode: undefined},
    '',
    'interactiveMode must be specified for u to use exec authentication plugin',
  ],
  ['has an odd mode', {interactiveMode: 'Maybe'}, '', 'invalid interactiveMode for u: "Maybe"'],
  ['has a nameless variable', {env: [{value: 'x'}]}, '', 'env variable name must be specified for u to use exec authentication plugin'],
];
for (const [what, more, script, message] of refusals) {
  test(`a credential plugin that ${what} is reported in one line`, async t => {
    await using server = await serve(answering(() => json({})));
    const file = await aFile(server, exec(more), script);
    const environment = {env: process.env, isTerminal: false};
    const error = await t.throwsAsync(async () => {
      const {identity, source} = await loadSettings({file, env: {}});
      await pluginCredentials(identity.plugin!, {clock: new VirtualClock(), source, always: [], environment}).proof();
    });

    t.true(
      error!.message
        .replace(file.replace('/settings', ''), 'DIR')
        .replace(file, '')
        .includes(message.replace('DIR', file.replace('/settings', ''))),
      error!.message,
    );
    t.false(error!.message.includes('\n'));
  });
}

test('the older version of the API may leave the mode out', t => {
  const plugin = execPlugin(
    {command: 'p', apiVersion: 'client.authentication.k8s.io/v1beta1'},
    {user: 'u', directory: '/', cluster: undefined},
  );

  t.is(plugin.interactiveMode, 'IfAvailable');
});

const idToken = (exp: number): string =>
  ['{}', JSON.stringify({exp}), 'signature'].map(part => Buffer.from(part).toString('base64url')).join('.');

test('a user of an OpenID Connect provider is proved by the token there is, then by fresh ones', async t => {
  const clock = new VirtualClock();
  const [first, second, third] = [60, 3600, 7200].map(seconds => idToken(Math.floor(clock.now() / 1000) + seconds)) as [
    string,
    string,
    string,
  ];
  const requested: string[] = [];
  const seen: ApiRequest[] = [];
  await using server = await serve(
    answering(request => {
      if (request.url.startsWith('/.well-known')) return json({token_endpoint: `${server.url}/token`});
      if (request.url !== '/token')
        return (seen.push(request), json({}, request.headers['authorization'] === `Bearer ${second}` ? 401 : 200));
      requested.push(`${request.method} ${String(request.headers['authorization'])} ${String(request.headers['content-type'])}`);
      return json(requested.length === 1 ? {id_token: second, refresh_token: 'next'} : {id_token: third});
    }),
  );
  const config = {
    'idp-issuer-url': server.url,
    'client-id': 'me',
    'client-secret': 's',
    'id-token': first,
    'refresh-token': 'r',
    'idp-certificate-authority-data': Buffer.from(server.ca).toString('base64'),
  };
  const file = await aFile(server, {'auth-provider': {name: 'oidc', config}});
  await using connection = await connect(await loadSettings({file, env: {}}), {clock});

  await connection.send(get);
  await clock.advance(55_000);
  t.is((await connection.send(get)).status, 200);

  t.deepEqual(
    authorizations(seen),
    [first, second, third].map(token => `Bearer ${token}`),
  );
  t.is(requested[0], `POST Basic ${Buffer.from('me:s').toString('base64')} application/x-www-form-urlencoded`);
});

for (const [provider, message] of [
  [{name: 'gcp', config: {}}, /no Auth Provider found for name "gcp"/],
  [{name: 'oidc', config: {'client-id': 'x'}}, /Must provide idp-issuer-url/],
  [
    {name: 'oidc', config: {'client-id': 'x', 'idp-issuer-url': 'https://127.0.0.1:1'}},
    /getting credentials: No valid id-token, and cannot refresh without refresh-token/,
  ],
  [
    {name: 'oidc', config: {'client-id': 'x', 'idp-issuer-url': 'https://127.0.0.1:1', 'refresh-token': 'r'}},
    /getting credentials: https:\/\/127\.0\.0\.1:1\/\.well-known\/openid-configuration: .*connection refused/,
  ],
] as const) {
  test(`a provider is refused in one line: ${message.source}`, async t => {
    await using server = await serve(answering(() => json({})));
    const file = await aFile(server, {'auth-provider': provider});
    await t.throwsAsync(
      async () => {
        await using connection = await connect(await loadSettings({file, env: {}}), {clock: new VirtualClock()});
        await connection.send(get);
      },
      {message},
    );
  });
}
