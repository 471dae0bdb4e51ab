import {once} from 'node:events';
import http2, {type ClientHttp2Session} from 'node:http2';
import https from 'node:https';
import {pagesOf, type ApiHandler, type ApiResponse} from '#src/api/request.js';
import type {Change} from '#src/storage/store.js';
import {Chance} from '#test/apiserver/fuzz-requests.js';
import {serve, type TestServer} from '#test/serving/server.js';
import {LoopWatch} from '#test/sweep/holds.js';
import {sweepServer, type SweepServer} from '#test/sweep/server.js';
import {Requests, type FuzzRequest} from './requests.js';

export interface FuzzOptions {
  readonly seed: number;
  readonly count: number;
  /** A turn of the event loop that takes longer is a fault, in ms. */
  readonly mostMs: number;
  /**
   * Whether the server's own loops run. Without them every write of the store is compared with the response; with them
   * those of their kinds are not.
   */
  readonly loops: boolean;
  /** Called after each thousand requests. */
  readonly progress?: (done: number, result: FuzzResult) => void;
}

export interface FuzzResult {
  /** Requests whose response breaks a rule, with the rule. */
  readonly faults: string[];
  /** Responses by status. */
  readonly statuses: Map<number, number>;
  /**
   * Requests over a network without a response, by error: clients that gave up, and requests that no client library
   * sends.
   */
  readonly unanswered: Map<string, number>;
  longestMs: number;
  /** The memory in use after a quarter of the requests and at the end, in bytes. */
  readonly heap: number[];
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/**
 * Errors that have the code 500 in the original too, by where it makes them: all are plain errors, without the status
 * of an API error.
 */
const allowed500 = [
  // The merge library of apply, about an object that does not fit its schema.
  /failed to create typed (?:patch|live)|failed to create manager|unable to convert|error converting/,
  // Agents of nodes and services that a proxied request does not reach.
  /no preferred addresses|dial(?:ing)? |lookup /,
  // The store's parser of versions, in the body of an update; its own limit of a request.
  /resourceVersion: Invalid value|request is too large/,
  // The binding of a pod: the errors of its validation are joined without a status.
  /target\.name: Required value/,
  // The allocator of service addresses.
  /failed to allocate a (?:serviceIP|nodePort).*range is full|range is full/,
  // The library of strategic merge patches.
  /unknown patch type|declared merge key|list element types/,
];

const admin = {name: 'admin', groups: ['system:masters', 'system:authenticated']};
const nobody = {name: 'nobody', groups: ['system:authenticated']};
/** A request that is not answered by then is given up, as by a client that disconnects. */
const patienceMs = 300;

/** What is written by others than the client, as long as the server's own loops run. */
const isOfLoops = ({key}: Change): boolean =>
  /^\/registry\/(?:events|flowschemas|prioritylevelconfigurations|leases|apiregistration|apiextensions|masterleases|clusterrole|role|priorityclasses\/system|namespaces\/|ranges|ipaddresses|servicecidrs|services|endpoint)/.test(
    key,
  );

/** Reservations of addresses and ports, which a refused request returns. */
const isReserved = ({key}: Change): boolean => /^\/registry\/(?:ranges|ipaddresses)\//.test(key);

/**
 * Whether a request deletes a collection: object by object, up to the first that is refused. Encoded slashes at the end
 * of a path count as slashes.
 */
const deletesCollection = ({method, url}: FuzzRequest): boolean => {
  if (method !== 'DELETE') return false;
  const [, collection = ''] = /^\/(?:api|apis\/[^/?]+)\/[^/?]+\/([^?]*)/.exec(url) ?? [];
  const parts = collection.replaceAll(/%2f/gi, '/').split('/').filter(Boolean);
  return parts.length === 1 || (parts[0] === 'namespaces' && parts.length === 3);
};

/** Sends a request without a network. */
const directly = async (handler: ApiHandler, {method, url, headers, body, user}: FuzzRequest): Promise<Answer> => {
  const gone = new AbortController();
  const timer = setTimeout(() => gone.abort(), patienceMs);
  try {
    const response = await handler({
      method,
      url,
      headers,
      caller: {user: user ? nobody : admin},
      upgradable: 'upgrade' in headers,
      remoteAddress: '127.0.0.1',
      signal: gone.signal,
      ...(body ? {body: {kind: 'bytes' as const, read: () => Promise.resolve(body)}} : {}),
    });
    return {status: response.status, text: await textOf(response)};
  } finally {
    clearTimeout(timer);
  }
};

/**
 * The text that faults are judged and reported by: to convert all of a large response would itself hold the event loop.
 */
const beginningOf = (body: Uint8Array | string): string =>
  typeof body === 'string' ? body.slice(0, 4000) : Buffer.from(body.subarray(0, 4000)).toString('latin1');

const textOf = async ({body}: ApiResponse): Promise<string> => {
  switch (body.kind) {
    case 'empty':
      return '';
    case 'bytes':
      return beginningOf(body.bytes);
    case 'object':
      return beginningOf(body.bytes());
    case 'pages': {
      let bytes = 0;
      for await (const page of pagesOf(body)) bytes += page.length;
      return `${bytes} bytes`;
    }
    case 'watch':
      body.start({event: event => (event.bytes(), true), drained: () => Promise.resolve(), end() {}})[Symbol.dispose]();
      return '';
    case 'stream':
      body.source.destroy();
      return '';
    case 'upgrade':
      body.drop();
      return '';
  }
};

/** Sends a request over HTTP/1.1; one for an upgrade on a connection of its own. */
const overHttp1 = (server: TestServer, agent: https.Agent, {method, url, headers, body}: FuzzRequest): Promise<Answer> =>
  new Promise(resolve => {
    const sent = https.request({
      host: '127.0.0.1',
      port: server.port,
      ca: server.ca,
      agent: 'upgrade' in headers ? false : agent,
      method,
      path: url,
      headers,
    });
    const timer = setTimeout(() => sent.destroy(), patienceMs);
    let hasBegun = false;
    const done = (answer: Answer): void => {
      clearTimeout(timer);
      resolve(answer);
    };
    sent.on('error', error => done({status: 0, text: error.message}));
    sent.on('close', () => hasBegun || done({status: 0, text: ''}));
    sent.on('upgrade', (answer, socket) => {
      socket.destroy();
      done({status: answer.statusCode!, text: ''});
    });
    sent.on('response', answer => {
      hasBegun = true;
      let text = '';
      answer.on('data', (chunk: Buffer) => (text = (text + chunk.toString('latin1')).slice(0, 4000)));
      answer.on('error', () => {});
      answer.on('close', () => done({status: answer.statusCode!, text}));
    });
    sent.end(body);
  });

const connectionHeaders = new Set(['connection', 'upgrade']);
const overHttp2 = (session: ClientHttp2Session, {method, url, headers, body}: FuzzRequest): Promise<Answer> =>
  new Promise(resolve => {
    const own = Object.fromEntries(Object.entries(headers).filter(([name]) => !connectionHeaders.has(name)));
    const stream = session.request({':method': method, ':path': url, ...own}, {endStream: body === undefined});
    const timer = setTimeout(() => stream.close(http2.constants.NGHTTP2_CANCEL), patienceMs);
    let status = 0;
    let text = '';
    stream.on('response', head => (status = Number(head[':status'])));
    stream.on('data', (chunk: Buffer) => (text = (text + chunk.toString('latin1')).slice(0, 4000)));
    stream.on('error', (error: Error) => (text ||= error.message));
    stream.on('close', () => {
      clearTimeout(timer);
      resolve({status, text});
    });
    if (body) stream.end(body);
  });

/** How long a request is waited for that its client has given up, in ms. */
const settlesWithinMs = 1000;

/** Counts the requests that a handler has not answered yet. */
const counted = (answer: ApiHandler) => {
  const requests = {handled: 0, stuck: 0};
  const handler: ApiHandler = async request => {
    requests.handled++;
    try {
      return await answer(request);
    } finally {
      requests.handled--;
    }
  };
  /** Resolves when all are answered, so that the changes of one that was given up do not count as those of the next. */
  const settled = async (): Promise<void> => {
    const end = performance.now() + settlesWithinMs;
    requests.stuck = Math.min(requests.stuck, requests.handled);
    while (requests.handled > requests.stuck && performance.now() < end) await new Promise(setImmediate);
    requests.stuck = requests.handled;
  };
  return {handler, settled};
};

/** Over how many requests objects gather before they are deleted. */
const roundOf = 3000;

/**
 * Sends random requests to a server and records what breaks a rule: a 500, a change by a request that was refused, a
 * long turn of the event loop.
 */
export const fuzz = async ({seed, count, mostMs, loops, progress}: FuzzOptions): Promise<FuzzResult> => {
  const result: FuzzResult = {faults: [], statuses: new Map(), unanswered: new Map(), longestMs: 0, heap: []};
  const chance = new Chance(seed);
  await using server = await sweepServer({thread: false, flags: ['--feature-gates=CBORServingAndStorage=true']});
  if (!loops) {
    await conditionsReported(server);
    server.endLoops();
  }
  // The parts of a request over a network are read when they are needed.
  const {handler, settled} = counted(server.handler);
  const asUser: ApiHandler = ({method, url, headers, remoteAddress, body, signal, upgradable = false}) =>
    handler({method, url, headers, remoteAddress, ...(body ? {body} : {}), signal, upgradable, caller: {user: admin}});
  await using listening = await serve(asUser, {http: {onFault: fault => void result.faults.push(`a fault: ${(fault as Error).stack}`)}});
  const agent = new https.Agent({keepAlive: true, maxSockets: 2});
  let session = http2.connect(listening.url, {ca: listening.ca}).on('error', () => {});
  const changes: Change[] = [];
  server.store.watch(
    {start: '/', end: '0', after: await server.store.revision()},
    {changes: batch => void changes.push(...batch), ended() {}},
  );
  const requests = new Requests(chance, server);
  const send = async (request: FuzzRequest): Promise<Answer> => {
    if (request.user || chance.is(0.75)) return directly(handler, request);
    if (chance.is(0.6)) return overHttp1(listening, agent, request);
    if (session.destroyed || session.closed) session = http2.connect(listening.url, {ca: listening.ca}).on('error', () => {});
    return overHttp2(session, request);
  };

  for (let done = 1; done <= count; done++) {
    const request = requests.next();
    const text = () =>
      `${request.method} ${request.url.slice(0, 300)} ${JSON.stringify(request.headers)} ${request.body?.subarray(0, 400).toString('latin1') ?? ''}`;
    changes.length = 0;
    const watch = new LoopWatch();
    watch.start();
    const answer = await send(request).catch((error: Error): Answer => ({status: -1, text: error.stack ?? error.message}));
    await new Promise(setImmediate);
    await settled();
    const {ms} = watch.stop();
    result.statuses.set(answer.status, (result.statuses.get(answer.status) ?? 0) + 1);
    if (answer.status === 0) result.unanswered.set(answer.text, (result.unanswered.get(answer.text) ?? 0) + 1);
    result.longestMs = Math.max(result.longestMs, ms);
    if (answer.status === -1 && !/abort/i.test(answer.text)) result.faults.push(`thrown: ${answer.text}\n${text()}`);
    if (answer.status === 500 && !allowed500.some(pattern => pattern.test(answer.text)))
      result.faults.push(`500: ${answer.text.slice(0, 500)}\n${text()}`);
    const changed = changes.filter(change => !isReserved(change) && !(loops && isOfLoops(change)));
    if (answer.status >= 400 && !deletesCollection(request) && changed.length > 0)
      result.faults.push(
        `changed ${changed.map(({key}) => key).join()} although refused: ${answer.status} ${answer.text.slice(0, 300)}\n${text()}`,
      );
    if (ms > mostMs) result.faults.push(`held the event loop for ${ms.toFixed(0)} ms: ${text()}`);
    if (done % roundOf === 0) await cleared(server);
    if (done === Math.floor(count / 4) || done === count) result.heap.push(heapAfterCollection());
    if (done % 1000 === 0) progress?.(done, result);
  }
  agent.destroy();
  session.destroy();
  if (!session.closed) await once(session, 'close').catch(() => {});
  return result;
};

/**
 * Resolves once the server has written the conditions of its flow schemas, the last of its own objects that it writes
 * at the start.
 */
const conditionsReported = async ({get}: SweepServer): Promise<void> => {
  for (;;) {
    const {items} = (await get('/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas')).json() as {
      items: {status?: {conditions?: unknown[]}}[];
    };
    if (items.length > 0 && items.every(({status}) => status?.conditions?.length)) return;
    await new Promise(setImmediate);
  }
};

const heapAfterCollection = (): number => {
  (globalThis as {gc?: () => void}).gc?.();
  return process.memoryUsage().heapUsed;
};

/** Deletes the objects of all kinds, and the history of the store. */
const cleared = async ({registry, naming, send, store}: SweepServer): Promise<void> => {
  for (const {kind, resource} of registry.served) {
    if (resource.definition.virtual || resource.definition.review || kind.kind === 'Namespace') continue;
    const group = naming.group(kind.group);
    const collection = `${group ? `/apis/${group}` : '/api'}/${kind.version}/${kind.namespaced ? 'namespaces/default/' : ''}${kind.plural}`;
    if (/rbac|flowcontrol|apiregistration|priorityclass|servicecidr|\/leases/.test(collection)) await send('DELETE', `${collection}/one`);
    else await send('DELETE', `${collection}?gracePeriodSeconds=0`);
  }
  await store.compact(await store.revision());
};
