import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import type {Authenticator} from '#src/api/authentication.js';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {createLog} from '#src/observe/log.js';
import {Verbosity} from '#src/observe/verbosity.js';
import {authorityPem, createAuthority} from '#src/pki/authority.js';
import {issueClientCertificate, keyPairPem} from '#src/pki/issuing.js';
import {generatePrivateKey, privateKeyPem} from '#src/pki/keys/keys.js';
import {tokenAuthenticator} from '#src/plane/api-server/authentication/authentication.js';
import {startPlane} from '#src/plane/plane.js';
import {aPlane} from '#test/controllers/plane.js';
import type {Anonymous} from '#src/serving/authenticators/union.js';

const proxyEnvironment = async () => {
  const authority = createAuthority(await generatePrivateKey(), {commonName: 'proxies', now: Date.now() - 60_000});
  const file = join(mkdtempSync(join(tmpdir(), 'plat-proxy-')), 'ca.crt');
  writeFileSync(file, authorityPem(authority).certificate);
  const proxy = await issueClientCertificate(authority, {now: Date.now(), commonName: 'front-proxy'});
  const plane = await startPlane({
    listen: false,
    controllers: 'none',
    apiserverArgs: [
      `--requestheader-client-ca-file=${file}`,
      '--requestheader-allowed-names=front-proxy',
      '--requestheader-username-headers=X-Remote-User',
      '--requestheader-group-headers=X-Remote-Group',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    ],
  });
  return {plane, certificates: proxy.chain.map(({raw}) => raw), pem: authorityPem(authority).certificate};
};

test('a trusted proxy sets the user by headers, and no other client can', async t => {
  const {plane, certificates} = await proxyEnvironment();
  await using _ = plane;
  const whoAmI = async (chain: readonly Buffer[]) => {
    const {status, body} = await plane.api.handler({
      method: 'POST',
      url: `/apis/${plane.naming.group('authentication')}/v1/selfsubjectreviews`,
      headers: {
        'content-type': 'application/json',
        'x-remote-user': 'alice',
        'x-remote-group': ['dev'],
        'x-remote-extra-__proto__': 'one',
        'x-remote-extra-constructor': ['two', 'three'],
      },
      caller: {credentials: {certificates: chain}},
      remoteAddress: '127.0.0.1',
      body: {kind: 'object', value: {}},
      signal: new AbortController().signal,
    });
    return {status, object: body.kind === 'object' ? body.object() : undefined};
  };

  t.like(await whoAmI(certificates), {
    status: 201,
    object: {status: {userInfo: {username: 'alice', groups: ['dev', 'system:authenticated'], extra: {constructor: ['two', 'three']}}}},
  });
  t.is((await whoAmI([])).status, 403);
});

test('how callers are authenticated is published for the servers that extend the API', async t => {
  const {plane, pem} = await proxyEnvironment();
  await using _ = plane;
  const {data} = await plane
    .client()
    .resource(kinds.configMaps)
    .get('extension-apiserver-authentication', {namespace: plane.naming.systemNamespace});

  t.is(data?.['requestheader-client-ca-file'], pem);
  t.is(data?.['requestheader-allowed-names'], '["front-proxy"]');
  t.regex(data?.['client-ca-file'] ?? '', /BEGIN CERTIFICATE/);
});

