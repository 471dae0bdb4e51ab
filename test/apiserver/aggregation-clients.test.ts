import {EventEmitter, once} from 'node:events';
import {mkdtempSync, writeFileSync} from 'node:fs';
import type {IncomingMessage, ServerResponse} from 'node:http';
import https from 'node:https';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Duplex} from 'node:stream';
import {firstValueFrom, Observable, take, toArray} from 'rxjs';
import test from 'ava';
import {kindOnWire} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {authorityPem} from '#src/pki/authority.js';
import {anAuthority, aPair} from '#test/serving/credentials.js';
import {ask1} from '#test/serving/server.js';
import {json} from './webhook-server.js';
import {type Answer, group, name, root, start} from './aggregated-server.js';

const flunderKind = kindOnWire(naming('plat'), {group, version: 'v1', kind: 'Flunder', plural: 'flunders', namespaced: true});
const aFlunder = (called: string) => ({
  apiVersion: `${group}/v1`,
  kind: 'Flunder',
  metadata: {name: called, namespace: 'default', resourceVersion: '1'},
});

/** Resolves with the gathered items once there are `count`. */
const gathered = async <T>(source: Observable<T>, count: number): Promise<T[]> => firstValueFrom(source.pipe(take(count), toArray()));

test('a watch of an aggregated resource delivers event by event, over the network and in process', async t => {
  const open: ServerResponse[] = [];
  const opened = new EventEmitter();
  await using env = await start((_, response) => {
    response.writeHead(200, {'Content-Type': 'application/json'});
    response.write(`${JSON.stringify({type: 'ADDED', object: aFlunder('a')})}\n`);
    open.push(response);
    if (open.length === 2) opened.emit('both');
  });
  const path = `${root}/flunders?watch=1`;
  const network = new Observable<string>(subscriber => {
    const request = https.request({host: '127.0.0.1', port: env.server.port, ca: env.server.ca, agent: false, path}, response =>
      response.on('data', (chunk: Buffer) =>
        chunk
          .toString()
          .match(/.+/g)
          ?.forEach(line => subscriber.next(line)),
      ),
    );
    request.end();
    return () => request.destroy();
  });
  const both = once(opened, 'both');
  const reported = Promise.all([gathered(network, 2), gathered(env.client.resource(flunderKind).watch({resourceVersion: '1'}), 2)]);
  await both;
  for (const response of open) response.write(`${JSON.stringify({type: 'DELETED', object: aFlunder('b')})}\n`);
  const [lines, events] = await reported;

  t.deepEqual(
    lines.map(line => (JSON.parse(line) as {type: string}).type),
    ['ADDED', 'DELETED'],
  );
  t.deepEqual(
    events.map(({type, object}) => `${type} ${object.metadata?.name}`),
    ['ADDED a', 'DELETED b'],
  );
  // A client that disconnects ends the request to the backend.
  await Promise.all(open.map(response => response.closed || once(response, 'close')));
});

test('in-process clients read and write aggregated resources', async t => {
  await using env = await start((seen, response) =>
    json(
      response,
      seen.method === 'GET'
        ? {kind: 'FlunderList', apiVersion: `${group}/v1`, metadata: {}, items: [aFlunder('a')]}
        : JSON.parse(seen.body),
      seen.method === 'GET' ? 200 : 201,
    ),
  );
  const resource = env.client.resource(flunderKind);

  t.deepEqual(
    (await resource.list()).items.map(({metadata}) => metadata?.name),
    ['a'],
  );
  t.is((await resource.create({metadata: {namespace: 'default', name: 'b'}})).metadata?.name, 'b');
});

test('an answer that breaks off in the middle breaks off for the caller too', async t => {
  await using env = await start((_, response) => {
    response.writeHead(200, {'Content-Type': 'application/json', 'Content-Length': '100'});
    response.write('half', () => response.socket?.destroy());
  });

  await t.throwsAsync(ask1(env.server, {path: `${root}/flunders`}), {message: /aborted|socket hang up|ECONNRESET/});
});

