import {
  pagesOf,
  type ApiRequest,
  type ApiResponse,
  type EncodedEvent,
  type ApiHandler,
  type PagedBody,
  type WatchSink,
} from '#src/api/request.js';
import {naming, type NamingName} from '#src/api/naming.js';
import type {Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {startServer, type ServerOptions} from '#test/fixtures/server.js';

export const admin: UserInfo = {name: 'admin', groups: ['system:masters', 'system:authenticated']};
export const words = naming('plat');

/** The parts of a request besides method and path. */
export interface Sent {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly user?: UserInfo;
}

/** An answer as it goes over the wire. */
export interface Received {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly bytes: Buffer;
  header(name: string): string | readonly string[] | undefined;
  /** The body as JSON. */
  json<T = KubeObject>(): T;
}

export interface WireEvent {
  readonly type: string;
  readonly object: KubeObject & Partial<Status> & Record<string, unknown>;
}

/** A watch stream, parsed from its bytes. */
export interface Stream extends Disposable {
  readonly type: string;
  readonly lines: readonly string[];
  /** Each event as it goes over the wire. */
  readonly frames: readonly Buffer[];
  readonly events: readonly WireEvent[];
  readonly ended: boolean;
  /** `TYPE name` of each event. */
  readonly summaries: readonly string[];
  clear(): void;
}

const requestOf = (method: string, url: string, {body, headers = {}, user = admin}: Sent): ApiRequest => {
  const bytes =
    body === undefined
      ? undefined
      : typeof body === 'string'
        ? Buffer.from(body)
        : Buffer.isBuffer(body)
          ? body
          : Buffer.from(JSON.stringify(body));
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    method,
    url,
    headers: {...(method === 'PATCH' ? {'content-type': 'application/merge-patch+json'} : {}), ...lower},
    caller: {user},
    upgradable: 'upgrade' in lower,
    remoteAddress: '127.0.0.1',
    ...(bytes ? {body: {kind: 'bytes', read: () => Promise.resolve(bytes)}} : {}),
    signal: new AbortController().signal,
  };
};

const bytesOf = ({body}: ApiResponse): Buffer => {
  switch (body.kind) {
    case 'empty':
      return Buffer.alloc(0);
    case 'bytes':
      return Buffer.from(body.bytes);
    case 'object':
      return body.bytes();
    case 'pages':
    case 'watch':
    case 'stream':
    case 'upgrade':
      throw new Error('the answer is a stream');
  }
};

const joined = async (body: PagedBody): Promise<Buffer> => {
  const pages: Buffer[] = [];
  for await (const page of pagesOf(body)) pages.push(page);
  return Buffer.concat(pages);
};

const received = async (response: ApiResponse): Promise<Received> => {
  const bytes = response.body.kind === 'pages' ? await joined(response.body) : bytesOf(response);
  const text = bytes.toString();
  return {
    status: response.status,
    type: 'contentType' in response.body ? response.body.contentType : '',
    text,
    bytes,
    header: name => Object.entries(response.headers).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1],
    json: <T>() => JSON.parse(text) as T,
  };
};

class Recorder implements Stream, WatchSink {
  readonly type: string;
  frames: Buffer[] = [];
  ended = false;
  #handle: Disposable | undefined;

  constructor(type: string) {
    this.type = type;
  }

  attach(handle: Disposable): void {
    this.#handle = handle;
  }

  event(event: EncodedEvent): boolean {
    this.frames.push(event.bytes());
    return true;
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  end(): void {
    this.ended = true;
  }

  get lines(): string[] {
    return this.frames.map(String);
  }

  get events(): WireEvent[] {
    return this.lines.map(line => JSON.parse(line) as WireEvent);
  }

  get summaries(): string[] {
    return this.events.map(({type, object}) => `${type} ${object.metadata?.name ?? ''}`.trim());
  }

  clear(): void {
    this.frames = [];
  }

  [Symbol.dispose](): void {
    this.#handle?.[Symbol.dispose]();
  }
}

/** Calls an API handler with bytes, as a client over HTTP does. */
export const wire = (handler: ApiHandler) => {
  const send = async (method: string, url: string, sent: Sent = {}): Promise<Received> =>
    await received(await handler(requestOf(method, url, sent)));
  return {
    send,
    get: (url: string, sent?: Sent) => send('GET', url, sent),
    post: (url: string, body: unknown, sent: Sent = {}) => send('POST', url, {...sent, body}),
    put: (url: string, body: unknown, sent: Sent = {}) => send('PUT', url, {...sent, body}),
    patch: (url: string, body: unknown, sent: Sent = {}) => send('PATCH', url, {...sent, body}),
    remove: (url: string, sent: Sent = {}) => send('DELETE', url, sent),
    /** Opens a stream. Throws when the server refuses it. */
    async watch(url: string, sent: Sent = {}): Promise<Stream> {
      const response = await handler(requestOf('GET', url, sent));
      if (response.body.kind !== 'watch') throw new Error(`no stream: ${response.status} ${bytesOf(response).toString()}`);
      const recorder = new Recorder(response.body.contentType);
      recorder.attach(response.body.start(recorder));
      return recorder;
    },
  };
};

/** A server on virtual time with the namespace `default`, reached as over the wire. */
export const startWire = async ({namingName = 'plat', ...options}: ServerOptions & {readonly namingName?: NamingName} = {}) => {
  const env = startServer({
    gate: name => ['StorageVersionHash', 'WatchList'].includes(name),
    naming: naming(namingName),
    clock: new VirtualClock(),
    ...options,
  });
  const client = wire(env.server.handler);
  const made = await client.post('/api/v1/namespaces', {metadata: {name: 'default'}});
  if (made.status !== 201) throw new Error(made.text);
  return {...env, ...client};
};

export const configMaps = '/api/v1/namespaces/default/configmaps';
export const csrs = '/apis/certificates.plat.io/v1/certificatesigningrequests';
export const aConfigMap = (name: string, rest: object = {}) => ({kind: 'ConfigMap', apiVersion: 'v1', metadata: {name}, ...rest});

/** Lets started work run to its end. */
export const settled = (clock: VirtualClock): Promise<void> => clock.advance(0);
