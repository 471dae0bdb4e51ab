import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {createServer, type Http2Session} from 'node:http2';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {procedures} from '#src/platlet/cri/procedures.js';
import {frameOf} from '#src/transport/grpc/frames.js';

type Name = keyof typeof procedures;

const names = new Map(Object.entries(procedures).map(([name, {path}]) => [path, name as Name]));

/**
 * A runtime that answers with given messages; an empty one by default. Its failures come as runtimes send them: in the
 * head, percent-encoded.
 */
export class FakeCri implements AsyncDisposable {
  readonly answers: Partial<Record<Name, Buffer>> = {};
  /** Codes and messages. */
  readonly failures: Partial<Record<Name, readonly [number, string]>> = {};
  /** Procedures that are never answered. */
  readonly silent = new Set<Name>();
  readonly received: {readonly name: Name; readonly timeout: string | undefined}[] = [];
  readonly #directory = mkdtempSync(join(tmpdir(), 'plat-cri-'));
  readonly #sessions = new Set<Http2Session>();
  readonly #server = createServer();

  /** The path of its socket. */
  get socket(): string {
    return join(this.#directory, 'cri.sock');
  }

  async listen(): Promise<this> {
    this.#server.on('session', session => {
      this.#sessions.add(session);
      session.on('close', () => this.#sessions.delete(session));
    });
    this.#server.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      const name = names.get(String(headers[':path']))!;
      this.received.push({name, timeout: headers['grpc-timeout'] as string | undefined});
      if (this.silent.has(name)) return;
      const failure = this.failures[name];
      if (failure) {
        const [code, text] = failure;
        return stream.respond({':status': 200, 'grpc-status': String(code), 'grpc-message': encodeURI(text)}, {endStream: true});
      }
      stream.respond({':status': 200, 'content-type': 'application/grpc'}, {waitForTrailers: true});
      stream.on('wantTrailers', () => stream.sendTrailers({'grpc-status': '0'}));
      stream.end(frameOf(this.answers[name] ?? Buffer.alloc(0)));
    });
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
}
