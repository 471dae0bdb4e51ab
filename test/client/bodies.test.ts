import test from 'ava';
import type {ApiRequest} from '#src/api/request.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {systemClock} from '#src/base/clock.js';
import {noMeter} from '#src/base/meter.js';
import type {Client} from '#src/client/client.js';
import {connectedClient} from '#src/client/connected.js';
import {inProcessClient} from '#src/client/in-process.js';
import {connect} from '#src/transport/client/http-connection.js';
import {answering, json, serve} from '#test/serving/server.js';

const words = naming('plat');

/** What a request brought, as JSON. */
const sentIn = async ({body}: ApiRequest): Promise<unknown> =>
  body?.kind === 'object' ? body.value : body?.kind === 'bytes' ? JSON.parse((await body.read(10_000_000)).toString()) : undefined;

/** Clients of a server that answers with what it was sent, by how they reach it. */
const clients: Readonly<Record<string, () => Promise<{readonly client: Client} & AsyncDisposable>>> = {
  async 'in process'() {
    const handler = async (request: ApiRequest) => {
      const object = await sentIn(request);
      const bytes = () => Buffer.from(JSON.stringify(object));
      return {status: 200, headers: {}, body: {kind: 'object' as const, contentType: 'application/json', bytes, object: () => object}};
    };
    const client = inProcessClient(handler, {naming: words, user: {name: 'a', groups: []}, userAgent: 'tester'});
    return {client, async [Symbol.asyncDispose]() {}};
  },
  async 'over the network'() {
    const server = await serve(answering(async request => json((await sentIn(request)) as object, 200)));
    const settings = {server: server.url, trust: {ca: {data: server.ca}}, identity: {}, source: 'test'};
    const connection = await connect(settings, {clock: systemClock});
    return {
      client: connectedClient(connection, {
        clock: systemClock,
        meter: noMeter,
        naming: words,
        userAgent: 'tester',
        contentType: words.protobufMediaType,
      }),
      async [Symbol.asyncDispose]() {
        await connection[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};

/** More than is copied at once. */
const many = Array.from({length: 5000}, (_, index) => ({index}));

for (const [how, start] of Object.entries(clients)) {
  test(`bodies sent ${how} are what JSON makes of them`, async t => {
    await using environment = await start();
    const custom = environment.client.resource(kinds.flowSchemas);
    const patched = (body: unknown): Promise<unknown> => custom.patch('a', 'merge', body);

    t.deepEqual(await patched({at: new Date(0), gone: undefined, list: [undefined]}), {at: '1970-01-01T00:00:00.000Z', list: [null]});
    t.deepEqual(await patched({many, at: new Date(0)}), {many, at: '1970-01-01T00:00:00.000Z'});
    t.deepEqual(await patched({many}), {many});
  });

  test(`bodies sent ${how} are refused if JSON has no form for them`, async t => {
    await using environment = await start();
    const maps = environment.client.resource(kinds.configMaps);
    const data = {a: Number.NaN} as unknown as Record<string, string>;
    const circle: Record<string, unknown> = {many};
    circle['self'] = circle;

    await t.throwsAsync(maps.create({metadata: {name: 'a', namespace: 'x'}, data}), {message: 'data.a: NaN is not valid JSON'});
    await t.throwsAsync(maps.patch('a', 'merge', {many, last: new Map()}, {namespace: 'x'}), {
      message: 'last: a Map is not valid JSON: use an object',
    });
    await t.throwsAsync(maps.patch('a', 'apply', circle, {namespace: 'x'}), {
      message: 'self: a value that contains itself is not valid JSON',
    });
  });
}
