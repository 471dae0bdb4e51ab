import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {connect} from 'node:http2';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {startPlane} from '#src/plane/plane.js';
import {wire} from '#test/apiserver/wire.js';
import {aServer} from '#test/cli/programs.js';

const configMaps = '/api/v1/namespaces/default/configmaps';
const configMap = (text: string) => ({kind: 'ConfigMap', apiVersion: 'v1', metadata: {name: 'a'}, data: {text}});

/** Returns the status of a read of an object's first version, after twenty more of a kilobyte each. */
const readOld = async (...apiserverArgs: readonly string[]): Promise<number> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'plat-history-'));
  try {
    await using plane = await startPlane({
      dataDir,
      listen: false,
      clock: new VirtualClock(),
      apiserverArgs,
      controllerManagerArgs: ['--controllers='],
    });
    const {get, post, put} = wire(plane.api.handler);
    const first = (await post(configMaps, configMap(''))).json().metadata!.resourceVersion!;
    for (let version = 0; version < 20; version++) await put(`${configMaps}/a`, configMap(String(version).repeat(1000)));
    for (let turn = 0; turn < 50; turn++) await yieldToEventLoop();
    return (await get(`${configMaps}?resourceVersion=${first}&resourceVersionMatch=Exact`)).status;
  } finally {
    rmSync(dataDir, {recursive: true, force: true});
  }
};

test('--embedded-history-bytes bounds the earlier versions that can be read', async t => {
  t.is(await readOld(), 200);
  t.is(await readOld('--embedded-history-bytes=10000'), 410);
});

test('plat-apiserver bounds its history by --embedded-history-bytes', async t => {
  await using server = await aServer('kubernetes', ['--embedded-history-bytes=10000']);
  const client = server.client.resource(kinds.configMaps);
  let newest = await client.create(configMap(''), {namespace: 'default'});
  const first = newest.metadata!.resourceVersion!;
  for (let version = 0; version < 20; version++) newest = await client.update({...newest, data: {text: String(version).repeat(1000)}});

  await t.throwsAsync(client.list({namespace: 'default', resourceVersion: first, resourceVersionMatch: 'Exact'}), {
    message: 'The resourceVersion for the provided list is too old.',
  });
});

/** Returns the length of a response over HTTP/2, or the reason for which its stream broke off. */
const fetched = (url: string, path: string): Promise<number | string> =>
  new Promise(resolve => {
    const session = connect(url, {rejectUnauthorized: false}).on('error', () => undefined);
    const stream = session.request({':path': path, authorization: 'Bearer secret'});
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => (bytes += chunk.length));
    stream.on('error', ({message}) => resolve(message));
    stream.on('close', () => {
      session.destroy();
      resolve(bytes);
    });
  });

test('--max-waiting-response-bytes disconnects a client whose response waits beyond it', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-waiting-'));
  t.teardown(() => rmSync(folder, {recursive: true}));
  const tokens = join(folder, 'tokens.csv');
  writeFileSync(tokens, 'secret,reader,1,system:masters\n');
  const lengthWith = async (...apiserverArgs: readonly string[]) => {
    await using plane = await startPlane({
      controllerManagerArgs: ['--controllers='],
      apiserverArgs: [`--token-auth-file=${tokens}`, ...apiserverArgs],
    });
    await wire(plane.api.handler).post(configMaps, configMap('x'.repeat(500_000)));
    return await fetched(plane.url, `${configMaps}/a`);
  };

  const whole = await lengthWith();
  t.true(Number(whole) > 500_000, String(whole));
  t.is(await lengthWith('--max-waiting-response-bytes=1000'), 'Stream closed with error code NGHTTP2_INTERNAL_ERROR');
});
