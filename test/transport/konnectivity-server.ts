import {once} from 'node:events';
import {createServer, type Http2Session, type ServerHttp2Stream} from 'node:http2';
import {connect, type Socket} from 'node:net';
import {frameOf, Frames} from '#src/transport/grpc/frames.js';
import {MessageWriter, readMessage} from '#src/transport/grpc/message.js';

/**
 * A proxy server of the konnectivity protocol, at a unix socket. It connects to ports of this machine itself, as an
 * agent would.
 */
export class KonnectivityServer implements AsyncDisposable {
  /** The addresses that were dialled. */
  readonly dialled: string[] = [];
  /** The types of the packets that were received, by stream. */
  readonly packets: number[][] = [];
  /** The error of every dial. */
  refusal = '';
  readonly #server = createServer();
  readonly #sessions = new Set<Http2Session>();
  #last = 0;

  constructor() {
    this.#server.on('session', session => {
      this.#sessions.add(session);
      session.on('close', () => this.#sessions.delete(session));
    });
    this.#server.on('stream', (stream, headers) => this.#serve(stream, String(headers[':path'])));
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  async listen(socket: string): Promise<this> {
    this.#server.listen(socket);
    await once(this.#server, 'listening');
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(stream: ServerHttp2Stream, path: string): void {
    stream.on('error', () => {});
    stream.respond({':status': 200, 'content-type': 'application/grpc'});
    if (path !== '/ProxyService/Proxy') return void stream.end();
    const types: number[] = [];
    this.packets.push(types);
    const id = ++this.#last;
    let backend: Socket | undefined;
    stream.once('close', () => backend?.destroy());
    const send = (type: number, field: number, payload: MessageWriter) => {
      if (!stream.destroyed) stream.write(frameOf(new MessageWriter().int(1, type).message(field, payload).finish()));
    };
    const dial = (address: string, random: number) => {
      this.dialled.push(address);
      if (this.refusal) return send(1, 3, new MessageWriter().bytes(1, this.refusal).int(3, random));
      backend = connect(Number(address.split(':').at(-1)), '127.0.0.1', () => send(1, 3, new MessageWriter().int(2, id).int(3, random)));
      backend.on('error', () => {});
      backend.on('data', data => send(4, 4, new MessageWriter().int(1, id).bytes(3, data)));
      backend.on('close', () => send(3, 6, new MessageWriter().int(2, id)));
    };
    const frames = new Frames();
    stream.on('data', (chunk: Buffer) => {
      for (const message of frames.push(chunk)) {
        let type = 0;
        readMessage(message, {
          1: ({int}) => void (type = int),
          2: ({bytes}) => {
            let [address, random] = ['', 0];
            readMessage(bytes, {2: ({text}) => void (address = text), 3: ({int}) => void (random = int)});
            dial(address, random);
          },
          4: ({bytes}) => readMessage(bytes, {3: data => void backend?.write(data.bytes)}),
          5: () => void backend?.destroy(),
        });
        types.push(type);
      }
    });
  }
}
