import {spawn} from 'node:child_process';
import https from 'node:https';
import type {IncomingMessage, ServerResponse} from 'node:http';
import {connect, type AddressInfo, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {finished, PassThrough, Writable, type Duplex, type Readable} from 'node:stream';
import {WebSocketServer, type WebSocket} from 'ws';
import {authorityPem} from '#src/pki/authority.js';
import {SpdySession} from '#src/transport/spdy/session.js';
import type {SpdyStream} from '#src/transport/spdy/stream.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';

/** The agent of a node as far as streams need it: it runs commands on this machine and records its requests. */
export interface TestAgent extends AsyncDisposable {
  readonly port: number;
  /** The authority of its certificate, and a folder-less client pair that it may be shown. */
  readonly ca: string;
  readonly requests: readonly {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage['headers'];
    readonly client: string;
  }[];
  /** The terminal sizes it received. */
  readonly sizes: string[];
  /** Connections still open. */
  readonly open: number;
  /** Writes the log that is followed on; ends it without a text. */
  log(text?: string): void;
}

/** The streams of a command, whatever carries them. */
interface CommandStreams {
  readonly stdin?: Readable | undefined;
  readonly stdout?: Writable | undefined;
  readonly stderr?: Writable | undefined;
  end(status: object): void;
}

const statusOf = (code: number) =>
  code === 0
    ? {metadata: {}, status: 'Success'}
    : {
        metadata: {},
        status: 'Failure',
        reason: 'NonZeroExitCode',
        message: `command terminated with non-zero exit code: exit status ${code}`,
        details: {causes: [{reason: 'ExitCode', message: String(code)}]},
      };

/** Runs a command; `attach` has none and returns its input in capitals. */
const run = ({pathname, searchParams}: URL, {stdin, stdout, stderr, end}: CommandStreams): void => {
  if (pathname.startsWith('/attach')) {
    stdout?.write('attached\n');
    stdin?.on('data', (chunk: Buffer) => stdout?.write(chunk.toString().toUpperCase()));
    stdin?.once('end', () => end(statusOf(0)));
    if (!stdin) end(statusOf(0));
    return;
  }
  const [command = 'true', ...rest] = searchParams.getAll('command');
  const child = spawn(command, rest, {cwd: tmpdir(), stdio: ['pipe', 'pipe', 'pipe']});
  child.on('error', error => end({metadata: {}, status: 'Failure', message: error.message}));
  child.stdin.on('error', () => {});
  if (stdin) stdin.pipe(child.stdin);
  else child.stdin.end();
  if (stdout) child.stdout.pipe(stdout, {end: false});
  else child.stdout.resume();
  if (stderr) child.stderr.pipe(stderr, {end: false});
  else child.stderr.resume();
  if (stdout) stdout.once('close', () => child.kill());
  child.once('close', code => end(statusOf(code ?? 1)));
};

/** The streams opened so far, by type. */
const overSpdy = (socket: Duplex, head: Buffer, url: URL, sizes: string[]): void => {
  const wanted = [
    'error',
    ...(url.searchParams.has('input') ? ['stdin'] : []),
    ...(url.searchParams.has('output') ? ['stdout'] : []),
    ...(url.searchParams.has('error') && !url.searchParams.has('tty') ? ['stderr'] : []),
  ];
  const streams = new Map<string, SpdyStream>();
  const session = new SpdySession(socket, {
    side: 'server',
    head,
    onStream(stream) {
      const kind = stream.headers['streamtype']?.[0] ?? '';
      streams.set(kind, stream);
      if (kind === 'resize') stream.on('data', (chunk: Buffer) => sizes.push(chunk.toString().trim()));
      if (!wanted.includes(kind) || !wanted.every(one => streams.has(one))) return;
      run(url, {
        stdin: streams.get('stdin'),
        stdout: streams.get('stdout'),
        stderr: streams.get('stderr'),
        end(status) {
          const error = streams.get('error')!;
          error.end(
            status && (status as {status: string}).status === 'Success' && url.searchParams.has('silent') ? '' : JSON.stringify(status),
          );
          for (const [kind, stream] of streams) if (kind !== 'error') stream.end();
          let left = streams.size;
          for (const stream of streams.values()) finished(stream.resume(), {readable: false}, () => --left === 0 && session.close());
        },
      });
    },
  });
};

/** Pairs of streams for ports, by their request. */
const ports = (socket: Duplex, head: Buffer): void => {
  const errors = new Map<string, SpdyStream>();
  void new SpdySession(socket, {
    side: 'server',
    head,
    onStream(stream) {
      const {streamtype: [kind] = [], requestid: [id = ''] = [], port: [port] = []} = stream.headers;
      if (kind === 'error') return void errors.set(id, stream.resume());
      const error = errors.get(id);
      const target = connect(Number(port), '127.0.0.1');
      target.once('connect', () => stream.pipe(target).pipe(stream));
      target.once('error', cause => {
        error?.end(`cannot reach port ${port}: ${cause.message}`);
        stream.destroy();
      });
      stream.once('close', () => target.destroy());
      target.once('close', () => error?.end());
    },
  });
};

const channelled = (client: WebSocket, url: URL): void => {
  const isText = client.protocol.includes('base64.');
  const send = (channel: number, bytes: Buffer) =>
    client.send(isText ? `${channel}${bytes.toString('base64')}` : Buffer.concat([Buffer.from([channel]), bytes]));
  const outlet = (channel: number): Writable => {
    return new Writable({write: (chunk: Buffer, _, done) => (send(channel, chunk), done())});
  };
  const stdin = new PassThrough();
  client.on('message', (data: Buffer) => {
    const bytes = isText ? Buffer.from(data.toString().slice(1), 'base64') : data.subarray(1);
    if ((isText ? data[0]! - 48 : data[0]) === 0 && bytes.length > 0) stdin.write(bytes);
  });
  client.on('close', () => stdin.destroy());
  send(1, Buffer.alloc(0));
  run(url, {
    stdin: url.searchParams.has('input') ? stdin : undefined,
    stdout: outlet(1),
    stderr: outlet(2),
    end(status) {
      send(3, Buffer.from(JSON.stringify(status)));
      client.close(1000);
    },
  });
};

const protocolFor = (requested: string): string | undefined =>
  requested
    .split(',')
    .map(text => text.trim())
    .find(protocol => /^(v4\.channel|v4\.base64\.channel|base64\.channel|portforward)\./.test(protocol));

export const anAgent = async ({clientCa}: {readonly clientCa?: string} = {}): Promise<TestAgent> => {
  const authority = await anAuthority('node-ca');
  const pair = await aPair(authority, {commonName: 'node'}, 'server auth');
  const requests: TestAgent['requests'][number][] = [];
  const sizes: string[] = [];
  const sockets = new Set<Socket>();
  const followers = new Set<ServerResponse>();
  const seen = (request: IncomingMessage): URL => {
    const client = (request.socket as import('node:tls').TLSSocket).getPeerCertificate().subject?.CN;
    requests.push({method: request.method!, url: request.url!, headers: request.headers, client: String(client ?? '')});
    return new URL(request.url!, 'https://node');
  };
  const server = https.createServer(
    {...pair, requestCert: true, rejectUnauthorized: clientCa !== undefined, ...(clientCa ? {ca: clientCa} : {})},
    (request, response) => {
      const url = seen(request);
      const [, kind, ...rest] = url.pathname.split('/');
      if (kind === 'containerLogs') {
        const container = rest[2];
        if (container === 'broken') return void response.writeHead(500).end('the log is broken\n');
        if (container === 'strange') return void response.writeHead(418).end('a teapot');
        if (container === 'elsewhere') return void response.writeHead(307, {location: 'https://127.0.0.1/'}).end();
        response.writeHead(200, {'content-type': 'text/odd', 'x-internal': '1'});
        response.write(`${container} says hello\n`);
        if (url.searchParams.has('follow')) followers.add(response);
        else response.end(`${url.search}\n`);
        return;
      }
      if (kind === 'page')
        return void response
          .writeHead(200, {'content-type': 'text/html', 'access-control-allow-origin': '*'})
          .end('<a href="/there?x=1&amp;y=2">x</a><a href="rel">y</a>');
      response.writeHead(200, {'content-type': 'text/plain'}).end(`${request.method} ${request.url} ${request.headers['x-forwarded-uri']}`);
    },
  );
  const webSockets = new WebSocketServer({
    noServer: true,
    handleProtocols: offered => [...offered].find(protocol => protocolFor(protocol)) ?? false,
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const url = seen(request);
    socket.on('error', () => {});
    const refuse = (status: string, body: string) =>
      socket.end(`HTTP/1.1 ${status}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
    if (url.pathname.includes('/refusing')) return void refuse('403 Forbidden', 'not here');
    if (url.pathname.includes('/failing'))
      return void refuse(
        '404 Not Found',
        JSON.stringify({
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: 'no such container',
          reason: 'NotFound',
          code: 404,
        }),
      );
    if (url.pathname.includes('/moved')) return void refuse('302 Found\r\nLocation: /x', '');
    if (request.headers.upgrade?.toLowerCase() === 'websocket')
      return webSockets.handleUpgrade(request, socket, head, client => channelled(client, url));
    const protocol = protocolFor(String(request.headers['x-stream-protocol-version'] ?? ''));
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n${protocol ? `X-Stream-Protocol-Version: ${protocol}\r\n` : ''}\r\n`,
    );
    if (url.pathname.includes('/dying')) return void setImmediate(() => socket.destroy());
    if (url.pathname.startsWith('/portForward')) ports(socket, head);
    else overSpdy(socket, head, url, sizes);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>(resolve => {
    server.listen(0, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    ca: authorityPem(authority).certificate,
    requests,
    sizes,
    get open() {
      return sockets.size;
    },
    log(text) {
      for (const follower of followers) {
        if (text === undefined) follower.end();
        else follower.write(text);
      }
    },
    [Symbol.asyncDispose]: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
};