test('a plane has a front proxy authority by which backends trust the headers of its requests', async t => {
  await using plane = await aPlane({naming: 'kubernetes', controllers: []});
  const {data} = await plane
    .client()
    .resource(kinds.configMaps)
    .get('extension-apiserver-authentication', {namespace: plane.naming.systemNamespace});

  t.not(data?.['requestheader-client-ca-file'], data?.['client-ca-file']);
  t.like(data, {
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-uid-headers': '["X-Remote-Uid"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  });
});

for (const [flag, entry] of [
  ['--requestheader-username-headers=X-Auth-User', {'requestheader-username-headers': '["X-Auth-User"]'}],
  ['--requestheader-allowed-names=other', {'requestheader-allowed-names': '["other"]'}],
] as const) {
  test(`a plane that is given ${flag} keeps the rest of its front proxy`, async t => {
    await using plane = await aPlane({naming: 'kubernetes', controllers: [], apiserverArgs: [flag]});
    const {data} = await plane
      .client()
      .resource(kinds.configMaps)
      .get('extension-apiserver-authentication', {namespace: plane.naming.systemNamespace});

    t.regex(data?.['requestheader-client-ca-file'] ?? '', /BEGIN CERTIFICATE/);
    t.like(data, {
      'requestheader-username-headers': '["X-Remote-User"]',
      'requestheader-group-headers': '["X-Remote-Group"]',
      'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
      ...entry,
    });
  });
}

test('files for the servers behind that cannot be used stop the start with one line', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-proxy-'));
  const [cert, key, other] = ['cert', 'key', 'other'].map(name => join(folder, name)) as [string, string, string];
  const authority = createAuthority(await generatePrivateKey(), {commonName: 'proxies', now: Date.now() - 60_000});
  const pair = keyPairPem(await issueClientCertificate(authority, {now: Date.now(), commonName: 'front-proxy'}));
  writeFileSync(cert, pair.certificate);
  writeFileSync(key, pair.key);
  writeFileSync(other, privateKeyPem(await generatePrivateKey()));
  const starting = (certFile: string, keyFile: string) =>
    startPlane({listen: false, apiserverArgs: [`--proxy-client-cert-file=${certFile}`, `--proxy-client-key-file=${keyFile}`]});

  await t.throwsAsync(starting(join(folder, 'none'), key), {
    message: `--proxy-client-cert-file: open ${join(folder, 'none')}: no such file or directory`,
  });
  await t.throwsAsync(starting(cert, join(folder, 'none')), {
    message: `--proxy-client-key-file: open ${join(folder, 'none')}: no such file or directory`,
  });
  await t.throwsAsync(starting(cert, other), {
    message: `--proxy-client-cert-file: ${cert} and ${other}: tls: private key does not match public key`,
  });
});

for (const [given, mode, status, isWarned] of [
  [[], 'AlwaysAllow', 401, true],
  [['--anonymous-auth=true'], 'AlwaysAllow', 401, true],
  [['--anonymous-auth=true'], 'RBAC,AlwaysAllow', 401, true],
  [['--anonymous-auth=false'], 'AlwaysAllow', 401, false],
  [['--anonymous-auth=true'], 'RBAC', 403, false],
] as const) {
  test(`a request without credentials for secrets gets ${status} with ${[...given, `--authorization-mode=${mode}`].join(' ')}`, async t => {
    const lines: string[] = [];
    const log = createLog({
      clock: new VirtualClock(),
      program: 'test',
      verbosity: new Verbosity(0, ''),
      write: line => void lines.push(line),
    });
    await using plane = await aPlane({
      naming: 'kubernetes',
      controllers: [],
      log,
      apiserverArgs: [...given, `--authorization-mode=${mode}`],
    });
    const request = {method: 'GET', url: '/api/v1/secrets', headers: {}, remoteAddress: '127.0.0.1', signal: new AbortController().signal};

    t.is((await plane.api.handler({...request, caller: {credentials: {certificates: []}}})).status, status);
    t.is(
      lines.some(line => line.includes('--anonymous-auth is reset to false')),
      isWarned,
    );
  });
}

test('a token that a space hides is reviewed as no token', async t => {
  const own: Authenticator = {name: 'own', takesTokens: true, authenticate: () => ({rejected: 'unknown'})};
  const review = (token: string, anonymous?: Anonymous) => tokenAuthenticator([own], ['here'], anonymous)(token, []);

  t.deepEqual(await review(' a b ', {allows: () => true}), {
    user: {name: 'system:anonymous', groups: ['system:unauthenticated']},
    audiences: ['here'],
  });
  t.is(await review(' a b '), undefined);
  t.deepEqual(await review('a', {allows: () => true}), {rejected: '[invalid bearer token, unknown]'});
});
