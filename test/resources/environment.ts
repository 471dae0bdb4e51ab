import {agoFrom} from '#src/api/duration.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {StatusError, type Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import {startServer, type ServerOptions} from '#test/fixtures/server.js';

export const words = naming('plat');
export const jane: UserInfo = {name: 'jane', uid: 'u1', groups: ['devs', 'system:authenticated'], extra: {'example.com/team': ['a', 'b']}};

/** The Status an act is refused with. Throws when it is not refused. */
export const refusal = async (act: Promise<unknown>): Promise<Status> => {
  try {
    await act;
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
  throw new Error('was not refused');
};

/** The causes of a refusal, as `path: message`. */
export const problems = async (act: Promise<unknown>): Promise<string[]> =>
  (await refusal(act)).details?.causes?.map(({field, message}) => `${field}: ${message}`) ?? [];

/** The same, and nothing for an act that is not refused. */
export const findings = async (act: Promise<unknown>): Promise<string[]> => {
  try {
    await act;
    return [];
  } catch (error) {
    if (error instanceof StatusError) return problems(Promise.reject(error));
    throw error;
  }
};

/** A server with the namespace `default`, and a way to each kind as `jane`. */
export const startEnvironment = async (options: ServerOptions = {}) => {
  const env = startServer(options);
  await env
    .clientOf()
    .resource(kinds.namespaces)
    .create({metadata: {name: 'default'}});
  const of = <T extends KubeObject>(kind: Kind<T>, user: UserInfo = jane) => env.clientOf(user).resource(kind);
  /** The cells of the object's row in the server's table, by column. */
  const row = async <T extends KubeObject>(kind: Kind<T>, object: T): Promise<Record<string, unknown>> => {
    const {definition} = env.server.registry.of(kind);
    return Object.fromEntries(
      (definition.presentation?.columns ?? []).map(column => [column.name, column.of(object, agoFrom(env.clock.now()), words)]),
    );
  };
  return {...env, of, row};
};
