import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {createServer, type Http2Session, type ServerHttp2Stream} from 'node:http2';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {GrpcError, grpcCodes} from '#src/transport/grpc/channel.js';
import {frameOf, Frames} from '#src/transport/grpc/frames.js';
import type {MessageWriter} from '#src/transport/grpc/message.js';

/** A gRPC server at a unix socket. Subclasses answer its unary procedures; tests change their state. */
export abstract class GrpcPlugin implements AsyncDisposable {
  /** The path of the socket. */
  readonly socket: string;
  /** Procedures that fail with UNAVAILABLE. */
  readonly failing = new Set<string>();
  /** The number of calls of each procedure, by its full name. */
  readonly calls: Record<string, number> = {};
  readonly #directory = mkdtempSync(join(tmpdir(), 'plat-plugin-'));
  readonly #server = createServer();
  readonly #sessions = new Set<Http2Session>();

  constructor() {
    this.socket = join(this.#directory, 'plugin.sock');
    this.#server.on('session', session => {
      this.#sessions.add(session);
      session.on('close', () => this.#sessions.delete(session));
    });
    this.#server.on('stream', (stream, headers) => this.#serve(stream, String(headers[':path'])));
  }

  /** May throw a `GrpcError`, which is then the outcome of the call. A call stays open without a message. */
  protected abstract answer(service: string, procedure: string, message: Buffer): MessageWriter | undefined;

  async listen(): Promise<this> {
    this.#server.listen(this.socket);
    await once(this.#server, 'listening');
    return this;
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
    const [, service = '', procedure = ''] = path.split('/');
    stream.respond({':status': 200, 'content-type': 'application/grpc'}, {waitForTrailers: true});
    let outcome = {'grpc-status': '0', 'grpc-message': ''};
    stream.on('wantTrailers', () => stream.sendTrailers(outcome));
    try {
      if (this.failing.has(procedure)) throw new GrpcError(grpcCodes.unavailable, `${procedure} is out of order`);
      const answer = this.answer(service, procedure, message);
      if (answer) stream.end(frameOf(answer.finish()));
    } catch (error) {
      if (!(error instanceof GrpcError)) throw error;
      outcome = {'grpc-status': String(error.code), 'grpc-message': error.message};
      stream.end();
    }
  }
}
