import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {createServer, type Http2Session, type ServerHttp2Stream} from 'node:http2';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {frameOf, Frames} from '#src/transport/grpc/frames.js';
import {MessageWriter, readMessage} from '#src/transport/grpc/message.js';

/** Encrypts by inverting all bits and putting the id of the key before them. */
const inverted = (bytes: Buffer): Buffer => Buffer.from(bytes.map(byte => byte ^ 0xff));

const fieldsOf = (message: Buffer): ReadonlyMap<number, Buffer> => {
  const fields = new Map<number, Buffer>();
  const keep = (number: number) => (field: {readonly bytes: Buffer}) => void fields.set(number, field.bytes);
  readMessage(message, {1: keep(1), 2: keep(2), 3: keep(3)});
  return fields;
};

/** A key management plugin at a unix socket, of both versions. Its state is changed by the tests. */
export class KmsPlugin implements AsyncDisposable {
  readonly endpoint: string;
  keyId = 'key-1';
  healthz = 'ok';
  version = 'v2';
  /** Procedures that fail. */
  readonly failing = new Set<string>();
  /** The number of calls of each procedure. */
  readonly calls: Record<string, number> = {};
  readonly #directory = mkdtempSync(join(tmpdir(), 'plat-kms-'));
  readonly #server = createServer();
  readonly #sessions = new Set<Http2Session>();

  private constructor() {
    this.endpoint = `unix://${join(this.#directory, 'kms.sock')}`;
    this.#server.on('session', session => {
      this.#sessions.add(session);
      session.on('close', () => this.#sessions.delete(session));
    });
    this.#server.on('stream', (stream, headers) => this.#serve(stream, String(headers[':path'])));
  }

  static async start(): Promise<KmsPlugin> {
    const plugin = new KmsPlugin();
    plugin.#server.listen(plugin.endpoint.slice('unix://'.length));
    await once(plugin.#server, 'listening');
    return plugin;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    this.#server.close();
    await once(this.#server, 'close');
    rmSync(this.#directory, {recursive: true, force: true});
  }

  #serve(stream: ServerHttp2Stream, path: string): void {
    const frames = new Frames();
    stream.on('error', () => {});
    stream.on('data', (chunk: Buffer) => {
      for (const message of frames.push(chunk)) this.#answer(stream, path, message);
    });
  }

  #answer(stream: ServerHttp2Stream, path: string, message: Buffer): void {
    this.calls[path] = (this.calls[path] ?? 0) + 1;
    const procedure = path.slice(path.lastIndexOf('/') + 1);
    stream.respond({':status': 200, 'content-type': 'application/grpc'}, {waitForTrailers: true});
    const failure = this.failing.has(procedure);
    stream.on('wantTrailers', () =>
      stream.sendTrailers(failure ? {'grpc-status': '14', 'grpc-message': `${procedure} is out of order`} : {'grpc-status': '0'}),
    );
    if (failure) return void stream.end();
    stream.end(frameOf(this.#result(path.slice(1).split('.')[0] === 'v2', procedure, fieldsOf(message)).finish()));
  }

  #result(isV2: boolean, procedure: string, fields: ReadonlyMap<number, Buffer>): MessageWriter {
    const result = new MessageWriter();
    if (procedure === 'Status') return result.bytes(1, this.version).bytes(2, this.healthz).bytes(3, this.keyId);
    if (!isV2) return result.bytes(1, inverted(fields.get(2)!));
    if (procedure === 'Decrypt') return result.bytes(1, inverted(fields.get(1)!));
    const annotation = new MessageWriter().bytes(1, 'version.encryption.test').bytes(2, Buffer.of(1));
    return result
      .bytes(1, inverted(fields.get(1)!))
      .bytes(2, this.keyId)
      .message(3, annotation);
  }
}
