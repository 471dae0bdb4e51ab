import {mkdirSync, rmSync} from 'node:fs';
import {dirname} from 'node:path';
import {getInfo, notifyRegistrationStatus} from '#src/platlet/plugin-watcher/registration.js';
import type {Draft} from '#src/platlet/rpc/codec.js';
import type {Procedure} from '#src/platlet/rpc/procedure.js';
import {serves} from '#src/platlet/rpc/served.js';
import {GrpcServer, type Serve, type ServedCall} from '#src/transport/grpc/server.js';

/** As `serves`, of a procedure that answers with a stream. */
export const streams = <Request, Response>(
  {path, request, response}: Procedure<Request, Response>,
  answer: (message: Request, send: (message: Draft<NoInfer<Response>>) => void, call: ServedCall) => Promise<void>,
): Readonly<Record<string, Serve>> => ({
  [path]: async (message, call) => {
    await answer(request.decode(message), each => call.send(response.encode(each)), call);
    return undefined;
  },
});

/** Starts a server at the path of a socket. */
export const serveAt = async (socket: string, procedures: Readonly<Record<string, Serve>>): Promise<GrpcServer> => {
  mkdirSync(dirname(socket), {recursive: true});
  const server = new GrpcServer({procedures});
  await server.listen(socket);
  return server;
};

/** A plugin that registers itself at a socket, with a list of the answers it got. */
export class FakePlugin implements AsyncDisposable {
  readonly socket: string;
  /** What it presents itself as. */
  info: {type: string; name: string; endpoint?: string; supportedVersions?: readonly string[]};
  /** `registered`, or why it was refused. */
  readonly answers: string[] = [];
  #server: GrpcServer | undefined;

  constructor(socket: string, info: FakePlugin['info']) {
    this.socket = socket;
    this.info = info;
  }

  async start(procedures: Readonly<Record<string, Serve>> = {}): Promise<this> {
    this.#server = await serveAt(this.socket, {
      ...serves(getInfo, () => this.info),
      ...serves(notifyRegistrationStatus, ({pluginRegistered, error}) => {
        this.answers.push(pluginRegistered ? 'registered' : error);
        return {};
      }),
      ...procedures,
    });
    return this;
  }

  /** Ends the server, which removes its socket. */
  async stop(): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    this.#server = undefined;
    rmSync(this.socket, {force: true});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