test('a connection that switches protocols does so with the server behind', async t => {
  await using env = await start();
  env.backend.server.on('upgrade', (request, socket: Duplex) => {
    socket.on('error', () => {});
    if (request.url?.endsWith('/no')) return socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n${request.headers['x-remote-user']}:`,
      'latin1',
    );
    socket.on('data', (data: Buffer) => socket.write(data.toString().toUpperCase()));
  });
  const outgoing = (path: string) =>
    https.request({
      host: '127.0.0.1',
      port: env.server.port,
      ca: env.server.ca,
      agent: false,
      path,
      headers: {connection: 'Upgrade', upgrade: 'echo'},
    });
  const refused = outgoing(`${root}/flunders/no`);
  refused.end();
  const [refusal] = (await once(refused, 'response')) as [IncomingMessage];
  t.is(refusal.statusCode, 403);

  const agreed = outgoing(`${root}/flunders/yes`);
  agreed.end();
  const [, socket, head] = (await once(agreed, 'upgrade')) as [IncomingMessage, Duplex, Buffer];
  socket.write('hello');
  let text = head.toString('latin1');
  for await (const chunk of socket as AsyncIterable<Buffer>) if ((text += chunk.toString('latin1')).endsWith('HELLO')) break;
  t.is(text, `${Buffer.from('jané').toString('latin1')}:HELLO`);
});

test('no header in which a front proxy states a user comes through from a client, by whatever name it is configured', async t => {
  const [user, uid, extra] = ['X-Auth-User,X-Remote-User', 'X-Auth-Uid', 'X-Auth-Extra-,X-More_'];
  await using env = await start((_, response) => json(response, {}), {
    apiserverArgs: [
      `--requestheader-username-headers=${user}`,
      `--requestheader-uid-headers=${uid}`,
      '--requestheader-group-headers=X-Auth-Group',
      `--requestheader-extra-headers-prefix=${extra}`,
    ],
  });
  let upgraded: Record<string, unknown> = {};
  env.backend.server.on('upgrade', ({headers}, socket: Duplex) => {
    upgraded = headers;
    socket.on('error', () => {}).end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
  });
  const forged = {
    'X-Auth-User': 'root',
    'X-AUTH-UID': '0',
    'x-auth-group': 'system:masters',
    'X-Auth-Extra-Scopes': 'all',
    'X-More_': 'all',
    'x-remote-group': 'system:masters',
  };
  const path = `${root}/flunders`;
  env.backend.seen.length = 0;
  await env.text(path, {...forged, 'x-auth': 'mine'});
  const refused = https.request({
    host: '127.0.0.1',
    port: env.server.port,
    ca: env.server.ca,
    agent: false,
    path,
    headers: {...forged, 'x-auth': 'mine', connection: 'Upgrade', upgrade: 'echo'},
  });
  refused.end();
  await once(refused, 'response');

  for (const headers of [env.backend.seen[0]!.headers, upgraded]) {
    t.is(headers['x-remote-group'], 'devs, system:masters, system:authenticated');
    t.deepEqual(
      Object.keys(headers).filter(header => /^x-(auth|more)/.test(header)),
      ['x-auth'],
    );
  }
});

test('a certificate for others that is replaced is shown from then on, unless its key does not fit', async t => {
  const authority = await anAuthority('proxies');
  const folder = mkdtempSync(join(tmpdir(), 'plat-proxy-'));
  const [ca, cert, key] = ['ca.crt', 'client.crt', 'client.key'].map(called => join(folder, called)) as [string, string, string];
  const write = async (commonName: string) => {
    const pair = await aPair(authority, {commonName}, 'client auth');
    writeFileSync(cert, pair.cert);
    writeFileSync(key, pair.key);
  };
  writeFileSync(ca, authorityPem(authority).certificate);
  await write('first');
  await using env = await start((_, response) => json(response, {}), {
    apiserverArgs: [`--requestheader-client-ca-file=${ca}`, `--proxy-client-cert-file=${cert}`, `--proxy-client-key-file=${key}`],
  });
  const shown = async () => {
    await env.text(`${root}/flunders`);
    return env.backend.seen.at(-1)?.caller;
  };
  t.is(await shown(), 'first');

  await write('second');
  await env.clock.advance(61_000);
  t.is(await shown(), 'second');

  writeFileSync(key, 'no key');
  await env.clock.advance(61_000);
  t.is(await shown(), 'second');
});

test('a server started without a certificate for others proves nothing to them', async t => {
  const pki = mkdtempSync(join(tmpdir(), 'plat-proxy-'));
  const file = join(pki, 'ca.crt');
  writeFileSync(file, authorityPem(await anAuthority('proxies')).certificate);
  await using env = await start((_, response) => json(response, {}), {
    apiserverArgs: [`--requestheader-client-ca-file=${file}`, '--proxy-client-cert-file='],
  });
  await env.text(`${root}/flunders`);

  t.is(env.backend.seen.at(-1)?.caller, undefined);
  t.is(env.backend.seen.at(-1)?.headers['x-remote-uid'], 'u1');
});

/** A server that keeps flunders of one namespace in memory. */
const keepsFlunders = (): Answer => {
  const kept = new Map<string, object>();
  return ({method, url, body}, response) => {
    const called = /flunders\/([^?]+)/.exec(url)?.[1];
    if (method === 'POST') {
      const object = JSON.parse(body) as {metadata: {name: string}};
      kept.set(object.metadata.name, object);
      return json(response, object, 201);
    }
    if (method === 'DELETE') {
      if (called) kept.delete(called);
      else kept.clear();
      return json(response, {kind: 'Status', apiVersion: 'v1', status: 'Success'});
    }
    if (!called) return json(response, {kind: 'FlunderList', apiVersion: `${group}/v1`, metadata: {}, items: [...kept.values()]});
    return kept.has(called)
      ? json(response, kept.get(called))
      : json(response, {kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404}, 404);
  };
};

test('a sample server and its registration go through all that the official suite does with them', async t => {
  await using env = await start(keepsFlunders());
  const resource = env.client.resource(flunderKind);
  const names = async () => (await resource.list({namespace: 'default'})).items.map(({metadata}) => metadata?.name);
  await resource.create(aFlunder('rest'));
  t.deepEqual(await names(), ['rest']);
  await resource.delete('rest', {namespace: 'default'});
  t.deepEqual(await names(), []);
  await t.throwsAsync(resource.get('rest', {namespace: 'default'}));

  const {objects} = env;
  t.is((await objects.get(name, {subresource: 'status'})).status?.conditions?.[0]?.type, 'Available');
  t.is((await objects.patch(name, 'merge', {spec: {versionPriority: 400}})).spec?.versionPriority, 400);
  t.is((await objects.list()).items.find(({metadata}) => metadata?.name === name)?.spec?.versionPriority, 400);
  const labelled = await objects.patch(name, 'merge', {metadata: {labels: {e2e: 'yes'}}});
  await env.clock.drain();
  const e2e = {type: 'StatusUpdated', status: 'True', reason: 'E2E', message: 'Set from e2e test'};
  const current = await objects.get(name);
  await objects.update({...current, status: {conditions: [...(current.status?.conditions ?? []), e2e]}}, {subresource: 'status'});
  await env.clock.advance(61_000);
  t.deepEqual(
    (await objects.get(name)).status?.conditions?.map(({type, status}) => [type, status]),
    [
      ['Available', 'True'],
      ['StatusUpdated', 'True'],
    ],
  );
  const replaced = await objects.get(name);
  const available = {...replaced.status!.conditions![0]!, message: 'all checks passed'};
  await objects.update({...replaced, status: {conditions: [available]}}, {subresource: 'status'});
  t.is((await objects.get(name)).status?.conditions?.length, 1);
  t.is(labelled.metadata?.labels?.['e2e'], 'yes');

  await resource.create(aFlunder('again'));
  await resource.deleteCollection({namespace: 'default'});
  t.deepEqual(await names(), []);
  await objects.deleteCollection({labelSelector: 'e2e=yes'});
  await env.clock.drain();
  t.is((await env.text(`/apis/${group}`))[0], 404);
  t.is((await env.text(`${root}/flunders`))[0], 404);
});
