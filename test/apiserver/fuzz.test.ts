import test from 'ava';
import type {ApiResponse} from '#src/api/request.js';
import {reasons, type Status} from '#src/api/status.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import {seededRandom} from '#src/base/random.js';
// Loaded before time is virtual: requests load it when they first need it.
import '#src/resources/admissionregistration/expression-validator.js';
import '#src/resources/apiextensions/rules.js';
import '#src/schema/protobuf/decode.js';
import {samples} from './samples.js';
import {admin, aConfigMap, configMaps, startWire} from './wire.js';
import {Chance, bodyOf, headersOf, methodOf, pathOf, queryOf, words} from './fuzz-requests.js';

const rounds = 1000;

/** The fault of a response; nothing for a good one. */
const complaint = ({status, body, headers}: ApiResponse): string | undefined => {
  // A path that cannot be unescaped is refused before anything else reads the request.
  if (status === 400 && body.kind === 'bytes' && body.bytes.toString() === '400 Bad Request') return undefined;
  if (!headers['Audit-Id']) return 'no audit id';
  if (body.kind === 'watch' || body.kind === 'stream' || body.kind === 'upgrade' || body.kind === 'pages')
    return status === 200 ? undefined : 'a stream that is none';
  const text = body.kind === 'empty' ? '' : body.kind === 'bytes' ? body.bytes.toString() : body.bytes().toString();
  if (status < 400) return undefined;
  if (/\n\s+at |node:internal|\.ts:\d|\.js:\d/.test(text)) return `a stack: ${text}`;
  const plain = body.kind === 'bytes' && body.contentType.startsWith('text/plain');
  // Such a path is a fault in the original as well, which has no object for it.
  const isKnown = status === 404 || (status === 500 && text.includes('failed to create RequestInfo'));
  if (plain) return isKnown && text.endsWith('\n') ? undefined : `odd text: ${status} ${text}`;
  if (body.kind === 'object' && body.contentType !== 'application/json') return undefined;
  const {kind, code, reason, message} = JSON.parse(text) as Status;
  if (kind !== 'Status' || code !== status || !message) return `no Status: ${text}`;
  if (reason && reasons[reason as keyof typeof reasons] !== code) return `a reason for another code: ${text}`;
  return undefined;
};

/**
 * The answer, once it is there; some wait for a revision that never comes. The last turns are for modules that are
 * loaded when the first request needs them, which takes real time.
 */
const inTime = async (answer: Promise<ApiResponse>, clock: VirtualClock): Promise<ApiResponse | undefined> => {
  const pending = Symbol('pending');
  for (let turn = 0; turn < 100_000; turn++) {
    const first = await Promise.race([
      answer,
      turn < 50 || turn >= 400 ? new Promise(resolve => setImmediate(() => resolve(pending))) : clock.advance(20).then(() => pending),
    ]);
    if (first !== pending) return first as ApiResponse;
  }
  return undefined;
};

for (const seed of [1, 2, 3]) {
  test(`nothing that ${rounds} requests of seed ${seed} can hold stops the server or confuses it`, async t => {
    const faults: unknown[] = [];
    const {server, clock, get, post} = await startWire({
      failed: error => void faults.push(error),
      random: seededRandom(seed),
      gate: name => name === 'WatchList' || name === 'CBORServingAndStorage',
    });
    const chance = new Chance(seed);
    const fitting = new Map(
      [...server.registry.served].map(({kind}) => [
        kind.plural,
        samples(words)[`${words.group(kind.group)}/${kind.kind}`] ?? samples(words)[kind.kind] ?? {},
      ]),
    );
    const collections = [...server.registry.served].map(
      ({kind}) =>
        `${kind.group ? `/apis/${words.group(kind.group)}` : '/api'}/${kind.version}/${kind.namespaced ? 'namespaces/default/' : ''}${kind.plural}`,
    );
    const answers = new Map<number, number>();
    for (let round = 0; round < rounds; round++) {
      const method = methodOf(chance);
      const url = pathOf(chance, collections) + queryOf(chance);
      const body =
        method === 'GET' || chance.is(0.1)
          ? undefined
          : bodyOf(
              chance,
              url
                .split(/[/?]/)
                .map(part => fitting.get(part))
                .find(Boolean),
            );
      const bytes =
        body === undefined
          ? undefined
          : Buffer.isBuffer(body)
            ? body
            : Buffer.from(typeof body === 'string' ? body : (JSON.stringify(body) ?? 'null'));
      const answer = server.handler({
        method,
        url,
        headers: headersOf(chance),
        caller: {user: admin},
        remoteAddress: '',
        signal: new AbortController().signal,
        ...(bytes ? {body: {kind: 'bytes' as const, read: () => Promise.resolve(bytes)}} : {}),
      });
      const response = await inTime(answer, clock);
      const context = `${method} ${url} ${bytes?.subarray(0, 300).toString() ?? ''}`;
      if (!response) return t.fail(`no answer: ${context}`);
      answers.set(response.status, (answers.get(response.status) ?? 0) + 1);
      if (response.body.kind === 'watch')
        response.body.start({event: event => (event.bytes(), true), drained: () => Promise.resolve(), end() {}})[Symbol.dispose]();
      const wrong = complaint(response) ?? (faults.length > 0 ? `a fault of the server: ${(faults[0] as Error).stack}` : undefined);
      if (wrong) return t.fail(`${wrong}\n${context}`);
    }

    for (const status of [200, 201, 400, 404, 405, 406, 415, 422])
      t.true((answers.get(status) ?? 0) > 0, `${status}: ${answers.get(status)}`);
    t.is((await post(configMaps, aConfigMap('after-all'))).status, 201);
    t.is((await get(`${configMaps}/after-all`)).status, 200);
    // Events that were made expire in time.
    await clock.advance(7_200_000);
    t.is(clock.pending, 0);
    t.is(({} as Record<string, unknown>)['x'], undefined);
  });
}
