import test from 'ava';
import {WebSocket} from 'ws';
import {kinds} from '#src/api/kinds/index.js';
import {startPlane, type Plane} from '#src/plane/plane.js';

const tokenFile = async (): Promise<string> => {
  const {mkdtempSync, writeFileSync} = await import('node:fs');
  const file = `${mkdtempSync('/tmp/plat-tokens-')}/tokens.csv`;
  writeFileSync(file, 'sesame,ali,1,system:masters\n');
  return file;
};

const open = (
  plane: Plane,
  path: string,
  options: {protocols?: string[]; authorization?: string; accept?: string; origin?: string | undefined},
): WebSocket =>
  new WebSocket(`${plane.url.replace('https', 'wss')}${path}`, options.protocols ?? [], {
    rejectUnauthorized: false,
    headers: {
      ...('origin' in options ? (options.origin === undefined ? {} : {origin: options.origin}) : {origin: 'https://page.example'}),
      ...(options.authorization ? {authorization: options.authorization} : {}),
      ...(options.accept ? {accept: options.accept} : {}),
    },
  });

const opened = (client: WebSocket) => new Promise<void>((resolve, reject) => client.once('open', resolve).once('error', reject));
const path = '/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name=seen';

test('a watch over WebSocket sends each event as one text message, and ends when either side does', async t => {
  await using plane = await startPlane({controllers: 'none', apiserverArgs: [`--token-auth-file=${await tokenFile()}`]});
  const client = open(plane, path, {authorization: 'Bearer sesame'});
  const message = new Promise<string>(resolve =>
    client.once('message', (data, isBinary) => resolve(`${isBinary ? 'binary' : 'text'} ${String(data)}`)),
  );
  await opened(client);
  await plane
    .client()
    .resource(kinds.configMaps)
    .create({metadata: {name: 'seen', namespace: 'default'}, data: {a: 'b'}});

  t.regex(await message, /^text \{"type":"ADDED","object":\{.*"name":"seen"/);
  const closed = new Promise<number>(resolve => client.once('close', resolve));
  plane.api.server.endWatches();
  t.is(await closed, 1000);
});

test('in the binary form each event is a message without the length that frames have', async t => {
  await using plane = await startPlane({controllers: 'none', apiserverArgs: [`--token-auth-file=${await tokenFile()}`]});
  const client = open(plane, path, {authorization: 'Bearer sesame', accept: plane.naming.protobufMediaType});
  const message = new Promise<{data: Buffer; isBinary: boolean}>(resolve =>
    client.once('message', (data, isBinary) => resolve({data: data as Buffer, isBinary})),
  );
  await opened(client);
  await plane
    .client()
    .resource(kinds.configMaps)
    .create({metadata: {name: 'seen', namespace: 'default'}});
  const {data, isBinary} = await message;

  t.true(isBinary);
  t.is(data.toString('latin1', 0, 7), '\n\u0005ADDED');
  client.close();
});

test('a browser may send its token as a protocol, beside the one that is agreed on', async t => {
  await using plane = await startPlane({controllers: 'none', apiserverArgs: [`--token-auth-file=${await tokenFile()}`]});
  const carrier = `base64url.bearer.authorization.${plane.naming.apiSuffix}.${Buffer.from('sesame').toString('base64url')}`;
  const client = open(plane, path, {protocols: [carrier, 'chat']});
  await opened(client);

  t.is(client.protocol, 'chat');
  client.close();
});

test('an upgrade that is refused, or that is no watch, is answered as an ordinary request', async t => {
  await using plane = await startPlane({controllers: 'none', apiserverArgs: [`--token-auth-file=${await tokenFile()}`]});
  const status = (client: WebSocket) =>
    new Promise<number | undefined>(resolve => {
      client.once('unexpected-response', (_, response) => resolve(response.statusCode));
      client.on('error', () => {});
    });

  t.is(await status(open(plane, path, {authorization: 'Bearer wrong'})), 401);
  t.is(await status(open(plane, path, {})), 403);
  t.is(await status(open(plane, '/api/v1/namespaces/default', {authorization: 'Bearer sesame'})), 200);
  // As by the original: a watch has an origin, and one that is a URL.
  for (const origin of [undefined, 'null', 'page'])
    t.is(await status(open(plane, path, {authorization: 'Bearer sesame', origin})), 403, origin);
});

test.serial('records come over WebSocket as the text of their event stream, and nothing warns of listeners', async t => {
  await using plane = await startPlane({controllers: 'none', apiserverArgs: [`--token-auth-file=${await tokenFile()}`]});
  const warnings: string[] = [];
  const warned = ({message}: Error): void => void warnings.push(message);
  process.on('warning', warned);
  t.teardown(() => process.off('warning', warned));
  const client = open(plane, '/recorder/v1/records?watch=1&kind=change&resource=configmaps&name=seen', {authorization: 'Bearer sesame'});
  let text = '';
  const told = new Promise<void>(resolve =>
    client.on('message', (data: Buffer) => {
      text += data.toString();
      if (/^data: .*\n\n/m.test(text)) resolve();
    }),
  );
  await opened(client);
  await plane
    .client()
    .resource(kinds.configMaps)
    .create({metadata: {name: 'seen', namespace: 'default'}});
  await told;
  client.close();

  t.regex(text, /^:\n\nid: \d+\nevent: change\ndata: \{.*"name":"seen".*\}\n\n$/);
  t.deepEqual(warnings, []);
});
