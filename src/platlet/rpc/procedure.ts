import type {Message} from './codec.js';

/** A remote procedure with the types of its messages. */
export interface Procedure<Request, Response> {
  readonly path: string;
  readonly request: Message<Request>;
  readonly response: Message<Response>;
}

/** Returns the constructor of the procedures of a service, which is named with its package. */
export const procedureOf =
  (service: string) =>
  <Request, Response>(name: string, request: Message<Request>, response: Message<Response>): Procedure<Request, Response> => ({
    path: `/${service}/${name}`,
    request,
    response,
  });
