import test from 'ava';
import {mkdtemp, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {ApiRequest} from '#src/api/request.js';
import {parseCertificate} from '#src/pki/certificate.js';
import {connect} from '#src/transport/client/http-connection.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import {aPair} from '#test/serving/credentials.js';
import {type TestServer, aWatch, answering, json, serve} from '#test/serving/server.js';

const settingsFor = (server: TestServer, identity: ConnectionSettings['identity'] = {}): ConnectionSettings => ({
  server: server.url,
  trust: {ca: {data: server.ca}},
  identity,
  source: 'test',
});

const aFile = async (text: string): Promise<string> => {
  const file = join(await mkdtemp(join(tmpdir(), 'plat-transport-')), 'file');
  await writeFile(file, text);
  return file;
};

const get = {method: 'GET', path: '/', headers: {}};

const authorizations = (seen: readonly ApiRequest[]) => seen.map(({headers}) => headers['authorization']);

test('requests carry the credentials and identities of the settings', async t => {
  const seen: ApiRequest[] = [];
  await using server = await serve(answering(request => (seen.push(request), json({}))));
  const identity = {token: 'abc', impersonate: {user: 'joe', groups: ['a', 'b'], extra: {'Some/Key': ['v']}}};
  await using connection = await connect(settingsFor(server, identity), {clock: systemClock});

  await connection.send({...get, headers: {'user-agent': 'tester'}});

  const {headers} = seen[0]!;
  t.is(headers['authorization'], 'Bearer abc');
  t.is(headers['user-agent'], 'tester');
  t.is(headers['impersonate-user'], 'joe');
  t.deepEqual(headers['impersonate-group'], ['a', 'b']);
  t.is(headers['impersonate-extra-some%2fkey'], 'v');
});

test('a token file is read again after a while, and at once when the server refuses the token', async t => {
  const seen: ApiRequest[] = [];
  await using server = await serve(
    answering(request => {
      seen.push(request);
      return json({}, request.headers['authorization'] === 'Bearer stale' ? 401 : 200);
    }),
  );
  const clock = new VirtualClock();
  const tokenFile = await aFile('one');
  await using connection = await connect(settingsFor(server, {tokenFile}), {clock});

  await connection.send(get);
  await writeFile(tokenFile, 'two\n');
  await connection.send(get);
  await clock.advance(60_000);
  await connection.send(get);
  await writeFile(tokenFile, 'stale');
  await clock.advance(60_000);
  const refused = await connection.send(get);
  await writeFile(tokenFile, 'fresh');
  const accepted = await connection.send(get);

  t.deepEqual(authorizations(seen), ['Bearer one', 'Bearer one', 'Bearer two', 'Bearer stale', 'Bearer stale', 'Bearer fresh']);
  t.is(refused.status, 401);
  t.is(accepted.status, 200);
});

test('a client certificate that is renewed in its files is used for new connections', async t => {
  const seen: string[] = [];
  await using server = await serve(
    answering(({caller}) => {
      const leaf = 'credentials' in caller ? caller.credentials.certificates[0] : undefined;
      seen.push(leaf ? parseCertificate(leaf).subject.commonName : '');
      return json({});
    }),
  );
  const clock = new VirtualClock();
  const [first, second] = [
    await aPair(server.authority, {commonName: 'first'}, 'client auth'),
    await aPair(server.authority, {commonName: 'second'}, 'client auth'),
  ];
  const cert = await aFile(first.cert);
  const key = await aFile(first.key);
  await using connection = await connect(settingsFor(server, {certificate: {cert: {file: cert}, key: {file: key}}}), {clock});

  await connection.send(get);
  await writeFile(cert, second.cert);
  await clock.advance(20_000);
  await connection.send(get);
  await writeFile(key, second.key);
  await clock.advance(20_000);
  await connection.send(get);

  t.deepEqual(seen, ['first', 'first', 'second']);
});

test('another client certificate ends all streams of the one before, and is used from then on', async t => {
  const seen: string[] = [];
  const watch = aWatch();
  await using server = await serve(
    answering(({caller, url}) => {
      const leaf = 'credentials' in caller ? caller.credentials.certificates[0] : undefined;
      seen.push(leaf ? parseCertificate(leaf).subject.commonName : '');
      return url === '/watch' ? watch.response : json({});
    }),
  );
  const second = await aPair(server.authority, {commonName: 'second'}, 'client auth');
  const first = await aPair(server.authority, {commonName: 'first'}, 'client auth');
  const identity = {certificate: {cert: {data: first.cert}, key: {data: first.key}}};
  await using connection = await connect(settingsFor(server, identity), {clock: systemClock});
  let end: () => void = () => {};
  const ended = new Promise<void>(resolve => (end = resolve));
  await connection.stream({...get, path: '/watch'}, {data() {}, end});
  await connection.send(get);
  await connection.useCertificate(second);
  await connection.send(get);

  await ended;
  t.deepEqual(seen, ['first', 'first', 'second']);
});

test('a server that is unreachable or untrusted is reported in one line', async t => {
  await using server = await serve(answering(() => json({})));
  const strangers = await serve(answering(() => json({})));
  await strangers.listener.close();
  await using unreachable = await connect({...settingsFor(strangers), server: strangers.url}, {clock: systemClock});
  await using mistrusting = await connect({...settingsFor(server), trust: {ca: {data: strangers.ca}}}, {clock: systemClock});

  await t.throwsAsync(unreachable.send({...get, path: '/api?x=1'}), {message: `GET ${strangers.url}/api: connection refused`});
  await t.throwsAsync(mistrusting.send(get), {message: /^GET .*\/: .*(certificate|signature)/});
});

test('files that cannot be used are named when the connection is opened', async t => {
  await using server = await serve(answering(() => json({})));
  const settings = settingsFor(server);

  await t.throwsAsync(connect({...settings, trust: {ca: {file: '/nowhere/ca.crt'}}}, {clock: systemClock}), {
    message: 'test: certificate authority /nowhere/ca.crt: no such file or directory',
  });
  await t.throwsAsync(connect({...settings, trust: {ca: {file: 'package.json'}}}, {clock: systemClock}), {
    message: 'test: certificate authority package.json: unable to load root certificates: unable to parse bytes as PEM block',
  });
  await t.throwsAsync(connect({...settings, identity: {certificate: {cert: {data: 'x'}, key: {data: 'y'}}}}, {clock: systemClock}), {
    message: /^test: the certificates or the key cannot be used: /,
  });
});
