import type {Serve} from '#src/transport/grpc/server.js';
import type {Draft} from './codec.js';
import type {Procedure} from './procedure.js';

/** Returns a procedure with what answers it, as a server takes them. */
export const serves = <Request, Response>(
  {path, request, response}: Procedure<Request, Response>,
  answer: (message: Request) => Draft<NoInfer<Response>> | Promise<Draft<NoInfer<Response>>>,
): Readonly<Record<string, Serve>> => ({[path]: async message => response.encode(await answer(request.decode(message)))});
