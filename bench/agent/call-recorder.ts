// A relay between an agent and its container runtime that notes how long each call takes.

import {once} from 'node:events';
import http2 from 'node:http2';
import {connect} from 'node:net';

/** A call of a procedure, by the clock of `performance.now`. */
export interface RecordedCall {
  readonly procedure: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

const endStream = http2.constants.NGHTTP2_FLAG_END_STREAM;
/** Those that concern one connection alone. */
const ownHeaders = new Set([':authority', ':scheme', 'host']);

export class CallRecorder implements AsyncDisposable {
  /** The calls that have ended. */
  calls: RecordedCall[] = [];
  readonly #server = http2.createServer();
  readonly #sessions = new Set<http2.ServerHttp2Session>();
  readonly #runtime: http2.ClientHttp2Session;

  private constructor(runtime: string) {
    this.#runtime = http2.connect('http://localhost', {createConnection: () => connect(runtime)}).setMaxListeners(0);
    this.#runtime.on('error', () => {});
    this.#server.on('session', session => {
      this.#sessions.add(session.on('error', () => {}));
      session.once('close', () => this.#sessions.delete(session));
    });
    this.#server.on('stream', (stream, headers) => this.#relay(stream, headers));
  }

  /** Listens at one socket for calls of the runtime at another. */
  static async start(socket: string, runtime: string): Promise<CallRecorder> {
    const recorder = new CallRecorder(runtime);
    recorder.#server.listen(socket);
    await once(recorder.#server, 'listening');
    return recorder;
  }

  #relay(stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders): void {
    const startedAt = performance.now();
    const call = this.#runtime.request(Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeaders.has(name))));
    let trailers: http2.IncomingHttpHeaders = {};
    call.on('response', (response, flags) => {
      const isOver = (flags & endStream) !== 0;
      stream.respond(response, isOver ? {endStream: true} : {waitForTrailers: true});
    });
    call.on('trailers', received => (trailers = received));
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    call.once('end', () => this.calls.push({procedure: headers[':path']!.split('/').at(-1)!, startedAt, endedAt: performance.now()}));
    for (const [one, other] of [
      [stream, call],
      [call, stream],
    ] as const) {
      one.on('error', () => other.close(http2.constants.NGHTTP2_CANCEL));
      one.once('aborted', () => other.close(http2.constants.NGHTTP2_CANCEL));
      one.pipe(other);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#runtime.destroy();
    for (const session of this.#sessions) session.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
