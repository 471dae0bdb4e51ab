import {conflict} from '#src/api/status.js';
import {checkEnd} from '#src/apiserver/request/turns.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';

/**
 * How many races a write may lose. Hundreds of writers of one object stay below it; beyond it the store itself is at
 * fault.
 */
const maxRaces = 1000;

/** The write that is repeated. */
export interface RacingWrite {
  readonly resource: Resource;
  readonly name: string;
  readonly served: WriteContext['served'];
  /** Absent for writes of the server itself. */
  readonly original?: WriteContext['original'];
}

/**
 * Repeats a write until no other writer came first. `attempt` returns undefined when it lost the race, and reads the
 * object anew at each call. Throws 504 once the client is gone or the request's deadline has passed, and 409 after very
 * many races.
 */
export const untilUncontended = async <T>(write: RacingWrite, attempt: () => Promise<T | undefined>): Promise<T> => {
  const {resource, name, served} = write;
  for (let races = 0; races < maxRaces; races++) {
    const result = await attempt();
    if (result !== undefined) return result;
    checkEnd(write, resource.settings.clock);
  }
  throw conflict(resource.refIn(served), name);
};
