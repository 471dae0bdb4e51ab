// A call that is answered with a stream of messages.

import type {GrpcChannel, OpenStream} from '#src/transport/grpc/channel.js';
import type {Draft} from './codec.js';
import type {Procedure} from './procedure.js';

/** Receives a stream of messages. `ended` is called once, with the error unless the server ended the stream. */
export interface StreamListener<Response, Failure = unknown> {
  message(message: Response): void;
  ended(error?: Failure): void;
}

/**
 * Calls a procedure. What `listener.message` throws ends the stream. Throws `GrpcError` if the server is not reached.
 */
export const openServerStream = async <Request, Response>(
  channel: GrpcChannel,
  {path, request, response}: Procedure<Request, Response>,
  message: Draft<NoInfer<Request>>,
  listener: StreamListener<Response>,
): Promise<Disposable> => {
  let failure: unknown;
  let stream: OpenStream | undefined;
  stream = await channel.stream(
    path,
    {},
    {
      message: bytes => {
        try {
          if (failure === undefined) listener.message(response.decode(bytes));
        } catch (error) {
          failure = error;
          stream?.[Symbol.dispose]();
        }
      },
      ended: error => listener.ended(failure ?? error),
    },
  );
  stream.send(request.encode(message));
  stream.end();
  return stream;
};
